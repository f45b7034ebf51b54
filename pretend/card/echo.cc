#include "pretend/card/echo.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace pretend {

std::vector<char> Echo::Find(uint64_t from, uint64_t bytes, bool* sent) const {
  std::vector<char> found;
  *sent = true;
  auto piece = pieces_.upper_bound(from);
  if (piece == pieces_.begin()) return {};
  for (--piece; found.size() < bytes && piece != pieces_.end(); ++piece) {
    const uint64_t at = from + found.size(), end = piece->first + piece->second.bytes.size();
    if (piece->first > at || at >= end) return {};  // a gap
    if (launches_.load(std::memory_order_relaxed) - piece->second.born > fresh_) return {};
    const auto begin = piece->second.bytes.begin() + static_cast<int64_t>(at - piece->first);
    found.insert(found.end(), begin, begin + static_cast<int64_t>(std::min(bytes - found.size(), end - at)));
    *sent = *sent && piece->second.sent;
  }
  if (found.size() < bytes) found.clear();
  return found;
}

void Echo::Put(uint64_t to, std::vector<char> bytes, bool sent) {
  if (kept_ > kMostKept) Forget();
  auto next = pieces_.lower_bound(to);
  if (next != pieces_.begin() && std::prev(next)->first + std::prev(next)->second.bytes.size() > to)
    next = std::prev(next);
  while (next != pieces_.end() && next->first < to + bytes.size()) {
    kept_ -= next->second.bytes.size();
    next = pieces_.erase(next);
  }
  if (bytes.empty()) return;
  kept_ += bytes.size();
  pieces_[to] = {std::move(bytes), sent, launches_.load(std::memory_order_relaxed)};
}

void Echo::Write(uint64_t to, const void* from, uint64_t bytes) {
  if (bytes > kMostBytes) return;
  const char* const begin = static_cast<const char*>(from);
  Put(to, {begin, begin + bytes}, false);
}

void Echo::Move(uint64_t to, uint64_t from, uint64_t bytes) {
  if (bytes == 0 || bytes > kMostBytes) return;
  bool sent = false;
  std::vector<char> known = Find(from, bytes, &sent);
  if (!known.empty()) Put(to, std::move(known), sent);
}

void Echo::Send(uint64_t to, uint64_t from, uint64_t bytes, int copies) {
  if (bytes == 0 || bytes > kMostBytes) return;
  bool sent = false;
  const std::vector<char> own = Find(from, bytes, &sent);
  if (own.empty()) return;
  fresh_ = std::max(fresh_, kFreshLaunches + kFreshLaunchesOfRank * static_cast<uint64_t>(copies));
  for (int i = 0; i < copies; ++i) Put(to + static_cast<uint64_t>(i) * bytes, own, true);
}

bool Echo::Read(void* to, uint64_t from, uint64_t bytes) const {
  if (bytes == 0 || bytes > kMostRead) return false;
  bool sent = false;
  const std::vector<char> known = Find(from, bytes, &sent);
  if (known.empty() || !sent) return false;
  std::memcpy(to, known.data(), bytes);
  return true;
}

void Echo::Forget() {
  pieces_.clear();
  kept_ = 0;
}

}  // namespace pretend
