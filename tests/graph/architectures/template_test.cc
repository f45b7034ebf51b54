#include "graph/architectures/template.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

constexpr const char* kText =
    "vramplan template 2\n"
    "class Tower\n"
    "default width hidden/heads\n"
    "default bias false\n"
    "let twice 2*width\n"
    "when bias false\n"
    "when dropout 0.1\n"
    "stack tower layers\n"
    "period 2\n"
    "every apart 1\n"
    "dim sequence 512\n"
    "most sequence positions\n"
    "lora q\n"
    "made with torch 2.10.0, transformers 5.23.0\n"
    "recording A float32 train\n"
    "recording B half train-amp\n"
    "= parameters\n"
    "tower.0.w x[hidden]\n"
    "= functions\n"
    "= calls\n";

Settings Of(const char* text) { return *ReadSettings(text, "config.json"); }

TEST_CASE("template: what stands above the recordings") {
  const Template read = Template::Read(kText);
  CHECK(read.classes == std::vector<std::string>{"Tower"});
  CHECK(read.lora_targets == std::vector<std::string>{"q"});
  CHECK(read.made_with == "torch 2.10.0, transformers 5.23.0");
  CHECK(read.period == 2);
  CHECK(read.every == "apart");
  CHECK(read.every_from == 1);
  REQUIRE(read.recordings.size() == 2);
  CHECK(read.recordings[1].letter == 'B');
  CHECK(read.recordings[1].form == "half");
  CHECK(read.recordings[1].program == "train-amp");
  CHECK(read.Section("parameters") == "tower.0.w x[hidden]\n");
  CHECK(read.Section("functions").empty());
  CHECK(read.Section("calls").empty());
  CHECK(read.Section("buffers").empty());
  REQUIRE(read.lengths.size() == 1);
  CHECK(read.lengths[0].usual == 512);
  CHECK(read.limits == std::vector<std::pair<std::string, std::string>>{{"sequence", "positions"}});
}

TEST_CASE("template: settings are completed, and refused where it was recorded with others") {
  const Template read = Template::Read(kText);
  const Settings settings =
      read.Complete(Of(R"({"hidden": 96, "heads": 4, "layers": 8, "bias": null, "dropout": 0.3})"));
  CHECK(settings.Number("width") == 24);
  CHECK(settings.Number("twice") == 48);
  CHECK(read.Unmet(settings) == nullptr);  // null is the default, and any dropout is one
  CHECK(read.Complete(Of(R"({"hidden": 96, "width": 7})")).Number("width") == 7);
  const Template::Condition* unmet = read.Unmet(read.Complete(Of(R"({"dropout": 0})")));
  REQUIRE(unmet != nullptr);
  CHECK(unmet->key == "dropout");
  unmet = read.Unmet(read.Complete(Of(R"({"bias": true})")));
  REQUIRE(unmet != nullptr);
  CHECK(unmet->key == "bias");
}

}  // namespace
}  // namespace vramplan
