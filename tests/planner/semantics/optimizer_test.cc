#include "planner/semantics/optimizer.h"

#include <doctest/doctest.h>

#include "tests/support/optimizer_events.h"

namespace vramplan::testing {
namespace {

using eager::OptimizerState;
using eager::Tensor;

// Two parameters of 16 B and 32 B with gradients.
struct ProgramCase {
  const char* spec;
  const char* events;
};

void CheckAll(std::initializer_list<ProgramCase> rows) {
  for (const ProgramCase& row : rows) CheckOptimizers({{row.spec, "p:f[4] p:f[8]", row.events}});
}

// torch/optim/NAME.py of PyTorch 2.10, _multi_tensor_NAME: every row recorded with its memory history; adam also: the
// update phase of every recorded stream.
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
      {"adagrad wd=0.1", "1+16 2+32 / 3+16 4+32 5+16 6+32 6- 5- 4- 3- / 7+16 8+32 9+16 10+32 10- 9- 8- 7-"},
      {"adadelta", " / 1+16 2+16 3+32 4+32 5+16 6+32 7+16 8+32 6- 5- 8- 7- / 9+16 10+32 11+16 12+32 10- 9- 12- 11-"},
      {"nadam", " / 1+16 2+16 3+32 4+32 5+16 6+32 6- 5- / 7+16 8+32 8- 7-"},
      {"radam", " / 1+16 2+16 3+32 4+32 5+16 6+32 6- 5- / 7+16 8+32 8- 7-"},
      // radam.py: del grouped_grads before the square roots.
      {"radam wd=0.1",
       " / 1+16 2+16 3+32 4+32 5+16 6+32 6- 5- 7+16 8+32 8- 7- / 9+16 10+32 10- 9- 11+16 12+32 12- 11-"},
      {"adamax", " / 1+16 2+16 3+32 4+32 5+16 6+32 6- 5- / 7+16 8+32 8- 7-"},
      // adamax.py: _foreach_abs_ works in the decayed copies.
      {"adamax wd=0.1", " / 1+16 2+16 3+32 4+32 5+16 6+32 6- 5- / 7+16 8+32 8- 7-"},
      {"sgd-nesterov", " / 1+16 2+32 / "},  // _foreach_add_(grads, bufs)
      {"sgd-nesterov wd=0.1", " / 1+16 2+32 3+16 4+32 2- 1- / 5+16 6+32 6- 5-"},
      {"adamw-amsgrad wd=0.01", " / 1+16 2+16 3+16 4+32 5+32 6+32 7+16 8+32 8- 7- / 9+16 10+32 10- 9-"},
      {"rmsprop-momentum", " / 1+16 2+16 3+32 4+32 5+16 6+32 6- 5- / 7+16 8+32 8- 7-"},
      {"rmsprop-momentum wd=0.1",
       " / 1+16 2+16 3+32 4+32 5+16 6+32 7+16 8+32 6- 5- 8- 7- / 9+16 10+32 11+16 12+32 10- 9- 12- 11-"},
      {"rmsprop-centered", " / 1+16 2+16 3+32 4+32 5+16 6+32 6- 5- / 7+16 8+32 8- 7-"},
      {"rmsprop-centered-momentum", " / 1+16 2+16 3+16 4+32 5+32 6+32 7+16 8+32 8- 7- / 9+16 10+32 10- 9-"},
      {"rmsprop-centered-momentum wd=0.1",
       " / 1+16 2+16 3+16 4+32 5+32 6+32 7+16 8+32 9+16 10+32 8- 7- 10- 9- / 11+16 12+32 13+16 14+32 12- 11- 14- 13-"},
      {"nadam wd=0.1",
       " / 1+16 2+16 3+32 4+32 5+16 6+32 7+16 8+32 6- 5- 8- 7- / 9+16 10+32 11+16 12+32 10- 9- 12- 11-"},
      {"adadelta wd=0.1",
       " / 1+16 2+16 3+32 4+32 5+16 6+32 7+16 8+32 9+16 10+32 6- 5- 8- 7- 10- 9- / 11+16 12+32 13+16 14+32 15+16 16+32 "
       "12- 11- 14- 13- 16- 15-"},
      {"lion wd=0.1", " / 1+16 2+32 3+16 4+32 4- 3- / 5+16 6+32 6- 5-"},  // timm 1.0.31
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
      {"sgd-momentum for-loop wd=0.1", " / 1+16 2+16 1- 3+32 4+32 3- / 5+16 5- 6+32 6-"},
      {"sgd-nesterov for-loop", " / 1+16 2+16 2- 3+32 4+32 4- / 5+16 5- 6+32 6-"},
      {"sgd-nesterov for-loop wd=0.1",
       " / 1+16 2+16 3+16 1- 3- 4+32 5+32 6+32 4- 6- / 7+16 8+16 7- 8- 9+32 10+32 9- 10-"},
      {"adamw-amsgrad for-loop wd=0.01",
       " / 1+16 2+16 3+16 4+32 5+32 6+32 7+16 8+16 7- 9+32 10+32 9- 8- 10- / 11+16 12+16 11- 13+32 14+32 13- 12- 14-"},
      {"rmsprop for-loop wd=0.1", " / 1+16 2+32 3+16 4+16 3- 5+32 6+32 4- 5- 6- / 7+16 8+16 7- 9+32 10+32 8- 9- 10-"},
      {"rmsprop-centered-momentum for-loop wd=0.1",
       " / 1+16 2+16 3+16 4+32 5+32 6+32 7+16 8+16 7- 9+32 10+32 8- 9- 10- / 11+16 12+16 11- 13+32 14+32 12- 13- 14-"},
      {"adagrad for-loop wd=0.1", "1+16 2+32 / 3+16 4+16 3- 5+32 6+32 4- 5- 6- / 7+16 8+16 7- 9+32 10+32 8- 9- 10-"},
      {"adadelta for-loop wd=0.1",
       " / 1+16 2+16 3+32 4+32 5+16 6+16 7+16 5- 8+32 9+32 6- 10+32 7- 8- 9- 10- / 11+16 12+16 13+16 11- 14+32 15+32 "
       "12- 16+32 13- 14- 15- 16-"},
      {"nadam for-loop",
       " / 1+16 2+16 3+32 4+32 5+16 6+16 5- 7+32 8+32 7- 6- 8- / 9+16 10+16 9- 11+32 12+32 11- 10- 12-"},
      {"radam for-loop wd=0.1",
       " / 1+16 2+16 3+32 4+32 5+16 6+16 7+16 7- 5- 8+32 9+32 6- 10+32 10- 8- 9- / 11+16 12+16 13+16 13- 11- 14+32 "
       "15+32 12- 16+32 16- 14- 15-"},
      {"adamax for-loop wd=0.1",
       " / 1+16 2+16 3+32 4+32 5+16 6+16 6- 5- 7+32 8+32 8- 7- / 9+16 10+16 10- 9- 11+32 12+32 12- 11-"},
      // lion-pytorch 0.2.5: the state of each parameter before its update
      {"lion for-loop wd=0.1", " / 1+16 2+16 3+16 2- 3- 4+32 5+32 6+32 5- 6- / 7+16 8+16 7- 8- 9+32 10+32 9- 10-"},
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
      {"sgd-nesterov fused wd=0.1", " / 1+16 2+32 / "},
      {"adam-amsgrad fused", " / 1+4 2+16 3+16 4+16 5+4 6+32 7+32 8+32 / "},
  });
}

TEST_CASE("which implementations there are, and which the library takes by itself") {
  using enum OptimizerImpl;
  const auto impls = [](Optimizer optimizer) {
    std::string text(Name(eager::UsualImpl(optimizer)));
    for (OptimizerImpl impl : {kForeach, kForLoop, kFused}) {
      if (eager::HasImpl(optimizer, impl)) text += " " + std::string(Name(impl));
    }
    return text;
  };
  for (Optimizer o : {Optimizer::kSgd, Optimizer::kSgdMomentum, Optimizer::kSgdNesterov, Optimizer::kAdam,
                      Optimizer::kAdamW, Optimizer::kAdamAmsgrad, Optimizer::kAdamWAmsgrad, Optimizer::kMuon})
    CHECK(impls(o) == "foreach foreach for-loop fused");
  // adagrad.py: "fused (bool, optional): whether the fused implementation (CPU only) is used"
  for (Optimizer o : {Optimizer::kAdagrad, Optimizer::kRmsprop, Optimizer::kAdadelta, Optimizer::kNadam,
                      Optimizer::kRadam, Optimizer::kAdamax, Optimizer::kLamb})
    CHECK(impls(o) == "foreach foreach for-loop");
  // _adafactor.py: "Adafactor will default to the slower single tensor for-loop implementation"
  for (Optimizer o : {Optimizer::kAdafactor, Optimizer::kLion}) CHECK(impls(o) == "for-loop foreach for-loop");
  CHECK(impls(Optimizer::kAdafactorHf) == "for-loop for-loop");
  for (Optimizer o : {Optimizer::kAdam8bit, Optimizer::kAdamW8bit, Optimizer::kLion8bit})
    CHECK(impls(o) == "fused fused");
  CHECK(impls(Optimizer::kNone) == "foreach");
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
