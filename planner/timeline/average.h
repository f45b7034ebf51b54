// Average: the copy of the weights that a script averages (EMA): made before step 1, updated after each optimizer step.
//
//   ResNet-50        + 102 MB of parameters and buffers for ever
//   model-ema-v2     three tensors like a parameter or buffer at a time, while it updates
//   averaged-model   8 B: the counter, on the card; model-ema-v3: nothing
#pragma once

#include <vector>

#include "planner/timeline/run.h"

namespace vramplan {

class Average {
 public:
  // deepcopy(model), if the spec has one.
  Average(eager::Eager& e, const ModelRun& model, const eager::ParameterUses& uses);
  void Update();

 private:
  eager::Eager& e_;
  std::vector<eager::Tensor> copies_;  // in the order of state_dict
  int updates_ = 0;
};

}  // namespace vramplan
