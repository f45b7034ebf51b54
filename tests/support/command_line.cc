#include "tests/support/command_line.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <vector>

#include "planner/cli/run.h"
#include "tests/support/expectation.h"
#include "tests/support/json_schema.h"

namespace vramplan::testing {

Said Do(std::string line, Probe* machine) {
  const std::string models = std::string(VRAMPLAN_SOURCE_DIR) + "/models/";
  for (size_t at = line.find("MODELS/"); at != std::string::npos; at = line.find("MODELS/"))
    line.replace(at, 7, models);
  std::vector<std::string> words{"vramplan"};
  bool quoted = false, inside = false;
  for (const char c : line) {
    if (c == '\'') quoted = !quoted;
    const bool between = c == ' ' && !quoted;
    if (!between && !inside) words.emplace_back();
    inside = !between;
    if (inside && c != '\'') words.back() += c;
  }
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  std::ostringstream out, err;
  std::streambuf* const cout = std::cout.rdbuf(out.rdbuf());
  std::streambuf* const cerr = std::cerr.rdbuf(err.rdbuf());
  const int exit_code = Run(static_cast<int>(arguments.size()), arguments.data(), machine);
  std::cout.rdbuf(cout);
  std::cerr.rdbuf(cerr);
  CHECK_EQ(ViolationOfAnswer(out.str()), "");
  return {exit_code, out.str(), err.str()};
}

bool Says(const std::string& text, const std::string& what) {
  std::string flat;
  for (const char c : text) {
    if (c != '\n' && (c != ' ' || !flat.ends_with(' '))) flat += c;
    if (c == '\n' && !flat.ends_with(' ')) flat += ' ';
  }
  return flat.find(what) != std::string::npos;
}

std::string Golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(VRAMPLAN_SOURCE_DIR) + "/tests/golden/" + name + ".txt";
  if (UpdatesGolden()) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

ScratchFile::ScratchFile(const std::string& name, const std::string& bytes)
    : path_((std::filesystem::temp_directory_path() / ("vramplan_test_" + name)).string()) {
  std::ofstream(path_, std::ios::binary) << bytes;
}
ScratchFile::~ScratchFile() { std::filesystem::remove(path_); }

std::string ScratchFile::Bytes() const {
  std::ifstream file(path_, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

ScopedVariable::ScopedVariable(const char* name, const char* value) : name_(name) {
  if (const char* before = std::getenv(name)) before_ = before;
  Set(value);
}
ScopedVariable::~ScopedVariable() { Set(before_ ? before_->c_str() : nullptr); }
void ScopedVariable::Set(const char* value) { value == nullptr ? unsetenv(name_) : setenv(name_, value, 1); }

ScratchStore::ScratchStore(const std::string& name)
    : folder_((std::filesystem::temp_directory_path() / ("vramplan_test_store_" + name)).string()),
      home_("XDG_DATA_HOME", folder_.c_str()),
      shared_("XDG_DATA_DIRS", (folder_ + "/none").c_str()) {
  std::filesystem::remove_all(folder_);
}
ScratchStore::~ScratchStore() { std::filesystem::remove_all(folder_); }
bool ScratchStore::empty() const { return !std::filesystem::exists(folder_); }

}  // namespace vramplan::testing
