#include "planner/solver/steps.h"

#include <algorithm>
#include <utility>

namespace vramplan {

Result<LaidOut> Steps::At(int64_t batch) {
  const auto found = std::ranges::find_if(kept_, [&](const LaidOut& step) { return step->batch == batch; });
  if (found != kept_.end()) return *found;
  Result<Timeline> timeline = layout_(batch);
  if (!timeline.ok()) return timeline.error();
  return Keep(*std::move(timeline));
}

LaidOut Steps::Keep(Timeline timeline) {
  kept_.push_front(std::make_shared<const Timeline>(std::move(timeline)));
  events_ += kept_.front()->events.size();
  while (events_ > most_kept_ && kept_.size() > 1) {
    events_ -= kept_.back()->events.size();
    kept_.pop_back();
  }
  return kept_.front();
}

}  // namespace vramplan
