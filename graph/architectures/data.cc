#include "graph/architectures/data.h"

#include <zlib.h>

#include <algorithm>

#include "graph/architectures/embedded.h"
#include "graph/base/check.h"

namespace vramplan {

std::vector<std::string> ArchitectureFiles() {
  std::vector<std::string> names;
  for (unsigned long i = 0; i < kEmbeddedFileCount; ++i) names.emplace_back(kEmbeddedFiles[i].name);
  return names;
}

std::string ArchitectureData(const std::string& file) {
  const EmbeddedFile* end = kEmbeddedFiles + kEmbeddedFileCount;
  const EmbeddedFile* found =
      std::find_if(kEmbeddedFiles, end, [&](const EmbeddedFile& one) { return file == one.name; });
  if (found == end) return "";
  std::string text(found->inflated, '\0');
  uLongf length = found->inflated;
  const int code = uncompress(reinterpret_cast<Bytef*>(text.data()), &length, found->bytes, found->deflated);
  CHECK(code == Z_OK && length == found->inflated);
  return text;
}

}  // namespace vramplan
