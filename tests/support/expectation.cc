#include "tests/support/expectation.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace vramplan::testing {
namespace {

constexpr const char* kIndent = "  ";

std::string PathOf(const std::string& name) {
  return std::string(VRAMPLAN_SOURCE_DIR) + "/tests/accuracy/expected/" + name + ".txt";
}

bool Updates(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr) return false;
  const bool update = std::string(value) == "update";
  CHECK_MESSAGE(update, std::string(variable), "=", std::string(value), ": the only value is \"update\"");
  return update;
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void Write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string LineOf(const Measured& value) {
  char text[160];
  std::snprintf(text, sizeof text, ": truth %lld, ours %lld, difference %+lld (%+.3f %%)",
                static_cast<long long>(value.truth), static_cast<long long>(value.ours),
                static_cast<long long>(value.ours - value.truth), 100 * value.Error());
  return value.value + text;
}

// Row -> all its lines, of a file that Check wrote.
std::map<std::string, std::string> RowsIn(const std::string& text) {
  std::map<std::string, std::string> rows;
  std::istringstream lines(text);
  std::string row;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kIndent)) row = line.substr(0, line.rfind(':'));
    rows[row] += line + "\n";
  }
  return rows;
}

// The largest |percentage| in a row's lines, the ends of a band aside: what tells better from worse.
double WorstOf(const std::string& text) {
  double worst = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t at = line.rfind(" (");
    if (at == std::string::npos || line.find(" end: ") != std::string::npos) continue;
    worst = std::max(worst, std::fabs(std::strtod(line.c_str() + at + 2, nullptr)));
  }
  return worst;
}

std::string Changed(const std::string& name, const std::string& row, const std::string& before,
                    const std::string& now) {
  const double was = WorstOf(before), is = WorstOf(now);
  char text[64];
  std::snprintf(text, sizeof text, "worst value %.3f %% -> %.3f %%", was, is);
  return name + ": " + row + ": " + (is > was ? "WORSE" : is < was ? "better" : "different") + ", " + text;
}

}  // namespace

bool UpdatesExpectations() { return Updates("VRAMPLAN_ACCURACY"); }
bool UpdatesGolden() { return Updates("VRAMPLAN_GOLDEN"); }

void Expectation::Add(const std::string& row, const std::vector<Measured>& values) {
  std::vector<std::string> lines;
  for (const Measured& value : values) {
    if (value.ours != value.truth) lines.push_back(LineOf(value));
  }
  AddLines(row, lines);
}

void Expectation::AddLines(const std::string& row, const std::vector<std::string>& lines) {
  std::string text = row + (lines.empty() ? ": exact\n" : ":\n");
  for (const std::string& line : lines) text += kIndent + line + "\n";
  rows_.emplace_back(row, text);
}

void Expectation::Check(bool all) const {
  const std::string path = PathOf(name_);
  const std::map<std::string, std::string> expected = RowsIn(ReadText(path));
  std::set<std::string> seen;
  std::string whole;
  std::vector<std::string> changes;
  for (const auto& [row, text] : rows_) {
    CHECK_MESSAGE(seen.insert(row).second, name_ << ": two rows are called " << row);
    whole += text;
    const auto before = expected.find(row);
    if (before == expected.end()) {
      changes.push_back(name_ + ": " + row + ": new");
    } else if (before->second != text) {
      changes.push_back(Changed(name_, row, before->second, text) + "\n" + before->second + "became\n" + text);
    }
  }
  for (const auto& [row, text] : expected) {
    if (all && seen.count(row) == 0) changes.push_back(name_ + ": " + row + ": gone");
  }
  if (UpdatesExpectations()) {
    REQUIRE_MESSAGE(all, "a part of the rows cannot renew " << path);
    Write(path, whole);
    size_t fresh = 0;
    for (const std::string& change : changes) {
      if (change.ends_with(": new")) {
        ++fresh;
      } else {
        std::printf("%s\n", change.substr(0, change.find('\n')).c_str());
      }
    }
    if (fresh > 0) std::printf("%s: %zu new rows\n", name_.c_str(), fresh);
    return;
  }
  for (const std::string& change : changes) {
    FAIL_CHECK(change << "(VRAMPLAN_ACCURACY=update writes the file anew; the diff belongs into the commit)");
  }
}

void CheckWhole(const std::string& name, const std::string& text) {
  if (UpdatesExpectations()) Write(PathOf(name), text);
  CAPTURE(PathOf(name));
  CHECK_EQ(text, ReadText(PathOf(name)));
}

}  // namespace vramplan::testing
