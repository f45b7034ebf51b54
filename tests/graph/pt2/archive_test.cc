#include "graph/pt2/archive.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/program_text.h"

namespace vramplan {
namespace {

using testing::ZipOf;

constexpr uint64_t kMiB = uint64_t{1} << 20;

TEST_CASE("archive: stored and deflated entries") {
  const std::string text(100000, 'x');
  for (const bool deflated : {false, true}) {
    const std::string bytes = ZipOf({{"a", "first"}, {"folder/b", text}}, deflated);
    CHECK(IsArchive(bytes));
    const Result<Archive> archive = Archive::Open("net.pt2", bytes);
    REQUIRE(archive.ok());
    REQUIRE_EQ(archive->entries().size(), 2);
    CHECK_EQ(archive->entries()[1].name, "folder/b");
    CHECK_EQ(archive->Read(archive->entries()[0], kMiB).value(), "first");
    CHECK_EQ(archive->Read(archive->entries()[1], kMiB).value(), text);
    CHECK_FALSE(archive->Read(archive->entries()[1], 1000).ok());
  }
}

TEST_CASE("archive: a deflated entry that says to be small is bounded all the same") {
  std::string bytes = ZipOf({{"a", std::string(10 * kMiB, 'x')}}, true);
  const size_t directory = bytes.find("PK\x01\x02");
  REQUIRE_NE(directory, std::string::npos);
  for (size_t i = 0; i < 4; ++i) bytes[directory + 24 + i] = i == 0 ? 1 : 0;  // one byte, it says
  const Result<Archive> archive = Archive::Open("net.pt2", bytes);
  REQUIRE(archive.ok());
  const Result<std::string> read = archive->Read(archive->entries()[0], kMiB);
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().text.find("has more than 1 MiB") != std::string::npos);
}

TEST_CASE("archive: sizes beyond 32 bits stand in an extra field") {
  // APPNOTE.TXT 4.5.3: a field of id 1 has the sizes and the place, each where the directory has all ones.
  const std::string stored = "PK\x03\x04" + std::string(22, '\0') + std::string("\x01\0\0\0", 4) + "atext";
  const auto eight = [](uint64_t number) {
    std::string text;
    for (int i = 0; i < 8; ++i) text += static_cast<char>(number >> (8 * i) & 0xff);
    return text;
  };
  const std::string ones(4, '\xff');
  std::string directory = "PK\x01\x02" + std::string(16, '\0') + ones + ones + std::string("\x01\0", 2) +
                          std::string("\x1c\0", 2) + std::string(10, '\0') + ones + "a" +
                          std::string("\x01\0\x18\0", 4) + eight(4) + eight(4) + eight(0);
  std::string end64 = "PK\x06\x06" + std::string(36, '\0') + eight(directory.size()) + eight(stored.size());
  std::string locator =
      "PK\x06\x07" + std::string(4, '\0') + eight(stored.size() + directory.size()) + std::string(4, '\0');
  const std::string end = "PK\x05\x06" + std::string(8, '\0') + ones + ones + std::string(2, '\0');
  const std::string bytes = stored + directory + end64 + locator + end;
  const Result<Archive> archive = Archive::Open("net.pt2", bytes);
  REQUIRE(archive.ok());
  REQUIRE_EQ(archive->entries().size(), 1);
  CHECK_EQ(archive->Read(archive->entries()[0], kMiB).value(), "text");
}

TEST_CASE("archive: every cut of a file is an error or reads what is there") {
  const std::string whole = ZipOf({{"a", "first"}, {"b", std::string(1000, 'y')}}, true);
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);
    const Result<Archive> archive = Archive::Open("net.pt2", cut);
    CHECK_FALSE(archive.ok());
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0xff);
    const Result<Archive> archive = Archive::Open("net.pt2", changed);
    if (!archive.ok()) continue;
    for (const ArchiveEntry& entry : archive->entries()) {
      if (const Result<std::string> read = archive->Read(entry, kMiB); read.ok()) CHECK_LE(read->size(), kMiB);
    }
  }
}

}  // namespace
}  // namespace vramplan
