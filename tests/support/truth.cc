#include "tests/support/truth.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <sstream>

#include "graph/lift/lift.h"
#include "graph/onnx/load.h"
#include "graph/shapes/branches.h"
#include "planner/runtimes/runtime.h"

namespace vramplan::testing {
namespace {

std::vector<std::string> Split(const std::string& line, char separator) {
  std::vector<std::string> cells;
  std::string cell;
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == separator && !quoted) {
      cells.push_back(std::move(cell));
      cell.clear();
    } else if (c != '\r') {
      cell.push_back(c);
    }
  }
  cells.push_back(std::move(cell));
  return cells;
}

std::string ReadAll(const std::string& path) {
  std::string text;
  gzFile file = gzopen(path.c_str(), "rb");
  REQUIRE_MESSAGE(file != nullptr, path << " is not there");
  char buffer[1 << 16];
  for (int n = gzread(file, buffer, sizeof buffer); n > 0; n = gzread(file, buffer, sizeof buffer))
    text.append(buffer, static_cast<size_t>(n));
  gzclose(file);
  return text;
}

// By their names in the file. A .pt2 file has its own: the only one beside the batch is the table's.
std::map<std::string, int64_t> DimsOf(const Graph& graph, const std::string& path, const std::string& dims) {
  std::map<std::string, int64_t> lengths;
  if (dims.empty()) return lengths;
  for (const std::string& dim : Split(dims, ';')) {
    const size_t equals = dim.find('=');
    lengths[dim.substr(0, equals)] = std::stoll(dim.substr(equals + 1));
  }
  if (!path.ends_with(".pt2") || lengths.size() != 1) return lengths;
  const int64_t length = lengths.begin()->second;
  lengths.clear();
  for (const TensorId input : graph.inputs) {
    const std::vector<DeclaredDim>& axes = *graph[input].declared->dims;
    for (size_t axis = 1; axis < axes.size(); ++axis) {
      if (!axes[axis].length && axes[axis].symbol != axes[0].symbol) lengths[axes[axis].symbol] = length;
    }
  }
  return lengths;
}

}  // namespace

std::vector<Row> ReadCsv(const std::string& path) {
  std::istringstream lines(ReadAll(path));
  std::string line;
  std::vector<Row> rows;
  std::vector<std::string> header;
  while (std::getline(lines, line)) {
    const std::vector<std::string> cells = Split(line, ',');
    if (header.empty()) {
      header = cells;
      continue;
    }
    Row row;
    for (size_t i = 0; i < header.size() && i < cells.size(); ++i) row[header[i]] = cells[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string DataFolder() { return std::string(VRAMPLAN_SOURCE_DIR) + "/tests/data"; }

int64_t Count(const Row& row, const std::string& column) {
  const auto cell = row.find(column);
  return cell == row.end() || cell->second.empty() ? -1 : std::stoll(cell->second);
}

std::optional<TrainingSpec> SpecOf(const Row& row) {
  TrainingSpec spec;
  spec.mode = row.at("mode") == "infer" ? Mode::kInfer : Mode::kTrain;
  const auto precision = ParsePrecision(row.at("precision"));
  if (!precision) return std::nullopt;
  spec.precision = *precision;
  if (spec.mode == Mode::kTrain) {
    std::string name = row.at("optimizer");
    if (name.ends_with("-wd")) {  // gen.py: weight_decay 1e-4
      spec.weight_decay = 1e-4;
      name.resize(name.size() - 3);
    }
    const auto optimizer = ParseOptimizer(name);
    const auto impl = ParseOptimizerImpl(row.at("optimizer_impl"));
    if (!optimizer || !impl) return std::nullopt;
    spec.optimizer = *optimizer;
    spec.optimizer_impl = *impl;
    if (spec.optimizer == Optimizer::kAdamW) spec.weight_decay = 0.01;
    const auto loss = ParseLoss(row.at("loss"));
    if (!loss) return std::nullopt;
    spec.loss = *loss;
  }
  if (const auto paths = row.find("checkpoint"); paths != row.end() && !paths->second.empty()) {
    spec.checkpoint = Split(paths->second, ' ');
  }
  spec.framework = ParseFramework(row.at("framework")).value();
  spec.capability = ParseCapability(row.at("capability")).value();
  static const std::map<std::string, int> kMultiprocessors = {
      {"7.5", 40}, {"8.0", 108}, {"8.6", 28}, {"9.0", 132}};  // truth/README.md
  spec.multiprocessors = kMultiprocessors.at(row.at("capability"));
  spec.cudnn_workspace = Bytes();
  return spec;
}

Result<Layers> LayersOf(const std::string& path, const std::string& dims, Notes* notes, Runtime runtime) {
  Notes ignored;
  if (notes == nullptr) notes = &ignored;
  auto graph = Load(path, notes);
  if (!graph) return graph.error();
  BindOptions options;
  options.dims = DimsOf(*graph, path, dims);
  if (auto plain = WithoutBranches(*graph, options, notes)) *graph = *std::move(plain);
  auto binding = Bind(*graph, options, notes);
  if (!binding) return binding.error();
  auto shapes = Infer(*graph, *binding, notes);
  if (!shapes) return shapes.error();
  return GraphFor(runtime, *graph, *shapes, PutBack(), notes);
}

}  // namespace vramplan::testing
