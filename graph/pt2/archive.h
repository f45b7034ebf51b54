// Archive: the entries of a zip file, read where they lie. Weights are entries of their own and are never touched.
//
//   Open(bytes)  ->  entries {"net/models/model.json", ...}     Read(entry, 128 MiB)  ->  its text
//
// Whatever the bytes are: no read outside of them, no more bytes than asked for, no more entries than the directory has
// room for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/result.h"

namespace vramplan {

struct ArchiveEntry {
  std::string_view name;
  uint64_t packed = 0, size = 0;  // bytes
  uint64_t header = 0;            // where it begins
  int method = 0;                 // 0: stored, 8: deflated
};

class Archive {
 public:
  // `name` stands for the file in errors. The bytes outlive the archive.
  static Result<Archive> Open(const std::string& name, std::string_view bytes);

  const std::vector<ArchiveEntry>& entries() const { return entries_; }
  // Errors: larger than `most`, damaged, packed in another way.
  Result<std::string> Read(const ArchiveEntry& entry, uint64_t most) const;

 private:
  Archive(std::string name, std::string_view bytes) : name_(std::move(name)), bytes_(bytes) {}
  std::string name_;
  std::string_view bytes_;
  std::vector<ArchiveEntry> entries_;
};

// Whether a file begins as zip files do.
bool IsArchive(std::string_view bytes);

}  // namespace vramplan
