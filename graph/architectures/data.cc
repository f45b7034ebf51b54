#include "graph/architectures/data.h"

#include <zlib.h>

#include <algorithm>
#include <sstream>

#include "graph/architectures/embedded.h"
#include "graph/base/check.h"

namespace vramplan {

std::vector<std::string> ArchitectureFiles() {
  std::vector<std::string> names;
  for (unsigned long i = 0; i < kEmbeddedFileCount; ++i) names.emplace_back(kEmbeddedFiles[i].name);
  return names;
}

namespace {

std::string Inflated(const std::string& file) {
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

}  // namespace

std::string ArchitectureData(const std::string& file) {
  std::string text = Inflated(file);
  if (!text.starts_with("as ")) return text;
  std::istringstream changes(text), whole(Inflated(text.substr(3, text.find('\n') - 3)));
  std::string made, line;
  std::getline(changes, line);
  size_t changed = 0;
  const auto next = [&] { changed = changes >> changed && changes.get() ? changed : 0; };
  next();
  for (size_t n = 1; std::getline(whole, line); ++n) {
    if (n == changed) {
      std::getline(changes, line);
      next();
    }
    made += line + "\n";
  }
  CHECK(changed == 0);
  return made;
}

}  // namespace vramplan
