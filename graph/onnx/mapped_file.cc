#include "graph/onnx/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

namespace vramplan {
namespace {

constexpr const char* kGivePath = "give the path of an .onnx file";

Error Unreadable(const std::string& path, int reason) {
  const char* hint = reason == ENOENT   ? "check the path"
                     : reason == EACCES ? "check the permissions of the file and its folders"
                                        : kGivePath;
  return {ErrorCode::kBadInput, path, std::string("cannot be read: ") + std::strerror(reason), hint};
}

// Closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

bool IsStandardInput(const std::string& path) { return path == "-" || path == "/dev/stdin"; }
// What somebody has opened already, so that reading it ends.
bool IsOpen(const std::string& path) {
  return IsStandardInput(path) || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

// A model that is larger is none: protobuf messages end at 2 GiB.
constexpr size_t kMostRead = size_t{1} << 31;

Result<std::shared_ptr<const std::string>> ReadPipe(const std::string& path, int descriptor) {
  static std::map<std::string, std::shared_ptr<const std::string>> read;  // what was read is gone from the pipe
  if (const auto known = read.find(path); known != read.end()) return known->second;
  auto text = std::make_shared<std::string>();
  char buffer[size_t{1} << 16];
  while (true) {
    const ssize_t count = ::read(descriptor, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Unreadable(path, errno);
    if (count == 0) break;
    text->append(buffer, static_cast<size_t>(count));
    if (text->size() > kMostRead)
      return Error{ErrorCode::kBadInput, path, "more than 2 GiB came in, and no ONNX file is larger", kGivePath};
  }
  return read.emplace(path, std::move(text)).first->second;
}

}  // namespace

Result<MappedFile> MappedFile::Open(const std::string& path) {
  // O_NONBLOCK: a pipe without a writer must not make us wait.
  const int flags = O_RDONLY | O_CLOEXEC | (IsOpen(path) ? 0 : O_NONBLOCK);
  const Descriptor file(IsStandardInput(path) ? ::dup(STDIN_FILENO) : ::open(path.c_str(), flags));
  if (file.number() < 0) return Unreadable(path, errno);
  struct stat status = {};
  if (::fstat(file.number(), &status) != 0) return Unreadable(path, errno);
  if (IsOpen(path) && ::isatty(file.number()) != 0) {
    return Error{ErrorCode::kBadInput, path, "standard input is a terminal, so no model can come from it",
                 "add < model.onnx to the command"};
  }
  if (IsOpen(path) && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    Result<std::shared_ptr<const std::string>> text = ReadPipe(path, file.number());
    if (!text.ok()) return text.error();
    return MappedFile(*std::move(text));
  }
  if (!S_ISREG(status.st_mode)) {
    return Error{ErrorCode::kBadInput, path,
                 S_ISDIR(status.st_mode) ? "cannot be read: it is a directory" : "cannot be read: it is not a file",
                 kGivePath};
  }
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return MappedFile(nullptr, 0);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (address == MAP_FAILED) return Unreadable(path, errno);
  return MappedFile(address, size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      read_(std::move(other.read_)) {}

MappedFile::~MappedFile() {
  if (address_ != nullptr) ::munmap(address_, size_);
}

}  // namespace vramplan
