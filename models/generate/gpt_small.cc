// A small decoder: 8 blocks of 512 features and 8 heads, causal scaled_dot_product_attention, the head tied to the
// token embedding.
#include <limits>
#include <string>
#include <vector>

#include "models/generate/layers.h"
#include "models/generate/models.h"

namespace vramplan::models {
namespace {

constexpr int64_t kVocabulary = 50257;
constexpr int64_t kContext = 1024;
constexpr int64_t kFeatures = 512;
constexpr int64_t kHeads = 8;
constexpr int kBlocks = 8;
constexpr float kEpsilon = 1e-5F;
constexpr float kDropout = 0.1F;

// scaled_dot_product_attention(is_causal=True): the scale and the mask are computed from shapes.
// `key` is still [batch, sequence, heads, features]: its two transpositions are one.
Value CausalAttention(const Module& m, const Value& query, const Value& key_by_token, const Value& key,
                      const Value& value) {
  const Value query_shape = m.Op("Shape", {query});
  const Value last = m.Make(Ints({-1}));
  const Value end = m.Make(Ints({std::numeric_limits<int64_t>::max()}));
  Value scale = Cast(m, Slice(m, {query_shape, last, end}), onnx::TensorProto::FLOAT);
  scale = m.Op("Sqrt", {scale});
  const Value one = m.Make(Reals({1.0F}));
  scale = Cast(m, m.Op("Div", {one, scale}), onnx::TensorProto::FLOAT);

  const Value rows = m.Op("Shape", {query});
  const Value columns = m.Op("Shape", {key});
  const Value to = m.Make(Ints({-1}));
  const Value from = m.Make(Ints({-2}));
  const Value row_count = Slice(m, {rows, from, to});
  const Value column_count = Slice(m, {columns, from, to});
  const Value mask_shape = m.Op("Concat", {row_count, column_count}, {{"axis", int64_t{0}}});
  const Value ones = m.Op("Expand", {m.Make(Reals({1.0F})), mask_shape});
  const Value lower = m.Op("Trilu", {ones}, {{"upper", int64_t{0}}});
  const Value hidden = m.Op("Equal", {lower, m.Make(Reals({0.0F}))});
  const Value drop = m.Make(Reals({-std::numeric_limits<float>::infinity()}));
  const Value mask = m.Op("Where", {hidden, drop, m.Make(Reals({0.0F}))});

  const Value transposed_key = Transpose(m, key_by_token, {0, 2, 3, 1});
  const Value scaled_query = m.Op("Mul", {query, m.Op("Sqrt", {scale})});
  const Value scaled_key = m.Op("Mul", {transposed_key, m.Op("Sqrt", {scale})});
  const Value scores = m.Op("Add", {m.Op("MatMul", {scaled_query, scaled_key}), mask});
  return m.Op("MatMul", {m.Op("Softmax", {scores}, {{"axis", int64_t{-1}}}), value});
}

// `head_count` is the number of heads as a scalar: the first block makes it, the others use it again.
Value Block(const Module& m, Value x, Value* head_count) {
  const Value batch = SizeOf(m, x, 0);
  const Value sequence = SizeOf(m, x, 1);
  const Value features = SizeOf(m, x, 2);
  const Value qkv =
      LinearOnSequence(m.Child("qkv"), LayerNorm(m.Child("ln_1"), x, kFeatures, kEpsilon), kFeatures, 3 * kFeatures);
  const Value sizes = m.Make(Ints({kFeatures, kFeatures, kFeatures}));
  const std::vector<Value> parts = m.OpWithOutputs(3, "Split", {qkv, sizes}, {{"axis", int64_t{2}}});
  const Value quotient = m.Op("Div", {features, m.Make(Int(kHeads))});
  const Value head_features = Cast(m, Cast(m, quotient, onnx::TensorProto::INT64), onnx::TensorProto::INT64);
  if (head_count->empty()) *head_count = m.Make(Int(kHeads));
  const std::vector<Value> by_head = {batch, sequence, *head_count, head_features};
  std::vector<Value> shapes;
  for (int i = 0; i < 3; ++i) shapes.push_back(StackSizes(m, by_head, Scoped::kNo));
  std::vector<Value> by_token;
  std::vector<Value> heads;
  for (size_t i = 0; i < 3; ++i) {
    by_token.push_back(Reshape(m, parts[i], shapes[i]));
    heads.push_back(Transpose(m, by_token.back(), {0, 2, 1, 3}));
  }
  Value y = Transpose(m, CausalAttention(m, heads[0], by_token[1], heads[1], heads[2]), {0, 2, 1, 3});
  y = Reshape(m, y, StackSizes(m, {batch, sequence, features}, Scoped::kNo));
  const Module drop = m.Child("drop");
  x = m.Op("Add", {x, Dropout(drop, LinearOnSequence(m.Child("proj"), y, kFeatures, kFeatures), kDropout)});
  const Module mlp = m.Child("mlp");
  y = LinearOnSequence(mlp.Child("0"), LayerNorm(m.Child("ln_2"), x, kFeatures, kEpsilon), kFeatures, 4 * kFeatures);
  y = LinearOnSequence(mlp.Child("2"), Gelu(mlp.Child("1"), y), 4 * kFeatures, kFeatures);
  return m.Op("Add", {x, Dropout(drop.Again(1), y, kDropout)});
}

}  // namespace

std::string GptSmall() {
  GraphWriter graph("gpt_small");
  const Module net = graph.root();
  const Value input_ids = graph.Input("input_ids", onnx::TensorProto::INT64, {"batch", "sequence"});
  const Value tokens = Embedding(net.Child("wte"), input_ids, kVocabulary, kFeatures);
  const Value length = Cast(net, SizeOf(net, input_ids, 1), onnx::TensorProto::INT64);
  const Value start = net.Make(Int(0));
  const Value range = net.Op("Range", {start, length, net.Make(Int(1))});
  const Value positions = Embedding(net.Child("wpe"), range, kContext, kFeatures);
  Value x = Dropout(net.Child("drop"), net.Op("Add", {tokens, positions}), kDropout);
  Value head_count;
  for (int i = 0; i < kBlocks; ++i) x = Block(net.Child("h." + std::to_string(i)), x, &head_count);
  x = LayerNorm(net.Child("ln_f"), x, kFeatures, kEpsilon);
  const Value tied = net.Child("wte").Parameter("weight", {kVocabulary, kFeatures});
  x = Project(net.Child("head"), x, tied);
  graph.Output(x, "output", {"batch", "sequence", static_cast<int>(kVocabulary)});
  return graph.Bytes();
}

}  // namespace vramplan::models
