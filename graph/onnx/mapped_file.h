// MappedFile: the bytes of a file, read by the system only where they are looked at. That is why a model of 2 GB with
// its weights inside costs what its structure costs. Standard input and the pipe of <(...) are read whole, once, and
// kept, because a model is opened more than once.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "graph/base/result.h"

namespace vramplan {

class MappedFile {
 public:
  // "-" is standard input. Errors: no such file, a directory, not a file, no permission, a terminal.
  static Result<MappedFile> Open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  std::string_view bytes() const {
    if (read_) return *read_;
    return {static_cast<const char*>(address_), size_};
  }

 private:
  MappedFile(void* address, size_t size) : address_(address), size_(size) {}
  explicit MappedFile(std::shared_ptr<const std::string> read) : read_(std::move(read)) {}
  void* address_ = nullptr;
  size_t size_ = 0;
  std::shared_ptr<const std::string> read_;  // of a pipe
};

}  // namespace vramplan
