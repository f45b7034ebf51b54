#include "planner/cli/write_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "planner/cli/help.h"
#include "planner/record/record.h"

namespace vramplan {
namespace {

constexpr std::string_view kSignature = "\nwritten by vramplan ";
constexpr std::string_view kComment = "\n# written by vramplan ";
constexpr std::string_view kTraceColumns = "event,block,bytes,phase,";  // the first, and the last, which only ours has
constexpr std::string_view kTraceEnd = ",onnx_node";
constexpr const char* kGzipComment = "vramplan";
constexpr size_t kMarkedBytes = 4096;  // of each end of a file

Error SystemSays(const std::string& path, int reason) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
  std::string hint = "name another file";
  if (reason == ENOENT) hint = "make its folder first: mkdir -p " + folder;
  if (reason == EACCES || reason == EPERM) hint = "check the permissions of the file and of its folder";
  if (reason == ENOSPC || reason == EDQUOT) hint = "free some space, or name a file on another disk";
  return {ErrorCode::kBadInput, path, std::string("cannot be written: ") + std::strerror(reason), hint};
}

// Names of open files: what stands behind them is already the user's choice.
bool IsDescriptor(const std::string& path) {
  return path == "/dev/stdout" || path == "/dev/stderr" || path.starts_with("/dev/fd/") ||
         path.starts_with("/proc/self/fd/");
}

// The file behind a chain of symbolic links, so that the link stays and its target is replaced.
std::string Target(std::string path) {
  constexpr int kMostLinks = 40;  // as the kernel has it
  for (int link = 0; link < kMostLinks; ++link) {
    std::array<char, 4096> text;
    const ssize_t length = ::readlink(path.c_str(), text.data(), text.size());
    if (length < 0) break;
    const std::string next(text.data(), static_cast<size_t>(length));
    const size_t slash = path.rfind('/');
    path = next.starts_with('/') || slash == std::string::npos ? next : path.substr(0, slash + 1) + next;
  }
  return path;
}

bool SameFile(const std::string& input, const struct stat& out) {
  struct stat in = {};
  if (input.empty() || (input == "-" ? ::fstat(STDIN_FILENO, &in) : ::stat(input.c_str(), &in)) != 0) return false;
  return in.st_dev == out.st_dev && in.st_ino == out.st_ino;
}

// gzip, RFC 1952: a header of ten bytes, whose flags say that only a comment follows.
bool IsOurGzip(std::string_view head) {
  constexpr char kHasComment = 0x10;
  constexpr size_t kHeader = 10;
  const std::string_view comment(kGzipComment, std::strlen(kGzipComment) + 1);
  return head.starts_with("\x1f\x8b\x08") && head.size() > kHeader && head[3] == kHasComment &&
         head.substr(kHeader).starts_with(comment);
}

bool IsOurs(std::string_view head, std::string_view tail) {
  if (head.starts_with("{\n  \"schema\": \"vramplan.") || IsOurGzip(head)) return true;
  // A page and an SVG of ours (planner/picture).
  if (head.starts_with("<!doctype html>") && head.find("name=\"generator\" content=\"vramplan\"") != head.npos)
    return true;
  if (head.starts_with("<svg ") && head.find("<metadata>drawn by vramplan</metadata>") != head.npos) return true;
  if (head.starts_with(std::string_view("\x80\x02}(X\x08\0\0\0vramplan", 17))) return true;  // a snapshot
  const std::string_view first = head.substr(0, head.find('\n'));
  const bool emitted = first.starts_with("\"\"\"") || first.starts_with("# ");
  if (emitted && first.find(", by vramplan") != first.npos) return true;
  if (first.starts_with(kTraceColumns) && first.ends_with(kTraceEnd)) return true;
  if (first.starts_with(kRecordColumns)) return true;
  return std::ranges::any_of(std::array{kSignature, kComment}, [&](std::string_view mark) {
    const size_t at = tail.rfind(mark);
    return at != tail.npos && tail.ends_with('\n') && tail.find('\n', at + 1) == tail.size() - 1;
  });
}

std::string ReadAt(int descriptor, off_t from) {
  std::string text(kMarkedBytes, '\0');
  const ssize_t got = ::pread(descriptor, text.data(), text.size(), from);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

// An empty file holds nothing that could be lost.
Result<bool> MayReplace(const std::string& path, const struct stat& status) {
  if (status.st_size == 0) return true;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return SystemSays(path, errno);
  const std::string head = ReadAt(descriptor, 0);
  const std::string tail = ReadAt(descriptor, std::max<off_t>(0, status.st_size - off_t{kMarkedBytes}));
  ::close(descriptor);
  return IsOurs(head, tail);
}

struct Place {
  std::string path;            // links followed
  bool direct = false;         // written to as it is
  std::optional<mode_t> mode;  // of the file that is replaced
};

Result<Place> Look(const FileToWrite& file) {
  Place place{file.path};
  struct stat status = {};
  const auto refused = [&](const char* text, std::string hint) {
    return Error{ErrorCode::kUsage, std::string(file.option) + " " + file.path, text, std::move(hint)};
  };
  const bool exists = ::stat(file.path.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) return SystemSays(file.path, errno);
  if (exists && S_ISDIR(status.st_mode)) {
    const bool slash = file.path.ends_with('/');
    return refused("it is a directory", "name a file in it, as " + file.path + (slash ? "" : "/") + "answer.txt");
  }
  if (exists && S_ISBLK(status.st_mode)) return refused("it is a disk", "name a file");
  if (IsDescriptor(file.path) || (exists && !S_ISREG(status.st_mode))) {
    place.direct = true;
    return place;
  }
  place.path = Target(file.path);
  if (!exists) return place;
  place.mode = status.st_mode & 07777;
  if (::access(file.path.c_str(), W_OK) != 0) return SystemSays(file.path, errno);
  if (file.force) return place;
  for (const std::string& input : file.inputs) {
    if (SameFile(input, status))
      return refused("it is a file that this command reads", "name another file, or add --force to overwrite it");
  }
  const Result<bool> may = MayReplace(place.path, status);
  if (!may.ok()) return may.error();
  if (*may) return place;
  return refused("the file exists, and nothing in it shows that vramplan wrote it",
                 "name another file, or add --force to overwrite it");
}

std::string Gzipped(std::string_view bytes) {
  z_stream stream = {};
  constexpr int kGzip = 15 + 16, kMemory = 8;  // the window of gzip and its header; what gzip takes
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string comment = kGzipComment, packed;
  gz_header header = {};
  header.os = 3;  // Unix
  header.comment = reinterpret_cast<Bytef*>(comment.data());
  deflateSetHeader(&stream, &header);
  std::array<char, size_t{1} << 16> buffer;
  for (int code = Z_OK; code == Z_OK;) {
    if (stream.avail_in == 0) {
      const size_t most = std::min<size_t>(bytes.size(), size_t{1} << 30);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      stream.avail_in = static_cast<uInt>(most);
      bytes.remove_prefix(most);
    }
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    code = deflate(&stream, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
    packed.append(buffer.data(), buffer.size() - stream.avail_out);
  }
  deflateEnd(&stream);
  return packed;
}

// 0, or what the system says.
int WriteAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) return errno;
    if (count > 0) bytes.remove_prefix(static_cast<size_t>(count));
  }
  return 0;
}

int WriteDirectly(const std::string& path, std::string_view bytes) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor < 0) return errno;
  const int failed = WriteAll(descriptor, bytes);
  return ::close(descriptor) != 0 && failed == 0 ? errno : failed;
}

// Under another name in the same folder, so that the rename stays within one file system.
int WriteBeside(const Place& place, std::string_view bytes, bool force) {
  const size_t slash = place.path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : place.path.substr(0, slash + 1);
  std::string beside;
  int descriptor = -1;
  for (int attempt = 0; descriptor < 0 && attempt < 100; ++attempt) {
    beside = folder + ".vramplan-" + std::to_string(::getpid()) + "-" + std::to_string(attempt);
    descriptor = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno != EEXIST) return errno;
  }
  if (descriptor < 0) return EEXIST;
  int failed = WriteAll(descriptor, bytes);
  if (failed == 0 && place.mode && ::fchmod(descriptor, *place.mode) != 0) failed = errno;
  if (::close(descriptor) != 0 && failed == 0) failed = errno;  // where a quota or a server says that there is no room
  // A file that came into being since it was looked for is not ours to replace. Not every file system can promise that.
  const bool fresh = !place.mode && !force;
  if (failed == 0 && fresh) {
    if (::renameat2(AT_FDCWD, beside.c_str(), AT_FDCWD, place.path.c_str(), RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) failed = errno;
  }
  if (failed == 0 && ::rename(beside.c_str(), place.path.c_str()) != 0) failed = errno;
  if (failed != 0) ::unlink(beside.c_str());
  return failed;
}

}  // namespace

Status CheckFileToWrite(const FileToWrite& file) {
  const Result<Place> place = Look(file);
  if (!place.ok()) return place.error();
  if (place->direct) return Done();
  const size_t slash = place->path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : place->path.substr(0, slash + 1);
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return SystemSays(file.path, errno);
  return Done();
}

Status WriteFile(const FileToWrite& file, std::string_view bytes) {
  const Result<Place> place = Look(file);
  if (!place.ok()) return place.error();
  std::string packed;
  if (file.path.ends_with(".gz")) bytes = packed = Gzipped(bytes);
  const int failed = place->direct ? WriteDirectly(place->path, bytes) : WriteBeside(*place, bytes, file.force);
  if (failed != 0) return SystemSays(file.path, failed);
  return Done();
}

std::string Signed(std::string text) { return std::move(text) + std::string(kSignature) + VersionText().substr(9); }

std::string SignedInComment(std::string text) {
  return std::move(text) + std::string(kComment.substr(1)) + VersionText().substr(9);
}

}  // namespace vramplan
