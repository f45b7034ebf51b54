#include "graph/onnx/tables.h"

#include <cstring>
#include <set>
#include <vector>

namespace vramplan {
namespace {

constexpr int64_t kSide = 8;  // elements of a grid along each axis

bool IsMatrix(const Tensor& tensor) {
  const auto& stored = tensor.stored;
  return stored && IsFloating(stored->type) && stored->dims.size() == 2 && stored->dims[0] >= kSide &&
         stored->dims[1] >= kSide && BitWidth(stored->type) >= 8 && BitWidth(stored->type) <= 64;
}

void Sample(const RawPlaces& raw, Tensor* tensor) {
  const auto place = raw.find(tensor->name);
  if (place == raw.end() || !tensor->stored->grid.empty()) return;
  const int64_t rows = tensor->stored->dims[0], columns = tensor->stored->dims[1];
  const int64_t width = BitWidth(tensor->stored->type) / 8;
  int64_t bytes = 0;
  if (__builtin_mul_overflow(rows, columns, &bytes) || __builtin_mul_overflow(bytes, width, &bytes)) return;
  if (static_cast<uint64_t>(bytes) != place->second.size()) return;
  for (int64_t i = 0; i < kSide; ++i) {
    for (int64_t j = 0; j < kSide; ++j) {
      const int64_t row = i * (rows - 1) / (kSide - 1), column = j * (columns - 1) / (kSide - 1);
      uint64_t bits = 0;
      std::memcpy(&bits, place->second.data() + (row * columns + column) * width, static_cast<size_t>(width));
      tensor->stored->grid.push_back(bits);
    }
  }
}

}  // namespace

void SampleTables(const RawPlaces& raw, Graph* graph) {
  if (raw.empty()) return;
  std::set<std::vector<int64_t>> turned;  // lengths of tables, the other way round
  for (const Node& node : graph->nodes) {
    if (node.op != "Gather" || node.inputs.empty() || !node.inputs[0].valid()) continue;
    Tensor& table = graph->tensors[static_cast<size_t>(node.inputs[0].value)];
    if (!IsMatrix(table)) continue;
    Sample(raw, &table);
    turned.insert({table.stored->dims[1], table.stored->dims[0]});
  }
  if (turned.empty()) return;
  for (Tensor& tensor : graph->tensors) {
    if (IsMatrix(tensor) && turned.count(tensor.stored->dims) != 0) Sample(raw, &tensor);
  }
}

}  // namespace vramplan
