// The attention and embedding operators of ONNX Runtime's transformer optimizer (com.microsoft; ContribOperators.md of
// ONNX Runtime 1.20), taken apart again. The optimizer finds attention that was written out, so that its products and
// softmax really ran:
//
//   Attention(x, weights, bias)   ->  linear, split; matmul(q, k^T), mul, softmax, matmul(., v), reshape
#include <cmath>

#include "graph/lift/patterns_source.h"

namespace vramplan {
namespace {

class Parts {
 public:
  Parts(PatternSource& source, NodeId root) : source_(source), root_(root) {
    type_ = source.TypeOf(source[root].outputs[0]);
  }

  // A layer whose result the file does not have.
  Operand Make(const char* op, const Shape& shape, std::vector<Operand> inputs, Attributes attributes = {}) {
    const Operand made = source_.New(Beside(source_[root_], op), type_, shape);
    Put(op, std::move(inputs), made, std::move(attributes));
    return made;
  }
  void Put(const char* op, std::vector<Operand> inputs, Operand output, Attributes attributes = {}) {
    source_.Add({.op = op,
                 .inputs = std::move(inputs),
                 .outputs = {output},
                 .attributes = std::move(attributes),
                 .nodes = {root_}});
  }
  // [B, S, heads * d] as [B, heads, S, d]
  Operand Heads(Operand input, const Shape& shape, const Dim& heads, const Dim& width) {
    const Operand split = Make("reshape", Shape{shape[0], shape[1], heads, width}, {input});
    return Make("transpose", Shape{shape[0], heads, shape[1], width}, {split}, Named({{"dim0", 1}, {"dim1", 2}}));
  }
  Operand Out(size_t i) { return source_.Out(root_, i); }

 private:
  PatternSource& source_;
  NodeId root_;
  DType type_;
};

struct Projections {
  Operand query, key, value;
  Shape queries, keys, values;  // [B, S, width]
  bool masked = false;
};

bool EmitAttention(PatternSource& source, NodeId root, const Projections& p) {
  const int64_t heads = source[root].attributes.Int("num_heads", 0);
  if (heads <= 0 || !p.queries[2].IsConstant() || !p.values[2].IsConstant()) return false;
  if (p.queries[2].c0() % heads != 0 || p.values[2].c0() % heads != 0) return false;
  const Dim width = p.queries[2].c0() / heads, value_width = p.values[2].c0() / heads;
  const Dim batch = p.queries[0], rows = p.queries[1], columns = p.keys[1];
  Parts parts(source, root);
  const Operand q = parts.Heads(p.query, p.queries, heads, width), k = parts.Heads(p.key, p.keys, heads, width);
  const Operand v = parts.Heads(p.value, p.values, heads, value_width);
  const Operand turned =
      parts.Make("transpose", Shape{batch, heads, width, columns}, {k}, Named({{"dim0", 2}, {"dim1", 3}}));
  const Shape square{batch, heads, rows, columns};
  const double scale = source[root].attributes.Real("scale", 1 / std::sqrt(static_cast<double>(width.c0())));
  Operand scores = parts.Make("matmul", square, {q, turned});
  scores = parts.Make("mul", square, {scores, Operand{}}, Named({{"scalar", scale}}));
  if (p.masked) scores = parts.Make("add", square, {scores, Operand{}}, Named({{"scalar", 0.0}}));
  const Operand weights = parts.Make("softmax", square, {scores}, Named({{"dim", int64_t{3}}}));
  const Operand context = parts.Make("matmul", Shape{batch, heads, rows, value_width}, {weights, v});
  const Operand back =
      parts.Make("transpose", Shape{batch, rows, heads, value_width}, {context}, Named({{"dim0", 1}, {"dim1", 2}}));
  parts.Put("reshape", {back}, parts.Out(0));
  return true;
}

// input [B, S, I], weights [I, 3H], bias [3H], mask?
bool MatchAttention(PatternSource& source, NodeId root) {
  const TensorId input = source.In(root, 0), weight = source.In(root, 1);
  const Shape x = source.ShapeOf(input), stored = source.ShapeOf(weight);
  if (source[root].outputs.size() > 1 || source[root].attributes.Has("qkv_hidden_sizes")) return false;
  if (source.Stored(weight) == nullptr || x.rank() != 3 || stored.rank() != 2 || !stored[1].IsConstant()) return false;
  const int64_t packed = stored[1].c0(), heads = source[root].attributes.Int("num_heads", 0);
  if (packed % 3 != 0 || heads <= 0 || packed / 3 % heads != 0) return false;
  Parts parts(source, root);
  const Operand linear =
      parts.Make("linear", Shape{x[0], x[1], packed},
                 {source.Use(input), source.Parameter(weight, root, "weight", Shape{stored[1], stored[0]}),
                  source.Parameter(source.In(root, 2), root, "bias")});
  const Shape third{x[0], x[1], packed / 3};
  Projections p{.query = {}, .key = {}, .value = {}, .queries = third, .keys = third, .values = third};
  int64_t start = 0;
  for (Operand* part : {&p.query, &p.key, &p.value}) {
    *part = parts.Make("slice", third, {linear}, Named({{"dim", int64_t{2}}, {"start", start}, {"step", int64_t{1}}}));
    start += packed / 3;
  }
  p.masked = source.In(root, 3).valid();
  return EmitAttention(source, root, p);
}

// query, key, value [B, S, H], bias?, key_padding_mask?
bool MatchMultiHeadAttention(PatternSource& source, NodeId root) {
  const TensorId query = source.In(root, 0), key = source.In(root, 1), value = source.In(root, 2);
  if (!key.valid() || !value.valid() || source.In(root, 3).valid() || source[root].outputs.size() > 1) return false;
  Projections p{.query = source.Use(query),
                .key = source.Use(key),
                .value = source.Use(value),
                .queries = source.ShapeOf(query),
                .keys = source.ShapeOf(key),
                .values = source.ShapeOf(value),
                .masked = source.In(root, 4).valid() || source.In(root, 5).valid()};
  if (p.queries.rank() != 3 || p.keys.rank() != 3 || p.values.rank() != 3) return false;
  return EmitAttention(source, root, p);
}

// ids, segments?, word table, position table, segment table?, gamma, beta, mask?: the sum of the tables' rows,
// normalised.
bool MatchEmbedNorm(PatternSource& source, NodeId root) {
  const Shape out = source.ShapeOf(source[root].outputs[0]);
  if (out.rank() != 3) return false;
  Parts parts(source, root);
  Operand sum =
      parts.Make("embedding", out,
                 {source.Parameter(source.In(root, 2), root, "word_embeddings"), source.Use(source.In(root, 0))});
  if (source.In(root, 1).valid() && source.In(root, 4).valid()) {
    const Operand segments =
        parts.Make("embedding", out,
                   {source.Parameter(source.In(root, 4), root, "segment_embeddings"), source.Use(source.In(root, 1))});
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
  const Operand lengths = parts.Out(1);  // of the mask
  if (lengths.valid()) {
    const TensorId mask = source.In(root, 7);
    parts.Put("sum", {source.Use(mask.valid() ? mask : source.In(root, 0))}, lengths,
              Named({{"dim", std::vector<int64_t>{1}}}));
  }
  return true;
}

}  // namespace

const PatternRows& MicrosoftAttentionPatterns() {
  static const PatternRows rows = {{"Attention", MatchAttention},
                                   {"MultiHeadAttention", MatchMultiHeadAttention},
                                   {"EmbedLayerNormalization", MatchEmbedNorm}};
  return rows;
}

}  // namespace vramplan
