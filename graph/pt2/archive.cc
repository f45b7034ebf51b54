// The zip format: PKWARE's APPNOTE.TXT 6.3.10, sections 4.3 and 4.5.3 (zip64).
#include "graph/pt2/archive.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace vramplan {
namespace {

constexpr size_t kEndSize = 22, kEnd64Size = 56, kLocatorSize = 20, kDirectorySize = 46, kLocalSize = 30;
constexpr size_t kLongestComment = 65535;
constexpr uint32_t kEndMark = 0x06054b50, kEnd64Mark = 0x06064b50, kLocatorMark = 0x07064b50,
                   kDirectoryMark = 0x02014b50, kLocalMark = 0x04034b50;
constexpr uint16_t kZip64Field = 1;
constexpr uint32_t kInZip64 = 0xffffffff;
constexpr uint16_t kEncrypted = 1;

// A number of `width` bytes, least significant first; 0 outside of the bytes.
uint64_t Number(std::string_view bytes, uint64_t at, unsigned width) {
  if (at > bytes.size() || bytes.size() - at < width) return 0;
  uint64_t number = 0;
  for (unsigned i = 0; i < width; ++i) number |= uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return number;
}

// Where the directory is, and how many bytes it has.
struct Directory {
  uint64_t at = 0, size = 0;
};

std::optional<Directory> FindDirectory(std::string_view bytes) {
  if (bytes.size() < kEndSize) return std::nullopt;
  const size_t last = bytes.size() - kEndSize;
  for (size_t back = 0; back <= std::min(last, kLongestComment); ++back) {
    const size_t at = last - back;
    if (Number(bytes, at, 4) != kEndMark) continue;
    Directory found{Number(bytes, at + 16, 4), Number(bytes, at + 12, 4)};
    if (at >= kLocatorSize && Number(bytes, at - kLocatorSize, 4) == kLocatorMark) {
      const uint64_t end = Number(bytes, at - kLocatorSize + 8, 8);
      if (end <= bytes.size() && bytes.size() - end >= kEnd64Size && Number(bytes, end, 4) == kEnd64Mark)
        found = {Number(bytes, end + 48, 8), Number(bytes, end + 40, 8)};
    }
    if (found.at <= bytes.size() && found.size <= bytes.size() - found.at) return found;
  }
  return std::nullopt;
}

// Sizes and places that do not fit into 32 bits stand in an extra field, in this order.
void TakeZip64(std::string_view extra, ArchiveEntry* entry) {
  while (extra.size() >= 4) {
    const uint64_t id = Number(extra, 0, 2), size = Number(extra, 2, 2);
    if (size > extra.size() - 4) return;
    if (id == kZip64Field) {
      uint64_t at = 4;
      for (uint64_t* value : {&entry->size, &entry->packed, &entry->header}) {
        if (*value != kInZip64 || at + 8 > 4 + size) continue;
        *value = Number(extra, at, 8);
        at += 8;
      }
      return;
    }
    extra.remove_prefix(static_cast<size_t>(4 + size));
  }
}

}  // namespace

bool IsArchive(std::string_view bytes) { return bytes.starts_with(std::string_view("PK\x03\x04", 4)); }

Result<Archive> Archive::Open(const std::string& name, std::string_view bytes) {
  const auto damaged = [&](const char* text) {
    return Error{ErrorCode::kBadInput, name, text, "copy, download or export it again"};
  };
  const std::optional<Directory> directory = FindDirectory(bytes);
  if (!directory) return damaged("it is a zip archive without a directory, so its end is missing");
  Archive archive(name, bytes);
  std::string_view rest = bytes.substr(directory->at, directory->size);
  while (rest.size() >= kDirectorySize && Number(rest, 0, 4) == kDirectoryMark) {
    const uint64_t name_size = Number(rest, 28, 2), extra = Number(rest, 30, 2), comment = Number(rest, 32, 2);
    const uint64_t whole = kDirectorySize + name_size + extra + comment;
    if (whole > rest.size()) return damaged("the directory of the zip archive is damaged");
    ArchiveEntry entry{.name = rest.substr(kDirectorySize, name_size),
                       .packed = Number(rest, 20, 4),
                       .size = Number(rest, 24, 4),
                       .header = Number(rest, 42, 4),
                       .method = static_cast<int>(Number(rest, 10, 2))};
    if ((Number(rest, 8, 2) & kEncrypted) != 0) entry.method = -1;
    TakeZip64(rest.substr(kDirectorySize + name_size, extra), &entry);
    archive.entries_.push_back(entry);
    rest.remove_prefix(static_cast<size_t>(whole));
  }
  return archive;
}

Result<std::string> Archive::Read(const ArchiveEntry& entry, uint64_t most) const {
  const auto failed = [&](const std::string& text) {
    return Error{ErrorCode::kBadInput, name_, "its entry " + std::string(entry.name) + " " + text,
                 "export the model again with torch.export.save"};
  };
  if (entry.size > most) return failed("has more than " + std::to_string(most >> 20) + " MiB");
  const bool has_header = entry.header <= bytes_.size() && bytes_.size() - entry.header >= kLocalSize &&
                          Number(bytes_, entry.header, 4) == kLocalMark;
  if (!has_header) return failed("is damaged");
  const uint64_t begin =
      entry.header + kLocalSize + Number(bytes_, entry.header + 26, 2) + Number(bytes_, entry.header + 28, 2);
  if (begin > bytes_.size() || entry.packed > bytes_.size() - begin) return failed("is cut off");
  const std::string_view packed = bytes_.substr(begin, entry.packed);
  constexpr int kStored = 0, kDeflated = 8;
  if (entry.method == kStored) return std::string(packed);
  if (entry.method != kDeflated || packed.size() > std::numeric_limits<uInt>::max())
    return failed("is packed in a way that vramplan does not read");
  // The directory may lie about the size: it is what is inflated that counts.
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return failed("cannot be unpacked");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  int code = Z_OK;
  while (code == Z_OK && text.size() <= most) {
    constexpr size_t kPiece = size_t{1} << 16;
    const size_t before = text.size();
    text.resize(before + kPiece);
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + before);
    stream.avail_out = static_cast<uInt>(kPiece);
    code = inflate(&stream, Z_NO_FLUSH);
    text.resize(text.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (text.size() > most) return failed("has more than " + std::to_string(most >> 20) + " MiB");
  if (code != Z_STREAM_END) return failed("cannot be unpacked");
  return text;
}

}  // namespace vramplan
