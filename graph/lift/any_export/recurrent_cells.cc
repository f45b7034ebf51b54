// One step of a recurrent network: nn.LSTMCell and nn.GRUCell are one operator on a card, which both exporters take
// apart.
//
//   i, f, g, o = split(linear(h, weight_hh) + linear(x, weight_ih)); c' = f * c + i * g; o * tanh(c')
//     ->   lstm_cell(x, h, c, weight_ih, weight_hh, bias_ih?, bias_hh?) -> h', c'
//   gru_cell(x, h, weight_ih, weight_hh, bias_ih?, bias_hh?) -> h'
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "graph/layers/edit.h"
#include "graph/layers/form.h"
#include "graph/lift/any_export/passes.h"

namespace vramplan {
namespace {

// One cell by the layers that its form names: the products of its own tables (torch/nn/modules/rnn.py: RNNCellBase); a
// program's own are of modules.
struct Cell {
  const Uses& uses;
  const Match& match;
  const Layer& At(std::string_view name) const { return *uses.MakerOf(ValueId{match.Value(name)}); }

  bool IsProductBy(std::string_view name, std::string_view weight) const {
    const ValueId by = Uses::In(&At(name), 1);
    return by.valid() && uses.layers()[by].name.ends_with(weight);
  }
  bool HasOwnTables() const {
    return IsProductBy("hidden", ".weight_hh") && IsProductBy("input", ".weight_ih") &&
           At("hidden").module == At("input").module;
  }

  Layer Call(const Layer& root, const char* op) const {
    Layer call = CallInPlaceOf(root, op, {ValueId{match.Value("x")}, ValueId{match.Value("h")}});
    if (const ValueId c{match.Value("c")}; c.valid()) call.inputs.push_back(c);
    for (const size_t i : {size_t{1}, size_t{2}})
      call.inputs.insert(call.inputs.end(), {Uses::In(&At("input"), i), Uses::In(&At("hidden"), i)});
    return call;
  }
};

}  // namespace

void GatherRecurrentCells(Layers* layers) {
  static const Form lstm(
      "mul(sigmoid(split(add(hidden=linear(h), input=linear(x)))), tanh(state=add(mul(_, c), mul())))"),
      gru("add(mul(sub(h, n=tanh()), sigmoid(add(split(hidden=linear(h)), split(input=linear(x))))), n)");
  const Uses uses(*layers);
  const LayerCalls calls_of(uses);
  std::map<size_t, Layer> calls;
  std::set<size_t> gone;
  Match match;
  const auto is_cell = [&](const Match& one) { return Cell{uses, one}.HasOwnTables(); };
  for (size_t l = 0; l < layers->layers.size(); ++l) {
    const Layer& root = layers->layers[l];
    const auto place = static_cast<int32_t>(l);
    if (root.op == "mul" && lstm.Matches(calls_of, place, &match, is_cell)) {
      Layer call = Cell{uses, match}.Call(root, "lstm_cell");
      call.outputs.push_back(ValueId{match.Value("state")});
      gone.insert(uses.PlaceOf(uses.MakerOf(call.outputs[1])));
      calls.emplace(l, std::move(call));
    } else if (root.op == "add" && gru.Matches(calls_of, place, &match, is_cell)) {
      calls.emplace(l, Cell{uses, match}.Call(root, "gru_cell"));
    }
  }
  PutCalls(layers, std::move(calls), gone);
}

}  // namespace vramplan
