// Trained: which parameters have a gradient.
//
//   layers.parameters   conv1.weight kParameter   trained: gradient, optimizer state
//                       fc.weight    kBuffer      frozen: on the card, in state_dict, in the breakdown's "parameters"
//   layers.buffers      bn1.running_mean kBuffer  never was a parameter
//
// Holds: what is in Layers::parameters is what model.parameters() lists; its role says whether it has a gradient. So no
// operator's rule has to know: a buffer is saved, cast and freed as a tensor without requires_grad is.
#pragma once

#include "graph/layers/layers.h"

namespace vramplan {

inline bool IsTrained(const Layers& layers, ValueId parameter) { return layers[parameter].role == Role::kParameter; }
// A weight or a buffer of the model, frozen or not.
inline bool IsStored(const Value& value) { return value.role == Role::kParameter || value.role == Role::kBuffer; }
// `parameter` is in layers->parameters. Integers have no gradient: they stay frozen.
void SetTrained(Layers* layers, ValueId parameter, bool trained);
// What a tracer took for a parameter, and a module registers as a buffer; nothing where it is no parameter.
void MakeBuffer(Layers* layers, ValueId id);

}  // namespace vramplan
