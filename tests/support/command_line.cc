#include "tests/support/command_line.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <vector>

#include "planner/cli/run.h"

namespace vramplan::testing {

Said Do(std::string line) {
  const std::string models = std::string(VRAMPLAN_SOURCE_DIR) + "/models/";
  for (size_t at = line.find("MODELS/"); at != std::string::npos; at = line.find("MODELS/"))
    line.replace(at, 7, models);
  std::vector<std::string> words{"vramplan"};
  std::istringstream stream(line);
  for (std::string word; stream >> word;) words.push_back(word);
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  std::ostringstream out, err;
  std::streambuf* const cout = std::cout.rdbuf(out.rdbuf());
  std::streambuf* const cerr = std::cerr.rdbuf(err.rdbuf());
  const int exit_code = Run(static_cast<int>(arguments.size()), arguments.data());
  std::cout.rdbuf(cout);
  std::cerr.rdbuf(cerr);
  return {exit_code, out.str(), err.str()};
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

}  // namespace vramplan::testing
