// RepeatedModules: the modules that a model has several of in one place, each more than one call: what libraries and
// people run under torch.utils.checkpoint when they do at all (transformers' gradient_checkpointing: each layer of a
// list; timm's checkpoint_seq: each part of a sequence).
//
//   blocks.0  blocks.1  blocks.2                   blocks.#
//   down.0.res  down.1.res  mid  up.0  up.1        down.#.res  up.#
//
// Outer ones alone: what runs inside of one that is listed is not.
#pragma once

#include <string>
#include <vector>

#include "graph/layers/layers.h"

namespace vramplan {

// Their paths, in order of execution, each once.
std::vector<std::string> RepeatedModules(const Layers& layers);

}  // namespace vramplan
