#include "planner/cli/read_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "graph/base/bytes.h"
#include "planner/allocator/stream.h"

namespace vramplan {
namespace {

constexpr Bytes kMostRead = Bytes::MiB(64);
constexpr std::string_view kGzip = "\x1f\x8b";

Error Unreadable(const std::string& path, const std::string& reason) {
  return {ErrorCode::kBadInput, path == "-" ? "standard input" : path, "cannot be read: " + reason,
          path.find(' ') == std::string::npos
              ? "name the log of the run, or - for standard input"
              : "to give the message itself, pipe it: echo 'CUDA out of memory. ...' | vramplan explain -"};
}

// What is left of an open file, or its end.
Result<std::string> ReadEnd(const std::string& path, int descriptor) {
  constexpr size_t kMost = static_cast<size_t>(kMostRead.count());
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) return Unreadable(path, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) return Unreadable(path, "it is a directory");
  if (S_ISREG(status.st_mode) && status.st_size > kMostRead.count())
    ::lseek(descriptor, status.st_size - kMostRead.count(), SEEK_SET);
  std::string text;
  char buffer[size_t{1} << 16];
  while (true) {
    const ssize_t count = ::read(descriptor, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Unreadable(path, std::strerror(errno));
    if (count == 0) break;
    text.append(buffer, static_cast<size_t>(count));
    if (text.size() > 2 * kMost) text.erase(0, text.size() - kMost);
  }
  if (text.size() > kMost) text.erase(0, text.size() - kMost);
  return text;
}

}  // namespace

Result<std::string> ReadLog(const std::string& path) {
  const int descriptor = path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return Unreadable(path, std::strerror(errno));
  char first[2];
  const bool packed =
      ::pread(descriptor, first, sizeof first, 0) == sizeof first && std::string_view(first, 2) == kGzip;
  Result<std::string> text = packed ? ReadStream(path, kMostRead) : ReadEnd(path, descriptor);
  ::close(descriptor);
  return text;
}

}  // namespace vramplan
