// Random: a stream of numbers that is the same on every machine (splitmix64; Steele, Lea, Flood, OOPSLA 2014).
#pragma once

#include <cstdint>

namespace vramplan {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  // 0 .. count - 1.
  int32_t Below(int32_t count) { return static_cast<int32_t>(((Next() >> 32) * static_cast<uint64_t>(count)) >> 32); }
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }  // [0, 1)
  bool Chance(double probability) { return Unit() < probability; }

 private:
  uint64_t state_;
};

}  // namespace vramplan
