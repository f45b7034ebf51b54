#include "planner/runtimes/stand_in.h"

#include <string>
#include <vector>

#include "graph/base/check.h"
#include "planner/semantics/optimizer.h"

namespace vramplan {
namespace {

bool IsState(Category category) {
  return category == Category::kParameters || category == Category::kBuffers || category == Category::kOptimizerState ||
         category == Category::kInputs;
}

// Reads PyTorch's timeline event by event and writes another one.
class Rewriter {
 public:
  Rewriter(const Timeline& from, const Layers& layers, const TrainingSpec& spec)
      : from_(from), layers_(layers), spec_(spec), state_(from.blocks.size()) {
    to_.batch = from.batch;
    to_.steps = from.steps;
  }

  // What is alive where a step ends and is no variable dies there.
  Timeline ForTensorFlow() {
    to_.blocks = from_.blocks;
    for (const Event& event : from_.events) {
      if (event.block.valid()) {
        const State before = state_[Index(event.block)];
        if (IsLibrarys(event.block) || !Follow(event)) continue;
        if (event.kind == EventKind::kFree && !before.alive) continue;
      }
      if (event.kind == EventKind::kStepEnd) EndStep(event);
      to_.events.push_back(event);
    }
    return std::move(to_);
  }

  Timeline ForJax() {
    size_t begin = 0;
    for (size_t i = 0; i < from_.events.size(); ++i) {
      if (from_.events[i].step == 0) {
        CHECK(Follow(from_.events[i]));
        begin = i + 1;
      }
    }
    written_.assign(from_.blocks.size(), false);
    WriteStates(0);
    for (size_t i = begin; i < from_.events.size(); ++i) {
      if (from_.events[i].kind == EventKind::kStepEnd) {
        JaxStep(begin, i);
        begin = i + 1;
      }
    }
    return std::move(to_);
  }

 private:
  struct State {
    bool alive = false;
    Category category = Category::kTemporaries;
  };
  static size_t Index(BlockId block) { return static_cast<size_t>(block.value); }

  // cuBLAS' workspaces are PyTorch's way; those of convolutions every framework takes from its allocator.
  bool IsLibrarys(BlockId id) const {
    const Block& block = from_[id];
    if (block.category != Category::kWorkspace) return false;
    const int32_t layer = block.origin.layer;
    return layer < 0 || !layers_.layers[static_cast<size_t>(layer)].op.starts_with("conv");
  }

  // False: a block that was let go before.
  bool Follow(const Event& event) {
    if (!event.block.valid()) return true;
    State& state = state_[Index(event.block)];
    if (event.kind == EventKind::kAllocate) {
      state = {true, event.category};
    } else if (event.kind == EventKind::kRetag) {
      state.category = event.category;
    } else if (event.kind == EventKind::kFree) {
      const bool was_alive = state.alive;
      state.alive = false;
      return was_alive;
    }
    return state.alive;
  }

  void EndStep(const Event& end) {
    for (size_t b = 0; b < state_.size(); ++b) {
      if (!state_[b].alive || IsState(state_[b].category) || state_[b].category == Category::kGradients) continue;
      Event death = end;
      death.kind = EventKind::kFree;
      death.category = state_[b].category;
      death.block = BlockId{static_cast<int32_t>(b)};
      to_.events.push_back(death);
      state_[b].alive = false;
    }
  }

  BlockId Write(int step, Phase phase, SizeExpr bytes, Category category, const char* op) {
    Origin origin;
    origin.op = op;
    return Write(step, phase, {.bytes = bytes, .category = category, .origin = origin});
  }
  BlockId Write(int step, Phase phase, const Block& block) {
    const BlockId id{static_cast<int32_t>(to_.blocks.size())};
    to_.blocks.push_back(block);
    to_.events.push_back({EventKind::kAllocate, phase, block.category, static_cast<int8_t>(step), id, block.origin});
    return id;
  }
  void Mark(int step, Phase phase, EventKind kind, BlockId block = BlockId()) {
    const Category category = block.valid() ? to_[block].category : Category::kTemporaries;
    to_.events.push_back({kind, phase, category, static_cast<int8_t>(step), block, Origin()});
  }

  // Parameters, states and inputs that are alive and not yet written.
  void WriteStates(int step) {
    for (size_t b = 0; b < state_.size(); ++b) {
      if (!state_[b].alive || written_[b] || !IsState(state_[b].category)) continue;
      written_[b] = true;
      Block block = from_.blocks[b];
      block.category = state_[b].category;
      Write(step, step == 0 ? Phase::kSetup : Phase::kForward, block);
      if (block.category != Category::kInputs) states_ = states_ + block.bytes;
    }
  }

  // The most that lived and died within the events [begin, end), and the states that it left.
  void JaxStep(size_t begin, size_t end) {
    const int step = from_.events[begin].step;
    const std::vector<State> before = state_;
    const Bytes held = Temporaries().At(from_.batch);
    Bytes now = held, most = held;
    size_t at = begin;  // events before it lead to the most
    for (size_t i = begin; i < end; ++i) {
      const Event& event = from_.events[i];
      if (!event.block.valid() || IsLibrarys(event.block)) continue;
      now -= Temporary(event.block);
      Follow(event);
      now += Temporary(event.block);
      if (now <= most) continue;
      most = now;
      at = i + 1;
    }
    state_ = before;
    FollowAll(begin, at);
    const SizeExpr most_bytes = Temporaries();
    FollowAll(at, end);
    WriteStates(step);
    const bool trains = spec_.mode == Mode::kTrain;
    std::vector<BlockId> blocks;
    if (most > Bytes())
      blocks.push_back(Write(step, Phase::kForward, most_bytes, Category::kActivations, "temporaries of the program"));
    if (trains && !spec_.pool.donate && !states_.IsZero())
      blocks.push_back(Write(step, Phase::kForward, states_, Category::kTemporaries, "new parameters and states"));
    Mark(step, Phase::kForward, EventKind::kAfterForward);
    if (trains) Mark(step, Phase::kBackward, EventKind::kAfterBackward);
    const Phase last = trains ? Phase::kUpdate : Phase::kForward;
    for (const BlockId block : blocks) Mark(step, last, EventKind::kFree, block);
    Mark(step, last, EventKind::kStepEnd);
  }

  void FollowAll(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const Event& event = from_.events[i];
      if (event.block.valid() && !IsLibrarys(event.block)) Follow(event);
    }
  }
  Bytes Temporary(BlockId id) const {
    const State& state = state_[Index(id)];
    return state.alive && !IsState(state.category) ? from_[id].bytes.At(from_.batch) : Bytes();
  }
  SizeExpr Temporaries() const {
    SizeExpr sum;
    for (size_t b = 0; b < state_.size(); ++b) {
      if (state_[b].alive && !IsState(state_[b].category)) sum = sum + from_.blocks[b].bytes;
    }
    return sum;
  }

  const Timeline& from_;
  const Layers& layers_;
  const TrainingSpec& spec_;
  Timeline to_;
  std::vector<State> state_;   // by block of from_
  std::vector<bool> written_;  // likewise
  SizeExpr states_;            // parameters, buffers and states that were written
};

void NoteStandIn(const TrainingSpec& spec, Notes* notes) {
  const Runtime runtime = spec.framework.runtime;
  const std::string name(Title(runtime));
  const std::string differs =
      runtime == Runtime::kTensorFlow
          ? "update kernels are fused, nothing but variables outlives a step, cuBLAS has its workspace outside the "
            "allocator; what Grappler and XLA fuse is not known"
          : "one block holds everything that lives within the step; what XLA fuses and rematerialises is not known" +
                std::string(
                    spec.mode != Mode::kTrain || spec.pool.donate
                        ? ""
                        : "; new parameters and states exist next to the old ones (--donate on: they replace them)");
  notes->Add({"unmeasured-framework", Severity::kWarning, "--framework",
              name + (runtime == Runtime::kJax ? " was measured in only twelve steps" : " was not measured") +
                  ": the tensors are those of PyTorch, with the known differences: " + differs,
              "so the band is wide: half to one and a half times the likely value"});
}

}  // namespace

Result<Timeline> ScheduleStandIn(const Layers& layers, const TrainingSpec& spec, int64_t batch, Notes* notes) {
  const Runtime runtime = spec.framework.runtime;
  CHECK(runtime == Runtime::kTensorFlow || runtime == Runtime::kJax);
  if (spec.mode == Mode::kEval) {
    return Error{ErrorCode::kUsage, "--mode",
                 std::string(Title(runtime)) + " saves nothing without a backward, so it has no eval mode",
                 "type --mode infer"};
  }
  TrainingSpec stand_in = spec;
  stand_in.framework = kNewestFramework;
  // ResourceApplyAdam and its like are one kernel each (tensorflow/core/kernels/training_ops.cc).
  stand_in.optimizer_impl = eager::HasImpl(spec.optimizer, OptimizerImpl::kFused)     ? OptimizerImpl::kFused
                            : eager::HasImpl(spec.optimizer, OptimizerImpl::kForLoop) ? OptimizerImpl::kForLoop
                                                                                      : spec.optimizer_impl;
  Result<Timeline> eager = Schedule(layers, stand_in, batch, notes);
  if (!eager.ok()) return eager.error();
  if (notes != nullptr) NoteStandIn(spec, notes);
  Rewriter rewriter(*eager, layers, spec);
  return runtime == Runtime::kTensorFlow ? rewriter.ForTensorFlow() : rewriter.ForJax();
}

}  // namespace vramplan
