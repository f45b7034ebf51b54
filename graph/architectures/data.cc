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
  std::istringstream changes(text), whole(ArchitectureData(text.substr(3, text.find('\n') - 3)));
  std::string made, line;
  std::getline(changes, line);
  size_t at = 1;
  const auto take = [&](std::istream& lines, std::string* to) {
    CHECK(std::getline(lines, line));
    if (to != nullptr) *to += line + "\n";
  };
  for (size_t from = 0, count = 0, several = 0; changes >> from >> count >> several;) {
    changes.get();
    for (; at < from; ++at) take(whole, &made);
    for (; at < from + count; ++at) take(whole, nullptr);
    for (; several > 0; --several) take(changes, &made);
  }
  CHECK(changes.eof());
  while (std::getline(whole, line)) made += line + "\n";
  return made;
}

}  // namespace vramplan
