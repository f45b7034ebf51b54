// Calls that an exporter took apart and that neither a module's class nor one node names, put back by their form. A row
// is the form that the file has (graph/layers/form.h) and the call that it was:
//
//   {"sub(mul(sub(-, y), x), log_sigmoid(x))", "bce_logits(x, y)"}
//
// Sources: the dynamo exporter's are torch/_decomp/decompositions.py and torch/_refs, TorchScript's
// torch/onnx/symbolic_opset9.py and later, both of PyTorch 2.10.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/layers/form.h"
#include "graph/layers/layers.h"
#include "graph/layers/uses.h"

namespace vramplan {

enum class Exporter : uint8_t { kAny, kDynamo, kTorchScript };

struct DecomposedMatch {
  const Uses& uses;
  const Match& match;
  ValueId operator[](std::string_view name) const { return ValueId{match.Value(name)}; }
  const Value& At(std::string_view name) const { return uses.layers()[(*this)[name]]; }
  const Layer* MakerOf(std::string_view name) const { return uses.MakerOf((*this)[name]); }
};

// Refuses a match, or says of the call what the form does not.
using FinishCall = bool (*)(const DecomposedMatch&, Layer* call);

struct DecomposedRow {
  std::string form;
  const char* call;
  Exporter exporter = Exporter::kAny;
  FinishCall finish = nullptr;
};

class DecomposedTable {
 public:
  explicit DecomposedTable(std::vector<DecomposedRow> rows);
  // As they were given: the first that matches is taken.
  const std::vector<DecomposedRow>& rows() const { return given_; }
  // The call that the layer at `place` is the end of.
  std::optional<Layer> CallAt(const Uses& uses, size_t place) const;

 private:
  struct Row {
    Form form;
    CallText call;
    std::string name;  // of which ablation speaks
    Exporter exporter;
    FinishCall finish;
  };
  std::vector<DecomposedRow> given_;
  std::vector<Row> rows_;
  std::unordered_map<std::string_view, std::vector<size_t>> by_root_;
};

const DecomposedTable& DecomposedCalls();
const DecomposedTable& DecomposedLosses();
const DecomposedTable& DecomposedWeightNorms();

void GatherDecomposedCalls(Layers* layers);

// Losses that stand in the graph. A product with a buffer behind bce is its weight; a mean or a sum over everything
// behind any is its reduction.
void GatherDecomposedLosses(Layers* layers);

// A TorchScript file writes amax(dim) and max(dim)[0] alike.
bool IsAmbiguousMaximum(const Layer& layer);

}  // namespace vramplan
