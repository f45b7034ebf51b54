// Pyramid: the list of maps that an encoder hands to a decoder. The graph shows only those that the decoder reads.
//
//   features = self.encoder(x); mask = self.head(self.decoder(features))     every map lives until the mask is there
#pragma once

#include <vector>

#include "planner/lifetimes/statements.h"

namespace vramplan {

// features = self.encoder(x); self.segmentation_head(self.decoder(features)): the list has the last map of every
// resolution that one block hands to the next, whatever the decoder reads of it (segmentation_models_pytorch/
// base/model.py, encoders/).
void HoldPyramid(const Layers& layers, const Statements& statements, Holds& release);

}  // namespace vramplan
