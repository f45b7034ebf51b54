// Activations: one new tensor forward, one backward. Whether the input or the output is kept decides what a block of
// layers costs.
//
// In place: those whose formula uses the output (or has an in-place form) overwrite their input for free; the others
// must clone it first, so that in-place saves nothing (tools/autograd/gen_variable_type.py: the original self is cloned
// when the formula needs it).
#include "planner/semantics/pointwise.h"
#include "planner/semantics/reduction.h"
#include "planner/semantics/table.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

struct ActivationRow {
  std::string_view op;
  const char* name;     // aten operator
  const char* node;     // tape entry
  bool keeps_output;    // else the input
  bool inplace_output;  // the in-place form keeps the output
  // The gradient lies as what is kept does, not as the gradient that came: its kernel is given that first
  // (threshold_backward, leaky_relu_backward; seen in PyTorch 2.10 with channels-last memory and a contiguous gradient,
  // of all rows).
  bool kept_first = false;
};

// derivatives.yaml (PyTorch 2.10); leaky_relu_, elu_ and friends have a formula on the result of their own.
constexpr ActivationRow kActivationRows[] = {
    {"relu", "aten::relu", "ReluBackward0", true, true, true},
    {"leaky_relu", "aten::leaky_relu", "LeakyReluBackward0", false, true, true},
    {"elu", "aten::elu", "EluBackward0", false, true},
    {"selu", "aten::selu", "EluBackward0", false, true},
    {"celu", "aten::celu", "EluBackward0", false, true},
    {"gelu", "aten::gelu", "GeluBackward0", false, false},
    {"silu", "aten::silu", "SiluBackward0", false, false},
    {"mish", "aten::mish", "MishBackward0", false, false},
    {"hardtanh", "aten::hardtanh", "HardtanhBackward0", false, false},
    {"hardswish", "aten::hardswish", "HardswishBackward0", false, false},
    {"hardsigmoid", "aten::hardsigmoid", "HardsigmoidBackward0", false, false},
    {"sigmoid", "aten::sigmoid", "SigmoidBackward0", true, true},
    {"tanh", "aten::tanh", "TanhBackward0", true, true},
    {"softplus", "aten::softplus", "SoftplusBackward0", false, false},
    {"threshold", "aten::threshold", "ThresholdBackward0", false, false, true},
    {"log_sigmoid", "aten::log_sigmoid", "LogSigmoidBackward0", false, false},
    {"relu6", "aten::hardtanh", "HardtanhBackward0", false, false},  // nn.functional.relu6 calls hardtanh
    {"hardshrink", "aten::hardshrink", "HardshrinkBackward0", false, false},
    {"softshrink", "aten::softshrink", "SoftshrinkBackward0", false, false},
};

void Activate(Call& c, const ActivationRow& row) {
  Eager& e = c.e;
  const Tensor& x = c.In(0);
  OpScope scope(e, row.name);
  const bool inplace = c.InPlace();
  Tensor kept = x;
  if (inplace && !row.inplace_output && e.grad_mode && x->tracked()) kept = e.EmptyLike(x);  // the clone
  Tensor out = inplace ? e.Overwrite(x) : e.EmptyLike(x);
  if (GradNode* node = e.Record(row.node, {x}, {out})) {
    if (inplace ? row.inplace_output : row.keeps_output) {
      node->SaveOutput(out);
    } else if (inplace) {
      node->SaveOutput(kept);
    } else {
      node->Save(x);
    }
    node->Backward([kept_first = row.kept_first](GradContext& g) {
      const Tensor &first = kept_first ? g.saved(0) : g.grad(), &second = kept_first ? g.grad() : g.saved(0);
      g.Set(0, g.e.EmptyIterator({&first, &second}, g.grad()->dtype));
    });
  }
  c.Return(std::move(out));
}

template <size_t row>
void RunActivation(Call& c) {
  Activate(c, kActivationRows[row]);
}

template <size_t... rows>
std::vector<OpRule> ActivationRulesOf(std::index_sequence<rows...>) {
  return {{kActivationRows[rows].op, RunActivation<rows>,
           kActivationRows[rows].op == "softplus" ? Cast::kFloat32 : Cast::kNone}...};
}

// prelu: _prelu_kernel(self, weight viewed as [1, C, 1, ...]); keeps both. Backward makes a full gradient for the
// weight, then sums it.
void Prelu(Call& c) {
  Eager& e = c.e;
  const Tensor& x = c.In(0);
  OpScope scope(e, "aten::prelu");
  Shape broadcast;
  for (int i = 0; i < x->dim(); ++i) broadcast.Append(i == 1 ? c.In(1)->sizes.Elements() : Dim(1));
  Tensor weight = Reshape(e, c.In(1), x->dim() < 2 ? c.In(1)->sizes : broadcast);
  Tensor out = e.EmptyLike(x);
  if (GradNode* node = e.Record("PreluKernelBackward0", {x, weight}, {out})) {
    node->Save(x).Save(weight);
    node->Backward([](GradContext& g) {  // _prelu_kernel_backward: both of the input's sizes
      Tensor input = g.e.EmptyLike(g.saved(0));
      Tensor slope = g.e.EmptyLike(g.saved(0));
      g.Set(0, std::move(input));
      g.Set(1, std::move(slope));
    });
  }
  c.Return(std::move(out));
}

// glu halves an axis: keeps its input.
void Glu(Call& c) {
  const Tensor& x = c.In(0);
  Tensor out = c.e.Empty(c.OutShape(), x->dtype);
  if (GradNode* node = c.e.Record("GluBackward0", {x}, {out})) {
    node->Save(x);
    node->Backward([](GradContext& g) { g.Set(0, g.e.EmptyLike(g.saved(0))); });
  }
  c.Return(std::move(out));
}

// torch.nn.functional.softsign is Python: x / (x.abs() + 1).
void Softsign(Call& c) {
  Eager& e = c.e;
  const Tensor& x = c.In(0);
  Tensor magnitude = Abs(e, x);
  Tensor shifted = Add(e, magnitude, nullptr);
  magnitude = Tensor();
  c.Return(Div(e, x, shifted));
}

// x - tanh(x) (torch/nn/functional.py tanhshrink).
void Tanhshrink(Call& c) {
  Eager& e = c.e;
  const Tensor& x = c.In(0);
  Tensor gate = e.EmptyLike(x);
  if (GradNode* node = e.Record("TanhBackward0", {x}, {gate})) {
    node->SaveOutput(gate);
    node->Backward([](GradContext& g) { g.Set(0, Iterate(g.e, g.grad(), g.saved(0), g.grad()->dtype)); });
  }
  c.Return(Sub(e, x, gate));
}

// rrelu (RReLU.cu): noise of the input's size is made in evaluation, too, and kept beside the input.
void Rrelu(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::rrelu");
  const Tensor& x = c.In(0);
  const bool inplace = c.InPlace();
  const Tensor noise = e.EmptyLike(x);
  Tensor out = inplace ? e.Overwrite(x) : e.EmptyLike(x);
  if (GradNode* node = e.Record("RreluWithNoiseBackward0", {x}, {out})) {
    node->Save(noise);
    inplace ? node->SaveOutput(out) : node->Save(x);
    node->Backward([](GradContext& g) { g.Set(0, Iterate(g.e, g.grad(), g.saved(1), g.grad()->dtype)); });
  }
  c.Return(std::move(out));
}

}  // namespace

std::vector<OpRule> ActivationRules() {
  std::vector<OpRule> rules = ActivationRulesOf(std::make_index_sequence<std::size(kActivationRows)>());
  rules.push_back({"prelu", Prelu, Cast::kLower});
  rules.push_back({"glu", Glu});
  rules.push_back({"softsign", Softsign});
  rules.push_back({"tanhshrink", Tanhshrink});
  rules.push_back({"rrelu", Rrelu});
  return rules;
}

}  // namespace vramplan::eager
