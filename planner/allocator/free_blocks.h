// FreeBlocks: the free blocks of a pool, ordered by (size, address), so that the best fit (smallest that is large
// enough, then lowest address) is the first one not below (size, 0).
//
//   {(512, 0x600), (512, 0xA00), (2048, 0x200)}.LowerBound(600) -> (2048, 0x200)
//
// The order is cut into sorted runs of at most kMostInRun, so that a change moves few entries: at batch 1 a pool of
// ResNet-50 holds up to 45 of them, which is one run, but one of Qwen3 8B some 600.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "graph/base/check.h"

namespace vramplan {

struct FreeBlock {
  int64_t size = 0;
  uint64_t address = 0;
  int32_t block = -1;
};

class FreeBlocks {
  struct Run;

 public:
  static constexpr size_t kMostInRun = 64;

  // Any change ends it.
  class Iterator {
   public:
    const FreeBlock& operator*() const { return (*run_)->entries[at_]; }
    const FreeBlock* operator->() const { return &**this; }
    Iterator& operator++() {
      if (++at_ == (*run_)->size) *this = {run_ + 1, 0};
      return *this;
    }
    bool operator==(const Iterator& other) const = default;

   private:
    friend class FreeBlocks;
    Iterator(const std::unique_ptr<Run>* run, size_t at) : run_(run), at_(at) {}
    const std::unique_ptr<Run>* run_;
    size_t at_;  // 0 at the end of the last run
  };

  Iterator begin() const { return {runs_.data(), 0}; }
  Iterator end() const { return {runs_.data() + runs_.size(), 0}; }
  bool empty() const { return runs_.empty(); }
  const FreeBlock& largest() const {
    VRAMPLAN_CHECK(!empty());
    return runs_.back()->entries[runs_.back()->size - 1];
  }

  // The first entry that is not below (size, address).
  Iterator LowerBound(int64_t size, uint64_t address = 0) const {
    if (runs_.empty()) return end();
    const std::unique_ptr<Run>* run = runs_.data() + RunOf(size, address);
    const size_t at = Below((*run)->entries.data(), (*run)->size, size, address);
    return at < (*run)->size ? Iterator(run, at) : Iterator(run + 1, 0);
  }
  void Insert(FreeBlock entry) {
    if (runs_.empty()) {
      runs_.push_back(std::make_unique<Run>());
      bounds_.push_back(kEndless);
    }
    size_t at = RunOf(entry.size, entry.address);
    if (runs_[at]->size == kMostInRun) {
      Halve(at);
      if (IsBelow(bounds_[at], entry.size, entry.address)) ++at;
    }
    Run& run = *runs_[at];
    FreeBlock* end = run.entries.data() + run.size++;
    FreeBlock* place = run.entries.data() + Below(run.entries.data(), run.size - 1, entry.size, entry.address);
    std::move_backward(place, end, end + 1);
    *place = entry;
  }
  void Remove(int64_t size, uint64_t address) {
    const Iterator at = LowerBound(size, address);
    VRAMPLAN_CHECK(at != end() && at->size == size && at->address == address);
    Erase(at);
  }
  void Erase(Iterator at) {
    Run& run = **at.run_;
    FreeBlock* place = run.entries.data() + at.at_;
    std::move(place + 1, run.entries.data() + run.size--, place);
    if (run.size == 0) Drop(static_cast<size_t>(at.run_ - runs_.data()));
  }

 private:
  struct Run {
    size_t size = 0;  // never 0 between changes
    std::array<FreeBlock, kMostInRun> entries;
  };
  static constexpr FreeBlock kEndless{std::numeric_limits<int64_t>::max(), std::numeric_limits<uint64_t>::max(), -1};

  // Compared as one number, which is quicker than in two steps. Sizes are not negative.
  __extension__ using Key = unsigned __int128;
  static Key KeyOf(int64_t size, uint64_t address) { return (static_cast<Key>(size) << 64U) | address; }
  static bool IsBelow(const FreeBlock& entry, int64_t size, uint64_t address) {
    return KeyOf(entry.size, entry.address) < KeyOf(size, address);
  }
  // How many of these sorted entries are below (size, address).
  static size_t Below(const FreeBlock* entries, size_t length, int64_t size, uint64_t address) {
    const FreeBlock* first = entries;
    while (length > 0) {  // no branch depends on the comparison
      const size_t half = length / 2;
      const bool below = IsBelow(first[half], size, address);
      first += below ? half + 1 : 0;
      length = below ? length - half - 1 : half;
    }
    return static_cast<size_t>(first - entries);
  }
  size_t RunOf(int64_t size, uint64_t address) const {
    return bounds_.size() == 1 ? 0 : Below(bounds_.data(), bounds_.size(), size, address);
  }
  void Halve(size_t at) {
    constexpr size_t kHalf = kMostInRun / 2;
    Run& lower = *runs_[at];
    auto upper = std::make_unique<Run>();
    std::copy(lower.entries.begin() + kHalf, lower.entries.end(), upper->entries.begin());
    lower.size = kHalf;
    upper->size = kMostInRun - kHalf;
    const auto place = static_cast<std::ptrdiff_t>(at);
    bounds_.insert(bounds_.begin() + place, lower.entries[kHalf - 1]);
    runs_.insert(runs_.begin() + place + 1, std::move(upper));
  }
  // What an empty run held lies in the next one from now on; if it was the last, the one before has no bound any more.
  void Drop(size_t at) {
    runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(at));
    bounds_.erase(bounds_.begin() + static_cast<std::ptrdiff_t>(at));
    if (!bounds_.empty()) bounds_.back() = kEndless;
  }

  // What is in runs_[i] is not above bounds_[i], and what is behind it is.
  std::vector<std::unique_ptr<Run>> runs_;
  std::vector<FreeBlock> bounds_;
};

}  // namespace vramplan
