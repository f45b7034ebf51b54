// torch.autograd.Function (torch/csrc/autograd/python_function.cpp, PyTorch 2.10): what its forward did ran without
// gradients; here its results become those of one entry of the tape, which keeps what the function saves and runs its
// backward.
//
//   function(y, x, kept)  results=1, operands=1      y is the forward's; the entry has x's edge and saves `kept`
//   backward              gradient of y, kept  ->  gradient of x, call by call as it was recorded (Layers::backwards);
//                         where nobody recorded it, `steps` tensors of the gradient's size and the gradient
#include <utility>
#include <vector>

#include "planner/semantics/table.h"

namespace vramplan::eager {

namespace {

// The calls of a backward, without gradients and without autocast. What is given lives as long as the caller holds it.
std::vector<Tensor> RunCallsOf(Eager& e, const Layers& calls, const std::vector<Tensor>& given) {
  std::vector<Tensor> values(calls.values.size());
  for (size_t i = 0; i < calls.inputs.size() && i < given.size(); ++i) {
    if (calls.inputs[i].valid()) values[calls.inputs[i].index()] = given[i];
  }
  size_t next = 0;  // of what died
  for (const Layer& layer : calls.layers) {
    std::vector<Tensor> inputs;
    for (const ValueId id : layer.inputs) {
      if (!id.valid()) {
        inputs.emplace_back();
        continue;
      }
      Tensor& value = values[id.index()];
      if (!value) value = e.Empty(calls[id].shape, e.ModelType(calls[id].type));  // it was there before
      inputs.push_back(value);
    }
    Call call(e, calls, layer, std::move(inputs));
    RunCall(FindRule(layer.op), call);
    ValueId made;
    for (size_t i = 0; i < layer.outputs.size(); ++i) {
      if (!layer.outputs[i].valid()) continue;
      made = layer.outputs[i];
      values[made.index()] = std::move(call.outputs[i]);
    }
    call.inputs.clear();
    for (; next < calls.recorded.size() && calls.recorded[next].made == made; ++next)
      values[calls.recorded[next].value.index()] = Tensor();
  }
  std::vector<Tensor> results;
  for (const ValueId id : calls.outputs) results.push_back(id.valid() ? values[id.index()] : Tensor());
  return results;
}

// What arrives undefined is zeros (PyNode::apply: materialize_grads).
std::vector<Tensor> Arrived(const GradContext& g) {
  std::vector<Tensor> given;
  for (size_t i = 0; i < g.grads.size(); ++i) {
    const GradNode::OutputFacts& of = g.node.outputs[i];
    given.push_back(g.grads[i] ? g.grads[i] : g.e.Empty(of.layout->sizes, of.dtype));
  }
  return given;
}

void Function(Call& c) {
  const size_t results = static_cast<size_t>(c.Int("results")), operands = static_cast<size_t>(c.Int("operands"));
  std::vector<Tensor> outs, edges;
  for (size_t i = 0; i < results; ++i) {
    outs.push_back(c.e.Alias(c.In(i)));
    c.Return(outs.back(), i);
  }
  for (size_t i = results; i < results + operands; ++i) edges.push_back(c.In(i));
  GradNode* node = c.e.Record("Function", edges, outs);
  if (node == nullptr) return;
  for (size_t i = results + operands; i < c.inputs.size(); ++i) {
    size_t own = 0;
    while (own < results && c.In(own).get() != c.In(i).get()) ++own;
    own < results ? node->SaveOutput(outs[own]) : node->Save(c.In(i));
  }
  const int64_t backward = c.Int("backward", -1);
  if (backward < 0) {  // nobody knows what it does: a gradient of each operand
    std::vector<Shape> sizes;
    for (const Tensor& operand : edges) sizes.push_back(operand ? operand->sizes : Shape());
    node->Backward([sizes = std::move(sizes), steps = c.Int("steps", 0)](GradContext& g) {
      const std::vector<Tensor> given = Arrived(g);
      std::vector<Tensor> between;  // what it computes on the way, as large as the first gradient
      for (int64_t i = 0; i < steps && !sizes.empty(); ++i)
        between.push_back(g.e.Empty(sizes.front(), given.front()->dtype));
      for (size_t i = 0; i < sizes.size(); ++i) {
        if (g.Needs(static_cast<int>(i))) g.Set(static_cast<int>(i), g.e.Empty(sizes[i], given.front()->dtype));
      }
    });
    return;
  }
  node->Backward([&calls = c.layers.backwards[static_cast<size_t>(backward)]](GradContext& g) {
    std::vector<Tensor> given = Arrived(g);
    for (const Tensor& kept : g.node.saved) given.push_back(kept);
    std::vector<Tensor> made = RunCallsOf(g.e, calls, given);
    for (size_t i = 0; i < made.size(); ++i) {
      if (g.Needs(static_cast<int>(i))) g.Set(static_cast<int>(i), std::move(made[i]));
    }
  });
}

}  // namespace

std::vector<OpRule> FunctionRules() { return {{"function", Function, Cast::kNone}}; }

}  // namespace vramplan::eager
