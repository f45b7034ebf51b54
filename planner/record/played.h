// PlayedRecord: a record as the Timeline that Replay takes, and as the trace of one of its steps.
//
//   record   alloc 0; enter; alloc 1; leave; free 1      events   allocate 0, allocate 1, free 1      rows   0, 2, 4
//
// Everything that a script does before its first step counts, as it does on its card: so the timeline has no step 0.
#pragma once

#include <optional>
#include <vector>

#include "planner/allocator/trace.h"
#include "planner/record/record.h"
#include "planner/timeline/timeline.h"

namespace vramplan {

struct PlayedRecord {
  Timeline timeline;         // its BlockIds are the record's blocks
  std::vector<size_t> rows;  // of the record, by event
};
PlayedRecord Played(const Record& record);

// The events of one step, or of all, as `trace --compare` takes them: blocks as our allocator gives them out under
// `config`, which is what PyTorch's gave. `layer` is the line of Python. Operators and autograd nodes are not known.
// Error: the record has no such step.
Result<Trace> TraceOf(const Record& record, const std::string& name, std::optional<int> step,
                      const AllocatorConfig& config);

// "model.py:9 forward" of the line that asked for a block; empty: none is known.
std::string PlaceText(const Record& record, int32_t block);

}  // namespace vramplan
