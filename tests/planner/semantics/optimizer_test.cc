#include "planner/semantics/optimizer.h"

#include <doctest/doctest.h>

#include "tests/support/one_operator.h"

namespace vramplan::testing {
namespace {

using eager::OptimizerState;
using eager::Tensor;

// Two parameters of 16 B and 32 B with gradients. Events of the constructor, of the first step and of a later one; "/"
// between them.
std::string EventsOf(const std::string& spec) {
  Trial trial(spec);
  const std::vector<Tensor> parameters = {trial.Given("p:f[4]", "w"), trial.Given("p:f[8]", "b")};
  OptimizerState optimizer(trial.e, parameters);
  std::string text = trial.Events();
  for (int step = 1; step <= 2; ++step) {
    parameters[0]->grad = trial.Given("c:f[4]", "dw");
    parameters[1]->grad = trial.Given("c:f[8]", "db");
    optimizer.Step(trial.e);
    text += " / " + trial.Events();
    optimizer.ZeroGrad();
    CHECK(trial.Events() == "dw- db-");
  }
  return text;
}

struct OptimizerCase {
  const char* spec;
  const char* events;
};

void CheckAll(std::initializer_list<OptimizerCase> rows) {
  for (const OptimizerCase& row : rows) {
    CAPTURE(std::string(row.spec));
    CHECK(EventsOf(row.spec) == std::string(row.events));
  }
}

// torch/optim/NAME.py of PyTorch 2.10, _multi_tensor_NAME; adam also: the update phase of every recorded stream.
TEST_CASE("foreach: lists like all parameters; a list is let go from its end, names in their order") {
  CheckAll({
      {"sgd", " /  / "},
      {"sgd wd=0.1", " / 1+16 2+32 2- 1- / 3+16 4+32 4- 3-"},  // grads = _foreach_add(grads, params)
      {"sgd-momentum", " / 1+16 2+32 / "},                     // momentum_buffer = clone(grad)
      {"sgd-momentum wd=0.1", " / 1+16 2+32 3+16 4+32 2- 1- / 5+16 6+32 6- 5-"},
      {"adam", " / 1+16 2+16 3+32 4+32 5+16 6+32 6- 5- / 7+16 8+32 8- 7-"},
      {"adam wd=0.1", " / 1+16 2+16 3+32 4+32 5+16 6+32 6- 5- 7+16 8+32 8- 7- / 9+16 10+32 10- 9- 11+16 12+32 12- 11-"},
      {"adamw wd=0.1", " / 1+16 2+16 3+32 4+32 5+16 6+32 6- 5- / 7+16 8+32 8- 7-"},
      {"adam-amsgrad", " / 1+16 2+16 3+16 4+32 5+32 6+32 7+16 8+32 8- 7- / 9+16 10+32 10- 9-"},
      {"rmsprop", " / 1+16 2+32 3+16 4+32 4- 3- / 5+16 6+32 6- 5-"},
      {"rmsprop wd=0.1", " / 1+16 2+32 3+16 4+32 5+16 6+32 4- 3- 6- 5- / 7+16 8+32 9+16 10+32 8- 7- 10- 9-"},
      // State in the constructor; std and numerator.
      {"adagrad", "1+16 2+32 / 3+16 4+32 5+16 6+32 4- 3- 6- 5- / 7+16 8+32 9+16 10+32 8- 7- 10- 9-"},
      // The decayed gradients become the numerator.
      {"adagrad wd=0.1", "1+16 2+32 / 3+16 4+32 5+16 6+32 4- 3- 6- 5- / 7+16 8+32 9+16 10+32 8- 7- 10- 9-"},
      {"adadelta", " / 1+16 2+16 3+32 4+32 5+16 6+32 7+16 8+32 6- 5- 8- 7- / 9+16 10+32 11+16 12+32 10- 9- 12- 11-"},
      {"nadam", " / 1+16 2+16 3+32 4+32 5+16 6+32 6- 5- / 7+16 8+32 8- 7-"},
      {"radam", " / 1+16 2+16 3+32 4+32 5+16 6+32 6- 5- / 7+16 8+32 8- 7-"},
      // radam.py: del grouped_grads before the square roots.
      {"radam wd=0.1",
       " / 1+16 2+16 3+32 4+32 5+16 6+32 6- 5- 7+16 8+32 8- 7- / 9+16 10+32 10- 9- 11+16 12+32 12- 11-"},
      {"adamax", " / 1+16 2+16 3+32 4+32 5+16 6+32 6- 5- / 7+16 8+32 8- 7-"},
      // adamax.py: _foreach_abs_ works in the decayed copies.
      {"adamax wd=0.1", " / 1+16 2+16 3+32 4+32 5+16 6+32 6- 5- / 7+16 8+32 8- 7-"},
      {"none", " /  / "},
  });
}

// _single_tensor_NAME: a name keeps its tensor until the next parameter rebinds it.
TEST_CASE("for-loop: a few tensors like one parameter at a time") {
  CheckAll({
      {"sgd for-loop", " /  / "},
      {"sgd for-loop wd=0.1", " / 1+16 1- 2+32 2- / 3+16 3- 4+32 4-"},
      {"sgd-momentum for-loop", " / 1+16 2+32 / "},
      // denom = (exp_avg_sq.sqrt() / c).add_(eps)
      {"adam for-loop",
       " / 1+16 2+16 3+32 4+32 5+16 6+16 5- 7+32 8+32 7- 6- 8- / 9+16 10+16 9- 11+32 12+32 11- 10- 12-"},
      {"rmsprop for-loop", " / 1+16 2+32 3+16 4+32 3- 4- / 5+16 6+32 5- 6-"},
      {"adagrad for-loop", "1+16 2+32 / 3+16 4+32 3- 4- / 5+16 6+32 5- 6-"},
      // std, then delta
      {"adadelta for-loop",
       " / 1+16 2+16 3+32 4+32 5+16 6+16 7+32 5- 8+32 6- 7- 8- / 9+16 10+16 11+32 9- 12+32 10- 11- 12-"},
      // param.add_(bias_corrected_exp_avg * lr)
      {"radam for-loop",
       " / 1+16 2+16 3+32 4+32 5+16 6+16 6- 7+32 5- 8+32 8- 7- / 9+16 10+16 10- 11+32 9- 12+32 12- 11-"},
      {"adamax for-loop", " / 1+16 2+16 3+32 4+32 5+16 5- 6+32 6- / 7+16 7- 8+32 8-"},
      // The decayed gradient is bound to `grad` beside the denominator.
      {"adam for-loop wd=0.1",
       " / 1+16 2+16 3+32 4+32 5+16 6+16 7+16 6- 5- 8+32 9+32 10+32 9- 7- 8- 10- / 11+16 12+16 13+16 12- 11- 14+32 "
       "15+32 16+32 15- 13- 14- 16-"},
  });
}

TEST_CASE("fused: state alone; step counters of Adam lie on the card") {
  CheckAll({
      {"sgd fused wd=0.1", " /  / "},
      {"sgd-momentum fused", " / 1+16 2+32 / "},
      {"adam fused", " / 1+4 2+16 3+16 4+4 5+32 6+32 / "},
      {"adamw fused wd=0.1", " / 1+4 2+16 3+16 4+4 5+32 6+32 / "},
      {"adam-amsgrad fused", " / 1+4 2+16 3+16 4+16 5+4 6+32 7+32 8+32 / "},
  });
  for (Optimizer o :
       {Optimizer::kSgd, Optimizer::kSgdMomentum, Optimizer::kAdam, Optimizer::kAdamW, Optimizer::kAdamAmsgrad})
    CHECK(eager::HasFused(o));
  // adagrad.py: "fused (bool, optional): whether the fused implementation (CPU only) is used"
  for (Optimizer o : {Optimizer::kAdagrad, Optimizer::kRmsprop, Optimizer::kAdadelta, Optimizer::kNadam,
                      Optimizer::kRadam, Optimizer::kAdamax, Optimizer::kNone})
    CHECK_FALSE(eager::HasFused(o));
}

TEST_CASE("a parameter without a gradient has neither state nor temporaries") {
  Trial trial("adam");
  const std::vector<Tensor> parameters = {trial.Given("p:f[4]", "w"), trial.Given("p:f[8]", "b")};
  OptimizerState optimizer(trial.e, parameters);
  parameters[1]->grad = trial.Given("c:f[8]", "db");
  optimizer.Step(trial.e);
  CHECK(trial.Events() == "1+32 2+32 3+32 3-");
}

}  // namespace
}  // namespace vramplan::testing
