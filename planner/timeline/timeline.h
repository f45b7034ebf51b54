// Timeline: every birth and death of device memory in the first steps of a run, each owned by a layer, a phase and a
// category. Sizes are polynomials in the batch; the order of events is exact for the batch it was scheduled at
// (`batch`), and the sizes hold for every batch near it (decisions that depend on the batch: contiguity at batch 1,
// scratch of kernels).
//
//   bytes
//     |            ____peak, in the backward of step 2
//     |       ____/    \___
//     |  ____/             \____update____
//     |_/   forward  backward            \___
//     +--------------------------------------------> events
//
// Invariants: a block is born once and dies at most once, after its birth; blocks that never die are the model's, the
// optimizer's, the caller's or a library's; phases of a step come in order, recomputations inside
// the backward.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "graph/base/note.h"
#include "graph/base/result.h"
#include "graph/lift/layers.h"
#include "planner/semantics/memory.h"
#include "planner/spec/spec.h"

namespace vramplan {

struct Block {
  SizeExpr bytes;     // what was asked for, unrounded
  Category category;  // at birth
  Origin origin;
  bool optional = false;  // who asks goes on without it when there is no room
  bool operator==(const Block& other) const { return bytes == other.bytes && category == other.category; }
};

enum class EventKind : uint8_t {
  kAllocate,
  kFree,
  kRetag,         // `category` is the block's new one
  kAfterForward,  // marks: the loss is there; the gradients are there; the step is over
  kAfterBackward,
  kStepEnd,
  kBeforeLoss,      // the model has returned; until the phase ends
  kBeforeZeroGrad,  // gradients are let go between these two
  kAfterZeroGrad,
};

struct Event {
  EventKind kind = EventKind::kAllocate;
  Phase phase = Phase::kSetup;
  Category category = Category::kTemporaries;
  int8_t step = 0;  // 0: before the first step
  BlockId block;    // invalid for marks
  Origin origin;    // who was at work then; of a free: not who had asked for the block
};

// An operator call of a checkpointed module in the last forward: what saving it would keep, or keeps.
struct OperatorCall {
  int32_t layer = -1;
  std::string op;  // overload
  int occurrence = 0;
  std::vector<BlockId> results;
  bool overwritten = false;  // written into later: PyTorch refuses to have it saved
};

// One checkpointed module call of the last forward.
struct CheckpointRun {
  std::string module;               // its path
  size_t closed = 0;                // event at which its forward was over; 0: it is not
  size_t again = 0;                 // event at which its second forward began; 0: it has none
  std::vector<OperatorCall> calls;  // that may be saved
};

struct Timeline {
  int64_t batch = 1;  // scheduled at
  int steps = 0;
  Loss loss = Loss::kNone;  // that was laid out: what --loss auto came to
  std::vector<CheckpointRun> checkpoints;
  std::vector<Block> blocks;  // by BlockId
  std::vector<Event> events;
  const Block& operator[](BlockId id) const { return blocks[static_cast<size_t>(id.value)]; }
};

// Running sum of requested bytes after each event, as coefficients of 1, B, B^2: one row per event. The ideal peak of
// any batch is (LevelCoefficients(t) * Eigen::Vector3d(1, b, b * b)).maxCoeff().
Eigen::Matrix<double, Eigen::Dynamic, 3> LevelCoefficients(const Timeline& timeline);

// Lays out spec.steps training steps (or two forwards of inference) at this batch. Errors: an operator that cannot be
// trained, a loss that does not fit the output.
Result<Timeline> Schedule(const Layers& layers, const TrainingSpec& spec, int64_t batch, Notes* notes);

}  // namespace vramplan
