#include "planner/semantics/softmax.h"

#include "planner/semantics/pointwise.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

// fp32_set_opt_dtype of aten/src/ATen/autocast_mode.h.
DType AutocastType(const Eager& e, const Tensor& x) {
  const bool amp = IsAutocast(e.spec().precision);
  return amp && (x->dtype == DType::kFloat16 || x->dtype == DType::kBFloat16) ? DType::kFloat32 : x->dtype;
}

// at::_log_softmax_backward_data (cuda/SoftMax.cu): the result, then a contiguous gradient.
Tensor LogSoftmaxBackwardKernel(Eager& e, const Tensor& grad, DType input_type) {
  OpScope scope(e, "aten::_log_softmax_backward_data");
  Tensor out = e.Empty(grad->sizes, input_type);
  const Tensor contiguous = Contiguous(e, grad);
  return out;
}

bool Fused(const Tensor& x, DType type) { return x->dtype == type || x->dtype == DType::kFloat16; }

}  // namespace

Tensor SoftmaxKernel(Eager& e, const Tensor& x, DType type) {
  OpScope scope(e, "aten::_softmax");
  Tensor out = e.Empty(x->sizes, type);
  const Tensor contiguous = ContiguousIn(e, x, false);
  return out;
}

Tensor SoftmaxBackwardKernel(Eager& e, const Tensor& grad, const Tensor& output, DType input_type) {
  OpScope scope(e, "aten::_softmax_backward_data");
  Tensor out = e.Empty(output->sizes, input_type);
  const Tensor product = e.EmptyIterator({&grad, &output}, output->dtype);
  const Tensor contiguous = ContiguousIn(e, product, false);
  return out;
}

Tensor Softmax(Eager& e, const Tensor& x) { return Softmax(e, x, AutocastType(e, x)); }

Tensor Softmax(Eager& e, const Tensor& input, DType type) {
  OpScope scope(e, "aten::softmax");
  const Tensor x = Fused(input, type) ? input : ToType(e, input, type);
  Tensor out = SoftmaxKernel(e, x, type);
  if (GradNode* node = e.Record("SoftmaxBackward0", {x}, {out})) {
    node->SaveOutput(out);
    node->Backward(
        [from = x->dtype](GradContext& g) { g.Set(0, SoftmaxBackwardKernel(g.e, g.grad(), g.saved(0), from)); });
  }
  return out;
}

Tensor LogSoftmax(Eager& e, const Tensor& x) { return LogSoftmax(e, x, AutocastType(e, x)); }

Tensor LogSoftmax(Eager& e, const Tensor& input, DType type) {
  OpScope scope(e, "aten::log_softmax");
  const Tensor x = Fused(input, type) ? input : ToType(e, input, type);
  Tensor out = SoftmaxKernel(e, x, type);
  if (GradNode* node = e.Record("LogSoftmaxBackward0", {x}, {out})) {
    node->SaveOutput(out);
    node->Backward([from = x->dtype](GradContext& g) { g.Set(0, LogSoftmaxBackwardKernel(g.e, g.grad(), from)); });
  }
  return out;
}

}  // namespace vramplan::eager
