#include "planner/semantics/grad_scaler.h"

#include <doctest/doctest.h>

#include "tests/support/one_operator.h"

namespace vramplan::testing {
namespace {

using eager::GradScaler;
using eager::Tensor;

// Two steps, each event list as recorded with PyTorch 2.10's memory history (torch/amp/grad_scaler.py).
std::string Events(const std::string& spec, bool clips) {
  Trial trial(spec);
  GradScaler scaler(trial.e);
  std::string text;
  for (int step = 1; step <= 2; ++step) {
    Tensor scaled = scaler.Scale(trial.Given("x:f[]", "loss"));
    scaled = Tensor();
    text += (step == 1 ? "scale " : " / scale ") + trial.Events();
    if (clips) {
      scaler.Unscale();
      text += " unscale " + trial.Events();
    }
    scaler.BeforeStep();
    text += " step " + trial.Events();
    scaler.AfterStep();
    text += " stepped " + trial.Events();
    scaler.Update();
    text += " update " + trial.Events();
  }
  return text;
}

TEST_CASE("step unscales what was not: 1/scale through fp64, a flag, copies of both") {
  CHECK(Events("amp-fp16", false) ==
        "scale 1+4 2+4 3+4 loss- 3- step 4+8 5+8 4- 6+4 5- 7+4 8+4 9+4 9- 6- 7- stepped  update 8- / "
        "scale 10+4 loss- 10- step 11+8 12+8 11- 13+4 12- 14+4 15+4 16+4 16- 13- 14- stepped  update 15-");
}

TEST_CASE("unscale_ before clipping: step has nothing left to do") {
  CHECK(Events("amp-fp16", true) ==
        "scale 1+4 2+4 3+4 loss- 3- unscale 4+8 5+8 4- 6+4 5- 7+4 8+4 9+4 9- 6- 7- step  stepped  update 8- / "
        "scale 10+4 loss- 10- unscale 11+8 12+8 11- 13+4 12- 14+4 15+4 16+4 16- 13- 14- step  stepped  update 15-");
}

TEST_CASE("a fused optimizer takes the flag, and the scale when it unscales itself") {
  CHECK(Events("amp-fp16 fused", false) ==
        "scale 1+4 2+4 3+4 loss- 3- step 4+4 5+4 6+4 7+4 7- 4- 5- 8+4 9+4 stepped 8- 9- update 6- / "
        "scale 10+4 loss- 10- step 11+4 12+4 13+4 14+4 14- 11- 12- 15+4 16+4 stepped 15- 16- update 13-");
  CHECK(Events("amp-fp16 fused", true) ==
        "scale 1+4 2+4 3+4 loss- 3- unscale 4+8 5+8 4- 6+4 5- 7+4 8+4 9+4 9- 6- 7- step 10+4 stepped 10- update 8- / "
        "scale 11+4 loss- 11- unscale 12+8 13+8 12- 14+4 13- 15+4 16+4 17+4 17- 14- 15- step 18+4 stepped 18- update "
        "16-");
}

TEST_CASE("fp16 training only") {
  for (const char* without : {"amp-bf16", "fp32", "amp-fp16 infer"}) {
    Trial trial(without);
    GradScaler scaler(trial.e);
    const Tensor loss = trial.Given("x:f[]", "loss");
    CHECK(scaler.Scale(loss) == loss);
    scaler.Unscale();
    scaler.BeforeStep();
    scaler.AfterStep();
    scaler.Update();
    CHECK(trial.Events() == "");
  }
}

TEST_CASE("a loss without a gradient was never scaled: the step has nothing to unscale") {
  for (const char* spec : {"amp-fp16", "amp-fp16 fused"}) {
    Trial trial(spec);
    GradScaler scaler(trial.e);
    scaler.Unscale();
    scaler.BeforeStep();
    scaler.AfterStep();
    scaler.Update();
    CHECK(trial.Events() == "");
  }
}

}  // namespace
}  // namespace vramplan::testing
