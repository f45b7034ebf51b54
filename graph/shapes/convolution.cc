// Convolutions: Conv, ConvTranspose, their integer forms, DeformConv, Col2Im.
#include "graph/shapes/arithmetic.h"
#include "graph/shapes/window.h"

namespace vramplan {
namespace {

// The constant lengths of axes [2, rank) of a weight; empty when one is not constant.
std::vector<int64_t> KernelOf(const Shape& weight) {
  std::vector<int64_t> kernel;
  for (int i = 2; i < weight.rank(); ++i) {
    if (!weight[i].IsConstant()) return {};
    kernel.push_back(weight[i].c0());
  }
  return kernel;
}

}  // namespace

// X [N, C, ...] and W [M, C/group, ...] give [N, M, ...].
void ConvOf(NodeInference& n, int input, int weight_input, bool channels_last) {
  if (!n.ShapeOf(input) || !n.ShapeOf(weight_input)) return;
  const Shape x = channels_last ? ChannelsFirst(*n.ShapeOf(input)) : *n.ShapeOf(input);
  const Shape& w = *n.ShapeOf(weight_input);
  if (x.rank() < 3 || w.rank() != x.rank())
    return n.Fail(n.Describe(weight_input) + " is not a kernel for " + n.Describe(input));
  const int64_t group = n.Int("group", 1);
  const Dim channels = w[1] * Dim(group);
  if (group < 1 || !n.Same(x[1], channels)) {
    return n.Fail(n.Describe(input) + " does not have the channels of " + n.Describe(weight_input) + " in " +
                  std::to_string(group) + " groups");
  }
  const auto window = WindowOf(n, x.rank() - 2, KernelOf(w));
  if (!window) return;
  Shape out{x[0], w[0]};
  for (int i = 2; i < x.rank(); ++i) {
    const Dim length = Slid(*window, static_cast<size_t>(i - 2), x[i], false);
    if (length.IsConstant() && length.c0() < 1)
      return n.Fail("its kernel is larger than its input " + n.Describe(input));
    out.Append(length);
  }
  n.SetShape(0, channels_last ? ChannelsLast(out) : out);
}

namespace {

void Conv(NodeInference& n) { ConvOf(n, 0, 1); }

// x, x_scale, x_zero_point, w, ... y_zero_point (onnx QLinearConv-10).
void QLinearConv(NodeInference& n) {
  n.Out(0).type = n.In(7).type;
  ConvOf(n, 0, 3);
}

// X [N, C, ...] and W [C, M/group, ...] give [N, M, ...] of stride*(length - 1) + output_padding + reach - pads (onnx
// ConvTranspose-11).
void ConvTranspose(NodeInference& n) {
  if (!n.ShapeOf(0) || !n.ShapeOf(1)) return;
  const Shape& x = *n.ShapeOf(0);
  const Shape& w = *n.ShapeOf(1);
  if (x.rank() < 3 || w.rank() != x.rank()) return n.Fail(n.Describe(1) + " is not a kernel for " + n.Describe(0));
  if (!n.Same(x[1], w[0])) return n.Fail(n.Describe(0) + " does not have the channels of " + n.Describe(1));
  const auto window = WindowOf(n, x.rank() - 2, KernelOf(w));
  if (!window) return;
  const size_t axes = static_cast<size_t>(x.rank() - 2);
  std::vector<int64_t> extra = n.Ints("output_padding");
  if (extra.empty()) extra.assign(axes, 0);
  std::vector<int64_t> asked = n.Ints("output_shape");
  if (asked.size() == axes + 2) asked.erase(asked.begin(), asked.begin() + 2);  // some exporters name all axes
  if (extra.size() != axes || (!asked.empty() && asked.size() != axes))
    return n.Fail("output_padding or output_shape does not have one number per spatial axis");
  Shape out{x[0], w[1] * Dim(n.Int("group", 1))};
  for (size_t i = 0; i < axes; ++i) {
    const Dim length = x[static_cast<int>(i) + 2];
    const Dim stride(window->strides[i]);
    const Dim reach = (Dim(window->kernel[i]) - Dim(1)) * Dim(window->dilations[i]) + Dim(1);
    if (!asked.empty()) {
      out.Append(asked[i]);
    } else if (window->same) {
      out.Append(length * stride);
    } else {
      out.Append(stride * (length - Dim(1)) + Dim(extra[i]) + reach - Dim(window->pads[i]) -
                 Dim(window->pads[i + axes]));
    }
  }
  n.SetShape(0, out);
}

// Blocks [N, C*prod(block), L] to the image [N, C, ...] (onnx Col2Im-18).
void Col2Im(NodeInference& n) {
  if (!n.ShapeOf(0) || n.ShapeOf(0)->rank() != 3) return;
  const auto image = n.Target(1), block = n.Target(2);
  if (!image || !block) return;
  Dim size(1);
  for (const Dim& d : *block) size = size * d;
  const auto channels = Quotient((*n.ShapeOf(0))[1], size);
  std::vector<Dim> out{(*n.ShapeOf(0))[0], channels.value_or(Dim::Unknown())};
  out.insert(out.end(), image->begin(), image->end());
  n.SetShape(0, out);
}

constexpr RuleRow kConvolutionRows[] = {
    {"Conv", Conv},       {"ConvInteger", Conv, Type::kInt32}, {"QLinearConv", QLinearConv, Type::kRule},
    {"DeformConv", Conv}, {"ConvTranspose", ConvTranspose},    {"Col2Im", Col2Im},
};

}  // namespace

constinit const std::span<const RuleRow> kConvolutionRules(kConvolutionRows);

}  // namespace vramplan
