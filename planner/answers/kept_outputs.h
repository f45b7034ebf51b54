// What a loop holds of a forward that returns its own loss, until the next one is done.
//
//   outputs = model(**batch)           all that it returns: Layers of a recorded call, whose caller holds it
//   loss = model(**batch).loss         the loss alone: named models (models/architectures), and transformers' Trainer, whose
//                                      compute_loss returns it and drops the rest (transformers/trainer.py 5.23)
#pragma once

#include <optional>

#include "graph/layers/layers.h"

namespace vramplan {

// The same where the loss alone is held. Nothing: the forward returns no loss in front, or nothing else that a layer made.
std::optional<Layers> HoldingTheLoss(const Layers& layers);
// The same where the logits are held, too, of a forward that returns its loss alone. Nothing: it does not.
std::optional<Layers> HoldingTheLogits(const Layers& layers);

}  // namespace vramplan
