#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "planner/report/json/profile_json.h"
#include "tests/support/command_line.h"
#include "tests/support/fake_probe.h"

namespace vramplan {
namespace {

using testing::Do;
using testing::Said;
using testing::ScopedVariable;
using testing::ScratchFile;
using testing::ScratchStore;

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr const char* kOwn = "/GPU-11111111-2222-3333-4444-555555555555.json";

TEST_CASE("calibrate: measured beside the catalogue, and stored") {
  const ScopedVariable date("SOURCE_DATE_EPOCH", "1763776800");
  const ScratchStore store("calibrate");
  FakeProbe machine({.cards = {FakeT4()}});
  const Said said = Do("calibrate", &machine);
  CHECK(said.exit_code == 0);
  CHECK(machine.held() == Bytes());
  const std::string file = store.profiles() + kOwn;
  std::string text = said.out;
  for (size_t at = text.find(file); at != std::string::npos; at = text.find(file))
    text.replace(at, file.size(), "FILE");
  CHECK(text == testing::Golden("calibrate/t4", text));
  const Result<Profile> profile = ReadProfile(file);
  REQUIRE(profile.ok());
  CHECK(profile->date == "2025-11-22");
  CHECK(profile->context->source == "measured on 2025-11-22, " + file);
  CHECK(profile->memory->granularity == Bytes::MiB(2));
  // Nothing but the profile is left in the store, which is the user's own.
  CHECK(std::distance(std::filesystem::directory_iterator(store.profiles()), {}) == 1);
  CHECK(std::filesystem::status(store.profiles()).permissions() == std::filesystem::perms::owner_all);
  // From then on it is used, and named.
  const Said fit = Do("fit MODELS/mlp.onnx --gpu auto", &machine);
  CHECK(Has(fit.out, "context 302.00 MiB"));
  CHECK(Has(fit.out, file));
  CHECK(Has(Do("probe", &machine).out, "of 2025-11-22, "));
  // Again: the new one takes its place.
  CHECK(Do("calibrate", &machine).exit_code == 0);
  CHECK(std::distance(std::filesystem::directory_iterator(store.profiles()), {}) == 1);
}

TEST_CASE("calibrate --out: there, and not in the store") {
  const ScopedVariable date("SOURCE_DATE_EPOCH", "0");
  const ScratchStore store("out");
  FakeProbe machine({.cards = {FakeT4()}});
  const ScratchFile out("calibrated.json");
  const Said said = Do("calibrate --out " + out.path(), &machine);
  CHECK(said.exit_code == 0);
  CHECK(Has(said.FirstLine(), "Tesla T4 measured: "));
  CHECK(store.empty());
  const Said to_terminal = Do("calibrate --out -", &machine);
  CHECK(to_terminal.out == out.Bytes());
  const Said json = Do("calibrate --format json --out " + out.path(), &machine);
  CHECK(json.out == out.Bytes());
  CHECK(ProfileFromText("-", json.out)->date == "1970-01-01");
  CHECK(store.empty());
}

TEST_CASE("calibrate --model: its convolutions, which a plan then uses") {
  const ScratchStore store("model");
  FakeProbe machine({.cards = {FakeT4()}});
  const Said said = Do("calibrate --model MODELS/unet.onnx --batch 4", &machine);
  CHECK(said.exit_code == 0);
  CHECK(Has(said.out, "convolutions of unet.onnx: "));
  CHECK(Has(said.out, "the largest workspace 3.00 MiB"));
  const Result<Profile> profile = ReadProfile(store.profiles() + kOwn);
  REQUIRE(profile.ok());
  for (const MeasuredConvolution& one : profile->convolutions) CHECK(one.shape.input[0] == 4);
  CHECK(Do("calibrate --model MODELS/unet.onnx", &machine).exit_code == 0);
  CHECK(ReadProfile(store.profiles() + kOwn)->convolutions.size() == 7 * profile->convolutions.size());
  const Said other = Do("calibrate --model MODELS/mlp.onnx", &machine);
  CHECK(other.exit_code == 0);
  CHECK(Has(other.err, "has no convolutions that cuDNN could be asked about"));
}

TEST_CASE("calibrate: the card that is named") {
  const ScratchStore store("named");
  FakeCard second = FakeT4();
  second.facts.uuid = "GPU-2";
  FakeProbe machine({.cards = {FakeT4(), second}});
  CHECK(Do("calibrate --gpu auto:1", &machine).exit_code == 0);
  CHECK(std::filesystem::exists(store.profiles() + "/GPU-2.json"));
  const Said said = Do("calibrate --gpu t4", &machine);
  CHECK(said.exit_code == 2);
  CHECK(Has(said.err, "calibrate measures a card of this machine"));
}

TEST_CASE("calibrate: whatever goes wrong, no profile is written and no memory is left behind") {
  const ScratchStore store("wrong");
  const Error old{ErrorCode::kNoCard, "driver", "is too old for this program", "install 525 or newer"};
  FakeCard full = FakeT4();
  full.facts.holders[0].bytes = Bytes::GiB(15) - Bytes::MiB(230);  // room for a context, not for cuBLAS
  struct Row {
    const char* what;
    FakeScript script;
    std::string line;
    int exit_code;
  };
  const Row rows[] = {
      {"no driver", {.cards = {FakeT4()}, .driver = old}, "calibrate", 4},
      {"no permission", {.cards = {FakeT4()}, .open = old}, "calibrate", 4},
      {"lost at once", {.cards = {FakeT4()}, .lost_at = 1}, "calibrate", 4},
      {"lost in the staircase", {.cards = {FakeT4()}, .lost_at = 60}, "calibrate", 4},
      {"lost while copying", {.cards = {FakeT4()}, .lost_at = 150}, "calibrate", 4},
      {"out of memory", {.cards = {full}}, "calibrate", 4},
      {"no model", {.cards = {FakeT4()}}, "calibrate --model nowhere.onnx", 1},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    FakeProbe machine(row.script);
    const Said said = Do(row.line, &machine);
    CHECK(said.exit_code == row.exit_code);
    CHECK(said.out.empty());
    CHECK_FALSE(said.err.empty());
    CHECK(machine.held() == Bytes());
    CHECK(store.empty());
  }
  // A store that cannot be written is no reason to lose what was measured: --out.
  FakeProbe machine({.cards = {FakeT4()}});
  const ScopedVariable nowhere("XDG_DATA_HOME", "/proc/nowhere");
  const Said said = Do("calibrate", &machine);
  CHECK(said.exit_code == 1);
  CHECK(Has(said.err, "name another place with --out FILE"));
  CHECK(machine.held() == Bytes());
}

TEST_CASE("calibrate: a neighbour that takes memory, and a fragmented card, are no errors") {
  const ScratchStore store("neighbour");
  FakeCard pieces = FakeT4();
  pieces.largest_piece = Bytes::MiB(64);
  FakeProbe fragmented({.cards = {pieces}});
  const Said said = Do("calibrate", &fragmented);
  CHECK(said.exit_code == 0);
  CHECK(ReadProfile(store.profiles() + kOwn)->memory->largest == Bytes::MiB(64));
  FakeProbe taken({.cards = {FakeT4()}, .neighbour = {{3, Bytes::GiB(14)}}});
  const Said less = Do("calibrate", &taken);
  CHECK(less.exit_code == 0);
  CHECK(taken.held() == Bytes());
}

}  // namespace
}  // namespace vramplan
