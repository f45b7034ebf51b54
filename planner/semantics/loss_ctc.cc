// CTC without cuDNN (aten/src/ATen/native/cuda/LossCTC.cu, PyTorch 2.10).
#include "planner/semantics/loss.h"
#include "planner/semantics/table.h"

namespace vramplan::eager {
namespace {

// Lengths of targets and inputs and the places of the targets, one of each for each sample, come from the host.
Shape PerSample(const Tensor& log_probs) { return {log_probs->dim() > 1 ? log_probs->sizes[1] : Dim(1)}; }

// Results: the loss of each sample, and log_alpha [N, T, 2 * length + 1], which the backward makes for log_beta again.
void CtcLoss(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::_ctc_loss");
  const Tensor &log_probs = c.In(0), &targets = c.In(1);
  Tensor alpha, loss;
  {
    Tensor places;  // goes last
    const Tensor lengths = e.Empty(PerSample(log_probs), DType::kInt64);
    const Tensor times = e.Empty(PerSample(log_probs), DType::kInt64);
    places = e.Empty(PerSample(log_probs), DType::kInt64);
    alpha = e.Empty(c.OutShape(1), log_probs->dtype);
    loss = e.Empty(PerSample(log_probs), log_probs->dtype);
  }
  if (GradNode* node = e.Record("CtcLossBackward0", {log_probs}, {loss})) {
    node->Save(log_probs).Save(targets).SaveOutput(loss).Save(alpha);
    node->Backward([](GradContext& g) {
      Tensor places;  // goes last
      const Tensor lengths = g.e.Empty(PerSample(g.saved(0)), DType::kInt64);
      const Tensor times = g.e.Empty(PerSample(g.saved(0)), DType::kInt64);
      places = g.e.Empty(PerSample(g.saved(0)), DType::kInt64);
      const Tensor beta = g.e.EmptyLike(g.saved(3));
      g.Set(0, g.e.Empty(g.saved(0)->sizes, g.saved(0)->dtype));
    });
  }
  c.Return(std::move(loss));
  c.Return(std::move(alpha), 1);
}

}  // namespace

std::vector<OpRule> CtcRules() { return {{"ctc_loss", CtcLoss, Cast::kFloat32}}; }

}  // namespace vramplan::eager
