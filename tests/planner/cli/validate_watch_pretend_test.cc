// validate and watch from end to end: the program itself, on cards that are not there (tests/pretend/strict).
#include <doctest/doctest.h>

#include <regex>

#include "tests/support/command_line.h"
#include "tests/support/pretend_gpu.h"

using namespace vramplan::testing;

namespace {

// A T4 of 4 GiB, of which a desktop holds 100 MiB; context and libraries as the fake card has them.
const std::string kCard =
    "card Tesla T4; total 4506451968; usable 4GiB; context 248MiB; holder 9000001 graphics Xorg 100MiB\n";

struct Row {
  const char* golden;
  PretendMachine machine;
  std::string words;
  int exit_code;
};

// Process numbers, looks and times are of the moment; and so is the width of the columns that they stand in.
std::string Steady(std::string text) {
  text = std::regex_replace(text, std::regex("[0-9]+ looks in [0-9.]+ s"), "N looks in T s");
  text = std::regex_replace(text, std::regex("(python3) +[0-9]+"), "$1 PID");
  text = std::regex_replace(text, std::regex("-{3,}"), "---");
  return std::regex_replace(text, std::regex("  +"), "  ");
}

void Check(const std::vector<Row>& rows, bool steady) {
  if (!HasPretendGpu()) {
    MESSAGE("built without nvcc: there is no pretend card");
    return;
  }
  for (const Row& row : rows) {
    CAPTURE(std::string(row.golden));
    const ScratchStore store("pretend");
    const PretendRun run = OnPretendGpu(row.machine, Vramplan(row.words));
    INFO(run.err);
    CHECK(run.exit_code == row.exit_code);
    CHECK(run.complaints == "");  // nothing was left on the card
    const std::string out = steady ? Steady(run.out) : run.out;
    CHECK(out == Golden(row.golden, out));
  }
}

TEST_CASE("validate on a pretend card: golden reports") {
  const std::string validate = "validate MODELS/unet.onnx --batch 2";
  Check({{"validate/agrees", {.description = kCard}, validate, 0},
         {"validate/does-not-fit", {.description = kCard}, "validate MODELS/unet.onnx --batch 40", 0},
         {"validate/max-bytes", {.description = kCard}, validate + " --max-bytes 2GiB --reserve 0", 0},
         {"validate/fragmented", {.description = kCard + "largest-piece 8MiB"}, validate, 3},
         {"validate/neighbour", {.description = kCard + "neighbour 12 3GiB"}, "validate MODELS/unet.onnx", 4},
         {"validate/lost", {.description = "lost cuMemAlloc_v2 20\n" + kCard}, validate, 4},
         {"validate/without-libraries",
          {.description = kCard, .nvml = false, .cublas = false, .cudnn = false},
          validate,
          0},
         {"validate/dry-run", {.description = kCard}, validate + " --dry-run", 0}},
        false);
}

TEST_CASE("validate where there is no card, or it may not be used") {
  if (!HasPretendGpu()) return;
  for (const std::string& description : {std::string("fail cuInit 100"), "fail cuInit 3\n" + kCard, std::string()}) {
    CAPTURE(description);
    const PretendRun run = OnPretendGpu({.description = description}, Vramplan("validate MODELS/mlp.onnx"));
    CHECK(run.exit_code == 4);
    CHECK(run.out == "");
    CHECK(run.complaints == "");
  }
}

TEST_CASE("watch on a pretend card: golden reports") {
  // The driver names the shell's child, which is the newest of the program's.
  const std::string run = " --interval 0.01 --command 'sleep 1; exit 3'";
  const std::string model = " --model MODELS/unet.onnx --batch 2";
  const auto child = [](const std::string& bytes) { return kCard + "holder child compute python3 " + bytes; };
  Check({{"watch/alone", {.description = child("1GiB")}, "watch" + run, 0},
         {"watch/inside", {.description = child("1540MiB")}, "watch" + run + model, 0},
         {"watch/above", {.description = child("3GiB")}, "watch" + run + model, 3},
         {"watch/below", {.description = child("900MiB")}, "watch" + run + model, 3},
         {"watch/hidden", {.description = child("?1540MiB")}, "watch" + run + model, 0}},
        true);
}

TEST_CASE("watch --save on a pretend card: validate then uses the context of the run") {
  if (!HasPretendGpu()) return;
  const ScratchStore store("pretend_save");
  const PretendMachine machine{.description = kCard + "holder child compute python3 1400MiB"};
  const PretendRun watched = OnPretendGpu(
      machine, Vramplan("watch --interval 0.01 --save --command 'sleep 1' --model MODELS/unet.onnx --batch 2"));
  INFO(watched.out);
  INFO(watched.err);
  REQUIRE(watched.out.find(" is in the profile now:") != std::string::npos);
  const PretendRun after =
      OnPretendGpu({.description = kCard}, Vramplan("validate MODELS/unet.onnx --batch 2 --dry-run"));
  CHECK(after.out.find(store.profiles()) != std::string::npos);
}

}  // namespace
