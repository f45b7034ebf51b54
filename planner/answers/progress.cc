#include "planner/answers/progress.h"

namespace vramplan {
namespace {

// The one of the verb that runs: there is one verb a process, and tests run them one after the other.
Progress* current_progress = nullptr;

}  // namespace

Progress::Progress(std::ostream* to, std::chrono::milliseconds patience) : to_(to) {
  if (to_ == nullptr) return;
  current_progress = this;
  thread_ = std::thread([this, patience] { Watch(patience); });
}

Progress::~Progress() {
  if (to_ == nullptr) return;
  current_progress = nullptr;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  over_.notify_all();
  thread_.join();
}

void Progress::Say(const std::string& what) {
  if (current_progress == nullptr) return;
  const std::lock_guard lock(current_progress->mutex_);
  current_progress->what_ = what;
}

void Progress::Watch(std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kBetween(200);
  constexpr const char* kClear = "\r\x1b[K";  // to the beginning of the line, and nothing behind it
  const auto begin = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  bool written = false;
  for (auto wait = patience; !over_.wait_for(lock, wait, [this] { return ended_; }); wait = kBetween) {
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin).count();
    *to_ << kClear << "vramplan: " << what_ << ", " << seconds << " s" << std::flush;
    written = true;
  }
  if (written) *to_ << kClear << std::flush;
}

}  // namespace vramplan
