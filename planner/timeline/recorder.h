// Recorder: the Memory that Schedule gives to the rules. It records every request as an event of the Timeline.
#pragma once

#include "planner/timeline/timeline.h"

namespace vramplan {

class Recorder : public Memory {
 public:
  explicit Recorder(Timeline& timeline) : timeline_(timeline) {}

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
  size_t events() const { return timeline_.events.size(); }
  std::vector<CheckpointRun>& checkpoints() { return timeline_.checkpoints; }
  // After this, frees are not recorded: the run is over, and blocks that are live stay live.
  void Stop() { stopped_ = true; }

 private:
  void Push(EventKind kind, Category category, BlockId block);
  Timeline& timeline_;
  const Origin* at_work_ = nullptr;
  int step_ = 0;
  Phase phase_ = Phase::kSetup;
  bool stopped_ = false;
};

}  // namespace vramplan
