// ObjectPool: memory of small objects that are made and dropped by the hundred thousand: tensors, storages, entries of the
// tape. A block that is given back serves the next request of its size, on the thread that gave it back; nothing goes
// back to the system before the program ends. Under AddressSanitizer it is plain new and delete, so that each use of a
// dead object is seen.
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <vector>

namespace vramplan {

// Take and Give are in every object file, be they inlined everywhere: where the tests of one build are linked to the rooms
// of another (VRAMPLAN_TESTS_OF of tests/CMakeLists.txt), both must be of the rooms.
class ObjectPool {
 public:
  [[gnu::used]] static void* Take(size_t bytes) {
    if (bytes > kLargest || kPlain) return ::operator new(bytes);
    Block*& first = Here().free[ClassOf(bytes)];
    if (first == nullptr) first = Here().Cut(ClassOf(bytes));
    Block* const taken = first;
    first = taken->next;
    return taken;
  }
  [[gnu::used]] static void Give(void* memory, size_t bytes) {
    if (bytes > kLargest || kPlain) return ::operator delete(memory);
    Block*& first = Here().free[ClassOf(bytes)];
    first = new (memory) Block{first};
  }

 private:
#if defined(__SANITIZE_ADDRESS__)  // GCC's word for it
  static constexpr bool kPlain = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)  // Clang's, with which the fuzz targets are built
  static constexpr bool kPlain = true;
#else
  static constexpr bool kPlain = false;
#endif
#else
  static constexpr bool kPlain = false;
#endif
  static constexpr size_t kStep = 16, kLargest = 1024, kChunk = size_t{1} << 15;
  struct Block {
    Block* next;
  };

  static size_t ClassOf(size_t bytes) { return (bytes + kStep - 1) / kStep; }
  static ObjectPool& Here() {
    static thread_local ObjectPool pool;
    return pool;
  }
  // A chunk as a list of blocks, in the order of their addresses.
  static Block* Cut(size_t size_class) {
    const size_t size = size_class * kStep;
    char* const chunk = static_cast<char*>(::operator new(kChunk));
    Block* first = nullptr;
    for (size_t at = kChunk / size; at > 0; --at) first = new (chunk + (at - 1) * size) Block{first};
    return first;
  }

  std::array<Block*, kLargest / kStep + 1> free{};
};

// Of short lists inside such objects.
template <typename T>
struct PoolAllocator {
  using value_type = T;
  PoolAllocator() = default;
  template <typename Other>
  PoolAllocator(const PoolAllocator<Other>& /*other*/) {}
  T* allocate(size_t count) { return static_cast<T*>(ObjectPool::Take(count * sizeof(T))); }
  void deallocate(T* memory, size_t count) { ObjectPool::Give(memory, count * sizeof(T)); }
  friend bool operator==(const PoolAllocator& /*a*/, const PoolAllocator& /*b*/) { return true; }
};
template <typename T>
using PooledVector = std::vector<T, PoolAllocator<T>>;

}  // namespace vramplan
