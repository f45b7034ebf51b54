#include "graph/programs/aten_shaping.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace vramplan {
namespace {

// The digit before the final 'd' of conv2d, avg_pool3d; 0 without one.
int SpatialAxesOf(const std::string& op) {
  if (op.size() < 2 || op.back() != 'd') return 0;
  const char digit = op[op.size() - 2];
  return digit >= '1' && digit <= '3' ? digit - '0' : 0;
}

// The attribute as a list of `length`: 2 -> [2, 2], [2] -> [2, 2], absent or empty -> `otherwise` repeated.
std::vector<int64_t> ListOf(const Attributes& attributes, const std::string& name, int length, int64_t otherwise) {
  const auto count = static_cast<size_t>(length);
  if (const auto* one = attributes.Get<int64_t>(name)) return std::vector<int64_t>(count, *one);
  const std::vector<int64_t> list = attributes.Ints(name);
  if (list.size() == count) return list;
  return std::vector<int64_t>(count, list.empty() ? otherwise : list.front());
}

int RankOf(const LayerBuilder& builder, ValueId value) { return value.valid() ? builder.At(value).shape.rank() : 0; }

ValueId First(const AtenCall& call) { return call.inputs.empty() ? ValueId{} : call.inputs.front(); }

}  // namespace

void ShapeConvolution(AtenCall& call, const LayerBuilder& builder) {
  const Shape* weight = call.inputs.size() > 1 && call.inputs[1].valid() ? &builder.At(call.inputs[1]).shape : nullptr;
  if (call.op == "convolution") {
    int rank = RankOf(builder, First(call));
    if (weight != nullptr && weight->rank() > 2) rank = weight->rank();
    const bool transposed = call.attributes.Int("transposed", 0) != 0;
    call.op = (transposed ? "conv_transpose" : "conv") + std::to_string(rank - 2) + "d";
  }
  const int axes = SpatialAxesOf(call.op);
  std::vector<int64_t> kernel;
  if (weight != nullptr && weight->rank() == axes + 2) {
    for (int i = 2; i < axes + 2; ++i) kernel.push_back((*weight)[i].IsConstant() ? (*weight)[i].c0() : 0);
  }
  const std::vector<int64_t> dilation = ListOf(call.attributes, "dilation", axes, 1);
  const std::string mode = call.attributes.Text("padding", "");
  std::vector<int64_t> padding = ListOf(call.attributes, "padding", axes, 0);
  std::vector<int64_t> more(padding.size(), 0);
  if (mode == "same") {
    for (size_t i = 0; i < padding.size() && i < kernel.size(); ++i) {
      padding[i] = dilation[i] * (kernel[i] - 1) / 2;
      more[i] = dilation[i] * (kernel[i] - 1) % 2;
    }
  }
  Attributes shaped = Named({{"kernel_size", kernel},
                             {"stride", ListOf(call.attributes, "stride", axes, 1)},
                             {"padding", padding},
                             {"dilation", dilation},
                             {"groups", call.attributes.Int("groups", 1)}});
  if (std::count(more.begin(), more.end(), 1) > 0) shaped.Set("padded_at_end", more);
  if (call.op.find("transpose") != std::string::npos)
    shaped.Set("output_padding", ListOf(call.attributes, "output_padding", axes, 0));
  call.attributes = std::move(shaped);
}

void ShapePool(AtenCall& call, const LayerBuilder&) {
  const int axes = SpatialAxesOf(call.op);
  const std::vector<int64_t> kernel = ListOf(call.attributes, "kernel_size", axes, 1);
  std::vector<int64_t> stride = ListOf(call.attributes, "stride", axes, 0);
  if (!stride.empty() && stride.front() == 0) stride = kernel;  // schema: stride=[] means kernel_size
  call.attributes.Set("kernel_size", kernel);
  call.attributes.Set("stride", std::move(stride));
  call.attributes.Set("padding", ListOf(call.attributes, "padding", axes, 0));
}

void ShapeBatchNormInference(AtenCall& call, const LayerBuilder&) { call.attributes.Set("training", int64_t{0}); }

void ShapeBatchNormWithoutStatistics(AtenCall& call, const LayerBuilder&) { call.inputs.resize(5); }

void ShapeLayerNorm(AtenCall& call, const LayerBuilder&) {
  const auto axes = static_cast<int64_t>(call.attributes.Ints("normalized_shape").size());
  call.attributes = Named({{"normalized_axes", axes}});
}

void ShapeDims(AtenCall& call, const LayerBuilder& builder) {
  const int rank = RankOf(builder, First(call));
  for (const char* name : {"dim", "dim0", "dim1", "dims"}) {
    if (const auto* axis = call.attributes.Get<int64_t>(name)) {
      call.attributes.Set(name, FromFront(*axis, rank));
    } else if (const auto* axes = call.attributes.Get<std::vector<int64_t>>(name)) {
      std::vector<int64_t> counted = *axes;
      for (int64_t& one : counted) one = FromFront(one, rank);
      call.attributes.Set(name, std::move(counted));
    }
  }
  // Schema defaults.
  if (call.op == "cosine_similarity") call.attributes.Set("dim", call.attributes.Int("dim", 1));
  if (call.op == "cat" || call.op == "unbind" || call.op == "split")
    call.attributes.Set("dim", call.attributes.Int("dim", 0));
  if (call.op == "topk" || call.op == "sort") call.attributes.Set("dim", call.attributes.Int("dim", rank - 1));
  // Reductions take a list; one axis is a list of one.
  if (call.attributes.Has("keepdim")) {
    if (const auto* axis = call.attributes.Get<int64_t>("dim")) call.attributes.Set("dim", std::vector<int64_t>{*axis});
  }
}

void ShapeTranspose(AtenCall& call, const LayerBuilder& builder) {
  const int rank = RankOf(builder, First(call));
  call.attributes.Set("dim0", static_cast<int64_t>(rank >= 2 ? rank - 2 : 0));
  call.attributes.Set("dim1", static_cast<int64_t>(rank >= 1 ? rank - 1 : 0));
}

void ShapeDiagonal(AtenCall& call, const LayerBuilder& builder) {
  const int rank = RankOf(builder, First(call));
  call.attributes.Set("offset", call.attributes.Int("offset", 0));
  call.attributes.Set("dim1", FromFront(call.attributes.Int("dim1", 0), rank));
  call.attributes.Set("dim2", FromFront(call.attributes.Int("dim2", 1), rank));
}

void ShapeSlice(AtenCall& call, const LayerBuilder& builder) {
  ShapeDims(call, builder);
  call.attributes.Set("dim", call.attributes.Int("dim", 0));
  call.attributes.Set("start", call.attributes.Int("start", 0));
  call.attributes.Set("step", call.attributes.Int("step", 1));
}

void ShapePad(AtenCall& call, const LayerBuilder&) {
  call.attributes.Set("mode", call.attributes.Text("mode", "constant"));
}
void ShapeReflect(AtenCall& call, const LayerBuilder&) { call.attributes.Set("mode", std::string("reflect")); }
void ShapeReplicate(AtenCall& call, const LayerBuilder&) { call.attributes.Set("mode", std::string("replicate")); }

// Decompositions index so; programs do not.
void ShapeUncheckedIndex(AtenCall& call, const LayerBuilder&) { call.attributes.Set("unchecked", int64_t{1}); }

void ShapeUnfold(AtenCall& call, const LayerBuilder& builder) {
  call.attributes.Set("dimension", FromFront(call.attributes.Int("dimension", 0), RankOf(builder, First(call))));
}

void ShapeAlias(AtenCall& call, const LayerBuilder&) { call.alias = true; }

void ShapeClone(AtenCall& call, const LayerBuilder&) {
  call.op = "contiguous";
  call.attributes = {};
}

void ShapeTo(AtenCall& call, const LayerBuilder& builder) {
  if (!First(call).valid()) {  // a number that comes from the host
    call.op = "full";
    return;
  }
  if (call.outputs.empty()) return;
  // The same type on the same device is the same tensor (aten/src/ATen/native/TensorConversions.cpp, to_will_alias).
  call.alias = builder.At(First(call)).type == builder.At(call.outputs.front()).type;
}

// The exporter writes out what arithmetic promotes by itself (torch/onnx/_internal/fx/passes/type_promotion.py); a
// program's own conversion is a _to_copy.
void ShapePromotion(AtenCall& call, const LayerBuilder& builder) {
  ShapeTo(call, builder);
  if (call.outputs.empty() || !First(call).valid()) return;
  const bool promotes = !IsFloating(builder.At(First(call)).type) && IsFloating(builder.At(call.outputs.front()).type);
  call.alias = call.alias || promotes;
}

void ShapeBroadcast(AtenCall& call, const LayerBuilder& builder) {
  if (call.outputs.empty() || !First(call).valid()) return;
  const Shape &from = builder.At(First(call)).shape, &to = builder.At(call.outputs.front()).shape;
  if (from.Elements() == to.Elements()) call.op = "reshape";
}

void ShapePow(AtenCall& call, const LayerBuilder&) {
  if (call.attributes.Has("scalar")) call.attributes.Set("exponent", call.attributes.Real("scalar", 1));
}

void ShapeDropout(AtenCall& call, const LayerBuilder&) {
  // at::dropout gives its input back in inference and for p = 0 (aten/src/ATen/native/Dropout.cpp, _dropout_impl).
  call.alias = call.attributes.Int("train", 1) == 0 || call.attributes.Real("p", 0.5) == 0;
  call.attributes = Named({{"p", call.attributes.Real("p", 0.5)}});
}

void ShapeWriteInPlace(AtenCall& call, const LayerBuilder& builder) {
  ShapeDims(call, builder);
  call.attributes.Set("inplace", int64_t{1});
}

// The schema's reduction is a number (aten/src/ATen/core/Reduction.h); a mean is the default and left out.
void ShapeLoss(AtenCall& call, const LayerBuilder&) {
  const int64_t reduction = call.attributes.Int("reduction", 1);
  Attributes shaped;
  if (reduction != 1) shaped.Set("reduction", std::string(reduction == 0 ? "none" : "sum"));
  if (call.attributes.Int("log_target", 0) != 0) shaped.Set("log_target", int64_t{1});
  const double smoothing = call.attributes.Real("label_smoothing", 0);
  if (smoothing != 0) shaped.Set("label_smoothing", smoothing);
  call.attributes = std::move(shaped);
}

void ShapeRecurrent(AtenCall& call, const LayerBuilder& builder) {
  // hx of an lstm is the list [h, c]; a gru and an rnn have one state, so the third place stays absent.
  if (call.op != "lstm" && call.inputs.size() >= 2) call.inputs.insert(call.inputs.begin() + 2, ValueId{});
  for (const ValueId weight : call.inputs) {
    if (!weight.valid() || builder.At(weight).role != Role::kParameter || builder.At(weight).shape.rank() != 2)
      continue;
    const Dim hidden = builder.At(weight).shape[0];  // weight_ih_l0: [gates * hidden, input]
    const int64_t gates = call.op == "lstm" ? 4 : call.op == "gru" ? 3 : 1;
    if (hidden.IsConstant()) call.attributes.Set("hidden_size", hidden.c0() / gates);
    break;
  }
}

}  // namespace vramplan
