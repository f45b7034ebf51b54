// CallOrder: an order of operators in which module calls are whole. ONNX Runtime's optimizers sort nodes anew, so that
// an encoder and a decoder that do not wait for each other are mixed; Python runs one module after the other:
//
//   enc.a  dec.a  enc.b  dec.b(enc.b)     ->     enc.a  enc.b  dec.a  dec.b
//
// Invariant: everything comes after what it needs. Of what could come next, that comes which shares most of its modules
// with what came last; among equals, the first.
#pragma once

#include <vector>

#include "graph/layers/builder.h"

namespace vramplan {

// `needs[i]`: what comes before i. Gives the indices in order; what waits for itself comes last, as it was.
std::vector<size_t> CallOrder(const std::vector<std::vector<size_t>>& needs, const std::vector<ModulePath>& paths);

}  // namespace vramplan
