#include "graph/lift/passes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "graph/base/ablation.h"
#include "graph/onnx/load.h"
#include "graph/shapes/infer.h"

namespace vramplan {
namespace {

struct Lifted {
  Layers layers;
  std::vector<PassCount> counts;
};

Lifted LiftedFrom(const std::string& file, const std::vector<std::string>& without = {}) {
  Notes notes;
  const Result<Graph> graph = Load(std::string(VRAMPLAN_SOURCE_DIR) + "/" + file, &notes);
  REQUIRE(graph.ok());
  const Result<Binding> binding = Bind(*graph, {}, &notes);
  REQUIRE(binding.ok());
  const Result<Shapes> shapes = Infer(*graph, *binding, &notes);
  REQUIRE(shapes.ok());
  Lifted lifted;
  LiftOptions options;
  options.counts = &lifted.counts;
  Ablation left_out{.left_out = without, .likely_only = false, .notes = false, .acted = {}};
  ablation = &left_out;
  Result<Layers> layers = Lift(*graph, *shapes, options, &notes);
  ablation = nullptr;
  REQUIRE(layers.ok());
  lifted.layers = *std::move(layers);
  return lifted;
}

int ChangesOf(const Lifted& lifted, std::string_view name) {
  const auto found = std::ranges::find(lifted.counts, name, &PassCount::name);
  return found == lifted.counts.end() ? -1 : found->changes;
}

int64_t CountOp(const Layers& layers, std::string_view op) { return std::ranges::count(layers.layers, op, &Layer::op); }

TEST_CASE("passes: every one has a name of its own, files that it is about, and a reason") {
  std::set<std::string_view> names;
  const auto check = [&](const auto& pass) {
    CAPTURE(pass.name);
    CHECK(names.insert(pass.name).second);
    CHECK(pass.why.size() > 20);
    CHECK(std::set<std::string_view>{"any", "dynamo", "TorchScript", "simplified", "with facts"}.count(pass.files) ==
          1);
  };
  for (const GraphPass& pass : GraphPasses()) check(pass);
  for (const LayersPass& pass : LayersPasses()) check(pass);
}

TEST_CASE("passes: what they change is counted, in the order in which they run") {
  const Lifted resnet = LiftedFrom("tests/data/zoo/resnet18.ts-eval.onnx");
  CHECK(resnet.counts.size() == GraphPasses().size() + LayersPasses().size());
  CHECK(resnet.counts.front().name == GraphPasses().front().name);
  CHECK(resnet.counts.back().name == LayersPasses().back().name);
  CHECK(ChangesOf(resnet, "restore-batch-norms") >= 20);
  CHECK(ChangesOf(resnet, "assume-in-place") == 25);  // 17 ReLUs and 8 sums
  CHECK(ChangesOf(resnet, "gather-cells") == 0);
}

TEST_CASE("passes: one that is left out leaves what the export did") {
  const Lifted with = LiftedFrom("tests/data/zoo/resnet18.ts-eval.onnx");
  const Lifted without = LiftedFrom("tests/data/zoo/resnet18.ts-eval.onnx", {"pass restore-batch-norms"});
  CHECK(CountOp(with.layers, "batch_norm") == 20);
  CHECK(CountOp(without.layers, "batch_norm") == 0);
  CHECK(ChangesOf(without, "restore-batch-norms") == -1);
}

TEST_CASE("passes: every one can be left out") {
  const std::string file = "models/mlp.onnx";
  const auto check = [&](const auto& passes) {
    for (const auto& pass : passes) {
      CAPTURE(pass.name);
      const Lifted without = LiftedFrom(file, {"pass " + std::string(pass.name)});
      CHECK(ChangesOf(without, pass.name) == -1);
      CHECK(without.counts.size() == GraphPasses().size() + LayersPasses().size() - 1);
    }
  };
  check(GraphPasses());
  check(LayersPasses());
}

TEST_CASE("passes: the table of PASSES.md is the code's") {
  std::ifstream file(std::string(VRAMPLAN_SOURCE_DIR) + "/graph/lift/PASSES.md");
  std::stringstream text;
  text << file.rdbuf();
  std::string table;
  const auto add = [&](const auto& pass) {
    table += "| " + std::string(pass.name) + " | " + std::string(pass.files) + " | " + std::string(pass.why) + " |\n";
  };
  for (const GraphPass& pass : GraphPasses()) add(pass);
  for (const LayersPass& pass : LayersPasses()) add(pass);
  CHECK(text.str().find(table) != std::string::npos);
}

}  // namespace
}  // namespace vramplan
