// Edit: how a pass changes a list of layers.
//
//   PutCalls({mean's place: bce_logits(x, y)})   the mean became the call; the others, which nobody reads any more, are
//                                                gone
#pragma once

#include <map>
#include <set>

#include "graph/layers/layers.h"

namespace vramplan {

// Each call takes the place of a layer; the layers at `gone`, whose results calls make now, go, and so do those that
// were read only by what is gone.
void PutCalls(Layers* layers, std::map<size_t, Layer> calls, const std::set<size_t>& gone = {});

}  // namespace vramplan
