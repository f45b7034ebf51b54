// Ref<T>: shared ownership within one thread, with the count in the object (T derives from RefCounted<T>).
// The count is part of the model: PyTorch steals a gradient, or adds in place, when it holds the only reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "graph/base/object_pool.h"

namespace vramplan {

template <typename T>
class Ref;

template <typename T>
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  int64_t use_count() const { return count_; }
  static void* operator new(size_t bytes) { return ObjectPool::Take(bytes); }
  static void operator delete(void* memory, size_t bytes) { ObjectPool::Give(memory, bytes); }

 private:
  friend class Ref<T>;
  int64_t count_ = 0;
};

template <typename T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* object) : object_(object) { Acquire(); }
  Ref(const Ref& other) : object_(other.object_) { Acquire(); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Release(); }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }

 private:
  void Acquire() {
    if (object_ != nullptr) ++object_->RefCounted<T>::count_;
  }
  void Release() {
    if (object_ != nullptr && --object_->RefCounted<T>::count_ == 0) delete object_;
  }
  T* object_ = nullptr;
};

template <typename T, typename... Arguments>
Ref<T> MakeRef(Arguments&&... arguments) {
  return Ref<T>(new T(std::forward<Arguments>(arguments)...));
}

}  // namespace vramplan
