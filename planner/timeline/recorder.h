// Recorder: the Memory that Schedule gives to the rules. It records every request as an event of the Timeline, or, of a
// step that is asked for its peaks alone, keeps these and the blocks of unknown size.
#pragma once

#include <optional>
#include <vector>

#include "planner/timeline/peaks_by_phase.h"
#include "planner/timeline/timeline.h"

namespace vramplan {

class Recorder : public Memory {
 public:
  explicit Recorder(Timeline& timeline) : timeline_(timeline) {}
  // Keeps the level of requested bytes at this batch in the place of events and blocks.
  Recorder(Timeline& timeline, int64_t batch) : timeline_(timeline), level_(Level{.batch = batch}) {}

  BlockId Allocate(SizeExpr bytes, Category category, const Origin& origin) override;
  BlockId AllocateUpTo(SizeExpr likely, SizeExpr most, Category category, const Origin& origin) override;
  void Free(BlockId block) override;
  void Retag(BlockId block, Category category) override;
  void Mark(EventKind mark);
  // What is running, read at each event. It must live until Stop.
  void Follow(const Origin* at_work) { at_work_ = at_work; }
  // From here on events belong to this step and phase.
  void Enter(int step, Phase phase);
  // Stays in the same step; returns the previous phase.
  Phase Enter(Phase phase);
  size_t events() const { return events_; }
  // Only where the level is kept.
  const PeaksByPhase& peaks() const { return level_->peaks; }
  std::vector<CheckpointRun>& checkpoints() { return timeline_.checkpoints; }
  // After this, frees are not recorded: the run is over, and blocks that are live stay live.
  void Stop() { stopped_ = true; }

 private:
  struct Level {
    int64_t batch;
    Bytes now;
    PeaksByPhase peaks;
    std::vector<Bytes> blocks;  // by BlockId
    void Follow(EventKind kind, BlockId block);
  };

  void Push(EventKind kind, Category category, BlockId block);
  Timeline& timeline_;
  std::optional<Level> level_;
  size_t events_ = 0;
  const Origin* at_work_ = nullptr;
  int step_ = 0;
  Phase phase_ = Phase::kSetup;
  bool stopped_ = false;
};

}  // namespace vramplan
