// Named models against PyTorch's own counters: tests/data/names/rows.csv, which measure.py made with tests/pretend/torch/named.py, a
// plain script of transformers and peft on a pretend H200.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/command_line.h"
#include "tests/support/expectation.h"

namespace vramplan::testing {
namespace {

struct NamedRow {
  std::string line, torch;
  int64_t peaks[3] = {};  // requested, allocated, reserved
};

std::vector<NamedRow> NamedRows() {
  std::ifstream file(VRAMPLAN_SOURCE_DIR "/tests/data/names/rows.csv");
  std::vector<NamedRow> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    NamedRow row;
    std::getline(cells, row.line, ',');
    std::getline(cells, row.torch, ',');
    for (int64_t& peak : row.peaks) {
      std::string cell;
      std::getline(cells, cell, ',');
      peak = std::stoll(cell);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// "qwen3-0.6b lora 2 sequence=256 checkpoint" as vramplan is asked about it.
std::string Question(const NamedRow& row) {
  std::istringstream words(row.line);
  std::string name, method, batch, word;
  words >> name >> method >> batch;
  std::string line = "estimate " + name + " --gpu h200 --optimizer adamw --format json --batch " + batch +
                     " --framework pytorch@" + row.torch.substr(0, row.torch.rfind('.'));
  if (method == "lora") line += " --lora 16";
  if (method == "amp") line += " --precision amp-bf16";
  if (method == "infer") line += " --mode infer";
  while (words >> word) line += word == "checkpoint" ? " --checkpoint all" : " --dim " + word;
  return line;
}

int64_t PeakIn(const std::string& json, const std::string& level) {
  const std::string key = "\"" + level + "\": ";
  return std::stoll(json.substr(json.find(key, json.find("\"peak\"")) + key.size()));
}

TEST_CASE("accuracy: named models, as plain scripts of transformers and peft train them") {
  const std::vector<NamedRow> rows = NamedRows();
  REQUIRE(rows.size() >= 40);
  std::string text = "ours - PyTorch's: requested in bytes, the others in percent\n\n";
  int exact = 0, near = 0;
  for (const NamedRow& row : rows) {
    const Said said = Do(Question(row));
    CAPTURE(row.line);
    REQUIRE_MESSAGE(said.exit_code % 3 == 0, said.err);
    const auto percent = [&](int level, const char* name) {
      return 100 * (static_cast<double>(PeakIn(said.out, name)) / static_cast<double>(row.peaks[level]) - 1);
    };
    const int64_t bytes = PeakIn(said.out, "requested") - row.peaks[0];
    exact += bytes == 0;
    near += std::fabs(percent(0, "requested")) <= 0.5;
    char shown[160];
    std::snprintf(shown, sizeof shown, "%-52s %12lld  %7.3f  %7.3f\n", row.line.c_str(), static_cast<long long>(bytes),
                  percent(1, "allocated"), percent(2, "reserved"));
    text += shown;
  }
  text += "\n" + std::to_string(rows.size()) + " steps: requested to the byte " + std::to_string(exact) +
          ", within 0.5 % " + std::to_string(near) + "\n";
  CheckExpectation("names", text);
}

}  // namespace
}  // namespace vramplan::testing
