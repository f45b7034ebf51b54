// WorkClock: how much of the time is gone, 0 to 1: by counted work, so that the answer does not depend on the machine,
// unless that is so slow that the real clock is ahead.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace vramplan {

class WorkClock {
 public:
  WorkClock(double seconds, bool real) : seconds_(seconds), real_(real), begin_(std::chrono::steady_clock::now()) {}
  void Add(int64_t steps) { done_ += static_cast<double>(steps); }
  double Gone() const {
    const double counted = done_ / (seconds_ * kStepsASecond);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
    const double real = passed.count() / seconds_;
    return real_ && real > kTrusted ? std::max(counted, real) : counted;
  }

 private:
  // 50 to 60 million were measured on one core of a Xeon of 2023: a slower one is in time, too.
  static constexpr double kStepsASecond = 4.5e7;
  static constexpr double kTrusted = 0.3;  // before that the real clock tells of a cold start

  double seconds_;
  double done_ = 0;
  bool real_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace vramplan
