// probe, calibrate and --gpu auto as their user runs them: the program, on cards that are not there.
#include "tests/support/pretend_gpu.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <regex>
#include <string>

#include "planner/report/json/profile_json.h"
#include "tests/support/command_line.h"

namespace vramplan {
namespace {

using testing::Golden;
using testing::OnPretendGpu;
using testing::PretendMachine;
using testing::PretendRun;
using testing::ScratchStore;
using testing::Vramplan;

// A T4 of round numbers, and somebody on it whose number is no process of this machine.
constexpr const char* kT4 = "card Tesla T4; holder 9000001 compute python3 600MiB";

bool Skipped() {
  if (!testing::HasPretendGpu()) MESSAGE("skipped: built without a CUDA toolkit");
  return !testing::HasPretendGpu();
}

// Paths of this machine stand as STORE, the toolkit that the program was built with as TOOLKIT.
std::string Steady(std::string text, const std::string& path) {
  for (size_t at = text.find(path); at != std::string::npos; at = text.find(path))
    text.replace(at, path.size(), "STORE");
  static const std::regex kToolkit(R"re((built with CUDA |"toolkit": ")\d+\.\d+)re");
  return std::regex_replace(text, kToolkit, "$1TOOLKIT");
}

void CheckRun(const PretendRun& run, const ScratchStore& store, const char* golden) {
  CAPTURE(golden);
  CAPTURE(run.err);
  CHECK(run.exit_code == 0);
  CHECK(run.complaints == "");
  const std::string text = Steady(run.out, store.profiles());
  CHECK(text == Golden(golden, text));
}

TEST_CASE("pretend GPU: probe") {
  if (Skipped()) return;
  const ScratchStore store("pretend_probe");
  CheckRun(OnPretendGpu({.description = kT4}, Vramplan("probe")), store, "probe/pretend_t4");
  CheckRun(OnPretendGpu({.description = kT4}, Vramplan("probe --no-context --format json")), store,
           "probe/pretend_t4_json");
  const std::string two = std::string(kT4) +
                          "; card NVIDIA GeForce RTX 3090; uuid aaaaaaaa-2222-3333-4444-555555555555; capability 8.6; "
                          "multiprocessors 82; total 24GiB; usable 24100MiB; display on; ecc off; "
                          "holder 9000002 both - 300MiB; holder 9000003 graphics Xorg ?90MiB";
  CheckRun(OnPretendGpu({.description = two, .cudnn = false}, Vramplan("probe")), store, "probe/pretend_two");
  CheckRun(OnPretendGpu({.description = kT4, .nvml = false}, Vramplan("probe")), store, "probe/pretend_no_nvml");
  CheckRun(OnPretendGpu({.description = "wsl; " + std::string(kT4), .windows = true}, Vramplan("probe")), store,
           "probe/pretend_wsl");
}

TEST_CASE("pretend GPU: calibrate, and what --gpu auto makes of it") {
  if (Skipped()) return;
  const ScratchStore store("pretend_calibrate");
  const testing::ScopedVariable date("SOURCE_DATE_EPOCH", "1763776800");
  CheckRun(OnPretendGpu({.description = kT4}, Vramplan("calibrate --model MODELS/unet.onnx --batch 4")), store,
           "calibrate/pretend_t4");
  const Result<Profile> profile = ReadProfile(store.profiles() + "/GPU-11111111-1111-1111-1111-111111111111.json");
  REQUIRE(profile.ok());
  CHECK(profile->convolutions.size() > 50);
  REQUIRE(profile->rates);
  const PretendRun fit = OnPretendGpu({.description = kT4}, Vramplan("fit MODELS/unet.onnx --gpu auto --batch 4"));
  CHECK(fit.exit_code == 0);
  CHECK(fit.complaints == "");
  CHECK(fit.out.find("on Tesla T4 (others hold 600.00 MiB of it)") != std::string::npos);
  CHECK(fit.out.find(store.profiles()) != std::string::npos);
}

TEST_CASE("pretend GPU: --gpu auto among several cards") {
  if (Skipped()) return;
  const ScratchStore store("pretend_auto");
  const std::string two = std::string(kT4) + "; card NVIDIA L4; uuid bbbbbbbb-2222-3333-4444-555555555555; " +
                          "capability 8.9; multiprocessors 58; total 24GiB; usable 22GiB";
  const auto first_line = [&](const std::string& words, const std::string& environment = "") {
    const PretendRun run =
        OnPretendGpu({.description = two, .environment = environment}, Vramplan("estimate MODELS/mlp.onnx " + words));
    CHECK(run.exit_code == 0);
    CHECK(run.complaints == "");
    return run.out.substr(0, run.out.find('\n'));
  };
  CHECK(first_line("--gpu auto").find(" of 22.00 GiB") != std::string::npos);
  CHECK(first_line("--gpu auto:0").find("on Tesla T4 (others hold 600.00 MiB of it)") != std::string::npos);
  // As CUDA counts them.
  CHECK(first_line("--gpu auto:0", "CUDA_VISIBLE_DEVICES=1").find("on NVIDIA L4") != std::string::npos);
}

TEST_CASE("pretend GPU: what goes wrong ends with one line, and nothing is left behind") {
  if (Skipped()) return;
  const ScratchStore store("pretend_wrong");
  struct Row {
    const char* what;
    PretendMachine machine;
    const char* line;
    int exit_code;
  };
  const std::string t4 = kT4;
  const Row rows[] = {
      {"no driver", {.description = kT4, .driver = false}, "probe", 4},
      {"no driver for a plan", {.description = kT4, .driver = false}, "fit MODELS/mlp.onnx --gpu auto", 4},
      {"no card", {.description = t4 + "; fail cuInit 100"}, "probe", 4},
      {"permission", {.description = t4 + "; fail cuDevicePrimaryCtxRetain 800"}, "calibrate", 4},
      {"lost in the staircase", {.description = t4 + "; lost cuMemAlloc_v2 20"}, "calibrate", 4},
      {"no room for a context",
       {.description = "card Tesla T4; holder 9000001 compute python3 15200MiB"},
       "calibrate",
       4},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    const PretendRun run = OnPretendGpu(row.machine, Vramplan(row.line));
    CAPTURE(run.err);
    CAPTURE(run.out);
    CHECK(run.exit_code == row.exit_code);
    CHECK(run.out.empty());
    CHECK(run.err.find("vramplan: ") == 0);
    CHECK(run.complaints == "");
    CHECK(store.empty());
  }
}

TEST_CASE("pretend GPU: fragments and a neighbour are no errors") {
  if (Skipped()) return;
  const ScratchStore store("pretend_pieces");
  const testing::ScratchFile out("pretend_profile.json");
  const std::string words = "calibrate --out " + out.path();
  PretendRun run = OnPretendGpu({.description = std::string(kT4) + "; largest-piece 64MiB"}, Vramplan(words));
  CHECK(run.exit_code == 0);
  CHECK(run.complaints == "");
  CHECK(ReadProfile(out.path())->memory->largest == Bytes::MiB(64));
  run = OnPretendGpu({.description = std::string(kT4) + "; neighbour 7 4GiB"}, Vramplan(words));
  CHECK(run.exit_code == 0);
  CHECK(run.complaints == "");
  CHECK(ReadProfile(out.path())->memory->largest < Bytes::GiB(10));
}

}  // namespace
}  // namespace vramplan
