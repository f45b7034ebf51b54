#include "planner/semantics/grad_norm.h"

#include <doctest/doctest.h>

#include <sstream>

#include "tests/support/one_operator.h"

namespace vramplan::testing {
namespace {

using eager::Tensor;

// clip_grad_norm_ of parameters with gradients like them; one without.
std::string Events(const std::string& spec, const std::string& gradients) {
  Trial trial(spec);
  std::vector<Tensor> parameters = {trial.Given("p:f[3]", "frozen")};
  std::istringstream stream(gradients);
  for (std::string text; stream >> text;) {
    parameters.push_back(trial.Given("p" + text.substr(1), "w"));
    parameters.back()->grad = trial.Given(text, "dw");
  }
  eager::ClipGradNorm(trial.e, parameters);
  return trial.Events();
}

// torch/nn/utils/clip_grad.py; rows recorded with PyTorch 2.10's memory history.
TEST_CASE("partial results of all chunks, a norm each, their stack, the total, a few scalars") {
  CHECK(Events("", "c:f[4] c:f[8]") == "1+8 2+4 3+4 1- 4+8 5+4 4- 3- 2- 6+4 7+4 8+4 7- 6- 9+4 8- 9- 5-");
  CHECK(Events("", "c:f[3]") == "1+4 2+4 1- 3+4 4+4 3- 2- 5+4 6+4 7+4 6- 5- 8+4 7- 8- 4-");
  CHECK(Events("", "c:f[6,5] c:f[7] c:f[9,9]") ==
        "1+12 2+4 3+4 4+4 1- 5+12 6+4 5- 4- 3- 2- 7+4 8+4 9+4 8- 7- 10+4 9- 10- 6-");
  // The largest has 16 chunks of 65'536 elements: 5 x 16 partial results.
  CHECK(Events("", "c:f[1000,1000] c:f[400000] c:f[70000] c:f[65536] c:f[65537]") ==
        "1+320 2+4 3+4 4+4 5+4 6+4 1- 7+20 8+4 7- 6- 5- 4- 3- 2- 9+4 10+4 11+4 10- 9- 12+4 11- 12- 8-");
}

TEST_CASE("partial results of halves are fp32") {
  CHECK(Events("bf16", "c:y[4] c:y[8]") == "1+8 2+2 3+2 1- 4+4 5+2 4- 3- 2- 6+2 7+2 8+2 7- 6- 9+2 8- 9- 5-");
  CHECK(Events("fp64", "c:d[4] c:d[8]") == "1+16 2+8 3+8 1- 4+16 5+8 4- 3- 2- 6+8 7+8 8+8 7- 6- 9+8 8- 9- 5-");
}

TEST_CASE("no gradient, no norm") { CHECK(Events("", "") == ""); }

}  // namespace
}  // namespace vramplan::testing
