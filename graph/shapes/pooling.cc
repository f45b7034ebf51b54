// Poolings: over windows, over all of space, over regions.
#include "graph/shapes/window.h"

namespace vramplan {

void PoolOf(NodeInference& n, bool channels_last) {
  if (n.outputs() > 1) n.Out(1).type = DType::kInt64;
  if (!n.ShapeOf(0)) return;
  const Shape x = channels_last ? ChannelsFirst(*n.ShapeOf(0)) : *n.ShapeOf(0);
  if (x.rank() < 3) return n.Fail(n.Describe(0) + " has no spatial axes");
  const auto window = WindowOf(n, x.rank() - 2, {});
  if (!window) return;
  Shape out{x[0], x[1]};
  for (int i = 2; i < x.rank(); ++i) {
    const Dim length = Slid(*window, static_cast<size_t>(i - 2), x[i], n.Int("ceil_mode", 0) != 0);
    if (length.IsConstant() && length.c0() < 1) return n.Fail("its kernel is larger than its input " + n.Describe(0));
    out.Append(length);
  }
  if (channels_last) out = ChannelsLast(out);
  for (int i = 0; i < n.outputs(); ++i) n.SetShape(i, out);
}

namespace {

void Pool(NodeInference& n) { PoolOf(n); }

void GlobalPool(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  Shape out = *n.ShapeOf(0);
  if (out.rank() < 2) return n.Fail(n.Describe(0) + " has no channels");
  for (int i = 2; i < out.rank(); ++i) out[i] = 1;
  n.SetShape(0, out);
}

// The inverse of MaxPool without padding behind: stride*(length - 1) + kernel - pads, or the shape in input 2 (onnx
// MaxUnpool-11).
void MaxUnpool(NodeInference& n) {
  if (n.Has(2)) {
    if (const auto target = n.Target(2)) n.SetShape(0, *target);
    return;
  }
  if (!n.ShapeOf(0)) return;
  const Shape& x = *n.ShapeOf(0);
  if (x.rank() < 3) return n.Fail(n.Describe(0) + " has no spatial axes");
  const auto window = WindowOf(n, x.rank() - 2, {});
  if (!window) return;
  Shape out{x[0], x[1]};
  for (size_t i = 0; i < window->kernel.size(); ++i) {
    out.Append(Dim(window->strides[i]) * (x[static_cast<int>(i) + 2] - Dim(1)) + Dim(window->kernel[i]) -
               Dim(window->pads[i]) - Dim(window->pads[i + window->kernel.size()]));
  }
  n.SetShape(0, out);
}

// [regions, C, height, width]; the regions are the rows of input 1.
void RegionPool(NodeInference& n) {
  if (!n.ShapeOf(0) || !n.ShapeOf(1)) return;
  if (n.ShapeOf(0)->rank() != 4 || n.ShapeOf(1)->rank() < 1)
    return n.Fail("it pools regions " + n.Describe(1) + " of " + n.Describe(0));
  const std::vector<int64_t> pooled = n.Ints("pooled_shape");
  const int64_t height = pooled.size() == 2 ? pooled[0] : n.Int("output_height", 1);
  const int64_t width = pooled.size() == 2 ? pooled[1] : n.Int("output_width", 1);
  n.SetShape(0, Shape{(*n.ShapeOf(1))[0], (*n.ShapeOf(0))[1], height, width});
}

constexpr RuleRow kPoolingRows[] = {
    {"AveragePool", Pool},
    {"LpPool", Pool},
    {"MaxPool", Pool},
    {"GlobalAveragePool", GlobalPool},
    {"GlobalLpPool", GlobalPool},
    {"GlobalMaxPool", GlobalPool},
    {"MaxUnpool", MaxUnpool},
    {"MaxRoiPool", RegionPool},
    {"RoiAlign", RegionPool},
};

}  // namespace

constinit const std::span<const RuleRow> kPoolingRules(kPoolingRows);

}  // namespace vramplan
