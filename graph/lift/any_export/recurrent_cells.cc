#include "graph/lift/any_export/recurrent_cells.h"

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "graph/layers/edit.h"
#include "graph/layers/uses.h"

namespace vramplan {
namespace {

struct Cell {
  const char* op = "";
  std::vector<ValueId> inputs, outputs;
  const Layer* state = nullptr;  // makes the second output
};

bool IsProductBy(const Uses& uses, const Layer* linear, const char* weight) {
  return linear != nullptr && Uses::In(linear, 1).valid() && uses.layers()[Uses::In(linear, 1)].name.ends_with(weight);
}

// The products of the cell's own tables (torch/nn/modules/rnn.py: RNNCellBase); a program's own are of modules.
bool AreGates(const Uses& uses, const Layer* hidden, const Layer* input) {
  return IsProductBy(uses, hidden, ".weight_hh") && IsProductBy(uses, input, ".weight_ih") &&
         hidden->module == input->module;
}

void AddWeights(const Layer* hidden, const Layer* input, Cell* cell) {
  for (const size_t i : {size_t{1}, size_t{2}}) {
    cell->inputs.push_back(Uses::In(input, i));
    cell->inputs.push_back(Uses::In(hidden, i));
  }
}

std::optional<Cell> LstmCell(const Uses& uses, const Layer& root) {
  const Layer* out = root.op == "mul" ? uses.Operand(&root, 0, "sigmoid") : nullptr;
  const Layer* state = uses.Operand(uses.Operand(&root, 1, "tanh"), 0, "add");
  const Layer *kept = uses.Operand(state, 0, "mul"), *written = uses.Operand(state, 1, "mul");
  const Layer* gates = uses.Operand(uses.Operand(out, 0, "split"), 0, "add");
  const Layer *hidden = uses.Operand(gates, 0, "linear"), *input = uses.Operand(gates, 1, "linear");
  if (kept == nullptr || written == nullptr || !AreGates(uses, hidden, input)) return std::nullopt;
  Cell cell{"lstm_cell",
            {Uses::In(input, 0), Uses::In(hidden, 0), Uses::In(kept, 1)},
            {root.outputs[0], state->outputs[0]},
            state};
  AddWeights(hidden, input, &cell);
  return cell;
}

std::optional<Cell> GruCell(const Uses& uses, const Layer& root) {
  const Layer* mixed = root.op == "add" ? uses.Operand(&root, 0, "mul") : nullptr;
  const Layer *fresh = uses.Operand(&root, 1, "tanh"), *difference = uses.Operand(mixed, 0, "sub");
  const Layer* update = uses.Operand(uses.Operand(mixed, 1, "sigmoid"), 0, "add");
  const Layer* hidden = uses.Operand(uses.Operand(update, 0, "split"), 0, "linear");
  const Layer* input = uses.Operand(uses.Operand(update, 1, "split"), 0, "linear");
  if (fresh == nullptr || difference == nullptr || !AreGates(uses, hidden, input)) return std::nullopt;
  if (Uses::In(difference, 1) != fresh->outputs[0] || Uses::In(difference, 0) != Uses::In(hidden, 0))
    return std::nullopt;
  Cell cell{"gru_cell", {Uses::In(input, 0), Uses::In(hidden, 0)}, {root.outputs[0]}, nullptr};
  AddWeights(hidden, input, &cell);
  return cell;
}

}  // namespace

void GatherRecurrentCells(Layers* layers) {
  const Uses uses(*layers);
  std::map<size_t, Layer> calls;
  std::set<size_t> gone;
  for (size_t l = 0; l < layers->layers.size(); ++l) {
    const Layer& root = layers->layers[l];
    std::optional<Cell> cell = LstmCell(uses, root);
    if (!cell) cell = GruCell(uses, root);
    if (!cell) continue;
    Layer call = root;
    call.op = cell->op;
    call.inputs = std::move(cell->inputs);
    call.outputs = std::move(cell->outputs);
    call.attributes = Attributes();
    calls.emplace(l, std::move(call));
    if (cell->state != nullptr) gone.insert(uses.PlaceOf(cell->state));
  }
  PutCalls(layers, std::move(calls), gone);
}

}  // namespace vramplan
