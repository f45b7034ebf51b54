#include "graph/architectures/settings.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

Settings Read(const char* text) {
  Result<Settings> settings = ReadSettings(text, "config.json");
  REQUIRE(settings);
  return *std::move(settings);
}

TEST_CASE("settings: plain values of a config.json, and those of the language model inside of another") {
  const Settings settings = Read(
      R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "rope_theta": 500000.0, "tie": false, "window": null,
          "hidden_act": "silu", "rope_scaling": {"factor": 8.0}, "eos_token_id": [1, 2],
          "text_config": {"hidden_size": 1, "num_hidden_layers": 26}})");
  CHECK(settings.classes == std::vector<std::string>{"LlamaForCausalLM"});
  CHECK(settings.Number("hidden_size") == 4096);
  CHECK(settings.Number("num_hidden_layers") == 26);
  CHECK(settings.Text("hidden_act") == "silu");
  CHECK(*settings.Find("tie") == Setting(false));
  CHECK(*settings.Find("window") == Setting(nullptr));
  CHECK(settings.Find("rope_scaling") == nullptr);
  CHECK(settings.Find("eos_token_id") == nullptr);
  CHECK(Read(R"({"_class_name": "UNet2DConditionModel"})").classes == std::vector<std::string>{"UNet2DConditionModel"});
  for (const char* text : {"", "[1]", "{\"a\": ", "null"}) {
    CAPTURE(text);
    const Result<Settings> none = ReadSettings(text, "config.json");
    REQUIRE(!none);
    CHECK(none.error().subject == "config.json");
  }
}

TEST_CASE("settings: expressions are sums, products and exact quotients of whole numbers") {
  const Settings settings = Read(R"({"heads": 32, "kv": 8, "width": 64, "rate": 0.5, "large": 9223372036854775807})");
  struct Row {
    const char* text;
    std::optional<int64_t> value;
  };
  const Row rows[] = {{"7", 7},
                      {"heads*width", 2048},
                      {"2*kv*width+heads*width", 3072},
                      {"-2*kv+1", -15},
                      {"heads/kv", 4},
                      {"heads*width/kv/4", 64},
                      {"width-1", 63},
                      {"heads/7", std::nullopt},
                      {"heads/0", std::nullopt},
                      {"rate", std::nullopt},
                      {"nobody", std::nullopt},
                      {"large*2", std::nullopt},
                      {"large+1", std::nullopt},
                      {"99999999999999999999", std::nullopt},
                      {"heads*", std::nullopt},
                      {"heads kv", std::nullopt},
                      {"", std::nullopt}};
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK(Evaluate(row.text, settings) == row.value);
  }
}

}  // namespace
}  // namespace vramplan
