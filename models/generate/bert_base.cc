// BertForSequenceClassification with the sizes of bert-base-uncased and two labels, sdpa attention, a padding mask.
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "models/generate/layers.h"
#include "models/generate/models.h"

namespace vramplan::models {
namespace {

constexpr int64_t kFeatures = 768;
constexpr int64_t kHeadFeatures = 64;
constexpr int64_t kPositions = 512;
constexpr int kLayers = 12;
constexpr float kEpsilon = 1e-12F;
constexpr float kDropout = 0.1F;

// Values that the first layers make and later ones use again.
struct Shared {
  Value batch, sequence;  // sizes
  Value zero, minus_one;  // scalars
  Value mask;             // [batch, 1, sequence, sequence], true where attention may look
  Value head_features;    // 64
  Value scale;            // 1 / sqrt(64)
};

Value Embeddings(const Module& m, const Value& input_ids, Shared* shared) {
  // Registered in this order; used in another.
  m.Child("word_embeddings").Parameter("weight", {30522, kFeatures});
  m.Child("position_embeddings").Parameter("weight", {kPositions, kFeatures});
  m.Child("token_type_embeddings").Parameter("weight", {2, kFeatures});

  shared->zero = m.Make(Int(0));
  const Value batch = SizeOf(m, input_ids, 0);
  const Value one = m.Make(Int(1));
  const Value sequence = SizeOf(m, input_ids, 1);

  // position_ids[:, 0:sequence]
  std::vector<int64_t> positions(kPositions);
  std::iota(positions.begin(), positions.end(), 0);
  const Value position_ids = m.MakeUnscoped(Constant{.dims = {1, kPositions}, .values = std::move(positions)});
  const auto unsqueeze = [&](const Value& x) {
    const Value axis = m.Make(Ints({0}));
    return m.Op("Unsqueeze", {x, axis});
  };
  const Value axes = unsqueeze(one);
  const Value starts = unsqueeze(shared->zero);
  const Value ends = unsqueeze(sequence);
  const Value steps = unsqueeze(one);
  const Value position = Slice(m, {position_ids, starts, ends, axes, steps});

  // token_type_ids.expand(position.size(0), -1), gathered at the positions, expanded to the batch: all zeros
  const Value rows = SizeOf(m, position, 0);
  const Value token_types = m.Make(Constant{.dims = {1, kPositions}, .values = std::vector<int64_t>(kPositions, 0)});
  shared->minus_one = m.Make(Int(-1));
  Value token_type = ExpandTo(m, token_types, StackSizes(m, {rows, shared->minus_one}, Scoped::kYes));
  token_type = m.Op("GatherElements", {token_type, position}, {{"axis", int64_t{1}}});
  token_type = ExpandTo(m, token_type, StackSizes(m, {batch, sequence}, Scoped::kYes));

  const Value words = Embedding(m.Child("word_embeddings"), input_ids, 30522, kFeatures);
  const Value types = Embedding(m.Child("token_type_embeddings"), token_type, 2, kFeatures);
  Value x = m.Op("Add", {words, types});
  x = m.Op("Add", {x, Embedding(m.Child("position_embeddings"), position, kPositions, kFeatures)});
  return Dropout(m.Child("dropout"), LayerNorm(m.Child("LayerNorm"), x, kFeatures, kEpsilon), kDropout);
}

// 0 .. size - 1 along one axis of four.
Value Arange(const Module& m, const Value& size) {
  const Value limit = Cast(m, size, onnx::TensorProto::INT64);
  const Value start = m.Make(Int(0));
  return m.Op("Range", {start, limit, m.Make(Int(1))});
}

Value UnsqueezeAt(const Module& m, Value x, const std::vector<int64_t>& axes) {
  for (const int64_t axis : axes) {
    const Value at = m.Make(Ints({axis}));
    x = m.Op("Unsqueeze", {x, at});
  }
  return x;
}

// The padding mask as transformers builds it: index arithmetic over batch, query and key, broadcast together.
void PaddingMask(const Module& m, const Value& attention_mask, const Value& x, Shared* shared) {
  const Value padding = Cast(m, attention_mask, onnx::TensorProto::BOOL);
  shared->sequence = SizeOf(m, x, 1);
  const Value keys = SizeOf(m, padding, 1);
  shared->batch = SizeOf(m, x, 0);
  const Value batch_range = Arange(m, shared->batch);
  const Value query_range = Arange(m, shared->sequence);
  const Value key_range = Arange(m, keys);
  const Value batch_index = UnsqueezeAt(m, batch_range, {1, 2, 3});
  const Value query_index = UnsqueezeAt(m, query_range, {0, 1, 3});
  const Value key_index = UnsqueezeAt(m, key_range, {0, 1, 2});

  const Value scalar_shape = m.Make(Ints({}));
  const Value everywhere = m.Op("ConstantOfShape", {scalar_shape}, {{"value", Truth(true, {1})}});
  const Value not_negative = m.Op("GreaterOrEqual", {query_index, m.Make(Int(0))});
  const Value bidirectional = m.Op("And", {everywhere, Cast(m, not_negative, onnx::TensorProto::BOOL)});

  // padding[batch_index, key_index] by flat index
  const Value padding_shape = m.Op("Shape", {padding});
  const Value columns = m.Op("Gather", {padding_shape, m.Make(Ints({1}))}, {{"axis", int64_t{0}}});
  const Value flat = m.Op("Flatten", {padding}, {{"axis", int64_t{2}}});
  const Value index = m.Op("Add", {key_index, m.Op("Mul", {batch_index, columns})});
  Value looked_up = m.Op("Gather", {flat, index}, {{"axis", int64_t{0}}});
  const Value index_shape = m.Op("Shape", {index});
  const Value minus_one = m.Make(Ints({-1}));
  looked_up = Reshape(m, looked_up, m.Op("Concat", {minus_one}, {{"axis", int64_t{0}}}));
  looked_up = Reshape(m, looked_up, m.Op("Concat", {index_shape}, {{"axis", int64_t{0}}}));
  const Value seen = m.Op("And", {bidirectional, Cast(m, looked_up, onnx::TensorProto::BOOL)});
  shared->mask =
      ExpandTo(m, seen, StackSizes(m, {shared->batch, shared->minus_one, shared->sequence, keys}, Scoped::kYes));
}

Value SelfAttention(const Module& m, const Value& x, bool first, Shared* shared) {
  // The first layer's sizes are those that the mask asked for.
  const Value batch = first ? shared->batch : SizeOf(m, x, 0);
  const Value sequence = first ? shared->sequence : SizeOf(m, x, 1);
  Value query = LinearOnSequence(m.Child("query"), x, kFeatures, kFeatures);
  if (first) shared->head_features = m.Make(Int(kHeadFeatures));
  const std::vector<Value> by_head = {batch, sequence, shared->minus_one, shared->head_features};
  const Value query_shape = StackSizes(m, by_head, Scoped::kNo);
  const Value key_shape = StackSizes(m, by_head, Scoped::kNo);
  const Value value_shape = StackSizes(m, by_head, Scoped::kNo);
  query = Transpose(m, Reshape(m, query, query_shape), {0, 2, 1, 3});
  const Value key = Reshape(m, LinearOnSequence(m.Child("key"), x, kFeatures, kFeatures), key_shape);
  Value value = Reshape(m, LinearOnSequence(m.Child("value"), x, kFeatures, kFeatures), value_shape);
  value = Transpose(m, value, {0, 2, 1, 3});

  // scaled_dot_product_attention: query and key each times the root of the scale, then an additive mask
  const Value length = SizeOf(m, query, 2);
  if (first) shared->scale = m.Make(Double(1.0 / std::sqrt(static_cast<double>(kHeadFeatures))));
  const Value transposed_key = Transpose(m, key, {0, 2, 3, 1});
  const auto scaled = [&](const Value& y) {
    const Value root = m.Op("Sqrt", {shared->scale});
    return m.Op("Mul", {y, Cast(m, root, onnx::TensorProto::FLOAT)});
  };
  const Value scaled_query = scaled(query);
  const Value scaled_key = scaled(transposed_key);
  const Value scores = m.Op("MatMul", {scaled_query, scaled_key});
  const Value keep = m.Make(Reals({0.0F}));
  const Value drop = m.Make(Reals({-std::numeric_limits<float>::infinity()}));
  const Value bias = m.Op("Where", {shared->mask, keep, drop});
  const Value weights = m.Op("Softmax", {m.Op("Add", {scores, bias})}, {{"axis", int64_t{-1}}});
  const Value all_masked = m.Op("IsNaN", {weights});
  const Value zero = m.Make(Reals({0.0F}));
  const Value safe = m.Op("Where", {all_masked, zero, weights});
  const Value dropped = m.Op("Dropout", {safe, m.Make(Real(kDropout))});
  Value y = m.Op("MatMul", {dropped, value});

  const Value rows = SizeOf(m, y, 0);
  const Value features = SizeOf(m, value, 3);
  y = Reshape(m, y, StackSizes(m, {rows, shared->minus_one, length, features}, Scoped::kNo));
  y = Transpose(m, y, {0, 2, 1, 3});
  return Reshape(m, y, StackSizes(m, {batch, sequence, shared->minus_one}, Scoped::kNo));
}

// Linear, dropout, the residual, LayerNorm: behind attention and behind the feed-forward part alike.
Value AddAndNorm(const Module& m, const Value& x, int64_t in, const Value& residual) {
  const Value y = Dropout(m.Child("dropout"), LinearOnSequence(m.Child("dense"), x, in, kFeatures), kDropout);
  return LayerNorm(m.Child("LayerNorm"), m.Op("Add", {y, residual}), kFeatures, kEpsilon);
}

}  // namespace

std::string BertBase() {
  GraphWriter graph("bert_base");
  const Module net = graph.root();
  const Value input_ids = graph.Input("input_ids", onnx::TensorProto::INT64, {"batch", "sequence"});
  const Value attention_mask = graph.Input("attention_mask", onnx::TensorProto::INT64, {"batch", "sequence"});
  const Module bert = net.Child("bert");
  Shared shared;
  Value x = Embeddings(bert.Child("embeddings"), input_ids, &shared);
  PaddingMask(bert, attention_mask, x, &shared);
  for (int i = 0; i < kLayers; ++i) {
    const Module layer = bert.Child("encoder").Child("layer." + std::to_string(i));
    const Module attention = layer.Child("attention");
    x = AddAndNorm(attention.Child("output"), SelfAttention(attention.Child("self"), x, i == 0, &shared), kFeatures, x);
    const Module intermediate = layer.Child("intermediate");
    Value y = LinearOnSequence(intermediate.Child("dense"), x, kFeatures, 4 * kFeatures);
    y = Gelu(intermediate.Child("intermediate_act_fn"), y);
    x = AddAndNorm(layer.Child("output"), y, 4 * kFeatures, x);
  }
  const Module pooler = bert.Child("pooler");
  x = pooler.Op("Gather", {x, shared.zero}, {{"axis", int64_t{1}}});
  x = LinearOnMatrix(pooler.Child("dense"), x, kFeatures, kFeatures);
  x = pooler.Child("activation").Op("Tanh", {x});
  x = LinearOnMatrix(net.Child("classifier"), Dropout(net.Child("dropout"), x, kDropout), kFeatures, 2);
  graph.Output(x, "output", {"batch", 2});
  return graph.Bytes();
}

}  // namespace vramplan::models
