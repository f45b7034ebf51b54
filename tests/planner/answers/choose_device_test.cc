#include "planner/answers/choose_device.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "planner/answers/profile_store.h"
#include "tests/support/command_line.h"
#include "tests/support/fake_probe.h"

namespace vramplan {
namespace {

using testing::Do;
using testing::Said;
using testing::ScratchStore;

FakeCard Second() {
  FakeCard card = FakeT4();
  card.facts.name = "NVIDIA GeForce RTX 3090";
  card.facts.uuid = "GPU-99999999-2222-3333-4444-555555555555";
  card.facts.capability_major = 8;
  card.facts.capability_minor = 6;
  card.facts.multiprocessors = 82;
  card.facts.total = Bytes::GiB(24);
  card.facts.usable = Bytes::MiB(24100);
  card.facts.holders.clear();
  return card;
}

bool ChooseDeviceHas(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("without a card a step in bf16 is that of one which computes in it, and the answer says so") {
  Question question;
  question.spec.precision = Precision::kBf16;
  CHECK(SpecOf(question, std::nullopt).capability == Capability{8, 0});
  question.capability = Capability{7, 5};
  CHECK(SpecOf(question, std::nullopt).capability == Capability{7, 5});
  CHECK(SpecOf(Question(), std::nullopt).capability == TrainingSpec().capability);
  // The size alone, in each verb, and a sweep whose precision is an axis.
  const std::string of_size = " llama-3.2-1b --dim sequence=2048 --gpu-memory 24GiB";
  CHECK(Do("fit" + of_size).out.find("capability 8.0") != std::string::npos);
  CHECK(Do("fit" + of_size + " --precision fp16").out.find("capability 7.5") != std::string::npos);
  CHECK(Do("fit" + of_size + " --capability 7.5").out.find("capability 8.0") == std::string::npos);
  const std::string swept = Do("sweep llama-3.2-1b --over precision=bf16 --dim sequence=2048 --gpu-memory 24GiB").out;
  const std::string alone = Do("estimate llama-3.2-1b --dim sequence=2048").out;
  const size_t needs = alone.find("needs ") + 6;
  CHECK(swept.find(alone.substr(needs, alone.find(" to train") - needs)) != std::string::npos);
}

TEST_CASE("--gpu auto: the card, less what others hold") {
  const ScratchStore store("auto");
  FakeProbe machine({.cards = {FakeT4()}});
  Question question;
  question.gpu = "auto";
  const Result<std::optional<ChosenDevice>> chosen = ChooseDevice(question, &machine);
  REQUIRE(chosen.ok());
  REQUIRE(*chosen);
  const ChosenDevice& on = **chosen;
  CHECK(on.id == "t4");
  CHECK(on.device.name == "Tesla T4");
  CHECK(on.device.usable == Bytes::GiB(15));
  CHECK(on.device.held == Bytes::MiB(600));
  CHECK(on.device.available() == Bytes::GiB(15) - Bytes::MiB(600));
  CHECK(on.device.CapacityWith(Bytes::MiB(400)) == Bytes::GiB(15) - Bytes::MiB(1000));
  CHECK(on.capability == Capability{7, 5});
  CHECK(on.rates_known);
  CHECK(on.facts->index == 0);
  CHECK(on.profile.empty());
  CHECK(machine.held() == Bytes());
}

TEST_CASE("several cards: the table of all, of those that were named, in that order") {
  const Said three = Do("fit MODELS/mlp.onnx --gpu rtx-4090,t4,l4 --batch 8");
  CHECK(three.exit_code == 0);
  CHECK(three.FirstLine().starts_with("mlp.onnx trains at batch 8 on 3 of 3 cards; the smallest is Tesla T4: "));
  const size_t first = three.out.find("\n  rtx-4090 "), second = three.out.find("\n  t4 "),
               third = three.out.find("\n  l4 ");
  CHECK(first < second);
  CHECK(second < third);
  CHECK(third != std::string::npos);
  const Said sweep = Do("sweep MODELS/unet.onnx --over batch=8,60 --gpu l4,t4 --format csv");
  CHECK(ChooseDeviceHas(sweep.out, "Tesla T4"));
  CHECK(Do("estimate MODELS/mlp.onnx --gpu t4,l4").exit_code == 2);
}

TEST_CASE("cards that the framework has no wheel for them for are left out, or said") {
  const auto listed = [](const std::string& options, const std::string& id) {
    return ChooseDeviceHas(Do("fit MODELS/mlp.onnx --gpu all --batch 8" + options).out, "\n  " + id + " ");
  };
  CHECK_FALSE(listed("", "k80"));
  CHECK_FALSE(listed("", "p100"));
  CHECK(listed("", "t4"));
  CHECK(listed(" --framework pytorch@2.14", "p100"));
  CHECK_FALSE(listed(" --framework pytorch@2.14", "k80"));
  CHECK(listed(" --framework pytorch@2.7", "k80"));
  CHECK(listed(" --framework onnxruntime --mode infer", "k80"));
  const Said old = Do("fit MODELS/mlp.onnx --gpu p100");
  CHECK(ChooseDeviceHas(old.err,
                        "PyTorch 2.15 has no wheel for capability below 7.5: Tesla P100 16GB (hint: type "
                        "--framework pytorch@2.14)"));
  CHECK(Do("fit MODELS/mlp.onnx --gpu t4").err.find("wheel") == std::string::npos);
}

TEST_CASE("emulated bf16 is told") {
  CHECK(ChooseDeviceHas(Do("fit MODELS/mlp.onnx --gpu t4,a10 --precision bf16").err,
                        "bf16 is emulated below capability 8.0, with the same bytes but without tensor cores: Tesla T4 "
                        "(hint: type --precision fp16)"));
  CHECK_FALSE(ChooseDeviceHas(Do("fit MODELS/mlp.onnx --gpu a10 --precision bf16").err, "emulated"));
  CHECK(ChooseDeviceHas(Do("plan MODELS/mlp.onnx --gpu t4 --precision amp-bf16").err, "type --precision amp-fp16"));
}

TEST_CASE("where it is said") {
  const ScratchStore store("said");
  FakeProbe machine({.cards = {FakeT4()}});
  const Said fit = Do("fit MODELS/unet.onnx --gpu auto --batch 1", &machine);
  CHECK(fit.exit_code == 0);
  CHECK(ChooseDeviceHas(fit.FirstLine(), "on Tesla T4 (others hold 600.00 MiB of it): needs "));
  CHECK(ChooseDeviceHas(fit.FirstLine(), " of 14.41 GiB"));
  CHECK(ChooseDeviceHas(fit.out, "gpu auto (Tesla T4, card 0)"));
  CHECK(ChooseDeviceHas(fit.out, "held 600.00 MiB"));
  const Said json = Do("fit MODELS/unet.onnx --gpu auto --batch 1 --format json", &machine);
  CHECK(ChooseDeviceHas(json.out, "\"held_bytes\": 629145600"));
  CHECK(ChooseDeviceHas(json.out, "\"held\": {\n      \"value\": 629145600"));
  CHECK(ChooseDeviceHas(Do("plan MODELS/mlp.onnx --gpu auto", &machine).FirstLine(), "(others hold 600.00 MiB of it)"));
  CHECK(ChooseDeviceHas(Do("estimate MODELS/mlp.onnx --gpu auto", &machine).FirstLine(),
                        "(others hold 600.00 MiB of it)"));
  // Others grow: less fits.
  FakeCard full = FakeT4();
  full.facts.holders[0].bytes = Bytes::GiB(14);
  FakeProbe busy({.cards = {full}});
  CHECK(Do("fit MODELS/unet.onnx --gpu auto --batch 8", &busy).exit_code == 3);
}

TEST_CASE("several cards: the one with most free memory, or the one that is named") {
  const ScratchStore store("several");
  FakeProbe machine({.cards = {FakeT4(), Second()}});
  CHECK(PickCard("auto", &machine)->name == "NVIDIA GeForce RTX 3090");
  CHECK(PickCard("auto:0", &machine)->name == "Tesla T4");
  for (const char* wrong : {"auto:2", "auto:", "auto:x", "auto:1x", "auto:-1"}) {
    CAPTURE(wrong);
    const Said said = Do("fit MODELS/mlp.onnx --gpu " + std::string(wrong), &machine);
    CHECK(said.exit_code == 2);
    CHECK(ChooseDeviceHas(said.err, "is not a card of this machine, which has auto:0 or auto:1"));
  }
  CHECK(Do("fit MODELS/mlp.onnx --gpu automatic", &machine).exit_code == 2);
}

TEST_CASE("a card that no list has, and a slice of one") {
  FakeCard card = FakeT4();
  CardFacts facts = card.facts;
  CHECK(CatalogueCardOf(facts)->id == "t4");
  facts.name = "NVIDIA T4-next";
  CHECK(CatalogueCardOf(facts)->id == "t4");  // by capability, multiprocessors and size
  facts.usable = Bytes::GiB(40);
  CHECK_FALSE(CatalogueCardOf(facts));
  facts = Second().facts;
  CHECK(CatalogueCardOf(facts)->id == "rtx-3090");
  facts.mig = true;
  CHECK_FALSE(CatalogueCardOf(facts));
}

TEST_CASE("without NVML a context of ours counts as held, and that is said") {
  const ScratchStore store("blind");
  FakeProbe machine({.cards = {FakeT4()}, .hides_used = true});
  const Said said = Do("fit MODELS/unet.onnx --gpu auto --batch 1", &machine);
  CHECK(ChooseDeviceHas(said.FirstLine(), "(others hold 800.00 MiB of it)"));
  CHECK(ChooseDeviceHas(said.err, "vramplan's own context counts as held by others"));
  CHECK(machine.held() == Bytes());
}

TEST_CASE("no card: exit 4, and one line") {
  FakeProbe none({.cards = {}});
  for (const char* line : {"fit MODELS/mlp.onnx --gpu auto", "probe", "calibrate"}) {
    const Said said = Do(line, &none);
    CHECK(said.exit_code == 4);
    CHECK(said.out.empty());
    CHECK(std::count(said.err.begin(), said.err.end(), '\n') == 1);
    CHECK(ChooseDeviceHas(said.err, "--gpu t4"));
  }
}

constexpr const char* kProfile = R"({
  "schema": "vramplan.profile/1", "date": "2026-11-20", "driver": "580.95.05",
  "card": {"name": "Tesla T4", "capability": "7.5", "multiprocessors": 40, "usable": 15633680957},
  "context": {"low": 300000000, "likely": 310000000, "high": 330000000}})";

void Put(const ScratchStore& store, const std::string& name, std::string text) {
  std::filesystem::create_directories(store.profiles());
  std::ofstream(store.profiles() + "/" + name) << text;
}

TEST_CASE("a stored profile is used: of this card, else of its kind") {
  const ScratchStore store("stored");
  FakeProbe machine({.cards = {FakeT4()}});
  const std::string ask = "fit MODELS/unet.onnx --gpu auto --batch 1";
  CHECK_FALSE(ChooseDeviceHas(Do(ask, &machine).out, "profile"));
  Put(store, "any.json", kProfile);
  Said said = Do(ask, &machine);
  CHECK(ChooseDeviceHas(said.out, "any.json"));
  CHECK(ChooseDeviceHas(said.out, "context 295.64 MiB"));
  std::string own = kProfile;
  own.replace(own.find("310000000"), 9, "320000000");
  Put(store, "GPU-11111111-2222-3333-4444-555555555555.json", own);
  said = Do(ask, &machine);
  CHECK(ChooseDeviceHas(said.out, "context 305.18 MiB"));
  CHECK(said.err.find("profile-driver") == std::string::npos);
  // What the user gives goes before it.
  CHECK(ChooseDeviceHas(Do(ask + " --context 400MiB", &machine).out, "context 400.00 MiB"));
  const testing::ScratchFile given("given.json", kProfile);
  CHECK(ChooseDeviceHas(Do(ask + " --profile " + given.path(), &machine).out, "context 295.64 MiB"));
  // A catalogue card is not this one.
  CHECK_FALSE(ChooseDeviceHas(Do("fit MODELS/unet.onnx --gpu t4 --batch 1", &machine).out, "profile"));
}

TEST_CASE("a stored profile of another driver, and one that is broken") {
  const ScratchStore store("other");
  FakeProbe machine({.cards = {FakeT4()}});
  std::string old = kProfile;
  old.replace(old.find("580.95.05"), 9, "535.10.05");
  Put(store, "GPU-11111111-2222-3333-4444-555555555555.json", old);
  Said said = Do("fit MODELS/unet.onnx --gpu auto --batch 1", &machine);
  CHECK(ChooseDeviceHas(said.err, "was measured with driver 535.10.05, and this is 580.95.05"));
  Put(store, "GPU-11111111-2222-3333-4444-555555555555.json", "{");
  said = Do("fit MODELS/unet.onnx --gpu auto --batch 1", &machine);
  CHECK(said.exit_code == 0);
  CHECK(ChooseDeviceHas(said.err, "is not JSON"));
  CHECK(ChooseDeviceHas(said.err, "run vramplan calibrate again"));
}

TEST_CASE("the folders of the XDG specification") {
  const testing::ScopedVariable home("HOME", "/people/ada");
  {
    const testing::ScopedVariable data("XDG_DATA_HOME", nullptr), shared("XDG_DATA_DIRS", nullptr);
    CHECK(ProfileFolders() == std::vector<std::string>{"/people/ada/.local/share/vramplan/profiles",
                                                       "/usr/local/share/vramplan/profiles",
                                                       "/usr/share/vramplan/profiles"});
  }
  const testing::ScopedVariable shared("XDG_DATA_DIRS", "/a/:relative::/b");
  {
    const testing::ScopedVariable data("XDG_DATA_HOME", "/data");
    CHECK(ProfileFolders() ==
          std::vector<std::string>{"/data/vramplan/profiles", "/a/vramplan/profiles", "/b/vramplan/profiles"});
    CardFacts card{.name = "A 1/2", .uuid = "GPU-1"};
    CHECK(StorePath(card).value() == "/data/vramplan/profiles/GPU-1.json");
    card.uuid.clear();
    CHECK(StorePath(card).value() == "/data/vramplan/profiles/A-1-2.json");
  }
  // Relative paths do not count.
  const testing::ScopedVariable data("XDG_DATA_HOME", "data");
  CHECK(ProfileFolders()[0] == "/people/ada/.local/share/vramplan/profiles");
  const testing::ScopedVariable nowhere("HOME", nullptr);
  CHECK(ProfileFolders() == std::vector<std::string>{"/a/vramplan/profiles", "/b/vramplan/profiles"});
  CHECK_FALSE(StorePath(CardFacts{.uuid = "GPU-1"}).ok());
}

}  // namespace
}  // namespace vramplan
