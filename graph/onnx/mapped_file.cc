#include "graph/onnx/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace vramplan {
namespace {

Error Unreadable(const std::string& path, int reason) {
  const char* hint = reason == ENOENT   ? "check the path"
                     : reason == EACCES ? "check the permissions of the file and its folders"
                                        : "give the path of an .onnx file";
  return {ErrorCode::kBadInput, path, std::string("cannot be read: ") + std::strerror(reason), hint};
}

}  // namespace

Result<MappedFile> MappedFile::Open(const std::string& path) {
  const int descriptor =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // O_NONBLOCK: a pipe must not make us wait
  if (descriptor < 0) return Unreadable(path, errno);
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) {
    const int reason = errno;
    ::close(descriptor);
    return Unreadable(path, reason);
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(descriptor);
    return Error{
        ErrorCode::kBadInput, path,
        S_ISDIR(status.st_mode) ? "cannot be read: it is a directory" : "cannot be read: it is no regular file",
        "give the path of an .onnx file"};
  }
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) {
    ::close(descriptor);
    return MappedFile(nullptr, 0);
  }
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int reason = errno;
  ::close(descriptor);
  if (address == MAP_FAILED) return Unreadable(path, reason);
  return MappedFile(address, size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile::~MappedFile() {
  if (address_ != nullptr) ::munmap(address_, size_);
}

}  // namespace vramplan
