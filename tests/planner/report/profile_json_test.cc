#include "planner/report/json/profile_json.h"

#include <doctest/doctest.h>

#include "tests/support/command_line.h"

namespace vramplan {
namespace {

constexpr const char* kProfile = R"({
  "schema": "vramplan.profile/1", "date": "2026-11-20", "driver": "580.95",
  "card": {"name": "Tesla T4", "capability": "7.5", "multiprocessors": 40, "usable": 15633680957},
  "context": {"low": 300000000, "likely": 310000000, "high": 330000000},
  "rates": {"bandwidth": 2.4e11, "fp32": 7100000000000, "half": 2.9e13},
  "convolutions": [{"pass": "forward", "type": "float32", "channels_last": false, "input": [1, 3, 64, 64],
                    "filter": [8, 3, 3, 3], "output": [1, 8, 64, 64], "workspace": 4096}]})";

std::string With(const std::string& what, const std::string& instead) {
  std::string text = kProfile;
  text.replace(text.find(what), what.size(), instead);
  return text;
}

TEST_CASE("a profile") {
  const Result<Profile> profile = ProfileFromText("t4.json", kProfile);
  REQUIRE(profile);
  CHECK(profile->name == "Tesla T4");
  CHECK(profile->capability == Capability{7, 5});
  CHECK(profile->multiprocessors == 40);
  CHECK(profile->usable == Bytes::Of(15633680957));
  CHECK(profile->driver == "580.95");
  REQUIRE(profile->context);
  CHECK(profile->context->low == Bytes::Of(300000000));
  CHECK(profile->context->high == Bytes::Of(330000000));
  CHECK(profile->context->source == "measured on 2026-11-20, t4.json");
  CHECK(profile->rates == Rates{2.4e11, 7.1e12, 2.9e13});
  CHECK(WorkspacesOf(*profile).Of(
            {ConvolutionPass::kForward, DType::kFloat32, false, {1, 3, 64, 64}, {8, 3, 3, 3}, {1, 8, 64, 64}}) ==
        Bytes::Of(4096));
}

TEST_CASE("a profile needs its card, the rest may be missing") {
  const Result<Profile> profile = ProfileFromText(
      "a.json",
      R"({"schema": "vramplan.profile/1", "card": {"name": "A", "capability": "8.0", "multiprocessors": 1, "usable": 2}})");
  REQUIRE(profile);
  CHECK_FALSE(profile->context);
  CHECK_FALSE(profile->rates);
  CHECK(profile->convolutions.empty());
}

TEST_CASE("a profile that is wrong: what, and where") {
  const std::pair<std::string, std::string> cases[] = {
      {"{", "a.json: is not JSON at byte 2"},
      {"[]", "a.json: is not a JSON object"},
      {std::string(100000, '['), "a.json: is nested more than 256 levels deep"},
      {With("profile/1", "profile/2"), "a.json: schema: is \"vramplan.profile/2\", not \"vramplan.profile/1\""},
      {With("\"name\"", "\"nom\""), "a.json: card.name: is missing"},
      {With("\"7.5\"", "7.5"), "a.json: card.capability: is not a text"},
      {With("40", "-40"), "a.json: card.multiprocessors: is not a whole number from 0 to 4096"},
      {With("330000000", "1"), "a.json: context: is not in order: low, likely, high"},
      {With("2.9e13", "0"), "a.json: rates.half: is not a number above 0"},
      {With("\"forward\"", "\"sideways\""),
       "a.json: convolutions[0].pass: is not forward, input-gradient or weight-gradient"},
      {With("[8, 3, 3, 3]", "[8]"), "a.json: convolutions[0].filter: has fewer than three axes"},
      {With("[1, 8, 64, 64]", "[2, 8, 64, 64]"), "a.json: convolutions[0].output: has another batch than input"},
      {With("4096", "1e300"), "a.json: convolutions[0].workspace: is not a whole number from 0 to 1125899906842624"},
  };
  for (const auto& [text, wanted] : cases) {
    const Result<Profile> profile = ProfileFromText("a.json", text);
    REQUIRE_MESSAGE(!profile.ok(), wanted);
    CHECK(ToString(profile.error()).substr(0, wanted.size()) == wanted);
  }
}

TEST_CASE("--profile: the card, its context, cuDNN's workspaces") {
  const testing::ScratchFile profile("t4.json", kProfile);
  const testing::Said with = testing::Do("fit MODELS/unet.onnx --batch 1 --profile " + profile.path());
  CHECK(with.exit_code == 0);
  CHECK(with.FirstLine().find("on Tesla T4") != std::string::npos);
  CHECK(with.out.find("context 295.64 MiB") != std::string::npos);
  const testing::Said other = testing::Do("fit MODELS/unet.onnx --gpu a100-40gb --profile " + profile.path());
  CHECK(other.exit_code == 2);
  CHECK(other.err.find("was measured on Tesla T4, capability 7.5, and A100 40GB has 8.0") != std::string::npos);
  CHECK(testing::Do("fit MODELS/unet.onnx --gpu all --profile " + profile.path()).exit_code == 2);
  CHECK(testing::Do("fit MODELS/unet.onnx --profile " + profile.path() + ".none").exit_code == 1);
}

}  // namespace
}  // namespace vramplan
