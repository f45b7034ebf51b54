// Timeline: every birth and death of device memory in the first steps of a run, each owned by a layer, a phase and a
// category. Sizes are polynomials in the batch. The order of events is exact for the batch it was scheduled at
// (`batch`), and the sizes hold for batches near it; a few decisions depend on the batch (contiguity at batch 1,
// scratch of kernels).
//
//   bytes
//     |            ____peak, in the backward of step 2
//     |       ____/    \___
//     |  ____/             \____update____
//     |_/   forward  backward            \___
//     +--------------------------------------------> events
//
// Invariants: a block is allocated once and freed at most once, after its allocation; blocks that are never freed
// belong to the model, the optimizer, the caller or a library; the phases of a step come in order, and recomputations
// run inside the backward.
#pragma once

#include <string>
#include <vector>

#include "graph/base/note.h"
#include "graph/base/result.h"
#include "graph/layers/layers.h"
#include "planner/semantics/memory.h"
#include "planner/spec/spec.h"

namespace vramplan {

struct Block {
  SizeExpr bytes;                              // what was asked for, unrounded; zero where a library likely takes none
  SizeExpr most = {};                          // of a block whose size a library chooses; else zero
  Category category = Category::kTemporaries;  // when it was allocated
  bool optional = false;                       // the caller goes on without it if there is no room
  Origin origin;
  bool operator==(const Block& other) const { return bytes == other.bytes && category == other.category; }
};

enum class EventKind : uint8_t {
  kAllocate,
  kFree,
  kRetag,         // `category` is the block's new one
  kAfterForward,  // marks: the loss has been computed; the gradients have; the step is over
  kAfterBackward,
  kStepEnd,
  kBeforeLoss,      // the model has returned; the loss lasts until the phase ends
  kBeforeZeroGrad,  // gradients are freed between these two
  kAfterZeroGrad,
  kEmptyCache,  // of a script that was recorded: torch.cuda.empty_cache()
};

struct Event {
  EventKind kind = EventKind::kAllocate;
  Phase phase = Phase::kSetup;
  Category category = Category::kTemporaries;
  int8_t step = 0;  // 0: before the first step
  BlockId block;    // invalid for marks
  Origin origin;    // what was running then; for a free, not what had allocated the block
};

// An operator call of a checkpointed module in the last forward, with the blocks that saving it keeps or would keep.
struct OperatorCall {
  int32_t layer = -1;
  std::string op;  // overload
  int occurrence = 0;
  std::vector<BlockId> results;
  bool overwritten = false;  // written into later, so PyTorch refuses to save it
};

// One checkpointed module call of the last forward.
struct CheckpointRun {
  std::string module;               // its path
  size_t closed = 0;                // event at which its forward ended; 0: it has not ended
  size_t again = 0;                 // event at which its second forward began; 0: there was none
  std::vector<OperatorCall> calls;  // that may be saved
};

struct Timeline {
  int64_t batch = 1;  // scheduled at
  int steps = 0;
  Loss loss = Loss::kNone;  // the one laid out, also where --loss auto chose it
  std::string refused;      // what makes PyTorch refuse the step with an error, at any batch; empty: nothing does
  std::vector<CheckpointRun> checkpoints;
  std::vector<Block> blocks;  // by BlockId
  std::vector<Event> events;
  const Block& operator[](BlockId id) const { return blocks[static_cast<size_t>(id.value)]; }
};

// Requested bytes as a polynomial in the batch. Sums of at most 2^53 bytes are exact in a double.
struct RequestedLevel {
  double c0 = 0, c1 = 0, c2 = 0;
  double At(int64_t batch) const {
    const auto b = static_cast<double>(batch);
    return c0 + b * (c1 + b * c2);
  }
  friend bool operator==(const RequestedLevel&, const RequestedLevel&) = default;
};

// The level after each event. The ideal peak of a batch is the most that any of them is At() it.
std::vector<RequestedLevel> RequestedLevels(const Timeline& timeline);

// What is said of a step with this Timeline::refused.
Note NoteOfRefusal(const std::string& refused);

// The same step where libraries take the most of each block whose size they choose (semantics/cudnn_workspace.h).
Timeline AtMost(Timeline timeline);

// Lays out spec.steps training steps (or two forwards of inference) at this batch. Errors: an operator that cannot be
// trained, a loss that does not fit the output.
Result<Timeline> Schedule(const Layers& layers, const TrainingSpec& spec, int64_t batch, Notes* notes);

}  // namespace vramplan
