#include "tests/support/optimizer_events.h"

#include <doctest/doctest.h>

#include <sstream>

#include "planner/semantics/blas.h"
#include "planner/semantics/optimizer.h"

namespace vramplan::testing {

void WarmCublas(Trial& trial) {
  trial.log.CallNext("cublas");
  eager::CublasWorkspace(trial.e);
  trial.Events();
}

std::string OptimizerEvents(const std::string& spec, const std::string& parameters) {
  Trial trial(spec);
  WarmCublas(trial);
  std::vector<eager::Tensor> tensors;
  std::vector<std::string> gradients;
  std::istringstream stream(parameters);
  for (std::string text; stream >> text;) {
    tensors.push_back(trial.Given(text, "w"));
    gradients.push_back("c" + text.substr(1));
  }
  eager::OptimizerState optimizer(trial.e, tensors);
  std::string text = trial.Events();
  for (int step = 1; step <= 2; ++step) {
    for (size_t i = 0; i < tensors.size(); ++i) tensors[i]->grad = trial.Given(gradients[i], "dw");
    optimizer.Step(trial.e);
    text += " / " + trial.Events();
    optimizer.ZeroGrad();
    trial.Events();
  }
  return text;
}

void CheckOptimizers(std::initializer_list<OptimizerCase> rows) {
  for (const OptimizerCase& row : rows) {
    CAPTURE(std::string(row.spec));
    CAPTURE(std::string(row.parameters));
    CHECK(OptimizerEvents(row.spec, row.parameters) == std::string(row.events));
  }
}

}  // namespace vramplan::testing
