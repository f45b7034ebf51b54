// Whatever the bytes are, Load returns a Graph that holds its invariants or an Error of one line, and Infer the shape
// of every tensor or an Error of one line, soon and in little memory.
//
//   cmake --preset fuzz && ninja -C build/fuzz load_fuzz && build/fuzz/tests/load_fuzz -rss_limit_mb=2048 -timeout=5
//   build/fuzz/corpus/load_fuzz tests/fuzz/corpus/load_fuzz
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "graph/onnx/load.h"
#include "graph/shapes/bounds.h"
#include "graph/shapes/branches.h"
#include "tests/support/graph_invariants.h"

namespace {

void Require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

void RequireOneLine(const vramplan::Error& error) {
  const std::string line = ToString(error);
  Require(line.find('\n') == line.npos, line);
}

// As the user gives nothing; with what data decides taken as long as it can be, with a batch and without one.
void InferEveryWay(const vramplan::Graph& graph) {
  using namespace vramplan;
  for (const auto& [bounds, batch] : {std::pair{false, ""}, {true, ""}, {true, "none"}}) {
    Notes notes;
    BindOptions options;
    options.batch_dim = batch;
    auto binding = Bind(graph, options, &notes);
    if (!binding.ok()) {
      RequireOneLine(binding.error());
      continue;
    }
    if (bounds) TakeBounds(&*binding);
    const auto shapes = Infer(graph, *binding, &notes);
    if (!shapes.ok()) {
      RequireOneLine(shapes.error());
      continue;
    }
    Require(shapes->tensors.size() == graph.tensors.size(), "not one entry a tensor");
    for (const TensorFacts& facts : shapes->tensors) {
      if (!facts.is_tensor || !facts.integers || !facts.shape) continue;
      const Dim elements = facts.shape->Elements();
      Require(elements.IsConstant() && elements.c0() == static_cast<int64_t>(facts.integers->size()),
              "contents that do not fill their shape");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  vramplan::Notes notes;
  const auto graph = vramplan::LoadFromBytes("fuzz.onnx", data, size, &notes);
  if (!graph) {
    RequireOneLine(graph.error());
    return 0;
  }
  const std::string broken = vramplan::BrokenInvariant(*graph);
  Require(broken.empty(), broken);
  InferEveryWay(*graph);
  if (const auto plain = vramplan::WithoutBranches(*graph, {}, &notes)) {
    const std::string broken_by_branches = vramplan::BrokenInvariant(*plain);
    Require(broken_by_branches.empty(), broken_by_branches);
    InferEveryWay(*plain);
  }
  return 0;
}
