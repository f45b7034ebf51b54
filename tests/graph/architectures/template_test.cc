#include "graph/architectures/template.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

constexpr const char* kText =
    "vramplan template 1\n"
    "class Tower\n"
    "default width hidden/heads\n"
    "default bias false\n"
    "let twice 2*width\n"
    "when bias false\n"
    "when dropout 0.1\n"
    "stack tower layers\n"
    "period 2\n"
    "dim sequence 512\n"
    "most sequence positions\n"
    "lora q\n"
    "made with torch 2.10.0, transformers 5.23.0\n"
    "recording float32 train\n"
    "= parameters\n"
    "{\"name\":\"tower.0.w\",\"shape\":[<hidden>]}\n"
    "* n0 1 1\n"
    "{\"name\":\"tower.<2*i>.w\",\"shape\":[<twice>,<sequence+1>]}\n"
    ".\n"
    "{\"name\":\"tower.<2*n0-1>.w\",\"shape\":[3]}\n"
    "= functions\n"
    "= train calls\n"
    "[<n0>]\n"
    "= train ends\n"
    "recording half train\n"
    "= parameters\n";

Settings Of(const char* text) { return *ReadSettings(text, "config.json"); }

TEST_CASE("template: what stands above the recordings") {
  const Template read = Template::Read(kText);
  CHECK(read.classes == std::vector<std::string>{"Tower"});
  CHECK(read.lora_targets == std::vector<std::string>{"q"});
  CHECK(read.made_with == "torch 2.10.0, transformers 5.23.0");
  CHECK(read.period == 2);
  REQUIRE(read.lengths.size() == 1);
  CHECK(read.lengths[0].usual == 512);
  CHECK(read.limits == std::vector<std::pair<std::string, std::string>>{{"sequence", "positions"}});
}

TEST_CASE("template: settings are completed, and refused where it was recorded with others") {
  const Template read = Template::Read(kText);
  const Settings settings = read.Complete(Of(R"({"hidden": 96, "heads": 4, "layers": 8, "bias": null, "dropout": 0.3})"));
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

TEST_CASE("template: filled, a block stands once for each of the layers between the first and the last") {
  const Template read = Template::Read(kText);
  Settings settings = read.Complete(Of(R"({"hidden": 96, "heads": 4, "layers": 8})"));
  settings.Set("sequence", int64_t{10});
  const Result<std::string> facts = read.Fill(settings, "float32", "train");
  REQUIRE(facts);
  CHECK(*facts ==
        R"({"schema":"vramplan.facts/1","mode":"train","parameters":[{"name":"tower.0.w","shape":[96]},)"
        R"({"name":"tower.2.w","shape":[48,11]},{"name":"tower.4.w","shape":[48,11]},{"name":"tower.7.w","shape":[3]}],)"
        R"("functions":[],"programs":{"train":{"calls":[[4]],"ends":[]}}})");
  CHECK(!read.Fill(settings, "float32", "infer"));
  settings.Set("layers", int64_t{7});
  CHECK(!read.Fill(settings, "float32", "train"));  // no multiple of the period
  settings.Set("layers", int64_t{2});
  CHECK(!read.Fill(settings, "float32", "train"));  // fewer than stand alone
  const Settings without = read.Complete(Of(R"({"layers": 8, "hidden": 96})"));
  const Result<std::string> missing = read.Fill(without, "float32", "train");
  REQUIRE(!missing);
  CHECK(missing.error().text.find("twice") != std::string::npos);
}

}  // namespace
}  // namespace vramplan
