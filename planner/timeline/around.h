// What a script does beside the loop of a plain one (Surroundings): data that stays on the card, outputs and losses
// that it keeps, a validation between two steps, a frozen model beside the trained one.
//
//   teacher, ResNet-18 at batch 8     its parameters in the setup; in each step its forward, under no_grad, between
//                                     the model's forward and the loss; its output until the next one is there
//
// Measured with PyTorch 2.10 on a pretend card, ResNet-18 at batch 8, fp32, Adam foreach, requested bytes
// (tests/planner/timeline/around_test.cc has the numbers): 100,000,000 B of data add as many; `total += loss` in
// training adds 4 B and nothing more from step to step, since backward() releases the graph, while in a validation
// without no_grad each further batch adds its whole graph; an output that is kept adds its own bytes at the end of a
// step.
#pragma once

#include <map>
#include <vector>

#include "planner/semantics/eager.h"
#include "planner/timeline/recorder.h"

namespace vramplan {

// One block, from the setup on.
void KeepResident(const Surroundings& around, Recorder& recorder);

// total = total + loss: a new scalar each time. Its graph leads to the loss's, whose saved tensors live as long as no
// backward has released them.
class LossTotal {
 public:
  LossTotal(Recorder& recorder, const Surroundings& around) : recorder_(recorder), keeps_(around.keep_loss_graph) {}
  void Add(const eager::Tensor& loss);

 private:
  Recorder& recorder_;
  bool keeps_;
  BlockId total_;
  std::vector<decltype(eager::TensorImpl::grad_fn)> graphs_;  // the losses themselves are gone
};

// The outputs that the caller keeps, each until the same module has made the next one.
class Retained {
 public:
  // Error (kUsage): nothing is called so.
  static Result<Retained> Of(const Layers& layers, const Surroundings& around);
  void After(size_t layer, const std::vector<eager::Tensor>& values);

 private:
  std::map<size_t, std::vector<ValueId>> kept_;  // by the layer that makes them
  std::map<ValueId, eager::Tensor> held_;
};

// The second model, and the validation after the last step: its two batches are two steps more in the timeline, beyond
// `timeline->steps`. Errors: those of Schedule.
Status AddModels(const Layers& layers, const TrainingSpec& spec, int64_t batch, Timeline* timeline);
// Whether it adds any.
bool HasModelsBeside(const TrainingSpec& spec);

}  // namespace vramplan
