// What only names tell, in a dynamo export without its metadata: what a stored tensor was computed from, and calls that
// changed no number and were dropped.
//
//   Transpose "node_transpose_5" -> "getitem"        ->  transpose, dropout
//   Mul "node_mul_74" (x, rsqrt) -> "mul_78"         ->  mul, mul(weight, mul)
#include <string_view>

#include "graph/base/ablation.h"
#include "graph/lift/match/source.h"
#include "graph/lift/simplifiers/fx_names.h"
#include "graph/programs/aten.h"

namespace vramplan {
namespace {

std::string FxCallOf(const Node& node) {
  constexpr std::string_view kNodePrefix = "node_";
  return node.name.starts_with(kNodePrefix) ? node.name.substr(kNodePrefix.size()) : std::string();
}

// x * rsqrt(...)
bool IsDividedByRoot(PatternSource& source, NodeId mul) {
  if (source.RankOf(source[mul].outputs[0]) < 1) return false;
  const NodeId inverse = source.MakerOf(source.In(mul, 1), "Reciprocal");
  return inverse.valid() && source.MakerOf(source.In(inverse, 0), "Sqrt").valid();
}

Operand Same(PatternSource& source, const Operand& like, const Node& node, const char* suffix) {
  return source.New(Beside(node, suffix), source.TypeOf(like.tensor), source.ShapeOf(like.tensor));
}

}  // namespace

// "/m/transformer/Cast_output_0" of the TorchScript exporter: positions' rows were given the type that they have
// (transformers/models/gpt2: position_embeds.to). Only what is added to words' rows is such.
bool IsCastLookUp(PatternSource& source, const std::string& leaf, TensorId stored, NodeId user) {
  if (!source.FromPyTorch() || !leaf.starts_with("/Cast") || !leaf.ends_with("_output_0")) return false;
  if (!user.valid() || source[user].op != "Add") return false;
  for (size_t side = 0; side < 2; ++side) {
    const NodeId words = source.MakerOf(source.In(user, side), "Gather");
    if (words.valid() && source.In(user, 1 - side) == stored && source.HasModulePath(source.In(words, 0)) &&
        source.RankOf(source.In(words, 0)) == 2)
      return true;
  }
  return false;
}

Operand UnfoldedLookUp(PatternSource& source, TensorId stored) {
  if (!Runs("read", "patterns_unfolded UnfoldedLookUp")) return {};
  const std::string& name = source.NameOf(stored);
  Shape shape = source.ShapeOf(stored);
  if (!IsFloating(source.TypeOf(stored)) || shape.rank() != 3 || !shape[1].IsConstant()) return {};
  // "embedding_2"; "/m/bert/embeddings/position_embeddings/Gather_output_0" of the TorchScript exporter.
  std::string module = name;
  if (!source.FromFx() || FxOperatorOf(name) != "embedding") {
    const size_t slash = name.rfind('/');
    if (slash == std::string::npos || slash == 0) return {};
    if (name.compare(slash, std::string::npos, "/Gather_output_0") == 0) {
      module = name.substr(0, slash);
      module = module.substr(module.rfind('/') + 1);
    } else if (IsCastLookUp(source, name.substr(slash), stored, source.FirstUserOf(stored))) {
      module = "positions";
    } else {
      return {};
    }
  }
  const NodeId user = source.FirstUserOf(stored);
  if (!user.valid() || (source[user].op != "Add" && source[user].op != "Concat")) return {};
  const DType type = source.TypeOf(stored);
  const Bytes row = shape[2].IsConstant() ? StoredBytes(type, shape[2].c0()) : Bytes();
  source.notes().Add({.code = "folded-lookup",
                      .subject = name,
                      .text = "the export looked it up in a table and left the table out; only the " +
                              ToString(shape[1]) + " rows that it read are counted, and each further row adds " +
                              ToString(row) +
                              " to the parameters, and as much to the gradients and to each optimizer state",
                      .hint = "export with a dynamic length"});
  const Operand table = source.LostParameter(user, module + ".weight", type, Shape{shape[1], shape[2]}, stored);
  Operand ids = source.LostBuffer(user, module + ".ids", DType::kInt64, Shape{1, shape[1]});
  if (!shape[0].Is(1)) {  // once a sample
    shape[0] = Dim::Batch();
    const Operand one = ids;
    ids = source.New(name + ".ids", DType::kInt64, Shape{Dim::Batch(), shape[1]});
    source.Put(ids, "expand", {one}, {user});
  }
  const Operand rows = source.New(name, type, shape);
  source.Put(rows, "embedding", {table, ids}, {user});
  return rows;
}

std::optional<Draft> CallThatChangedNothing(PatternSource& source, Draft* draft) {
  if (!Runs("read", "patterns_unfolded CallThatChangedNothing")) return std::nullopt;
  if (!source.FromFx() || draft->outputs.size() != 1 || !draft->outputs[0].tensor.valid()) return std::nullopt;
  const Operand result = draft->outputs[0];
  const NodeId maker = source.graph()[result.tensor].producer;
  if (!maker.valid()) return std::nullopt;
  const Node& node = source[maker];
  const std::string made = FxCallOf(node), made_op = FxOperatorOf(made);
  const std::string& name = source.NameOf(result.tensor);
  const std::string op = FxOperatorOf(name);
  if (node.outputs.size() != 1 || made_op.empty() || op.empty() || made == name) return std::nullopt;
  const AtenRule* rule = FindAtenRule("aten." + made_op);
  Draft call{.op = "", .inputs = {}, .outputs = {result}, .attributes = {}, .nodes = {draft->nodes.back()}};
  if (op == "getitem" && rule != nullptr && !rule->several_outputs) {
    // The mask of native_dropout is the other item. nn.Dropout's own p (torch/nn/modules/dropout.py 2.10): the file
    // does not say it.
    call.op = "dropout";
    call.attributes.Set("p", 0.5);
  } else if (op == "pad" && made_op != "pad") {
    // torchvision's windows are padded also where they fit (models/swin_transformer.py 0.25).
    call.op = "pad";
    call.attributes = Named({{"pad", std::vector<int64_t>{0, 0}}, {"mode", std::string("constant")}});
  } else if (op == "mul" && made_op == "mul" && (draft->op == "rms_norm" || IsDividedByRoot(source, maker))) {
    // The weight of a root mean square norm, which is ones before training.
    const Operand weight = source.LostParameter(maker, "weight", source.TypeOf(result.tensor),
                                                Shape{source.ShapeOf(result.tensor).FromEnd(1)});
    if (draft->op == "rms_norm") {
      if (!draft->inputs[1].valid()) draft->inputs[1] = weight;
      return std::nullopt;
    }
    call.op = "mul";
    call.inputs = {weight};
  } else {
    return std::nullopt;
  }
  const Operand before = Same(source, result, node, "before");
  draft->outputs[0] = before;
  call.inputs.push_back(before);
  return call;
}

}  // namespace vramplan
