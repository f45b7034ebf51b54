// Layers that did not run while the model was exported: LayerDrop (wav2vec 2.0, M2M-100, BART: config.layerdrop) leaves
// layers out by chance in training mode, and a trace has neither their nodes nor their parameters. Seen as a hole among
// modules of one list that are alike:
//
//   encoder.layers.0 {attn, fc1, fc2}, encoder.layers.2 {attn, fc1, fc2}    ->  a warning that names encoder.layers.1
//
// A last layer that is missing leaves no hole.
#pragma once

#include "graph/base/note.h"
#include "graph/layers/layers.h"

namespace vramplan {

// Warns "skipped-layer", once a list.
void NoteSkippedLayers(const Layers& layers, Notes* notes);

}  // namespace vramplan
