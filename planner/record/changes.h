// Changes: what a change of the script would make of its record. Each takes a record and gives another one, which is
// replayed like the first.
//
//   checkpointed: the forward of a module keeps only what it gives; it is computed again where its backward begins
//
//   before   |-forward of m: a, b, r-|  ...  |-backward: frees b, a-|
//   after    |-a, b, r; frees a, b---|  ...  |-a', b'; backward: frees b', a'-|
//
// What they cannot know, because a record has no tensors but only blocks: whether a module's own nodes keep its result;
// how long Python's variables hold what nobody saves any more (taken as: until the submodule that made it returns, or,
// of what that one gives, the next one). `vramplan run --try` runs the script with them instead.
#pragma once

#include <string>
#include <vector>

#include "planner/record/record.h"

namespace vramplan {

// Modules of equal names but for a last number, such as a transformer's layers, that no other such list holds.
struct ModuleList {
  std::string name;     // "model.layers.*"
  int64_t modules = 0;  // so many were called
  Bytes saved;          // that their forwards keep for the backward, in the last step that has one
  bool operator==(const ModuleList&) const = default;
};
// The one that saves the most first.
std::vector<ModuleList> ModuleListsOf(const Record& record);

// Each call of their modules checkpointed, as torch.utils.checkpoint does it without reentering the engine.
Record WithCheckpoints(const Record& record, const std::vector<ModuleList>& lists);

// States of 4 bytes an element as bitsandbytes keeps them (bitsandbytes/optim/optimizer.py, 0.50: blocks of 256
// elements with a number of 4 bytes each, and two tables of 1 KiB; tensors below 4096 elements stay), and no
// temporaries in the update.
Record WithSmallStates(const Record& record);

}  // namespace vramplan
