#include "graph/shapes/window.h"

#include "graph/shapes/arithmetic.h"

namespace vramplan {

std::optional<Window> WindowOf(NodeInference& n, int spatial_axes, const std::vector<int64_t>& kernel) {
  Window w;
  const size_t axes = static_cast<size_t>(spatial_axes);
  w.kernel = n.Ints("kernel_shape");
  if (w.kernel.empty()) w.kernel = kernel;
  w.strides = n.Ints("strides");
  w.dilations = n.Ints("dilations");
  w.pads = n.Ints("pads");
  const std::string padding = n.Text("auto_pad", "NOTSET");
  w.same = padding == "SAME_UPPER" || padding == "SAME_LOWER";
  if (w.strides.empty()) w.strides.assign(axes, 1);
  if (w.dilations.empty()) w.dilations.assign(axes, 1);
  if (w.pads.empty() || padding == "VALID" || w.same) w.pads.assign(2 * axes, 0);
  const auto wrong = [&](const char* name, const std::vector<int64_t>& list, size_t size, int64_t least) {
    if (list.size() != size) {
      n.Fail(std::string(name) + " has " + std::to_string(list.size()) + " numbers for " + std::to_string(axes) +
             " spatial axes");
      return true;
    }
    for (int64_t v : list) {
      if (v >= least) continue;
      n.Fail(std::string(name) + " has the number " + std::to_string(v));
      return true;
    }
    return false;
  };
  if (wrong("kernel_shape", w.kernel, axes, 1) || wrong("strides", w.strides, axes, 1) ||
      wrong("dilations", w.dilations, axes, 1) || wrong("pads", w.pads, 2 * axes, 0)) {
    return std::nullopt;
  }
  return w;
}

Shape ChannelsFirst(const Shape& shape) {
  Shape moved = shape;
  if (shape.rank() < 3) return moved;
  moved.Remove(shape.rank() - 1);
  moved.Insert(1, shape.FromEnd(1));
  return moved;
}

Shape ChannelsLast(const Shape& shape) {
  Shape moved = shape;
  if (shape.rank() < 3) return moved;
  moved.Remove(1);
  moved.Append(shape[1]);
  return moved;
}

Dim Slid(const Window& w, size_t axis, Dim length, bool ceil_mode) {
  const int64_t stride = w.strides[axis];
  if (w.same) return CeilDivide(length, stride);
  const Dim begin(w.pads[axis]), end(w.pads[axis + w.kernel.size()]);
  const Dim reach = (Dim(w.kernel[axis]) - Dim(1)) * Dim(w.dilations[axis]) + Dim(1);
  const Dim room = length + begin + end - reach;
  if (!ceil_mode) return FloorDivide(room, Dim(stride)) + Dim(1);
  // The last window must start inside the input or the padding before it: ATen/native/Pool.h,
  // pooling_output_shape_pad_lr.
  const Dim windows = CeilDivide(room, stride) + Dim(1);
  return AlwaysAtLeast((windows - Dim(1)) * Dim(stride), length + begin) ? windows - Dim(1) : windows;
}

}  // namespace vramplan
