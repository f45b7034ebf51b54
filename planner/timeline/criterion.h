// Criterion: the loss of one output of the model, as scripts write it: loss = criterion(out, target).
//
//   output [B, 1000]      cross-entropy      target [B] int64
//   output [B, T, C]      cross-entropy      both flattened to positions where the classes lie last (class_axis.h)
//   output []             none               the output is the loss
#pragma once

#include <string_view>
#include <vector>

#include "graph/layers/layers.h"
#include "planner/semantics/eager.h"

namespace vramplan {

// The place of the output that a script's loss reads, as far as the outputs tell: the first. A loss that is asked for by
// name is of the first that it fits: a model may return numbers of its own in front of it (a quantizer's loss,
// 1711.00937).
size_t UsualOutput(const Layers& layers, Loss asked);

class Criterion {
 public:
  // On the model's output at this place; `layers` outlive it.
  Criterion(eager::Eager& e, const Layers& layers, size_t place)
      : e_(&e), layers_(&layers), place_(place), id_(layers.outputs[place]) {}

  // Loss::kAuto takes what the output looks like. Error: a loss that does not fit the output.
  Status Choose(Loss asked, Notes* notes);
  // On the card; `resident`: parameters, buffers and inputs, by value.
  void MakeTarget(const std::vector<eager::Tensor>& resident);
  // The scalar, of the outputs of one forward.
  eager::Tensor Of(const std::vector<eager::Tensor>& outputs) const;
  Loss loss() const { return loss_; }

 private:
  std::string_view LastOperator() const;
  Loss Likely() const;
  void NoteLikely(Notes* notes) const;
  eager::Tensor Reconstructed(const std::vector<eager::Tensor>& resident) const;
  const Value& out() const { return (*layers_)[id_]; }

  eager::Eager* e_;
  const Layers* layers_;
  size_t place_;
  ValueId id_;
  Loss loss_ = Loss::kNone;
  int class_axis_ = 2;  // of an output of three axes
  eager::Tensor target_;
  std::vector<eager::Tensor> others_;  // embeddings that a pairwise loss compares with, if they are not outputs
};

}  // namespace vramplan
