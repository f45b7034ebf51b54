// The attention and embedding operators of ONNX Runtime's transformer optimizer (com.microsoft; ContribOperators.md of
// ONNX Runtime 1.20), taken apart again:
//
//   Attention(x, weights, bias)             ->  three linears of x, and the attention (fused_attention.h)
//   EmbedLayerNormalization(ids, types ...)  ->  three embeddings, two sums, layer_norm
#include "graph/base/text.h"
#include "graph/lift/match/source.h"
#include "graph/lift/onnxruntime/fused_attention.h"
#include "graph/lift/onnxruntime/fused_parts.h"

namespace vramplan {
namespace {

constexpr const char* kSides[] = {"query", "key", "value"};

// The optimizer packs the weights of three modules into a tensor of its own, "Attention_0_qkv_weight"; a model that has
// them in one module keeps the name of that one's.
bool PackedByTool(const PatternSource& source, TensorId weight) {
  const std::string& name = source.NameOf(weight);
  return name.find("qkv") != std::string::npos && name.find('.') == std::string::npos;
}

// input [B, S, I], weights [I, 3H], bias [3H], mask?, past?, bias of positions?
bool MatchMicrosoftAttention(PatternSource& source, NodeId root) {
  const TensorId input = source.In(root, 0), weight = source.In(root, 1), bias = source.In(root, 2);
  if (!weight.valid() || source.Stored(weight) == nullptr) return false;
  const Shape x = source.ShapeOf(input), stored = source.ShapeOf(weight);
  if (x.rank() != 3 || stored.rank() != 2 || !stored[1].IsConstant()) return false;
  const int64_t packed = stored[1].c0();
  std::vector<int64_t> sizes = source[root].attributes.Ints("qkv_hidden_sizes");
  if (sizes.empty()) sizes.assign(3, packed / 3);
  if (sizes.size() != 3 || sizes[0] + sizes[1] + sizes[2] != packed) return false;
  FusedAttention a{.heads = source[root].attributes.Int("num_heads", 0)};
  a.queries = Shape{x[0], x[1], sizes[0]};
  a.keys = Shape{x[0], x[1], sizes[1]};
  a.values = Shape{x[0], x[1], sizes[2]};
  for (const int64_t size : sizes) {
    if (a.heads <= 0 || size % a.heads != 0) return false;
  }
  FusedParts parts(source, root);
  Operand* const sides[] = {&a.query, &a.key, &a.value};
  Operand whole;
  if (!PackedByTool(source, weight)) {
    whole = parts.Make("linear", Shape{x[0], x[1], packed},
                       {source.Use(input), source.Parameter(weight, root, "weight", Shape{stored[1], stored[0]}),
                        source.Parameter(bias, root, "bias")});
  }
  int64_t start = 0;
  for (size_t i = 0; i < 3; ++i) {
    const Shape& shape = i == 0 ? a.queries : i == 1 ? a.keys : a.values;
    const std::string leaf = kSides[i];
    if (whole.valid()) {
      *sides[i] = parts.Slice(whole, shape, 2, start);
    } else {
      const Operand own_bias = bias.valid() ? source.PartOf(bias, root, leaf + ".bias", Shape{sizes[i]}) : Operand();
      *sides[i] = parts.Make(
          "linear", shape,
          {source.Use(input), source.PartOf(weight, root, leaf + ".weight", Shape{sizes[i], stored[0]}), own_bias});
    }
    start += sizes[i];
  }
  a.stacked = true;
  if (const TensorId past = source.In(root, 4); past.valid() && source.RankOf(past) == 5) {
    a.past = source.ShapeOf(past);
    a.past.Remove(0);
    const auto one = [&](int64_t index) {
      return parts.Make("select", a.past, {source.Use(past)}, Named({{"dim", int64_t{0}}, {"index", index}}));
    };
    a.past_key = one(0);
    a.past_value = one(1);
  }
  return EmitMasked(source, root, source.In(root, 3), a);
}

// query, key, value [B, S, H], bias?, key_padding_mask?, bias of positions?, past key?, past value?
bool MatchMultiHeadAttention(PatternSource& source, NodeId root) {
  const TensorId tensors[] = {source.In(root, 0), source.In(root, 1), source.In(root, 2)};
  if (!tensors[1].valid() || !tensors[2].valid()) return false;
  FusedAttention a{.heads = source[root].attributes.Int("num_heads", 0)};
  a.queries = source.ShapeOf(tensors[0]);
  a.keys = source.ShapeOf(tensors[1]);
  a.values = source.ShapeOf(tensors[2]);
  const TensorId bias = source.In(root, 3);
  Operand* const sides[] = {&a.query, &a.key, &a.value};
  const Shape* const shapes[] = {&a.queries, &a.keys, &a.values};
  for (const Shape* shape : shapes) {
    const Dim width = shape->rank() > 0 ? shape->FromEnd(1) : Dim::Unknown();
    const bool split = shape->rank() == 4 && shape != shapes[0];
    if (a.heads <= 0 || !width.IsConstant() || (!split && (shape->rank() != 3 || width.c0() % a.heads != 0)))
      return false;
  }
  for (size_t i = 0; i < 3; ++i) {
    if (!bias.valid() || shapes[i]->rank() != 3) {
      *sides[i] = source.Use(tensors[i]);
      continue;
    }
    // What was added to each was its linear's own.
    NodeId matmul = source.OnlyMakerOf(tensors[i], "MatMul");
    if (!matmul.valid()) matmul = root;
    const std::string leaf = matmul == root ? std::string(kSides[i]) + ".bias" : "bias";
    const Operand own = source.PartOf(bias, matmul, leaf, Shape{shapes[i]->FromEnd(1)});
    const Operand sum = source.New(Beside(source[root], kSides[i]), source.TypeOf(tensors[i]), *shapes[i]);
    if (!AddLinearBehind(source, tensors[i], own, matmul, sum)) {
      FusedParts(source, root).Put("add", {source.Use(tensors[i]), own}, sum);
    }
    *sides[i] = sum;
  }
  if (const TensorId past = source.In(root, 6); past.valid()) {
    a.past_key = source.Use(past);
    a.past_value = source.Input(root, 7);
    a.past = source.ShapeOf(past);
  }
  return EmitMasked(source, root, source.In(root, 4), a);
}

// table [buckets, heads], queries, keys: the buckets of all distances, and a row of the table for each
// (modeling_t5.py 5.23, compute_bias).
bool MatchRelativePositions(PatternSource& source, NodeId root) {
  const Shape out = source.ShapeOf(source[root].outputs[0]);
  if (out.rank() != 4) return false;
  FusedParts parts(source, root);
  const Shape square{out[2], out[3]};
  const auto positions = [&](const Dim& length, int64_t axis) {
    const Operand range = parts.MakeOf(DType::kInt64, "arange", Shape{length}, {});
    return parts.MakeOf(DType::kInt64, "unsqueeze", axis == 0 ? Shape{1, length} : Shape{length, 1}, {range},
                        Named({{"dim", axis}}));
  };
  const Operand queries = positions(out[2], 1);
  Operand bucket = parts.MakeOf(DType::kInt64, "sub", square, {positions(out[3], 0), queries});
  bucket = parts.MakeOf(DType::kInt64, "abs", square, {bucket});
  const Operand table = source.Parameter(source.In(root, 0), root, "relative_attention_bias.weight");
  const Operand rows = parts.Make("embedding", Shape{out[2], out[3], out[1]}, {table, bucket});
  const Operand turned =
      parts.Make("permute", Shape{out[1], out[2], out[3]}, {rows}, Named({{"dims", std::vector<int64_t>{2, 0, 1}}}));
  parts.Put("unsqueeze", {turned}, parts.Out(0), Named({{"dim", int64_t{0}}}));
  return true;
}

// ids, segments?, word table, position table, segment table?, gamma, beta, mask?: the sum of the tables' rows,
// normalised.
bool MatchEmbedNorm(PatternSource& source, NodeId root) {
  const Shape out = source.ShapeOf(source[root].outputs[0]);
  if (out.rank() != 3) return false;
  FusedParts parts(source, root);
  Operand sum = parts.Make("embedding", out,
                           {source.Parameter(source.In(root, 2), root, "word_embeddings"), source.Input(root, 0)});
  if (source.In(root, 1).valid() && source.In(root, 4).valid()) {
    const Operand segments = parts.Make(
        "embedding", out, {source.Parameter(source.In(root, 4), root, "segment_embeddings"), source.Input(root, 1)});
    sum = parts.Make("add", out, {sum, segments});
  }
  const Operand positions = source.New(Beside(source[root], "positions"), DType::kInt64, Shape{out[1]});
  parts.Put("arange", {}, positions);
  const Operand rows = parts.Make("embedding", Shape{out[1], out[2]},
                                  {source.Parameter(source.In(root, 3), root, "position_embeddings"), positions});
  const Operand whole = parts.Out(2);
  if (whole.valid()) {
    parts.Put("add", {sum, rows}, whole);
    sum = whole;
  } else {
    sum = parts.Make("add", out, {sum, rows});
  }
  parts.Put(
      "layer_norm",
      {sum, source.Parameter(source.In(root, 5), root, "weight"), source.Parameter(source.In(root, 6), root, "bias")},
      parts.Out(0), Named({{"normalized_axes", int64_t{1}}}));
  // The lengths of the mask are the optimizer's; fused attention reads the mask itself.
  const Operand lengths = parts.Out(1);
  const auto reads = [&](NodeId user) { return !IsOneOf(source[user].op, {"Attention", "MultiHeadAttention"}); };
  if (lengths.valid() && std::ranges::any_of(source.UsersOf(lengths.tensor), reads)) {
    const TensorId mask = source.In(root, 7);
    parts.Put("sum", {source.Use(mask.valid() ? mask : source.In(root, 0))}, lengths,
              Named({{"dim", std::vector<int64_t>{1}}}));
  }
  return true;
}

}  // namespace

const PatternRows& MicrosoftAttentionPatterns() {
  static const PatternRows rows = {{"Attention", MatchMicrosoftAttention},
                                   {"MultiHeadAttention", MatchMultiHeadAttention},
                                   {"RelativePositionBias", MatchRelativePositions},
                                   {"EmbedLayerNormalization", MatchEmbedNorm}};
  return rows;
}

}  // namespace vramplan
