// Trained: which parameters the user says are trained, by globs over their names.
//
//   --frozen '*' --trainable 'layer4.*' --frozen '*.bn?.*'      the last that matches decides
//   conv1.weight         frozen       layer4.0.conv1.weight    trained       layer4.0.bn1.weight    frozen
//
// Globs are those of Python's fnmatch.fnmatchcase, so that emitted code decides alike: * is any text, dots too, ? one
// character, [abc] one of these, [!abc] another one. Names are those of model.named_parameters(). A name of the file
// may have the paths of wrappers in front that all of them share (m.conv1.weight), and a name that is typed those of
// DistributedDataParallel, torch.compile or FSDP: both are tried with and without.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/base/note.h"
#include "graph/base/result.h"
#include "graph/layers/layers.h"

namespace vramplan {

struct TrainedPattern {
  std::string glob;
  bool trained = true;  // --trainable; else --frozen
  bool operator==(const TrainedPattern&) const = default;
};

bool MatchesGlob(std::string_view glob, std::string_view name);

// The leading parts of the path that all parameters share: "m." of m.conv1.weight and m.fc.bias.
std::string SharedPrefix(const Layers& layers);
// DistributedDataParallel's module., torch.compile's _orig_mod. and FSDP's parts of a path, taken away.
std::string WithoutWrappers(std::string_view path);

// Whether each parameter is matched by some pattern, so that no assumption is left.
bool DecideAll(const std::vector<TrainedPattern>& patterns, const Layers& layers);

// Decides for each parameter that a pattern matches; those that none matches stay as they are. Error (usage): a pattern
// that matches no parameter, with the nearest names. Note "unnamed-parameters": some have no name that a user could
// know, and no pattern reached them.
Status ApplyTrained(const std::vector<TrainedPattern>& patterns, Layers* layers, Notes* notes);

struct TrainedCount {
  int64_t trained = 0, frozen = 0;                  // elements
  int64_t trained_tensors = 0, frozen_tensors = 0;  // parameters
};
TrainedCount CountTrained(const Layers& layers);

// "--frozen '*' --trainable 'fc.*'", to be typed again in a shell.
std::string ToString(const std::vector<TrainedPattern>& patterns);

}  // namespace vramplan
