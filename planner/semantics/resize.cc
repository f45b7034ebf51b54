// Resizing: a new tensor each way, nothing kept. Layout: the output lies like the input, the gradient of the input like
// the arriving gradient (suggest_memory_format in aten/src/ATen/native/UpSample*.cpp); a strided operand is copied for
// the kernel.
#include <string_view>

#include "planner/semantics/concat.h"
#include "planner/semantics/table.h"

namespace vramplan::eager {
namespace {

// Allocated in t's memory format: channels-last or contiguous.
Tensor EmptyInFormatOf(Eager& e, const Tensor& t, const Shape& sizes) {
  return IsChannelsLast(*t) ? e.EmptyStrided(sizes, ChannelsLastStrides(e.At(sizes)), t->dtype)
                            : e.Empty(sizes, t->dtype);
}

// A copy for kernels that read only dense memory.
Tensor Dense(Eager& e, const Tensor& t, bool reads_channels_last) {
  if (reads_channels_last && IsChannelsLast(*t)) return ContiguousIn(e, t, !IsContiguous(*t));
  return ContiguousIn(e, t, false);
}

struct ResizeRow {
  std::string_view op;
  const char* name;
  const char* node;
  bool reads_strided;        // the forward kernel follows strides
  bool reads_channels_last;  // the backward kernel knows channels-last gradients
};
constexpr ResizeRow kResizeRows[] = {
    {"upsample_nearest1d", "aten::upsample_nearest1d", "UpsampleNearest1DBackward0", false, true},
    {"upsample_nearest2d", "aten::upsample_nearest2d", "UpsampleNearest2DBackward0", false, true},
    {"upsample_nearest3d", "aten::upsample_nearest3d", "UpsampleNearest3DBackward0", false, true},
    {"_upsample_nearest_exact1d", "aten::_upsample_nearest_exact1d", "UpsampleNearestExact1DBackward0", false, true},
    {"_upsample_nearest_exact2d", "aten::_upsample_nearest_exact2d", "UpsampleNearestExact2DBackward0", false, true},
    {"_upsample_nearest_exact3d", "aten::_upsample_nearest_exact3d", "UpsampleNearestExact3DBackward0", false, true},
    {"upsample_linear1d", "aten::upsample_linear1d", "UpsampleLinear1DBackward0", true, true},
    {"upsample_bilinear2d", "aten::upsample_bilinear2d", "UpsampleBilinear2DBackward0", true, true},
    {"_upsample_bilinear2d_aa", "aten::_upsample_bilinear2d_aa", "UpsampleBilinear2DAaBackward0", true, true},
    {"upsample_bicubic2d", "aten::upsample_bicubic2d", "UpsampleBicubic2DBackward0", true, false},
    {"_upsample_bicubic2d_aa", "aten::_upsample_bicubic2d_aa", "UpsampleBicubic2DAaBackward0", true, false},
    {"upsample_trilinear3d", "aten::upsample_trilinear3d", "UpsampleTrilinear3DBackward0", true, true},
};

void Resize(Call& c, const ResizeRow& row) {
  Eager& e = c.e;
  OpScope scope(e, row.name);
  const Tensor& x = c.In(0);
  Tensor out = EmptyInFormatOf(e, x, c.OutShape());
  // Kernels that follow strides read a part of a channels-last image from a copy, too (UpSampleBilinear2d.cu 2.10).
  { const Tensor dense = row.reads_strided && !IsChannelsLast(*x) ? x : Dense(e, x, true); }
  if (GradNode* node = e.Record(row.node, {x}, {out})) {
    node->Backward([sizes = x->sizes, formats = row.reads_channels_last](GradContext& g) {
      const Tensor& grad = g.grad();
      Tensor result = formats ? EmptyInFormatOf(g.e, grad, sizes) : g.e.Empty(sizes, grad->dtype);
      const Tensor dense = Dense(g.e, grad, formats);
      g.Set(0, std::move(result));
    });
  }
  c.Return(std::move(out));
}

template <size_t row>
void RunResize(Call& c) {
  Resize(c, kResizeRows[row]);
}

template <size_t... rows>
std::vector<OpRule> ResizeRulesOf(std::index_sequence<rows...>) {
  return {{kResizeRows[rows].op, RunResize<rows>, Cast::kFloat32}...};
}

}  // namespace

std::vector<OpRule> ResizeRules() { return ResizeRulesOf(std::make_index_sequence<std::size(kResizeRows)>()); }

}  // namespace vramplan::eager
