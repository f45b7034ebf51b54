#include "tests/support/asked.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <variant>
#include <vector>

#include "planner/cli/estimate_step.h"
#include "planner/cli/parse.h"

namespace vramplan::testing {

Result<Estimate> Asked(const std::string& file, const Row& row, const std::string& loss,
                       const std::vector<std::string>& more) {
  std::vector<std::string> words = {
      "vramplan",          "estimate", file,     "--gpu",        "t4",      "--framework",   "pytorch@2.10",
      "--cudnn-workspace", "0",        "--mode", row.at("mode"), "--batch", row.at("batch"), "--precision",
      row.at("precision"), "--format", "json"};
  if (row.at("mode") == "train") words.insert(words.end(), {"--optimizer", "adam"});
  if (!loss.empty()) words.insert(words.end(), {"--loss", loss});
  const auto dims = row.find("dims");
  for (size_t begin = 0; dims != row.end() && begin < dims->second.size();) {
    const size_t end = std::min(dims->second.find(';', begin), dims->second.size());
    words.insert(words.end(), {"--dim", dims->second.substr(begin, end - begin)});
    begin = end + 1;
  }
  words.insert(words.end(), more.begin(), more.end());
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  const Result<Command> command = ParseCommandLine(static_cast<int>(arguments.size()), arguments.data());
  REQUIRE(command.ok());
  return EstimateStep(std::get<Options>(*command), std::nullopt);
}

}  // namespace vramplan::testing
