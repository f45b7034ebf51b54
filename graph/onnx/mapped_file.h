// MappedFile: the bytes of a file, read by the system only where they are looked at. That is why a model of 2 GB with
// its weights inside costs what its structure costs.
#pragma once

#include <string>
#include <string_view>

#include "graph/base/result.h"

namespace vramplan {

class MappedFile {
 public:
  // Errors: no such file, a directory, not a regular file, no permission.
  static Result<MappedFile> Open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  std::string_view bytes() const { return {static_cast<const char*>(address_), size_}; }

 private:
  MappedFile(void* address, size_t size) : address_(address), size_(size) {}
  void* address_ = nullptr;
  size_t size_ = 0;
};

}  // namespace vramplan
