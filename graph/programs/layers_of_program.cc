#include "graph/programs/layers_of_program.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/layers/builder.h"
#include "graph/layers/trained.h"
#include "graph/programs/aten.h"
#include "graph/programs/aten_target.h"

namespace vramplan {
namespace {

using Argument = RecordedArgument;

bool IsTensorMade(std::string_view op) {
  return op == "zeros" || op == "ones" || op == "full" || op == "empty" || op == "bernoulli" || op == "arange";
}

std::string_view PacketOf(std::string_view name) {
  const size_t begin = name.find('.');
  return begin == std::string_view::npos ? name : name.substr(begin + 1, name.find('.', begin + 1) - begin - 1);
}

class ProgramLayers {
 public:
  ProgramLayers(const Facts& facts, const RecordedProgram& program, std::optional<DType> lower, Notes* notes)
      : facts_(facts),
        program_(program),
        lower_(lower),
        notes_(notes),
        builder_(graph_, shapes_),
        ids_(program.values.size()) {}

  Layers Take() {
    AddStored();
    for (size_t c = 0; c < program_.calls.size(); ++c) {
      place_ = NodeId{static_cast<int32_t>(c)};
      if (program_.loss == place_.value) loss_after_ = last_;
      AddCall(program_.calls[c]);
      made_.push_back(last_);
    }
    if (!program_.modules.empty() && program_.modules.front().path.empty())
      builder_.SetRootClass(program_.modules.front().class_name);
    Layers layers = std::move(builder_).Finish(notes_);
    layers.inputs = inputs_;
    layers.loss_after = loss_after_;
    for (const ValueId id : frozen_) SetTrained(&layers, id, false);
    for (const int32_t value : program_.returned) {
      if (IdOf(value).valid()) layers.outputs.push_back(IdOf(value));
    }
    for (const int32_t value : program_.channels_last) {
      if (IdOf(value).valid()) layers.values[IdOf(value).index()].channels_last = true;
    }
    const std::set<std::string_view> reentrant(program_.reentrant.begin(), program_.reentrant.end());
    for (size_t m = 0; m < layers.modules.size(); ++m) {
      if (reentrant.contains(layers.modules[m].path)) layers.reentrant.push_back(ModuleId{static_cast<int32_t>(m)});
    }
    TakeEnds(&layers);
    for (const RecordedProgram& backward : program_.backwards)
      layers.backwards.push_back(ProgramLayers(facts_, backward, lower_, notes_).TakeBackward());
    return layers;
  }

  // The same of a function's backward, whose results keep their places.
  Layers TakeBackward() {
    Layers layers = Take();
    layers.outputs.clear();
    for (const int32_t value : program_.returned) layers.outputs.push_back(IdOf(value));
    return layers;
  }

 private:
  ValueId IdOf(int32_t value) const { return value < 0 ? ValueId() : ids_[static_cast<size_t>(value)]; }

  ValueId Add(int32_t value, std::string name, Role role) {
    const RecordedProgram::Tensor& tensor = program_.values[static_cast<size_t>(value)];
    const DType type = tensor.type == DType::kFloat16 ? lower_.value_or(tensor.type) : tensor.type;
    if (!tensor.name.empty()) name = tensor.name;
    const ValueId id = builder_.AddValue({std::move(name), type, tensor.shape, role});
    return ids_[static_cast<size_t>(value)] = id;
  }

  // Parameters and buffers in the order of the module tree, as the facts list them; one that no call reads too.
  void AddStored() {
    std::set<std::string_view> parameters;
    if (facts_.parameters) {
      for (const RecordedTensor& tensor : *facts_.parameters) {
        parameters.insert(tensor.name);
        if (!tensor.trained) untrained_.insert(tensor.name);
      }
    }
    for (const RecordedProgram::Kept& kept : program_.stored) {
      const bool parameter = parameters.contains(kept.name);
      const ValueId id = Add(kept.value, kept.name, parameter ? Role::kParameter : Role::kBuffer);
      if (parameter && untrained_.contains(kept.name)) frozen_.push_back(id);
    }
    for (const int32_t value : program_.loose) Add(value, "tensor_" + std::to_string(value), Role::kConstant);
    for (const RecordedProgram::Kept& kept : program_.given)
      inputs_.push_back(Add(kept.value, kept.name, Role::kInput));
  }

  ModulePath PathOf(int32_t module) const {
    ModulePath path;
    for (; module >= 0; module = program_.modules[static_cast<size_t>(module)].parent) {
      const RecordedProgram::Called& called = program_.modules[static_cast<size_t>(module)];
      if (!called.path.empty()) path.insert(path.begin(), {called.path, called.class_name});
    }
    return path;
  }

  static const Argument* Keyword(const RecordedProgram::Call& call, std::string_view name) {
    for (const auto& [key, argument] : call.keywords) {
      if (key == name) return &argument;
    }
    return nullptr;
  }

  void AddTensors(const Argument& argument, AtenCall* aten) const {
    if (argument.kind == Argument::Kind::kValue) aten->inputs.push_back(IdOf(static_cast<int32_t>(argument.integer)));
    for (const Argument& item : argument.items) AddTensors(item, aten);
  }

  // One operand: a value; a number in its place becomes "scalar"; nothing.
  ValueId Operand(const Argument* argument, AtenCall* aten) const {
    if (argument == nullptr) return {};
    if (argument->kind == Argument::Kind::kValue) return IdOf(static_cast<int32_t>(argument->integer));
    if (IsNumber(*argument)) SetAttribute(aten->attributes, "scalar", *argument);
    return {};
  }

  void NameArguments(const RecordedProgram::Call& call, const AtenRule* rule, AtenCall* aten) const {
    if (rule == nullptr) {
      for (const Argument& argument : call.arguments) AddTensors(argument, aten);
      return;
    }
    const std::vector<AtenArgument> arguments = ParseAtenArguments(rule->arguments);
    for (size_t i = 0; i < arguments.size(); ++i) {
      const Argument* argument = i < call.arguments.size() ? &call.arguments[i] : Keyword(call, arguments[i].name);
      switch (arguments[i].kind) {
        case AtenArgument::Kind::kIgnored:
          break;
        case AtenArgument::Kind::kAttribute:
          if (argument != nullptr) SetAttribute(aten->attributes, std::string(arguments[i].name), *argument);
          break;
        case AtenArgument::Kind::kTensors:
          if (argument != nullptr) AddTensors(*argument, aten);
          break;
        case AtenArgument::Kind::kTensor:
          aten->inputs.push_back(Operand(argument, aten));
          break;
      }
    }
    while (aten->inputs.size() > 1 && !aten->inputs.back().valid()) aten->inputs.pop_back();
    if (aten->op == "cat") DropEmpty(aten);  // its axis counts from those that are left
  }

  // cat skips tensors of one axis without elements (aten/src/ATen/native/TensorShape.cpp, cat_should_skip_tensor): an
  // empty cache of keys.
  void DropEmpty(AtenCall* aten) const {
    std::erase_if(aten->inputs, [&](ValueId input) {
      if (!input.valid()) return false;
      const Shape& shape = builder_.At(input).shape;
      return shape.rank() == 1 && shape[0].Is(0);
    });
  }

  // x[a:b] op= y: one call on the whole; operands are the whole, y, and the part.
  void NamePart(const RecordedProgram::Call& call, int32_t whole, std::string_view packet, AtenCall* aten) const {
    ValueId source;
    if (call.arguments.size() > 1 && call.arguments[1].kind == Argument::Kind::kValue)
      source = IdOf(static_cast<int32_t>(call.arguments[1].integer));
    aten->op = "slice_scatter";
    aten->inputs = {IdOf(whole)};
    const Argument& part = call.arguments.front();
    const bool parted = part.kind == Argument::Kind::kValue && part.integer != whole;
    if (source.valid() || parted) aten->inputs.push_back(source);
    if (parted) aten->inputs.push_back(IdOf(static_cast<int32_t>(part.integer)));  // tells its size
    aten->attributes = Attributes();
    aten->attributes.Set("inplace", int64_t{1});
    aten->attributes.Set("update", std::string(packet == "zero" ? "fill" : packet));
  }

  // A torch.autograd.Function: its forward's calls are layers of their own, without gradients; from here on their results
  // are those of one entry of the tape.
  void AddFunction(const RecordedProgram::Call& call) {
    Layer layer{.op = "function", .name = "function", .evidence = Evidence::kProvenance};
    for (const Argument& list : call.arguments) {
      for (const Argument& item : list.items)
        layer.inputs.push_back(item.kind == Argument::Kind::kValue ? IdOf(static_cast<int32_t>(item.integer))
                                                                   : ValueId());
    }
    layer.attributes.Set("results", static_cast<int64_t>(call.arguments[0].items.size()));
    layer.attributes.Set("operands", static_cast<int64_t>(call.arguments[1].items.size()));
    if (const Argument* backward = Keyword(call, "backward")) layer.attributes.Set("backward", backward->integer);
    for (const int32_t value : call.results)
      layer.outputs.push_back(value < 0 ? ValueId()
                                        : Add(value, "function_" + std::to_string(value), Role::kActivation));
    for (const ValueId id : layer.outputs) last_ = id.valid() ? id : last_;
    builder_.AddLayer(std::move(layer), PathOf(call.module), place_);
  }

  void AddCall(const RecordedProgram::Call& call) {
    if (call.target == kFunctionTarget) return AddFunction(call);
    const AtenTarget target = ReadAtenTarget(call.target);
    const std::string_view packet = PacketOf(target.plain);
    const AtenRule* rule = FindAtenRule(target.plain);
    std::string_view library = target.plain;
    library = library.substr(0, library.find('.'));
    AtenCall aten{.op = rule != nullptr ? std::string(rule->op) : std::string(library) + "::" + std::string(packet)};
    const bool several = rule == nullptr || rule->several_outputs;
    const size_t results = several ? call.results.size() : std::min<size_t>(call.results.size(), 1);
    for (size_t r = 0; r < results; ++r) {
      const int32_t value = call.results[r];
      aten.outputs.push_back(
          value < 0 ? ValueId() : Add(value, std::string(packet) + "_" + std::to_string(value), Role::kActivation));
    }
    const Argument* whole = Keyword(call, "of");
    const bool copies = target.in_place && packet == "copy" && whole == nullptr;  // x.copy_(y): into all of it
    if (copies && !call.arguments.empty()) whole = &call.arguments.front();
    if (whole != nullptr && whole->kind == Argument::Kind::kValue && !call.arguments.empty()) {
      NamePart(call, static_cast<int32_t>(whole->integer), packet, &aten);
    } else {
      NameArguments(call, rule, &aten);
      if (rule != nullptr && rule->shape != nullptr) rule->shape(aten, builder_);
      if (packet == "clone") aten.op = "clone";  // the code's own: it copies whatever there is
      TakeCast(call, &aten);
      TakeFormat(call, &aten);
      if (IsTensorMade(aten.op) && packet.ends_with("_like") && Keyword(call, "memory_format") == nullptr)
        aten.attributes.Set("like_layout", int64_t{1});
      if (const Argument* like = Keyword(call, "like"); like != nullptr && like->kind == Argument::Kind::kValue) {
        if (aten.op == "bernoulli") aten.inputs = {ValueId()};
        aten.inputs.push_back(IdOf(static_cast<int32_t>(like->integer)));
      }
      if (target.in_place && aten.op != "detach") aten.attributes.Set("inplace", int64_t{1});
    }
    const bool runs = std::any_of(aten.outputs.begin(), aten.outputs.end(), [](ValueId id) { return id.valid(); });
    if (!runs) return;
    if (aten.alias && !aten.inputs.empty() && aten.inputs.front().valid()) {
      ids_[static_cast<size_t>(call.results.front())] = aten.inputs.front();
      return;
    }
    if (Keyword(call, "no_grad") != nullptr) aten.attributes.Set("no_grad", int64_t{1});
    if (const Argument* autocast = Keyword(call, "autocast"); autocast != nullptr && autocast->integer == 0)
      aten.attributes.Set("autocast", int64_t{0});
    last_ = *std::find_if(aten.outputs.rbegin(), aten.outputs.rend(), [](ValueId id) { return id.valid(); });
    builder_.AddLayer({.op = std::move(aten.op),
                       .name = call.name.empty() ? std::string(packet) : call.name,
                       .inputs = std::move(aten.inputs),
                       .outputs = std::move(aten.outputs),
                       .attributes = std::move(aten.attributes),
                       .nodes = call.node < 0 ? std::vector<NodeId>() : std::vector<NodeId>{NodeId{call.node}},
                       .evidence = Evidence::kProvenance},
                      PathOf(call.module), place_);
  }

  // softmax(x, dtype=torch.float32) of a model in halves.
  bool MakesFloatOfHalf(const RecordedProgram::Call& call) const {
    if (call.arguments.empty() || call.arguments.front().kind != Argument::Kind::kValue) return false;
    const auto type = [&](int64_t value) { return program_.values[static_cast<size_t>(value)].type; };
    return IsHalf(type(call.arguments.front().integer)) && type(call.results.front()) == DType::kFloat32;
  }

  // What does nothing in fp32 makes fp32 of halves, or halves of fp32, in other precisions.
  void TakeCast(const RecordedProgram::Call& call, AtenCall* aten) const {
    const Argument* amp = Keyword(call, "amp");
    if (amp == nullptr && (aten->op == "softmax" || aten->op == "log_softmax") && MakesFloatOfHalf(call))
      aten->attributes.Set("type", std::string("float"));
    if (amp == nullptr) return;
    if (IsTensorMade(aten->op) || aten->op == "cat")
      return aten->attributes.Set(amp->text == "half" ? "like_half" : "like_float", int64_t{1});
    if (aten->inputs.empty()) return;
    if (aten->op == "softmax" || aten->op == "log_softmax") return aten->attributes.Set("type", amp->text);
    if (amp->kind == Argument::Kind::kValue) {
      aten->op = "type_as";
      aten->inputs.resize(1);
      aten->inputs.push_back(IdOf(static_cast<int32_t>(amp->integer)));
      aten->alias = false;
      return;
    }
    aten->op = amp->text == "half" ? "half" : "float";
    aten->inputs.resize(1);
    aten->attributes = Attributes();
    aten->alias = false;
  }

  // x.contiguous(memory_format=torch.channels_last), and to() and clone() with it.
  void TakeFormat(const RecordedProgram::Call& call, AtenCall* aten) const {
    const Argument* format = Keyword(call, "memory_format");
    if (format != nullptr && format->text == "preserve" && aten->op == "clone")
      return aten->attributes.Set("preserve", int64_t{1});
    const bool copies = aten->op == "contiguous" || aten->op == "clone" || (aten->op == "to" && aten->alias);
    if (format == nullptr || format->text != "channels_last" || !copies) return;
    if (aten->op == "to") aten->op = "contiguous";
    aten->alias = false;
    aten->attributes = Named({{"channels_last", int64_t{1}}});
  }

  void TakeEnds(Layers* layers) const {
    std::set<ValueId> kept(layers->outputs.begin(), layers->outputs.end());
    for (const RecordedProgram::End& end : program_.ends) {
      const ValueId id = IdOf(end.value);
      if (!id.valid() || (*layers)[id].role != Role::kActivation) continue;
      if (end.call == RecordedForward::kWhenMadeAnew) {
        layers->recorded.push_back({id, ValueId()});
        if (!kept.contains(id)) layers->kept_by_modules.push_back(id);
        continue;
      }
      const bool caller = end.call == RecordedForward::kWithTheForward;
      const ValueId made = caller ? ValueId() : made_[static_cast<size_t>(end.call)];
      if (!caller && !made.valid()) continue;
      layers->recorded.push_back({id, made});
      if (caller && kept.insert(id).second) layers->outputs.push_back(id);
    }
  }

  const Facts& facts_;
  const RecordedProgram& program_;
  const std::optional<DType> lower_;
  Notes* notes_;
  const Graph graph_;  // none: nothing here comes from the file's nodes
  const Shapes shapes_;
  LayerBuilder builder_;
  std::vector<ValueId> ids_;   // by number of the program
  std::vector<ValueId> made_;  // by call: what was made last when it is done
  ValueId last_, loss_after_;
  NodeId place_;
  std::vector<ValueId> inputs_, frozen_;
  std::set<std::string_view> untrained_;
};

}  // namespace

const RecordedProgram* ProgramFor(const std::optional<Facts>& facts, bool training, bool in_amp) {
  if (!facts) return nullptr;
  const auto& of_amp = training ? facts->training_program_in_amp : facts->inference_program_in_amp;
  if (in_amp && of_amp) return &*of_amp;
  const auto& program = training ? facts->training_program : facts->inference_program;
  return program ? &*program : nullptr;
}

Layers LayersOfProgram(const Facts& facts, const RecordedProgram& program, std::optional<DType> lower, Notes* notes) {
  return ProgramLayers(facts, program, lower, notes).Take();
}

}  // namespace vramplan
