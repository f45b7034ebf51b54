// Liger's kernels in a causal language model: what TrainingArguments(use_liger_kernel=True) puts in place of its layers.
//
//   to pow mean add rsqrt mul to mul             liger.rms_norm(x, w)
//   mul slice slice neg cat mul add, twice       liger.rope(q, k, cos, sin)
//   silu(gate) mul                               liger.glu(gate, up)
//   linear(h, w) to view cross_entropy_loss      liger.linear_cross_entropy(h, w, labels)
//
// Source: transformers 5.23, integrations/liger.py; liger-kernel 0.8.5, transformers/monkey_patch.py (what is replaced in an
// instance of which class) and transformers/model/*.py (the forward with the loss).
#pragma once

#include <string>

#include "graph/base/result.h"
#include "graph/ir/facts.h"

namespace vramplan {

// Whether it is one of the classes whose kernels are modelled.
bool HasLiger(const std::string& of_class);

// The training programs of `facts`, with the kernels. Behind AddLora and Quantize. Errors: a class that is not modelled; an
// adapter of the output layer, whose weight the loss reads past it.
Status UseLiger(const std::string& of_class, Facts* facts);

}  // namespace vramplan
