#include "tests/support/heap.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "graph/base/check.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
#define VRAMPLAN_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define VRAMPLAN_SANITIZED
#endif

namespace vramplan {
namespace {

std::atomic<bool> counting = false;
std::atomic<int64_t> held_now = 0, most_held = 0;

}  // namespace

HeapCount::HeapCount() {
  held_now = most_held = 0;
  VRAMPLAN_CHECK(!counting.exchange(true));
}
HeapCount::~HeapCount() { counting = false; }
int64_t HeapCount::held() const { return held_now; }
int64_t HeapCount::peak() const { return most_held; }

#ifdef VRAMPLAN_SANITIZED
bool HeapCount::works() { return false; }
#else
bool HeapCount::works() { return true; }

namespace {

void Count(int64_t bytes) {
  const int64_t now = held_now += bytes;
  int64_t most = most_held;
  while (now > most && !most_held.compare_exchange_weak(most, now)) {
  }
}

}  // namespace
#endif

}  // namespace vramplan

#ifndef VRAMPLAN_SANITIZED
void* operator new(size_t size) {
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  if (vramplan::counting) vramplan::Count(static_cast<int64_t>(malloc_usable_size(memory)));
  return memory;
}
void operator delete(void* memory) noexcept {
  if (vramplan::counting && memory != nullptr) vramplan::Count(-static_cast<int64_t>(malloc_usable_size(memory)));
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept { operator delete(memory); }
#endif
