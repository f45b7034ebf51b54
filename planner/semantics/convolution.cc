// Convolutions: keep their input and their weight; which kernel runs decides the copies around it
// (aten/src/ATen/native/Convolution.cpp, cudnn/Conv_v8.cpp).
//
//   cuDNN       output, then the weight in the input's layout; backward: gradient of the input, of the weight, then the
//               bias' sum; transposed ones exchange forward and backward
//   depthwise   PyTorch's own kernel for contiguous fp32: output; backward: the weight first, then the input (in three
//               dimensions the input first)
//   native      what cuDNN is not asked for: convolution_native.h
//
// A convolution over one axis runs as one over two (views).
#include <algorithm>
#include <optional>
#include <utility>

#include "planner/semantics/concat.h"
#include "planner/semantics/convolution_native.h"
#include "planner/semantics/cudnn_workspace.h"
#include "planner/semantics/pointwise.h"
#include "planner/semantics/table.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

struct Convolution {
  bool transposed = false;
  bool depthwise = false;  // PyTorch's own kernel
  bool biased = false;
  bool channels_last = false;
  bool flat = false;  // over one axis
  std::optional<NativeConvolution> native;
};

// view4d, view3d (Convolution.cpp): an axis of length 1 is put before the last, and taken away again, below the tape:
// such a view holds no base.
Tensor WithAxis(Eager& e, const Tensor& t, bool there) {
  Shape sizes = t->sizes;
  there ? sizes.Insert(2, Dim(1)) : sizes.Remove(2);
  const NoGradGuard no_grad(e);
  return e.Alias(Squeeze(e, t, sizes));
}

// cudnn_conv_suggest_memory_format: the layout of the input or of the weight, whichever says channels last; strides
// [C, 1, C, C] of a pooled [N, C, 1, 1] do.
bool SuggestsChannelsLast(const Tensor& a, const Tensor& b) { return IsChannelsLast(*a) || IsChannelsLast(*b); }

Tensor EmptyIn(Eager& e, const Shape& sizes, DType type, bool channels_last) {
  return channels_last ? e.EmptyStrided(sizes, ChannelsLastStrides(e.At(sizes)), type) : e.Empty(sizes, type);
}

// check_cudnn_depthwise_workload_with_filter (Convolution.cpp, cuDNN 8.2 and later): what cuDNN is given in fp16. Each
// line was seen in PyTorch 2.10 (cuDNN 9.10) and 2.15, by which gradient is made first.
bool IsForCudnn(const Call& c, const Tensor& x, const Tensor& weight) {
  const auto both = [&](const char* name) {  // -1: not the same along both axes
    const std::vector<int64_t> steps = c.Ints(name);
    if (steps.empty()) return int64_t{1};
    return steps.front() == steps.back() ? steps.front() : int64_t{-1};
  };
  const int64_t stride = both("stride"), filter = weight->lengths[3], width = x->lengths[3];
  const int64_t batch = x->lengths[0], channels = x->lengths[1];
  if (x->dtype != DType::kFloat16 || both("dilation") != 1 || channels < 32) return false;
  if (x->lengths[2] == 1 && stride == 1) return true;
  if (weight->lengths[2] != filter || (filter != 1 && filter != 3 && filter != 5) || width < 7) return false;
  if (stride != 2) return stride == 1;
  if (batch == 1) return filter > 1 || width <= 28;
  if (filter == 1) return batch <= 16 && channels >= 128 && width <= 7;
  return channels >= 512 || (channels >= 256 && width >= 28);
}

// ConvParams::use_cudnn (Convolution.cpp): bf16 needs a card of capability 8.0, and a transposed one pads its output by
// less than a stride.
bool CudnnTakes(const Call& c, const Tensor& x) {
  if (x->dtype == DType::kBFloat16 && c.e.spec().capability.major < 8) return false;
  const std::vector<int64_t> padding = c.Ints("output_padding"), stride = c.Ints("stride");
  for (size_t i = 0; i < padding.size(); ++i) {
    if (padding[i] >= (i < stride.size() ? stride[i] : 1)) return false;
  }
  return true;
}

// ConvParams::is_depthwise: a group a channel.
bool IsDepthwise(const Call& c, const Tensor& x, const Tensor& weight, bool transposed) {
  const int64_t groups = c.Int("groups", 1);
  return !transposed && groups > 1 && groups == x->lengths[1] && weight->lengths[0] % x->lengths[1] == 0;
}

// ConvParams::use_cudnn_depthwise: with the channels fastest always; else fp16 over two axes may go to cuDNN, bf16 does
// not.
bool CudnnTakesDepthwise(const Call& c, const Tensor& x, const Tensor& weight, bool channels_last) {
  return channels_last || (x->dim() == 4 && IsForCudnn(c, x, weight));
}

// _select_conv_backend (Convolution.cpp): what is left for PyTorch's own kernels.
NativeConvolution NativeOf(const Call& c, const Tensor& x, const Tensor& weight, bool transposed) {
  const auto all = [&](const char* name, int64_t value) {
    const std::vector<int64_t> given = c.Ints(name);
    return std::all_of(given.begin(), given.end(), [&](int64_t i) { return i == value; });
  };
  NativeConvolution how;
  how.groups = c.Int("groups", 1);
  how.pointwise = all("stride", 1) && all("padding", 0);
  for (int i = 2; i < weight->dim(); ++i) how.pointwise = how.pointwise && weight->lengths[i] == 1;
  if (transposed) how.kernel = NativeKernel::kTransposed;
  if (!transposed && (x->dim() == 5 || !all("dilation", 1))) how.kernel = NativeKernel::kDilated;
  return how;
}

// The block that one call of cuDNN works in (cudnn_workspace.h). `x` and `y`: input and output of the forward.
Storage CudnnWorkspace(Eager& e, ConvolutionPass pass, const Tensor& x, const Tensor& y, const Tensor& weight,
                       bool channels_last) {
  if (e.spec().cudnn_workspace) return e.Scratch(*e.spec().cudnn_workspace, Category::kWorkspace);
  if (e.spec().measured_workspaces) {
    const auto lengths = [](const Tensor& t) {
      return std::vector<int64_t>(t->lengths.v.begin(), t->lengths.v.begin() + t->dim());
    };
    const auto measured =
        e.spec().measured_workspaces->Of({pass, x->dtype, channels_last, lengths(x), lengths(weight), lengths(y)});
    if (measured) return e.Scratch(*measured, Category::kWorkspace);
  }
  const auto elements = [](const Tensor& t, int from = 0) {
    int64_t product = 1;
    for (int i = from; i < t->lengths.n; ++i) product = SaturatingMultiply(product, t->lengths[i]);
    return product;
  };
  const auto bytes = [](const Tensor& t) { return SizeExpr::Of(t->dtype, t->sizes.Elements()); };
  ConvolutionCall call{.pass = pass, .type = x->dtype, .input = bytes(x), .output = bytes(y), .filter = bytes(weight)};
  call.samples = x->sizes[0];
  call.filter_elements = elements(weight);
  call.filter_channels = SaturatingMultiply(weight->lengths[0], weight->lengths[1]);
  call.filter_window = elements(weight, 2);
  call.output_positions = elements(y, 2);
  call.channels_last = channels_last;
  return e.ScratchUpTo(Bytes(), HighestCudnnWorkspace(call, e.spec().capability, e.batch()), Category::kWorkspace);
}

// cudnn_convolution_backward (cudnn/ConvShared.cpp): grad_output.to(layout) copies only when the gradient suggests the
// other layout; one that has gaps (half of a concatenation) is made contiguous in each of the two functions.
// cudnn_convolution_transpose_backward makes it contiguous once.
void CudnnGradients(GradContext& g, const Convolution& how, const Tensor& x, const Tensor& weight,
                    const Tensor& gradient) {
  Eager& e = g.e;
  const bool other_layout = (IsChannelsLast(*gradient) && !IsContiguous(*gradient)) != how.channels_last;
  const Tensor given = how.transposed || other_layout ? ContiguousIn(e, gradient, how.channels_last) : gradient;
  if (g.Needs(0)) {
    Tensor to_input = EmptyIn(e, x->sizes, x->dtype, how.channels_last);
    const Tensor filter = ContiguousIn(e, weight, how.channels_last);
    const Tensor grad = ContiguousIn(e, given, how.channels_last);
    const Storage workspace =
        CudnnWorkspace(e, ConvolutionPass::kInputGradient, x, gradient, weight, how.channels_last);
    g.Set(0, std::move(to_input));
  }
  if (g.Needs(1)) {
    const Tensor grad = ContiguousIn(e, given, how.channels_last);
    g.Set(1, EmptyIn(e, weight->sizes, weight->dtype, how.channels_last));
    const Storage workspace =
        CudnnWorkspace(e, ConvolutionPass::kWeightGradient, x, gradient, weight, how.channels_last);
  }
}

void Gradients(GradContext& g, const Convolution& how) {
  Eager& e = g.e;
  OpScope scope(e, "aten::convolution_backward");
  // Over one axis the input is made contiguous at once, and lives to the end ("avoid accidentally going through NHWC").
  const Tensor held = how.flat ? Contiguous(e, g.saved(0)) : g.saved(0);
  const Tensor x = how.flat ? WithAxis(e, held, true) : held;
  const Tensor weight = how.flat ? WithAxis(e, g.saved(1), true) : g.saved(1);
  const Tensor gradient = how.flat ? WithAxis(e, g.grad(), true) : g.grad();
  Tensor input;
  if (how.depthwise) {
    const Tensor grad = ContiguousIn(e, gradient, false);
    const Tensor plain = ContiguousIn(e, x, false);
    const bool input_first = x->dim() == 5;  // conv_depthwise3d_cuda_backward
    Tensor to_input = g.Needs(0) && input_first ? e.Empty(x->sizes, x->dtype) : Tensor();
    Tensor to_weight = g.Needs(1) ? e.Empty(weight->sizes, weight->dtype) : Tensor();
    if (g.Needs(0) && !input_first) to_input = e.Empty(x->sizes, x->dtype);
    g.Set(0, std::move(to_input));
    g.Set(1, std::move(to_weight));
  } else if (how.native) {
    NativeGradients(g, *how.native, x, weight, gradient);
  } else {
    // The caller's contiguous input lives through the bias' sum; everything else dies inside its function.
    input = g.Needs(1) ? ContiguousIn(e, x, how.channels_last) : x;
    CudnnGradients(g, how, input, weight, gradient);
  }
  if (how.biased && g.Needs(2) && !how.native) g.Set(2, BiasGradient(e, gradient));
  for (size_t i = 0; how.flat && i < 2; ++i) {
    if (g.results[i]) g.results[i] = WithAxis(e, g.results[i], false);
  }
}

// padding="same" with an odd number of places to add (Convolution.cpp, convolution_same): one more of them at the end,
// by a constant_pad_nd in front.
Tensor PaddedAtEnd(const Call& c) {
  const Tensor& x = c.In(0);
  const std::vector<int64_t> more = c.Ints("padded_at_end");
  if (more.empty()) return x;
  Shape sizes = x->sizes;
  for (size_t i = 0; i < more.size() && static_cast<int>(i) + 2 < x->dim(); ++i)
    sizes[static_cast<int>(i) + 2] = sizes[static_cast<int>(i) + 2] + Dim(more[i]);
  Tensor out = c.e.Empty(sizes, x->dtype);
  if (GradNode* node = c.e.Record("ConstantPadNdBackward0", {x}, {out})) {
    node->Backward([sizes = x->sizes](GradContext& g) { g.Set(0, g.e.Empty(sizes, g.grad()->dtype)); });
  }
  return out;
}

template <bool transposed>
void RunConvolution(Call& c) {
  Eager& e = c.e;
  const Tensor &weight = c.In(1), &bias = c.In(2);
  const Tensor x = PaddedAtEnd(c);
  constexpr const char* kNames[] = {"aten::conv1d", "aten::conv2d", "aten::conv3d"};
  constexpr const char* kTransposed[] = {"aten::conv_transpose1d", "aten::conv_transpose2d", "aten::conv_transpose3d"};
  OpScope scope(e, (transposed ? kTransposed : kNames)[std::clamp(x->dim() - 3, 0, 2)]);
  Convolution how;
  how.transposed = transposed;
  how.biased = static_cast<bool>(bias);
  how.flat = x->dim() == 3;
  const Tensor image = how.flat ? WithAxis(e, x, true) : x;
  const Tensor kernel = how.flat ? WithAxis(e, weight, true) : weight;
  Shape sizes = c.OutShape();
  if (how.flat) sizes.Insert(2, Dim(1));
  const bool suggested = SuggestsChannelsLast(image, kernel), depthwise = IsDepthwise(c, image, kernel, transposed);
  const bool cudnn = depthwise ? CudnnTakesDepthwise(c, image, kernel, suggested) : CudnnTakes(c, x);
  how.channels_last = cudnn && suggested;
  how.depthwise = depthwise && !cudnn;
  Tensor out;
  if (!cudnn && !how.depthwise) {
    how.native = NativeOf(c, image, kernel, transposed);
    how.native->biased = how.biased;
    out = NativeForward(e, *how.native, image, kernel, sizes);
  } else {
    const Tensor input = ContiguousIn(e, image, how.channels_last);
    out = EmptyIn(e, sizes, x->dtype, how.channels_last);
    const Tensor filter = ContiguousIn(e, kernel, how.channels_last);
    const Storage workspace =
        how.depthwise ? Storage() : CudnnWorkspace(e, ConvolutionPass::kForward, image, out, kernel, how.channels_last);
  }
  if (how.flat) out = WithAxis(e, out, false);
  if (GradNode* node = e.Record("ConvolutionBackward0", {x, weight, bias}, {out})) {
    node->Save(x).Save(weight);
    node->Backward([how](GradContext& g) { Gradients(g, how); });
  }
  c.Return(std::move(out));
}

}  // namespace

std::vector<OpRule> ConvolutionRules() {
  return {
      {"conv1d", RunConvolution<false>, Cast::kLower},
      {"conv2d", RunConvolution<false>, Cast::kLower},
      {"conv3d", RunConvolution<false>, Cast::kLower},
      {"conv_transpose1d", RunConvolution<true>, Cast::kLower},
      {"conv_transpose2d", RunConvolution<true>, Cast::kLower},
      {"conv_transpose3d", RunConvolution<true>, Cast::kLower},
  };
}

}  // namespace vramplan::eager
