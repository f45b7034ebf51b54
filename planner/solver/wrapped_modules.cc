#include "planner/solver/wrapped_modules.h"

#include <algorithm>

namespace vramplan {

WrappedModules::WrappedModules(const ModuleProfile& profile, int64_t most)
    : profile_(&profile),
      subtree_end_(profile.SubtreeEnds()),
      again_at_(profile.levels.size()),
      set_(profile.None()),
      wrapped_(profile.calls.size(), false),
      nearest_(profile.calls.size(), -1),
      base_(profile.levels),
      above_(profile.levels),
      blocks_((profile.levels.size() + kMomentsOfBlock - 1) / kMomentsOfBlock) {
  for (size_t c = 0; c < profile.calls.size(); ++c) again_at_[profile.calls[c].again].push_back(c);
  for (size_t t = 0; t < above_.size(); ++t) {
    above_[t] -= most;
    excess_ += std::max<int64_t>(0, above_[t]);
  }
  for (size_t b = 0; b < blocks_.size(); ++b) AddToMoments(b, 0, 0, 0);
}

void WrappedModules::Toggle(size_t module) {
  set_[module] = !set_[module];
  for (const size_t call : profile_->modules[module].calls) ToggleCall(call);
}

void WrappedModules::ToggleCall(size_t c) {
  const ProfiledCall& call = profile_->calls[c];
  const bool wraps = !wrapped_[c];
  const int64_t sign = wraps ? 1 : -1;
  const bool alone = profile_->modules[call.module].alone;
  int around = -1;
  for (int outer = call.around; outer >= 0; outer = profile_->calls[static_cast<size_t>(outer)].around) {
    if (!wrapped_[static_cast<size_t>(outer)]) continue;
    if (around < 0) around = outer;
    if (alone) conflicts_ += wraps ? 1 : -1;
  }
  wrapped_[c] = wraps;
  AddBetween(call.begin, call.end, -sign * call.dropped);
  if (around >= 0) AddOverlap(c, static_cast<size_t>(around), sign);
  nearest_[c] = around;
  for (size_t inner = c + 1; inner < subtree_end_[c]; ++inner) {
    if (!wrapped_[inner]) continue;
    if (profile_->modules[profile_->calls[inner].module].alone) conflicts_ += wraps ? 1 : -1;
    // Those that this call is the innermost around change over to it, or back.
    if (nearest_[inner] != (wraps ? around : static_cast<int>(c))) continue;
    if (nearest_[inner] >= 0) AddOverlap(inner, static_cast<size_t>(nearest_[inner]), -1);
    nearest_[inner] = wraps ? static_cast<int>(c) : around;
    if (nearest_[inner] >= 0) AddOverlap(inner, static_cast<size_t>(nearest_[inner]), 1);
  }
  SetAgain(call.again);
}

void WrappedModules::AddBetween(size_t from, size_t to, int64_t bytes) {
  if (from > to) {
    std::swap(from, to);
    bytes = -bytes;
  }
  while (from < to) {
    const size_t b = from / kMomentsOfBlock, end = std::min(above_.size(), (b + 1) * kMomentsOfBlock);
    Block& block = blocks_[b];
    const size_t until = std::min(to, end);
    const bool below = block.high <= 0 && block.high + bytes <= 0;
    const bool above = block.low >= 0 && block.low + bytes >= 0;
    if (!below && !above) {
      AddToMoments(b, from, until, bytes);
    } else if (until - from == kMomentsOfBlock) {
      block.pending += bytes;
      block.low += bytes;
      block.high += bytes;
    } else {  // the others stay where they are
      for (size_t t = from; t < until; ++t) above_[t] += bytes;
      block.low = std::min(block.low, block.low + bytes);
      block.high = std::max(block.high, block.high + bytes);
    }
    if (above && !below) excess_ += bytes * static_cast<int64_t>(until - from);
    from = end;
  }
}

void WrappedModules::AddToMoments(size_t b, size_t from, size_t to, int64_t bytes) {
  Block& block = blocks_[b];
  const size_t begin = b * kMomentsOfBlock, end = std::min(above_.size(), begin + kMomentsOfBlock);
  int64_t low = std::numeric_limits<int64_t>::max(), high = std::numeric_limits<int64_t>::min(), excess = 0;
  for (size_t t = begin; t < end; ++t) {
    const int64_t before = above_[t] + block.pending;
    const int64_t after = before + (t >= from && t < to ? bytes : 0);
    above_[t] = after;
    excess += std::max<int64_t>(0, after) - std::max<int64_t>(0, before);
    low = std::min(low, after);
    high = std::max(high, after);
  }
  block = {0, low, high};
  excess_ += excess;
}

void WrappedModules::AddOverlap(size_t c, size_t around, int64_t sign) {
  const ProfiledCall &call = profile_->calls[c], &outer = profile_->calls[around];
  AddBetween(std::max(call.begin, outer.begin), std::max(call.begin, std::min(call.end, outer.end)),
             sign * call.dropped);
}

void WrappedModules::SetAgain(size_t moment) {
  int64_t base = profile_->levels[moment];
  for (const size_t c : again_at_[moment])
    if (wrapped_[c]) base = std::max(base, profile_->calls[c].again_level);
  if (base == base_[moment]) return;
  AddBetween(moment, moment + 1, base - base_[moment]);
  base_[moment] = base;
}

}  // namespace vramplan
