// Every graph of the zoo, with the batch symbolic: nothing is unknown, and where the exporter declared shapes they
// agree at several batches.
#include <doctest/doctest.h>

#include <filesystem>
#include <set>

#include "graph/onnx/load.h"
#include "graph/shapes/infer.h"
#include "graph/shapes/symbols.h"

namespace vramplan {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> Files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(VRAMPLAN_SOURCE_DIR) / "tests/data/zoo")) {
    if (entry.path().extension() == ".onnx") files.push_back(entry.path());
  }
  return files;
}

// Where the exporter itself is wrong: it gave the name of the batch to another axis of the output.
const std::set<std::string> kWrongInFile = {"smp_unet_resnet34.ts-eval output 2",
                                            "smp_unet_resnet34.ts-train output 2"};

TEST_CASE("the zoo") {
  REQUIRE(!Files().empty());
  for (const fs::path& file : Files()) {
    CAPTURE(file.string());
    Notes notes;
    const auto graph = Load(file.string(), &notes);
    REQUIRE(graph.ok());
    BindOptions options;
    for (TensorId id : graph->inputs) {
      for (const DeclaredDim& d : *(*graph)[id].declared->dims) {
        if (d.symbol == "sequence") options.dims["sequence"] = 128;
      }
    }
    const auto binding = Bind(*graph, options, &notes);
    REQUIRE(binding.ok());
    CHECK(binding->batch_symbol == "batch");
    const auto shapes = Infer(*graph, *binding, &notes);
    REQUIRE(shapes.ok());
    CHECK(notes.all().empty());

    std::string unknown, disagreements;
    int64_t compared = 0;
    for (size_t i = 0; i < graph->tensors.size(); ++i) {
      const Tensor& tensor = graph->tensors[i];
      const TensorFacts& facts = shapes->tensors[i];
      if (!facts.shape || !facts.shape->known() || facts.type == DType::kUndefined) {
        unknown += tensor.name + "; ";
        continue;
      }
      if (!tensor.declared || !tensor.declared->dims) continue;
      bool agree =
          tensor.declared->type == facts.type && static_cast<int>(tensor.declared->dims->size()) == facts.shape->rank();
      for (int axis = 0; agree && axis < facts.shape->rank(); ++axis) {
        const DeclaredDim& said = (*tensor.declared->dims)[static_cast<size_t>(axis)];
        const auto declared =
            said.length ? std::optional<Dim>(*said.length) : EvaluateDim(said.symbol, binding->symbols);
        if (!declared) continue;  // "Convoutput_dim_3": a name that says nothing
        if (kWrongInFile.count(file.stem().string() + " " + tensor.name + " " + std::to_string(axis)) != 0) continue;
        ++compared;
        for (int64_t batch : {1, 2, 3, 7}) agree = agree && declared->At(batch) == (*facts.shape)[axis].At(batch);
      }
      if (!agree) disagreements += tensor.name + " " + ToString(*facts.shape) + "; ";
    }
    CHECK(unknown == "");
    CHECK(disagreements == "");
    CHECK(compared >= 2);  // inputs and outputs at least
  }
}

}  // namespace
}  // namespace vramplan
