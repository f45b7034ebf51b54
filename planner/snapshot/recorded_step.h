// StepOfSnapshot: one optimizer step of a snapshot that PyTorch wrote, as the trace that CompareTraces takes.
//
//   torch.cuda.memory._record_memory_history(); ...steps...; torch.cuda.memory._dump_snapshot("run.pickle")
//
// A snapshot knows which lines of Python asked, so the phase is read off them: torch/optim is the update, its zero_grad
// is that, autograd's threads (which have no Python of their own) and torch/autograd are the backward, the rest is the
// forward, the loss included. A step ends where a forward begins again after an update.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "planner/allocator/trace.h"
#include "planner/snapshot/pickle.h"

namespace vramplan {

struct RecordedSteps {
  Trace step;               // sizes are what was asked for; `line` counts the entries of the device's trace, from 1
  int number = 0;           // of that step within the snapshot, from 1
  int whole = 0;            // steps that have an update and are followed by another forward, or end the trace
  bool from_start = false;  // the trace has everything since the first allocation
};

struct StepChoice {
  std::optional<int> step;       // nothing: the last whole one
  bool zero_grad_first = false;  // zero_grad() after an update belongs to the next step
};
// Errors (kBadInput): no snapshot, a trace without stacks, no such step.
Result<RecordedSteps> StepOfSnapshot(const Pickle& snapshot, const std::string& name, const StepChoice& choice);

// Ours, in the same words: sizes as asked for, the loss within the forward. `before`: requested when the step begins.
Trace AsRequested(Trace trace, Bytes before);

// Whether a file begins as a pickle of protocol 2 or later does.
bool IsPickle(std::string_view bytes);
// Of a pickle that was given to a verb that reads text.
Error IsNoText(const std::string& name);
// Of what was given as a snapshot and is none.
Error IsNoSnapshot(const std::string& name, const std::string& text);

}  // namespace vramplan
