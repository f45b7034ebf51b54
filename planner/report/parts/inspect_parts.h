// What both printers of an Inspection count and name.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/report/inspect.h"

namespace vramplan {

// One axis as a reader knows it: a number, an expression in the file's symbols, or nothing; with `at_most` that is an
// upper bound of what data decides.
struct PrintedDim {
  std::optional<int64_t> length;
  std::string expression;
  bool at_most = false;
};

// The tensor's shape: as inferred, else as the file declares it; nothing when neither knows the rank.
std::optional<std::vector<PrintedDim>> ShapeOf(const Inspection& inspection, TensorId id);
std::string_view TypeOf(const Inspection& inspection, TensorId id);
// "[batch, 3, 224, 224]", "[2, <=9*batch]" with an upper bound, "?" without a rank.
std::string ShapeText(const Inspection& inspection, TensorId id);
// What stands for the batch in expressions: the file's symbol, or "B".
std::string BatchName(const Inspection& inspection);

// Tensors of which some length, or all, are not known: what inference left open. Nothing before it ran.
std::vector<TensorId> UnknownTensors(const Inspection& inspection);

// Most frequent first.
std::vector<std::pair<std::string, int64_t>> CountOperators(const Graph& graph);

struct LiftCount {
  int64_t layers = 0, node = 0, pattern = 0, provenance = 0;
};
std::map<std::string, LiftCount> CountLayers(const Layers& layers);

struct StoredCount {
  int64_t tensors = 0, elements = 0;
  Bytes bytes;
};
StoredCount CountStored(const Layers& layers, const std::vector<ValueId>& ids);
// Initializers of the file, of whatever use.
StoredCount CountInitializers(const Graph& graph);

std::string_view Name(Evidence evidence);

}  // namespace vramplan
