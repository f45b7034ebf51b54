// A shared library that is opened while the program runs, so that one binary works with and without it.
#pragma once

#include <dlfcn.h>

#include <initializer_list>
#include <string>

namespace vramplan {

class SharedLibrary {
 public:
  // The first of these names that the loader finds. It stays open: drivers do not like to be closed.
  explicit SharedLibrary(std::initializer_list<const char*> names) {
    for (const char* name : names) {
      handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) return;
    }
  }
  explicit operator bool() const { return handle_ != nullptr; }

  // Fills `function` with the address of `symbol`. False, and null: the library has none.
  template <typename Function>
  bool Find(const char* symbol, Function*& function) const {
    function = handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(handle_, symbol));
    return function != nullptr;
  }

  // Find() for a function that the program needs; remembers the first one that is missing.
  template <typename Function>
  void Need(const char* symbol, Function*& function) {
    if (!Find(symbol, function) && missing_.empty()) missing_ = symbol;
  }
  const std::string& missing() const { return missing_; }

 private:
  void* handle_ = nullptr;
  std::string missing_;
};

}  // namespace vramplan
