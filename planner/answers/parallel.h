// ForEach: the same work for many things, on as many threads as the machine has cores.
//
//   ForEach(groups.size(), [&](size_t i) { answers[i] = AnswerFor(groups[i]); });
//
// `work` runs once for each index below `count`, in no order, and must write only what belongs to its index.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace vramplan {

template <typename Work>
void ForEach(size_t count, const Work& work) {
  std::atomic<size_t> next = 0;
  const auto take = [&] {
    for (size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> others;
  const size_t threads = std::min<size_t>(count, std::max(1U, std::thread::hardware_concurrency()));
  for (size_t i = 1; i < threads; ++i) others.emplace_back(take);
  take();
  for (std::thread& other : others) other.join();
}

}  // namespace vramplan
