// Freezing in emitted Python: which parameters the plan trains, said to the model by the same globs.
//
//   TRAINED = [("*", False), ("fc.*", True)]        of --frozen '*' --trainable 'fc.*': the last that matches decides
//   freeze(model)                                   p.requires_grad_(...) for each parameter
#pragma once

#include <string>
#include <vector>

#include "planner/spec/trained.h"

namespace vramplan {

// What decided which parameters are trained. Without patterns all are, and nothing is emitted.
struct TrainedPart {
  std::vector<TrainedPattern> patterns;
  std::string prefix;  // in front of all names of the file: "m."
};

// "TRAINED = [...]" with its comment; empty without patterns.
std::string TrainedInPython(const TrainedPart& part);
// The functions freeze(model) and trained(model), two empty lines before each; they need fnmatch. Empty likewise.
std::string FreezeInPython(const TrainedPart& part);
// The same for variables of Keras 3.
std::string FreezeInKeras(const TrainedPart& part);
// "# the plan trains a part ...": for files that can but say it. Empty likewise.
std::string FreezeRemark(const TrainedPart& part);

}  // namespace vramplan
