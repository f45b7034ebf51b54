#include "graph/lift/recurrent_cells.h"

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "graph/lift/walk.h"

namespace vramplan {
namespace {

struct Cell {
  const char* op = "";
  std::vector<ValueId> inputs, outputs;
  const Layer* state = nullptr;  // makes the second output
};

bool IsProductBy(const Walk& walk, const Layer* linear, const char* weight) {
  return linear != nullptr && Walk::In(linear, 1).valid() && walk.layers()[Walk::In(linear, 1)].name.ends_with(weight);
}

// The products of the cell's own tables (torch/nn/modules/rnn.py: RNNCellBase); a program's own are of modules.
bool AreGates(const Walk& walk, const Layer* hidden, const Layer* input) {
  return IsProductBy(walk, hidden, ".weight_hh") && IsProductBy(walk, input, ".weight_ih") &&
         hidden->module == input->module;
}

void AddWeights(const Layer* hidden, const Layer* input, Cell* cell) {
  for (const size_t i : {size_t{1}, size_t{2}}) {
    cell->inputs.push_back(Walk::In(input, i));
    cell->inputs.push_back(Walk::In(hidden, i));
  }
}

std::optional<Cell> LstmCell(const Walk& walk, const Layer& root) {
  const Layer* out = root.op == "mul" ? walk.Operand(&root, 0, "sigmoid") : nullptr;
  const Layer* state = walk.Operand(walk.Operand(&root, 1, "tanh"), 0, "add");
  const Layer *kept = walk.Operand(state, 0, "mul"), *written = walk.Operand(state, 1, "mul");
  const Layer* gates = walk.Operand(walk.Operand(out, 0, "split"), 0, "add");
  const Layer *hidden = walk.Operand(gates, 0, "linear"), *input = walk.Operand(gates, 1, "linear");
  if (kept == nullptr || written == nullptr || !AreGates(walk, hidden, input)) return std::nullopt;
  Cell cell{"lstm_cell",
            {Walk::In(input, 0), Walk::In(hidden, 0), Walk::In(kept, 1)},
            {root.outputs[0], state->outputs[0]},
            state};
  AddWeights(hidden, input, &cell);
  return cell;
}

std::optional<Cell> GruCell(const Walk& walk, const Layer& root) {
  const Layer* mixed = root.op == "add" ? walk.Operand(&root, 0, "mul") : nullptr;
  const Layer *fresh = walk.Operand(&root, 1, "tanh"), *difference = walk.Operand(mixed, 0, "sub");
  const Layer* update = walk.Operand(walk.Operand(mixed, 1, "sigmoid"), 0, "add");
  const Layer* hidden = walk.Operand(walk.Operand(update, 0, "split"), 0, "linear");
  const Layer* input = walk.Operand(walk.Operand(update, 1, "split"), 0, "linear");
  if (fresh == nullptr || difference == nullptr || !AreGates(walk, hidden, input)) return std::nullopt;
  if (Walk::In(difference, 1) != fresh->outputs[0] || Walk::In(difference, 0) != Walk::In(hidden, 0))
    return std::nullopt;
  Cell cell{"gru_cell", {Walk::In(input, 0), Walk::In(hidden, 0)}, {root.outputs[0]}, nullptr};
  AddWeights(hidden, input, &cell);
  return cell;
}

}  // namespace

void GatherRecurrentCells(Layers* layers) {
  const Walk walk(*layers);
  std::map<size_t, Layer> calls;
  std::set<size_t> gone;
  for (size_t l = 0; l < layers->layers.size(); ++l) {
    const Layer& root = layers->layers[l];
    std::optional<Cell> cell = LstmCell(walk, root);
    if (!cell) cell = GruCell(walk, root);
    if (!cell) continue;
    Layer call = root;
    call.op = cell->op;
    call.inputs = std::move(cell->inputs);
    call.outputs = std::move(cell->outputs);
    call.attributes = Attributes();
    calls.emplace(l, std::move(call));
    if (cell->state != nullptr) gone.insert(walk.PlaceOf(cell->state));
  }
  PutCalls(layers, std::move(calls), gone);
}

}  // namespace vramplan
