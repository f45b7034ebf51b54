// Every sequence of this file is PyTorch's own (2.10, the same modules in checkpoint_wrapper, memory history), up to
// the order of deaths between two births.
#include "planner/timeline/checkpoint.h"

#include <doctest/doctest.h>

#include <map>

#include "planner/timeline/timeline.h"
#include "tests/support/one_operator.h"

namespace vramplan::testing {
namespace {

// A model by hand: stem(x) [8, 16], which needs gradients, then layers in module calls.
struct Model {
  Model() {
    layers.modules.push_back({"", "", ModuleId()});
    x = Value("x", Shape{Dim(8), Dim(16)}, Role::kInput);
    layers.inputs = {x};
    stem = Run("linear", "stem", ModuleId{0}, {x, Parameter("stem.weight", Shape{Dim(16), Dim(16)}), ValueId()});
  }
  ValueId Value(const std::string& name, const Shape& shape, Role role) {
    layers.values.push_back({name, DType::kFloat32, shape, role});
    return ValueId{static_cast<int32_t>(layers.values.size()) - 1};
  }
  ValueId Parameter(const std::string& name, const Shape& shape) {
    layers.parameters.push_back(Value(name, shape, Role::kParameter));
    return layers.parameters.back();
  }
  ModuleId Call(const std::string& path, ModuleId parent = ModuleId{0}) {
    layers.modules.push_back({path, "", parent});
    return ModuleId{static_cast<int32_t>(layers.modules.size()) - 1};
  }
  // A layer that keeps the sizes [8, 16] unless said otherwise.
  ValueId Run(const std::string& op, const std::string& name, ModuleId module, std::vector<ValueId> inputs,
              const Attributes& attributes = Attributes(), const Shape& shape = Shape{Dim(8), Dim(16)}) {
    Layer layer;
    layer.op = op;
    layer.name = name;
    layer.module = module;
    layer.inputs = std::move(inputs);
    layer.outputs = {Value(name, shape, Role::kActivation)};
    layer.attributes = attributes;
    layers.layers.push_back(layer);
    layers.outputs = {layer.outputs[0]};
    return layer.outputs[0];
  }
  ValueId Linear(const std::string& name, ModuleId module, ValueId input) {
    return Run("linear", name, module, {input, Parameter(name + ".weight", Shape{Dim(16), Dim(16)}), ValueId()});
  }

  // One step: births "name+bytes" and deaths "name-" of what the layers asked for, workspaces left out. In a
  // recomputation names begin with ~, in the backward with d; further blocks of one layer are numbered. The last deaths
  // are zero_grad's.
  std::string Step(const std::vector<std::string>& paths, const std::string& words = "",
                   const std::vector<SavedCall>& saved = {}) const {
    TrainingSpec spec = SpecFromWords(words);
    spec.optimizer = Optimizer::kNone;
    spec.loss = Loss::kMse;
    spec.steps = 1;
    spec.checkpoint = paths;
    spec.saved = saved;
    const auto timeline = Schedule(layers, spec, 1, nullptr);
    REQUIRE(timeline);
    std::map<std::string, int> count;
    std::map<int32_t, std::string> names;
    std::string text;
    for (const Event& event : timeline->events) {
      if (event.kind == EventKind::kAfterForward) text += "| ";
      if (!event.block.valid()) continue;
      const Block& block = (*timeline)[event.block];
      if (block.origin.layer < 0 || block.category == Category::kWorkspace) continue;
      std::string& name = names[event.block.value];
      if (event.kind == EventKind::kAllocate) {
        name = (event.phase == Phase::kRecompute  ? "~"
                : event.phase == Phase::kBackward ? "d"
                                                  : "") +
               layers.layers[static_cast<size_t>(block.origin.layer)].name;
        if (const int more = ++count[name]; more > 1) name += std::to_string(more);
        text += name + "+" + std::to_string(block.bytes.At(1).count()) + " ";
      } else if (event.kind == EventKind::kFree) {
        text += name + "- ";
      }
    }
    text.pop_back();
    return text;
  }

  Layers layers;
  ValueId x, stem;
};

Attributes Inplace() {
  Attributes attributes;
  attributes.Set("inplace", int64_t{1});
  return attributes;
}

TEST_CASE("a call keeps its arguments; the first unpack runs it again") {
  //   kept   stem |================================|    again   stem |=================================|
  //          s         |=====================|                  s         |==|         |==========|
  //          t            |===========|                         t            |==|         |===|
  //          out             |== ... forward | backward         out             |== ... | backward
  Model m;
  const ModuleId block = m.Call("block");
  const ValueId s = m.Run("sigmoid", "s", block, {m.stem});
  const ValueId t = m.Run("tanh", "t", block, {s});
  m.Run("exp", "out", ModuleId{0}, {t});
  CHECK(m.Step({}) ==
        "stem+512 s+512 t+512 stem- out+512 | "
        "dout+512 dt+512 dout- t- ds+512 dt- s- dstem+1024 ds- dstem-");
  CHECK(m.Step({"block"}) ==
        "stem+512 s+512 t+512 s- out+512 t- | "
        "dout+512 ~s+512 ~t+512 dt+512 ~t- dout- ds+512 ~s- dt- stem- dstem+1024 ds- dstem-");
}

TEST_CASE("early stop: operators behind the last saved tensor do not run again") {
  Model m;
  const ModuleId block = m.Call("block");
  const ValueId t = m.Run("tanh", "t", block, {m.stem});
  m.Run("add", "sum", block, {t, m.stem});  // saves nothing
  m.Run("sigmoid", "out", ModuleId{0}, {m.layers.outputs[0]});
  CHECK(m.Step({"block"}) ==
        "stem+512 t+512 sum+512 t- out+512 sum- | "
        "dout+512 ~t+512 dt+512 ~t- stem- dt- dstem+1024 dout- dstem-");
}

TEST_CASE("early stop: an operator whose inputs are the last that is saved does not run again") {
  // Autograd saves inputs before the operator runs (VariableType): the second fc makes no result.
  Model m;
  const ModuleId block = m.Call("block");
  m.Linear("fc", block, m.Run("tanh", "t", block, {m.stem}));
  m.Run("sigmoid", "out", ModuleId{0}, {m.layers.outputs[0]});
  CHECK(m.Step({"block"}) ==
        "stem+512 t+512 fc+512 t- out+512 fc- | "
        "dout+512 ~t+512 dfc+1024 dfc2+512 dout- dt+512 ~t- dfc2- stem- dstem+1024 dt- dstem- dfc-");
}

TEST_CASE("a saved operator call does not run again: its result was kept, and dies when it has been used") {
  // create_selective_checkpoint_contexts with a policy that counts calls; ids of the recorded blocks: stem 0, fc 1, act
  // 2, fc2 3, t 4, out 5; again act 12, fc2 13, t 14.
  Model m;
  const ModuleId block = m.Call("block");
  const ValueId act = m.Run("gelu", "act", block, {m.Linear("fc", block, m.stem)});
  const ValueId t = m.Run("tanh", "t", block, {m.Linear("fc2", block, act)});
  m.Linear("out", ModuleId{0}, t);
  CHECK(
      m.Step({"block"}, "", {{"block", "aten.mm.default", 0}}) ==
      "stem+512 fc+512 act+512 fc2+512 act- t+512 fc2- out+512 | "
      "dout+1024 dout2+512 t- ~act+512 ~fc2+512 ~t+512 ~fc2- dt+512 ~t- dout2- dfc2+1024 dfc22+512 ~act- dt- dact+512 "
      "fc- dfc22- dfc+1024 dfc2+512 dact- stem- dstem+1024 dfc2- dstem- dfc- dfc2- dout-");
  CHECK(
      m.Step({"block"}, "", {{"block", "aten.mm.default", 0}, {"block", "aten.gelu.default", 0}}) ==
      "stem+512 fc+512 act+512 fc2+512 t+512 fc2- out+512 | "
      "dout+1024 dout2+512 t- ~fc2+512 ~t+512 ~fc2- dt+512 ~t- dout2- dfc2+1024 dfc22+512 act- dt- dact+512 fc- dfc22- "
      "dfc+1024 dfc2+512 dact- stem- dstem+1024 dfc2- dstem- dfc- dfc2- dout-");
}

TEST_CASE("what cannot be saved is an error") {
  Model m;
  const ModuleId block = m.Call("block"), inner = m.Call("block.inner", block);
  m.Run("relu", "relu", inner, {m.Linear("fc", inner, m.stem)}, Inplace());
  const auto error = [&](const std::vector<std::string>& paths, const SavedCall& call) {
    TrainingSpec spec = SpecFromWords("");
    spec.loss = Loss::kMse;
    spec.checkpoint = paths;
    spec.saved = {call};
    const auto timeline = Schedule(m.layers, spec, 1, nullptr);
    return timeline ? std::string() : timeline.error().text;
  };
  // "Tensor cached during selective activation checkpoint has been mutated" (torch/utils/checkpoint.py)
  CHECK(error({"block"}, {"block", "aten.mm.default", 0}).find("overwritten later") != std::string::npos);
  CHECK(error({"block"}, {"block", "aten.mm.default", 1}) == "block makes no call block:aten.mm.default:1");
  CHECK(error({"block"}, {"block", "aten.relu.default", 0}).find("is not one of") != std::string::npos);
  CHECK(error({"block"}, {"block.inner", "aten.mm.default", 0}).find("is not checkpointed") != std::string::npos);
  CHECK(error({}, {"block", "aten.mm.default", 0}).find("is not checkpointed") != std::string::npos);
  CHECK(error({"block", "block.inner"}, {"block", "aten.mm.default", 0}).find("another checkpoint") !=
        std::string::npos);
}

TEST_CASE("dropout makes its mask again, and its result, which dies at once") {
  Model m;
  const ModuleId block = m.Call("block");
  const ValueId d = m.Run("dropout", "drop", block, {m.stem});
  m.Run("sigmoid", "out", ModuleId{0}, {d});
  CHECK(m.Step({"block"}) ==
        "stem+512 drop+128 drop2+512 drop- out+512 drop2- | "
        "dout+512 ~drop+128 ~drop2+512 ~drop2- ddrop+512 ~drop- dout- stem- dstem+1024 ddrop- dstem-");
}

TEST_CASE("an activation in place overwrites the recomputed tensor too") {
  Model m;
  const ModuleId block = m.Call("block");
  const ValueId fc = m.Linear("fc", block, m.stem);
  m.Run("relu", "relu", block, {fc}, Inplace());
  m.Run("sigmoid", "out", ModuleId{0}, {m.layers.outputs[0]});
  CHECK(m.Step({"block"}) ==
        "stem+512 fc+512 out+512 fc- | "
        "dout+512 ~fc+512 drelu+512 ~fc- dout- dfc+1024 dfc2+512 drelu- stem- dstem+1024 dfc2- dstem- dfc-");
}

TEST_CASE("nested calls: an inner one is run again when the outer one has given back its argument") {
  // The outer's forward runs again up to the inner call's arguments; the inner saves nothing then. Then the inner.
  Model m;
  const ModuleId outer = m.Call("outer"), inner = m.Call("outer.inner", outer);
  const ValueId a = m.Run("tanh", "a", outer, {m.stem});
  const ValueId b = m.Run("sigmoid", "b", inner, {a});
  const ValueId c = m.Run("tanh", "c", inner, {b});
  m.Run("exp", "out", ModuleId{0}, {c});
  CHECK(m.Step({"outer", "outer.inner"}) ==
        "stem+512 a+512 b+512 c+512 b- a- out+512 c- | "
        "dout+512 ~a+512 ~b+512 ~c+512 dc+512 ~c- dout- db+512 ~b- dc- da+512 ~a- db- stem- dstem+1024 da- dstem-");
  // The inner one alone keeps a, which tanh keeps anyway.
  CHECK(m.Step({"outer.inner"}) ==
        "stem+512 a+512 b+512 c+512 b- stem- out+512 c- | "
        "dout+512 ~b+512 ~c+512 dc+512 ~c- dout- db+512 ~b- dc- da+512 db- a- dstem+1024 da- dstem-");
}

TEST_CASE("nested calls: a note says that keywords are not in the file") {
  Model m;
  const ModuleId outer = m.Call("outer"), inner = m.Call("outer.inner", outer);
  m.Run("tanh", "b", inner, {m.Run("tanh", "a", outer, {m.stem})});
  TrainingSpec spec = SpecFromWords("");
  spec.loss = Loss::kMse;
  for (const auto& [paths, noted] : std::map<std::vector<std::string>, bool>{
           {{}, false}, {{"outer"}, false}, {{"inner"}, false}, {{"inner", "outer"}, true}}) {
    spec.checkpoint = paths;
    Notes notes;
    REQUIRE(Schedule(m.layers, spec, 1, &notes));
    CHECK(notes.Has("checkpoint-nested") == noted);
  }
}

TEST_CASE("an inner call in the middle: what the outer one saves behind it is made again before it") {
  Model m;
  const ModuleId outer = m.Call("outer"), inner = m.Call("outer.inner", outer);
  const ValueId b = m.Run("sigmoid", "b", inner, {m.stem});
  m.Run("tanh", "c", outer, {b});
  m.Run("sigmoid", "out", ModuleId{0}, {m.layers.outputs[0]});
  // ~b of the outer run is the inner's result, which the inner does not save; ~b2 is saved.
  CHECK(m.Step({"outer", "outer.inner"}) ==
        "stem+512 b+512 c+512 b- out+512 c- | "
        "dout+512 ~b+512 ~c+512 ~b- dc+512 ~c- dout- ~b2+512 db+512 ~b2- dc- stem- dstem+1024 db- dstem-");
}

TEST_CASE("a module that is called twice is run again for each call") {
  Model m;
  ValueId h = m.Run("tanh", "one", m.Call("act"), {m.stem});
  m.Run("tanh", "two", m.Call("act"), {h});
  m.Run("sigmoid", "out", ModuleId{0}, {m.layers.outputs[0]});
  CHECK(m.Step({"act"}) ==
        "stem+512 one+512 two+512 out+512 two- | "
        "dout+512 ~two+512 dtwo+512 ~two- dout- one- ~one+512 done+512 ~one- dtwo- stem- dstem+1024 done- dstem-");
}

TEST_CASE("views are saved as they are: the recomputed storage lives as long as one of them") {
  Model m;
  const ModuleId block = m.Call("block");
  const ValueId t = m.Run("tanh", "t", block, {m.stem});
  Attributes axes;
  axes.Set("dim0", int64_t{0});
  axes.Set("dim1", int64_t{1});
  const ValueId view = m.Run("transpose", "view", block, {t}, axes, Shape{Dim(16), Dim(8)});
  const ValueId out = m.Run("gelu", "g", block, {view}, Attributes(), Shape{Dim(16), Dim(8)});
  m.Run("sigmoid", "out", ModuleId{0}, {out}, Attributes(), Shape{Dim(16), Dim(8)});
  CHECK(m.Step({"block"}) ==
        "stem+512 t+512 g+512 t- out+512 g- | "
        "dout+512 ~t+512 dg+512 dout- dt+512 ~t- dg- stem- dstem+1024 dt- dstem-");
}

TEST_CASE("autocast is entered again: weights are cast again, for this call alone") {
  // In the forward the cast weight lives to the end of the region; again from the recomputation until it is used.
  Model m;
  const ModuleId block = m.Call("block");
  m.Linear("fc", block, m.Run("tanh", "t", block, {m.stem}));
  m.Run("sigmoid", "out", ModuleId{0}, {m.layers.outputs[0]});
  CHECK(m.Step({"block"}, "amp-bf16") ==
        "stem+512 stem2+256 stem3+256 t+256 fc+512 fc2+256 t- out+256 fc2- stem- fc- | "
        "dout+256 ~t+256 ~fc+512 dfc+512 dfc2+256 ~fc- dout- dfc3+1024 dfc- dt+256 ~t- dfc2- stem3- dstem+512 dt- "
        "stem2- dstem2+1024 dstem- dstem2- dfc3-");
}

TEST_CASE("inference: nothing is saved, nothing is run again") {
  const Model m;
  TrainingSpec spec = SpecFromWords("infer");
  const auto plain = Schedule(m.layers, spec, 1, nullptr);
  Model with = m;
  with.layers.layers[0].module = with.Call("fc");
  spec.checkpoint = {"fc"};
  Notes notes;
  const auto checkpointed = Schedule(with.layers, spec, 1, &notes);
  REQUIRE(plain);
  REQUIRE(checkpointed);
  CHECK(checkpointed->blocks == plain->blocks);
  CHECK(checkpointed->events.size() == plain->events.size());
  CHECK(notes.Has("checkpoint-without-gradient"));
}

}  // namespace
}  // namespace vramplan::testing
