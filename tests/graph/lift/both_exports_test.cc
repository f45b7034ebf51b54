// Both exports of a model end in the same layers. Compared: the operators that cost something, in order, with the
// shapes of their outputs. What differs is listed here by model, and why.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "tests/support/truth.h"

namespace vramplan {
namespace {

using Lines = std::vector<std::string>;

// Operators in order without views, "conv2d [B, 64, 112, 112]"; `module` in front when wanted.
Lines WorkOf(const Layers& layers) {
  static const std::set<std::string> views = {"view",   "reshape",   "permute", "transpose",  "expand", "slice",
                                              "select", "unsqueeze", "squeeze", "contiguous", "unbind", "split"};
  Lines lines;
  for (const Layer& layer : layers.layers) {
    if (views.count(layer.op) != 0) continue;
    std::string line = layer.op;
    if (!layer.outputs.empty() && layer.outputs[0].valid()) line += " " + ToString(layers[layer.outputs[0]].shape);
    lines.push_back(line);
  }
  return lines;
}

// Lines of `a` that `b` lacks and the other way round, "-op" and "+op", counted as multisets.
std::map<std::string, int> Differences(const Lines& a, const Lines& b) {
  std::map<std::string, int> count;
  for (const std::string& line : a) ++count[line];
  for (const std::string& line : b) --count[line];
  std::map<std::string, int> differences;
  for (const auto& [line, n] : count) {
    if (n > 0) differences["-" + line.substr(0, line.find(' '))] += n;
    if (n < 0) differences["+" + line.substr(0, line.find(' '))] -= n;
  }
  return differences;
}

// "-": the TorchScript export has it, "+": the dynamo export has it. Each was looked up in the recorded events of the
// real step (tests/data/truth/events).
using Difference = std::map<std::string, int>;
const std::map<std::string, Difference>& KnownDifferences() {
  // dropout(inplace=True) draws its noise apart: only the dynamo export shows that.
  static const Difference dropout_in_place = {{"-dropout", 1}, {"+bernoulli", 1}, {"+div", 1}, {"+mul", 1}};
  // F.adaptive_avg_pool2d to one cell is a mean; without a module around it, the dynamo export shows only that.
  static const Difference function = {{"-adaptive_avg_pool2d", 1}, {"+mean", 1}};
  // transformers builds its masks by another way under each exporter; the real step is the TorchScript one's.
  static const Difference mask = {{"-arange", 1}, {"-ones", 1}};
  static const std::map<std::string, Difference> known = {
      {"bert_base", mask},
      {"distilbert", mask},
      // arange(n)[None, :] twice, merged by the dynamo export; 0 + x, which ran and which TorchScript's drops.
      {"t5_small", {{"-arange", 3}, {"+add", 2}}},
      {"gpt2", {{"+add", 1}}},
      {"densenet121", function},
      {"efficientnet_b0", dropout_in_place},
      {"mobilenet_v2", function},
      {"mobilenet_v2_86", function},
      {"mobilenet_v3_large_86", dropout_in_place},
      {"mobilenet_v3_small", dropout_in_place},
      {"mobilenet_v3_small_86", dropout_in_place},
      // mask[a:b, c:d] = n fills in place; equal masks are made once an attention, which the dynamo export merges.
      {"swin_t", {{"-zeros", 2}, {"-sub", 2}, {"-ne", 2}, {"-eq", 5}, {"-masked_fill", 4}, {"+slice_scatter", 27}}},
  };
  return known;
}

std::vector<std::string> Models() {
  std::vector<std::string> models;
  const std::filesystem::path folder = std::filesystem::path(testing::DataFolder()) / "zoo";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const size_t end = name.find(".ts-train.onnx");
    if (end == std::string::npos) continue;
    if (std::filesystem::exists(folder / (name.substr(0, end) + ".dynamo-train.onnx"))) {
      models.push_back((folder / name.substr(0, end)).string());
    }
  }
  std::sort(models.begin(), models.end());
  return models;
}

Result<Layers> LayersAt(const std::string& path) {
  Result<Layers> layers = testing::LayersOf(path, "");
  return layers.ok() ? std::move(layers) : testing::LayersOf(path, "sequence=128");  // token models
}

TEST_CASE("both exports of a model give the same layers") {
  REQUIRE(!Models().empty());
  for (const std::string& model : Models()) {
    const std::string name = std::filesystem::path(model).filename().string();
    CAPTURE(name);
    const Result<Layers> pattern = LayersAt(model + ".ts-train.onnx");
    const Result<Layers> provenance = LayersAt(model + ".dynamo-train.onnx");
    REQUIRE(pattern.ok());
    REQUIRE(provenance.ok());
    const Lines a = WorkOf(*pattern), b = WorkOf(*provenance);
    const Difference difference = Differences(a, b);
    std::string text;
    for (const auto& [op, count] : difference) text += op + " " + std::to_string(count) + ", ";
    INFO(text);
    for (const std::string& line : a) CHECK_MESSAGE(line.find("::") == std::string::npos, line);
    const auto known = KnownDifferences().find(name);
    CHECK(difference == (known == KnownDifferences().end() ? Difference{} : known->second));
    if (difference.empty()) CHECK(a == b);  // in the same order, too
  }
}

}  // namespace
}  // namespace vramplan
