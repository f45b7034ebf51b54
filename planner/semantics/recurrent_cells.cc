#include "planner/semantics/recurrent_cells.h"

#include <utility>

#include "planner/semantics/blas.h"
#include "planner/semantics/reduction.h"

namespace vramplan::eager {
namespace {

Shape GateColumns(const Tensor& like, int64_t times) {
  Shape sizes = like->sizes;
  sizes[like->dim() - 1] = sizes[like->dim() - 1] * Dim(times);
  return sizes;
}

// grad_gates.sum(0): both biases of an LSTM's have it, and AccumulateGrad clones what two share.
Tensor GradientOfBias(GradContext& g, const Tensor& gates) {
  const ReduceScratch scratch = AllocateReduceScratch(g.e, *gates, {0}, gates->dtype);
  return g.e.Empty(Shape{gates->sizes[gates->dim() - 1]}, gates->dtype);
}

}  // namespace

void LstmCell(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::lstm_cell");
  const Tensor &state = c.In(2), &bias = c.In(5), &hidden_bias = c.In(6);
  Tensor input_gates = Linear(e, c.In(0), c.In(3), Tensor());
  Tensor hidden_gates = Linear(e, c.In(1), c.In(4), Tensor());
  Tensor workspace = e.EmptyLike(input_gates);
  Tensor hidden = e.EmptyLike(state), next = e.EmptyLike(state);
  if (GradNode* node = e.Record("ThnnFusedLstmCellBackward0", {input_gates, hidden_gates, state, bias, hidden_bias},
                                {hidden, next})) {
    // By name (derivatives.yaml: cx, hidden_bias, ...): the biases are copies under autocast.
    node->Save(state).Save(hidden_bias).Save(hidden_gates).Save(bias).Save(input_gates);
    node->SaveOutput(next).Save(workspace);
    node->Backward([](GradContext& g) {
      const Tensor gates = g.e.EmptyLike(g.saved(4));
      Tensor grad_state = g.e.EmptyLike(g.saved(0));
      const Tensor of_bias = g.Needs(3) ? GradientOfBias(g, gates) : Tensor();
      g.Set(0, gates);
      g.Set(1, gates);
      if (g.Needs(2)) g.Set(2, std::move(grad_state));
      if (g.Needs(3)) g.Set(3, of_bias);
      if (g.Needs(4)) g.Set(4, of_bias);
    });
  }
  c.Return(std::move(hidden));
  c.Return(std::move(next), 1);
}

void GruCell(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::gru_cell");
  const Tensor &before = c.In(1), &bias = c.In(4), &hidden_bias = c.In(5);
  Tensor input_gates = Linear(e, c.In(0), c.In(2), Tensor());
  Tensor hidden_gates = Linear(e, before, c.In(3), Tensor());
  constexpr int64_t kKept = 5;  // reset, input, new and hidden gates, and the state before
  Tensor workspace = e.Empty(GateColumns(before, kKept), input_gates->dtype);
  Tensor hidden = e.EmptyLike(before);
  if (GradNode* node =
          e.Record("ThnnFusedGruCellBackward0", {input_gates, hidden_gates, before, bias, hidden_bias}, {hidden})) {
    node->Save(hidden_bias).Save(hidden_gates).Save(bias).Save(input_gates).Save(workspace);
    node->Backward([](GradContext& g) {
      Tensor of_input = g.e.EmptyLike(g.saved(3)), of_hidden = g.e.EmptyLike(g.saved(1));
      Tensor of_before = g.e.EmptyLike(g.grad());
      if (g.Needs(3)) g.Set(3, GradientOfBias(g, of_input));
      if (g.Needs(4)) g.Set(4, GradientOfBias(g, of_hidden));
      g.Set(0, std::move(of_input));
      g.Set(1, std::move(of_hidden));
      if (g.Needs(2)) g.Set(2, std::move(of_before));
    });
  }
  c.Return(std::move(hidden));
}

}  // namespace vramplan::eager
