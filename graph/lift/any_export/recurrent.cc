// Recurrent networks: one call of nn.LSTM, nn.GRU or nn.RNN is one layer, whatever an exporter made of it.
//
//   TorchScript, nn.LSTM(64, 128, 2, batch_first=True):
//     permute, lstm, squeeze, lstm, squeeze, permute          ->   lstm(x, -, -, weights of both layers), num_layers 2
//   dynamo:  zeros, lstm(x, zeros, zeros, ...)                ->   lstm(x, -, -, ...)
//
// States that the module makes itself are absent; the layer has all its outputs (output, h_n and for an LSTM c_n),
// because PyTorch's caller holds them whether it reads them or not.
#include <algorithm>
#include <set>

#include "graph/base/text.h"
#include "graph/layers/edit.h"
#include "graph/layers/uses.h"
#include "graph/lift/any_export/passes.h"

namespace vramplan {
namespace {

bool IsRecurrent(const Layer& layer) { return IsOneOf(layer.op, {"lstm", "gru", "rnn"}); }

constexpr size_t kFirstWeight = 3;  // after input, hx and cx

bool Swaps(const Layer& layer) {  // [N, T, ...] <-> [T, N, ...]
  if (layer.op == "transpose") return layer.attributes.Int("dim0", 0) + layer.attributes.Int("dim1", 0) == 1;
  const std::vector<int64_t> axes = layer.attributes.Ints("dims");
  return layer.op == "permute" && axes.size() >= 3 && axes[0] == 1 && axes[1] == 0;
}

// What TorchScript made of one module call (torch/onnx/symbolic_opset9.py, _generic_rnn): a node a layer, [T, D, N, H]
// squeezed or folded to [T, N, D * H] behind each.
struct Stack {
  std::vector<const Layer*> calls;  // first layer first
  std::vector<size_t> gone;         // layers that the one call replaces
  bool batch_first = false;
  ValueId input, output;
};

// The value of the form [T, N, D * H] behind a node's [T, D, N, H], and the layers between; invalid: not that form.
ValueId Folded(const Uses& uses, ValueId y, std::vector<size_t>* between) {
  for (int step = 0; step < 2; ++step) {
    const Layer* reader = uses.OnlyReaderOf(y);
    if (reader == nullptr) return {};
    between->push_back(uses.PlaceOf(reader));
    y = reader->outputs[0];
    if (reader->op == "squeeze" || reader->op == "reshape" || reader->op == "view") return y;
    if (reader->op != "permute" && reader->op != "transpose") return {};
  }
  return {};
}

// A state that the module's own forward makes: zeros, or a part of them, in the module of the call.
bool IsOwnState(const Layers& layers, const Uses& uses, const Layer& call, ValueId state) {
  while (state.valid()) {
    const Layer* maker = uses.MakerOf(state);
    if (maker == nullptr) return layers[state].role == Role::kConstant || layers[state].role == Role::kActivation;
    if (maker->module != call.module) return false;
    if (maker->op == "zeros" || maker->op == "full") return true;
    if (maker->op != "slice" && maker->op != "expand") return false;
    state = maker->inputs[0];
  }
  return true;
}

Stack StackFrom(const Uses& uses, const Layer& first) {
  Stack stack{.calls = {&first}, .gone = {}, .input = first.inputs[0]};
  for (;;) {
    std::vector<size_t> between;
    stack.output = Folded(uses, stack.calls.back()->outputs[0], &between);
    if (!stack.output.valid()) break;  // only the states are read
    stack.gone.insert(stack.gone.end(), between.begin(), between.end());
    const Layer* next = uses.OnlyReaderOf(stack.output);
    if (next == nullptr || next->op != first.op || next->module != first.module || next->inputs[0] != stack.output)
      break;
    stack.calls.push_back(next);
  }
  const Layer* before = uses.MakerOf(stack.input);
  const Layer* after = stack.output.valid() ? uses.OnlyReaderOf(stack.output) : nullptr;
  const bool swapped_back = after != nullptr && after->module == first.module && Swaps(*after);
  if (before != nullptr && before->module == first.module && Swaps(*before) &&
      uses.OnlyReaderOf(stack.input) == &first && (swapped_back || !stack.output.valid())) {
    stack.batch_first = true;
    stack.input = before->inputs[0];
    stack.gone.push_back(uses.PlaceOf(before));
    if (swapped_back) {
      stack.output = after->outputs[0];
      stack.gone.push_back(uses.PlaceOf(after));
    }
  }
  return stack;
}

// h_n or c_n: of one layer the node's own output, of several their concatenation.
ValueId StateOf(const Uses& uses, const std::vector<const Layer*>& calls, size_t output, std::vector<size_t>* gone) {
  if (calls[0]->outputs.size() <= output || !calls[0]->outputs[output].valid()) return {};
  const ValueId own = calls[0]->outputs[output];
  if (calls.size() == 1) return own;
  const Layer* joined = uses.OnlyReaderOf(own);
  if (joined == nullptr || joined->op != "cat" || joined->inputs.size() != calls.size()) return {};
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i]->outputs.size() <= output || joined->inputs[i] != calls[i]->outputs[output]) return {};
  }
  gone->push_back(uses.PlaceOf(joined));
  return joined->outputs[0];
}

// The output that nobody reads.
ValueId NewOutput(Layers* layers, const Layer& last) {
  const Value& y = (*layers)[last.outputs[0]];
  return layers->Add({.name = last.name + "_output", .type = y.type, .shape = y.shape});
}

// The one call. A state that the caller gave was cut into one slice a layer.
Layer Merged(Layers* into, const Uses& uses, Stack* stack) {
  const Layers& layers = *into;
  const Layer& last = *stack->calls.back();
  Layer call = last;
  call.evidence = Evidence::kPattern;
  call.inputs = {stack->input, {}, {}};
  for (size_t state = 1; state < kFirstWeight; ++state) {
    const ValueId given = stack->calls[0]->inputs[state];
    if (!given.valid() || IsOwnState(layers, uses, *stack->calls[0], given)) continue;
    const Layer* part = uses.MakerOf(given);
    call.inputs[state] = part != nullptr && part->op == "slice" && stack->calls.size() > 1 ? part->inputs[0] : given;
  }
  for (const Layer* one : stack->calls) {
    call.inputs.insert(call.inputs.end(), one->inputs.begin() + kFirstWeight, one->inputs.end());
  }
  if (!stack->output.valid()) {
    stack->output = !uses.ReadersOf(last.outputs[0]).empty() ? last.outputs[0] : NewOutput(into, last);
  }
  call.outputs = {stack->output, StateOf(uses, stack->calls, 1, &stack->gone)};
  if (call.op == "lstm") call.outputs.push_back(StateOf(uses, stack->calls, 2, &stack->gone));
  call.attributes.Set("num_layers", static_cast<int64_t>(stack->calls.size()));
  call.attributes.Set("batch_first", static_cast<int64_t>(stack->batch_first));
  return call;
}

void MergeNodes(Layers* layers) {
  const Uses uses(*layers);
  Edit edit(layers);
  std::set<const Layer*> done;
  for (const Layer& layer : layers->layers) {
    if (!IsRecurrent(layer) || FromDynamo(layer) || done.contains(&layer)) continue;
    if (layer.inputs.size() < kFirstWeight || layer.outputs.empty() || !layer.outputs[0].valid()) continue;
    Stack stack = StackFrom(uses, layer);
    Layer call = Merged(layers, uses, &stack);
    size_t place = 0;
    for (const Layer* one : stack.calls) {
      done.insert(one);
      edit.Remove(uses.PlaceOf(one));
      place = std::max(place, uses.PlaceOf(one));
    }
    for (const size_t gone : stack.gone) edit.Remove(gone);
    edit.InsertBefore(place, std::move(call));  // in the place of the last layer that it replaces
  }
  edit.Apply();
}

ValueId NewState(Layers* layers, const Layer& call, const char* suffix, Dim length) {
  const Shape& input = (*layers)[call.inputs[0]].shape;
  const bool batch_first = call.attributes.Int("batch_first", 0) != 0;
  const int64_t directions = call.attributes.Int("bidirectional", 0) != 0 ? 2 : 1;
  const Dim layers_of = Dim(call.attributes.Int("num_layers", 1) * directions);
  return layers->Add({.name = call.name + suffix,
                      .type = (*layers)[call.inputs[0]].type,
                      .shape = Shape{layers_of, input.rank() == 3 ? input[batch_first ? 0 : 1] : Dim(1), length}});
}

// ONNX's output is [T, D, N, H]; that of the module is folded, with the batch where its input has it. What reads one
// that is not folded has its shape.
void ShapeUnreadOutput(Layers* layers, const Layer& call) {
  if (call.outputs.empty() || !call.outputs[0].valid()) return;
  Shape& shape = layers->values[call.outputs[0].index()].shape;
  if (shape.rank() != 4) return;
  const Dim time = shape[0], batch = shape[2], length = shape[1] * shape[3];
  shape = call.attributes.Int("batch_first", 0) != 0 ? Shape{batch, time, length} : Shape{time, batch, length};
}

// ONNX's LSTM has one tensor for both biases and none for the projection; their shapes are in the matrices before them.
void ShapeWeights(Layers* layers, const Layer& call) {
  const auto cells = static_cast<size_t>(call.attributes.Int("num_layers", 1) *
                                         (call.attributes.Int("bidirectional", 0) != 0 ? 2 : 1));
  const size_t each = (call.inputs.size() - kFirstWeight) / std::max<size_t>(cells, 1);
  const auto shape = [&](size_t i) -> Shape& { return layers->values[call.inputs[i].index()].shape; };
  for (size_t cell = kFirstWeight; each >= 2 && cell + each <= call.inputs.size(); cell += each) {
    const bool known = std::all_of(call.inputs.begin() + static_cast<std::ptrdiff_t>(cell),
                                   call.inputs.begin() + static_cast<std::ptrdiff_t>(cell + each),
                                   [](ValueId id) { return id.valid(); });
    if (!known || shape(cell).rank() != 2 || shape(cell + 1).rank() != 2) continue;
    if (each >= 4) shape(cell + 2) = shape(cell + 3) = Shape{shape(cell)[0]};
    if (each % 2 == 1) {
      shape(cell + each - 1) = Shape{shape(cell + 1)[1], Dim(call.attributes.Int("hidden_size", 0))};
    }
  }
}

void CompleteOutputs(Layers* layers, Layer* call) {
  call->outputs.resize(call->op == "lstm" ? 3 : 2);
  const Dim hidden = Dim(call->attributes.Int("hidden_size", 0));
  Dim projected = hidden;  // weight_hh: [gates * hidden, what comes back]
  if (call->inputs.size() > kFirstWeight + 1 && call->inputs[kFirstWeight + 1].valid()) {
    const Shape& recurrent = (*layers)[call->inputs[kFirstWeight + 1]].shape;
    if (recurrent.rank() == 2) projected = recurrent[1];
  }
  if (!call->outputs[1].valid()) call->outputs[1] = NewState(layers, *call, "_h", projected);
  if (call->op == "lstm" && !call->outputs[2].valid()) call->outputs[2] = NewState(layers, *call, "_c", hidden);
}

}  // namespace

void GatherRecurrent(Layers* layers) {
  if (std::ranges::none_of(layers->layers, IsRecurrent)) return;
  MergeNodes(layers);
  {
    const Uses uses(*layers);
    for (Layer& layer : layers->layers) {
      if (!IsRecurrent(layer) || layer.inputs.size() < kFirstWeight) continue;
      if (uses.ReadersOf(layer.outputs[0]).empty()) ShapeUnreadOutput(layers, layer);
      if (!IsOwnState(*layers, uses, layer, layer.inputs[1])) continue;
      layer.inputs[1] = layer.inputs[2] = {};
    }
  }
  DropUnread(layers, [](const Layer& layer) {  // the zeros that nobody reads any more
    return IsOneOf(layer.op, {"zeros", "full", "slice"}) && layer.outputs.size() == 1;
  });
  for (Layer& layer : layers->layers) {
    if (!IsRecurrent(layer) || layer.inputs.size() < kFirstWeight) continue;
    ShapeWeights(layers, layer);
    CompleteOutputs(layers, &layer);
  }
}

}  // namespace vramplan
