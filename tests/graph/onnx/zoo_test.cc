// Real exports: every one loads without an error or a note, and keeps the promises of Graph.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "graph/onnx/load.h"
#include "tests/support/graph_invariants.h"

namespace vramplan {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> OnnxFiles(const fs::path& folder) {
  std::vector<fs::path> files;
  if (!fs::is_directory(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".onnx") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST_CASE("every graph of the zoo loads") {
  const fs::path root = VRAMPLAN_SOURCE_DIR;
  std::vector<fs::path> files = OnnxFiles(root / "tests/data/zoo");
  REQUIRE(files.size() > 20);
  for (const fs::path& more : {root / "models", root.parent_path() / "shared/zoo"}) {
    const std::vector<fs::path> found = OnnxFiles(more);
    files.insert(files.end(), found.begin(), found.end());
  }
  for (const fs::path& file : files) {
    CAPTURE(file.string());
    Notes notes;
    const Result<Graph> graph = Load(file.string(), &notes);
    if (!graph) FAIL(ToString(graph.error()));
    CHECK(BrokenInvariant(*graph) == "");
    CHECK(notes.all().empty());
    CHECK(!graph->inputs.empty());
    // A file of the dynamo exporter has provenance on nearly every node, others have none.
    const bool dynamo = file.filename().string().find(".dynamo-") != std::string::npos;
    const auto with = std::count_if(graph->nodes.begin(), graph->nodes.end(),
                                    [](const Node& node) { return !node.provenance.fx_node.empty(); });
    if (dynamo) CHECK(with * 10 >= static_cast<int64_t>(graph->nodes.size()) * 9);
    if (!dynamo && file.filename().string().find(".ts-") != std::string::npos) CHECK(with == 0);
    CHECK(graph->signature.empty() == !dynamo);
  }
}

TEST_CASE("what two exports of ResNet-50 hold") {
  struct Row {
    const char* file;
    const char* producer;
    int64_t opset;
    size_t nodes;
    int64_t stored_elements;  // of floating initializers
  };
  // torchvision's resnet50 has 25,557,032 parameters, 53,120 of them scales and shifts of batch norm, and as many
  // running means and variances. The dynamo exporter folds batch norm into the convolutions; the biases that would come
  // are zero in an untrained model, and left out.
  for (const Row& row : {Row{"resnet50.ts-train.onnx", "pytorch 2.10.0", 17, 175, 25'557'032 + 53'120},
                         Row{"resnet50.dynamo-train.onnx", "pytorch 2.10.0", 20, 122, 25'557'032 - 53'120}}) {
    CAPTURE(row.file);
    Notes notes;
    const Result<Graph> graph = Load((fs::path(VRAMPLAN_SOURCE_DIR) / "tests/data/zoo" / row.file).string(), &notes);
    REQUIRE(graph);
    CHECK(graph->producer.starts_with(row.producer));
    CHECK(graph->opset() == row.opset);
    CHECK(graph->nodes.size() == row.nodes);
    REQUIRE(graph->inputs.size() == 1);
    const DeclaredType& input = *(*graph)[graph->inputs[0]].declared;
    CHECK(input.dims == std::vector<DeclaredDim>{{.symbol = "batch"}, {.length = 3}, {.length = 224}, {.length = 224}});
    int64_t elements = 0;
    for (const Tensor& tensor : graph->tensors) {
      if (!tensor.stored || !IsFloating(tensor.stored->type)) continue;
      int64_t product = 1;
      for (const int64_t dim : tensor.stored->dims) product *= dim;
      elements += product;
    }
    CHECK(elements == row.stored_elements);
  }
}

}  // namespace
}  // namespace vramplan
