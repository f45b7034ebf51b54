#include "graph/base/object_pool.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "graph/base/ref.h"

using namespace vramplan;

TEST_SUITE("object pool") {
  TEST_CASE("blocks do not overlap and hold what is written into them") {
    std::vector<std::pair<unsigned char*, size_t>> blocks;
    for (size_t i = 0; i < 3000; ++i) {
      const size_t bytes = 1 + (i * 37) % 1500;  // some larger than the pool's largest
      auto* block = static_cast<unsigned char*>(ObjectPool::Take(bytes));
      std::memset(block, static_cast<int>(i % 251), bytes);
      blocks.emplace_back(block, bytes);
    }
    for (size_t i = 0; i < blocks.size(); ++i) {
      const auto [block, bytes] = blocks[i];
      CHECK(block[0] == i % 251);
      CHECK(block[bytes - 1] == i % 251);
      CHECK(reinterpret_cast<uintptr_t>(block) % alignof(std::max_align_t) == 0);
    }
    for (const auto& [block, bytes] : blocks) ObjectPool::Give(block, bytes);
  }

#if !defined(__SANITIZE_ADDRESS__)
  TEST_CASE("a block that was given back serves the next request of its size") {
    void* const first = ObjectPool::Take(200);
    ObjectPool::Give(first, 200);
    void* const second = ObjectPool::Take(193);  // the same multiple of 16
    CHECK(second == first);
    void* const other = ObjectPool::Take(300);
    CHECK(other != first);
    ObjectPool::Give(second, 193);
    ObjectPool::Give(other, 300);
  }
#endif

  TEST_CASE("objects of a base class are given back at their own size") {
    struct Base : RefCounted<Base> {
      virtual ~Base() = default;
    };
    struct Large : Base {
      explicit Large(int* count) : dropped(count) {}
      ~Large() override { ++*dropped; }
      int* dropped;
      char room[400] = {};
    };
    int dropped = 0;
    for (int round = 0; round < 100; ++round) {
      const Ref<Base> kept(new Large(&dropped));
      CHECK(dropped == round);
    }
    CHECK(dropped == 100);
  }
}
