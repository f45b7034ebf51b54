// WorkClock: the share of the time budget that is spent, 0 to 1. It counts work, so that the answer does not depend on
// the machine, unless the machine is so slow that processor time runs out first. Time that other programs have the
// processor does not count: a busy machine gives the same answer, within twice the time that was asked for.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>

namespace vramplan {

class WorkClock {
 public:
  WorkClock(double seconds, bool real)
      : seconds_(seconds), real_(real), begin_(std::chrono::steady_clock::now()), busy_begin_(std::clock()) {}
  void Add(int64_t steps) { done_ += static_cast<double>(steps); }
  // Steps until this part of the time is gone; at least none.
  int64_t StepsUntil(double part) const {
    return static_cast<int64_t>(std::max(0.0, part - Gone()) * seconds_ * kStepsASecond);
  }
  double Gone() const {
    const double counted = done_ / (seconds_ * kStepsASecond);
    if (!real_) return counted;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
    const double busy = static_cast<double>(std::clock() - busy_begin_) / CLOCKS_PER_SEC;
    const double real = std::max(busy, passed.count() / 2) / seconds_;
    return real > kTrusted ? std::max(counted, real) : counted;
  }

 private:
  // 80 to 140 million were measured on one core of a Xeon of 2023: a slower one is in time, too.
  static constexpr double kStepsASecond = 6e7;
  static constexpr double kTrusted = 0.3;  // before that the real clock tells of a cold start

  double seconds_;
  double done_ = 0;
  bool real_;
  std::chrono::steady_clock::time_point begin_;
  std::clock_t busy_begin_;
};

}  // namespace vramplan
