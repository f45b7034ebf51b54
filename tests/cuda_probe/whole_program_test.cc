// The program as its user runs it, on pretend cards: output to the letter, exit code, and nothing left on the card.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <string_view>

#include "tests/support/pretend_gpu.h"

using namespace vramplan::testing;

namespace {

const char* const kMachine = "card Tesla T4; holder 9000001 compute /usr/bin/python3 600MiB";
// Profiles of this machine's user must not be found.
const char* const kNoProfiles = "XDG_DATA_HOME=/nonexistent XDG_DATA_DIRS=/nonexistent";

// What differs from build to build: the toolkit.
std::string Plain(const std::string& out) {
  return std::regex_replace(out, std::regex("built with CUDA [0-9.]+"), "built with CUDA X");
}

// Written anew by VRAMPLAN_GOLDEN=update.
std::string Golden(const std::string& name, const std::string& out) {
  const std::string path = std::string(VRAMPLAN_SOURCE_DIR) + "/tests/golden/pretend_gpu/" + name + ".txt";
  const char* const update = std::getenv("VRAMPLAN_GOLDEN");
  if (update != nullptr && std::string_view(update) == "update") std::ofstream(path, std::ios::binary) << out;
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("whole program: probe and calibrate on a pretend card") {
  if (!HasPretendGpu()) return;
  struct Row {
    const char* golden;
    std::string words;
  };
  for (const Row& row : std::vector<Row>{{"probe", "probe"}, {"calibrate", "calibrate --out /dev/null"}}) {
    CAPTURE(row.golden);
    const PretendRun run = OnPretendGpu({.description = kMachine, .environment = kNoProfiles}, Vramplan(row.words));
    CHECK(Plain(run.out) == Golden(row.golden, Plain(run.out)));
    CHECK(run.err == "");
    CHECK(run.exit_code == 0);
    CHECK(run.complaints == "");
  }
}

TEST_CASE("whole program: a card that is lost while it is calibrated gives exit code 4 and one line") {
  if (!HasPretendGpu()) return;
  const PretendRun run =
      OnPretendGpu({.description = std::string("lost cuMemAlloc_v2 5; ") + kMachine, .environment = kNoProfiles},
                   Vramplan("calibrate --out /dev/null"));
  CHECK(run.exit_code == 4);
  CHECK(run.out == "");
  CHECK(run.err.find("the card no longer answers") != std::string::npos);
  CHECK(run.complaints == "");
}

TEST_CASE("whole program: --gpu auto is this machine's card, less what others hold") {
  if (!HasPretendGpu()) return;
  const PretendRun run =
      OnPretendGpu({.description = kMachine, .environment = kNoProfiles}, Vramplan("fit MODELS/unet.onnx --gpu auto"));
  CHECK(run.exit_code == 0);
  CHECK(run.out.starts_with("unet.onnx trains at batch 1 on Tesla T4 (others hold 600.00 MiB of it)"));
  CHECK(OnPretendGpu({.driver = false}, Vramplan("fit MODELS/unet.onnx --gpu auto")).exit_code == 4);
}
