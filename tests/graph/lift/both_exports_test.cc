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
  // The dynamo export takes adaptive pooling apart: to a mean for one cell, else to a pooling.
  static const Difference mean = {{"-adaptive_avg_pool2d", 1}, {"+mean", 1}};
  static const Difference pool = {{"-adaptive_avg_pool2d", 1}, {"+avg_pool2d", 1}};
  const auto excited = [](int pools) {
    Difference both = dropout_in_place;
    both["-adaptive_avg_pool2d"] = both["+mean"] = pools;
    return both;
  };
  // transformers builds its masks by another way under each exporter; the real step is the TorchScript one's.
  static const Difference mask = {{"-arange", 1}, {"-ones", 1}};
  static const std::map<std::string, Difference> known = {
      {"alexnet", pool},
      {"vgg16", pool},
      {"bert_base", mask},
      {"distilbert", mask},
      // arange(n)[None, :] twice and equal sums, merged by the dynamo export.
      {"t5_small", {{"-arange", 3}, {"-add", 1}, {"-sub", 1}}},
      {"convnext_tiny", {{"-adaptive_avg_pool2d", 1}, {"+mean", 1}, {"+as_strided", 1}}},
      {"densenet121", mean},
      {"googlenet", mean},
      {"regnet_x_400mf", mean},
      {"resnet18", mean},
      {"resnet50", mean},
      {"squeezenet1_1", mean},
      {"mobilenet_v2", mean},
      {"mobilenet_v2_86", mean},
      {"efficientnet_b0", excited(17)},
      {"mobilenet_v3_large_86", dropout_in_place},
      {"mobilenet_v3_small", excited(10)},
      {"mobilenet_v3_small_86", dropout_in_place},
      // mask[a:b, c:d] = n fills in place; equal masks are made once an attention, which the dynamo export merges.
      {"swin_t",
       {{"-zeros", 2},
        {"-sub", 2},
        {"-ne", 2},
        {"-eq", 5},
        {"-masked_fill", 4},
        {"+slice_scatter", 54},
        {"+arange", 9},
        {"-adaptive_avg_pool2d", 1},
        {"+mean", 1},
        {"+as_strided", 1}}},
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
