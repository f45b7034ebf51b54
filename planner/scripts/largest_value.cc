#include "planner/scripts/largest_value.h"

#include <algorithm>
#include <cmath>

namespace vramplan {
namespace {

// Below it kernels and views take other paths (a batch of 1 is contiguous in any order), so a law is not begun there.
constexpr int64_t kSmallest = 4;
// Once the law was wrong: how far the next try is, as a part of the last one, and how much farther each time. Between
// proved ends the interval is halved: a first step of one costs more tries than it saves.
constexpr int64_t kFirstStep = 32, kWiden = 4;

// The largest value at which the lines through two runs, one a phase, and `stuck` bytes a unit beside them stay within
// `most` bytes; at most `limit`.
int64_t EndOfLaw(const TriedValue& a, const TriedValue& b, double stuck, double most, int64_t limit) {
  double end = static_cast<double>(limit);
  for (size_t phase = 0; phase < a.phases.size(); ++phase) {
    const double at = static_cast<double>(b.phases[phase].count()), value = static_cast<double>(b.value);
    const double slope = (at - static_cast<double>(a.phases[phase].count())) / static_cast<double>(b.value - a.value);
    if (slope > 0) end = std::min(end, std::floor((most - at + slope * value) / (slope + stuck)));
  }
  return static_cast<int64_t>(std::max(end, 0.0));
}

class Search {
 public:
  Search(int64_t low, int64_t high, Bytes capacity)
      : low_(low), high_(high), capacity_(static_cast<double>(capacity.count())), fits_(low - 1), fails_(high + 1) {}

  bool over() const { return fails_ - fits_ <= 1; }
  int64_t Next() const {
    if (ran_.empty()) return fails_ > high_ ? std::min(std::max(low_, kSmallest), high_) : (fits_ + fails_) / 2;
    const int64_t middle = fits_ + (fails_ - fits_) / 2;
    // One run has no slope. When twice its value has failed, the end is not far from the middle.
    if (ran_.size() == 1) return fails_ > high_ ? std::min(std::max(2 * fits_, fits_ + 1), high_) : middle;
    if (!misled_up_ && !misled_down_) return Thought() > fits_ ? Thought() : fits_ + 1;
    if (misled_up_ && misled_down_) return middle;
    // Never beyond the middle: it may as well be there.
    return misled_up_ ? std::min(fits_ + step_, std::max(middle, fits_ + 1))
                      : std::max(fails_ - step_, std::min(middle, fails_ - 1));
  }
  void Learn(const TriedValue& tried) {
    if (ran_.size() > 1) {
      // A new law is believed once more; a second time it is not.
      const bool up = tried.fits && tried.value > Thought(), down = !tried.fits && tried.value <= Thought();
      const bool first_failure = !tried.fits && !stuck_;
      step_ = misled_up_ || misled_down_ ? kWiden * step_ : std::max<int64_t>(tried.value / kFirstStep, 1);
      if (!first_failure) (up ? misled_up_ : misled_down_) |= up || down;
    }
    (tried.fits ? fits_ : fails_) = tried.value;
    if (tried.fits) ran_.push_back(tried);
    if (!tried.fits) stuck_ = static_cast<double>(tried.stuck.count()) / static_cast<double>(tried.value);
    // A law that says that what failed runs is wrong before it is tried.
    if (!tried.fits && ran_.size() > 1 && EndByLaw() >= fails_) misled_down_ = true;
  }
  LargestValue End() const {
    LargestValue end;
    if (fits_ >= low_) end.largest = fits_;
    if (fails_ <= high_) end.first_failing = fails_;
    return end;
  }

 private:
  // What is thought to be the largest that runs.
  int64_t EndByLaw() const {
    const TriedValue &a = ran_[ran_.size() - 2], &b = ran_.back();
    if (stuck_) return EndOfLaw(a, b, *stuck_, capacity_, high_);
    // Between what the allocator would take with the slack of a small run, and with none; then with none.
    const double share = ran_.size() > 2 ? 1
                                         : static_cast<double>(std::max<int64_t>(b.requested.count(), 1)) /
                                               static_cast<double>(std::max<int64_t>(b.reserved.count(), 1));
    return EndOfLaw(a, b, 0, capacity_ * (1 + std::min(share, 1.0)) / 2, high_);
  }
  // The same, within what is proved.
  int64_t Thought() const { return std::clamp(EndByLaw(), fits_, fails_ - 1); }

  int64_t low_, high_;
  double capacity_;
  int64_t fits_, fails_;                          // proved, or beyond what is asked
  bool misled_up_ = false, misled_down_ = false;  // the law ended too early, too late
  int64_t step_ = 1;
  std::optional<double> stuck_;  // a unit, of the last that failed
  std::vector<TriedValue> ran_;  // rising
};

}  // namespace

Result<LargestValue> FindLargestValue(int64_t low, int64_t high, Bytes capacity, const RunsValue& run) {
  Search search(low, high, capacity);
  std::vector<TriedValue> all;
  while (!search.over()) {
    const Result<TriedValue> tried = run(search.Next());
    if (!tried.ok()) return tried.error();
    all.push_back(*tried);
    search.Learn(*tried);
  }
  LargestValue end = search.End();
  end.tried = std::move(all);
  return end;
}

}  // namespace vramplan
