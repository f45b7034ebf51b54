// Folded biases. An export of eval() computes what depends on stored tensors alone and stores the result under a name of
// its own (torch/csrc/jit/passes/onnx/constant_fold.cpp, PyTorch 2.10). The forward computes it each time:
//
//   attn + table[index].view(n, n, heads).permute(2, 0, 1)     Add(attn, onnx::Add_812 [heads, n, n])
//                                                              ->   onnx::Add_812 = full()   add(attn, onnx::Add_812)
//
// Buffers and parameters keep the names that they have in the state dict.
#include <algorithm>
#include <vector>

#include "graph/base/text.h"
#include "graph/layers/edit.h"
#include "graph/layers/uses.h"
#include "graph/lift/torchscript/passes.h"

namespace vramplan {
namespace {

// Of attention: [heads, n, n] or more axes, in front of nothing but sums or the kernel that adds it.
bool IsFoldedBias(const Uses& uses, ValueId id) {
  const Layers& layers = uses.layers();
  const Value& stored = layers[id];
  if (!stored.name.starts_with("onnx::Add_") || !IsFloating(stored.type) || stored.shape.rank() < 3) return false;
  return std::ranges::all_of(uses.ReadersOf(id), [&](int32_t place) {
    return static_cast<size_t>(place) < layers.layers.size() &&
           IsOneOf(layers.layers[static_cast<size_t>(place)].op, {"add", "scaled_dot_product_attention"});
  });
}

}  // namespace

void MakeFoldedBiases(Layers* layers) {
  if (layers->exported == ExportedMode::kTraining) return;  // which folds nothing
  const Uses uses(*layers);
  Edit edit(layers);
  std::vector<ValueId> made;
  for (const ValueId id : layers->buffers) {
    const auto readers = uses.ReadersOf(id);
    if (readers.empty() || !IsFoldedBias(uses, id)) continue;
    const auto first = static_cast<size_t>(readers.front());
    Value computed = (*layers)[id];
    computed.role = Role::kActivation;
    Layer layer = CallBeside(layers->layers[first], "full", {}, {});
    layer.name = computed.name;
    edit.Rename(id, edit.InsertBefore(first, std::move(layer), std::move(computed)));
    made.push_back(id);
  }
  edit.Apply();
  std::erase_if(layers->buffers, [&](ValueId id) { return std::ranges::find(made, id) != made.end(); });
}

}  // namespace vramplan
