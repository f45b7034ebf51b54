// What the heap holds, counted: allocations through operator new while a HeapCount lives.
//
//   HeapCount heap;               held     peak
//   std::string a(1000, 'a');     1000     1000      and a few bytes that malloc rounds up
//   { std::string b(500, 'b'); }  1000     1500
#pragma once

#include <cstdint>

namespace vramplan {

class HeapCount {
 public:
  // False in builds that bring an operator new of their own (sanitizers): then everything counts 0.
  static bool works();

  HeapCount();
  ~HeapCount();
  HeapCount(const HeapCount&) = delete;
  HeapCount& operator=(const HeapCount&) = delete;

  int64_t held() const;  // more than when the counting began; less than nothing when older things were freed
  int64_t peak() const;
};

}  // namespace vramplan
