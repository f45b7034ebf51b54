#include "pretend/card/captures.h"

namespace pretend {

bool Captures::Begin(void* stream, void* graph) {
  if (running_.contains(stream)) return false;
  running_[stream] = {++last_, graph};
  return true;
}

std::optional<Capture> Captures::End(void* stream) {
  const auto running = running_.find(stream);
  if (running == running_.end()) return std::nullopt;
  const Capture capture = running->second;
  running_.erase(running);
  return capture;
}

std::optional<Capture> Captures::Of(void* stream) const {
  const auto running = running_.find(stream);
  return running == running_.end() ? std::nullopt : std::optional(running->second);
}

}  // namespace pretend
