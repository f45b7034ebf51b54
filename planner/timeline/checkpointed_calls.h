// FindCheckpointedCalls: the module calls that --checkpoint means or the code checkpoints itself, and the arguments
// that each needs to run again.
//
//   --checkpoint h.0   means every call of m.transformer.h.0
//                      (if no other path of the file ends in .h.0)
//
//   block(x):  norm(x) -> linear -> dropout -> add(x)     layers: those four; arguments: x
#pragma once

#include <string>
#include <vector>

#include "graph/layers/layers.h"
#include "planner/spec/spec.h"

namespace vramplan {

// `arguments` has no value that was made inside the call, and none that the model or the program owns.
struct CheckpointedCall {
  ModuleId module;
  int around = -1;                 // index of the innermost checkpointed call that contains this one; -1: none
  std::vector<size_t> layers;      // its layers, in order; never empty
  std::vector<ValueId> arguments;  // in order of first use
  std::vector<SavedCall> saved;    // operator calls that do not run again
  bool reentrant = false;          // use_reentrant=True, as the code has it
  bool operator==(const CheckpointedCall&) const = default;
};

// In order of execution, outer calls before inner ones. Errors (usage): a path that names no module, several, the model
// itself, or one that runs nothing; a saved operator call of a module that is not wrapped, or of one inside or around
// another.
Result<std::vector<CheckpointedCall>> FindCheckpointedCalls(const Layers& layers, const std::vector<std::string>& paths,
                                                            const std::vector<SavedCall>& saved = {});

}  // namespace vramplan
