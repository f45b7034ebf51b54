// Computed constants. What a forward computes without any input, the onnxscript optimizer folds into a stored tensor
// (optimizer 0.7, constant folding). In PyTorch it is made anew by each forward, and dies like any other result:
//
//   index(table, val_31)   val_31 [128, 128] int64, stored     ->   val_31 = arange()   index(table, val_31)
//
// What the signature lists is there before: a tensor that a module holds, or that torch.tensor made while exporting. So
// is what a view shows of a buffer, "t" [64, 128] of one that is [128, 64].
#include <algorithm>
#include <string>
#include <unordered_set>

#include "graph/base/text.h"
#include "graph/layers/edit.h"
#include "graph/lift/dynamo/fx_text.h"
#include "graph/lift/dynamo/passes.h"
#include "graph/lift/dynamo/without_node.h"

namespace vramplan {
namespace {

// What the module holds, by the number of its elements.
std::unordered_set<int64_t> HeldElements(const Layers& layers) {
  std::unordered_set<int64_t> held;
  for (const std::vector<ValueId>* values : {&layers.buffers, &layers.parameters}) {
    for (const ValueId id : *values) {
      const Dim elements = layers[id].shape.Elements();
      if (elements.IsConstant()) held.insert(elements.c0());
    }
  }
  return held;
}

// fx nodes are called after their operators.
bool IsNamedAsView(const std::string& name) {
  return IsOneOf(OperatorOf(name), {"t", "transpose", "permute", "view", "reshape", "unsqueeze", "squeeze", "expand",
                                    "slice", "select", "detach", "alias"});
}

}  // namespace

void MakeComputedConstants(const Graph& graph, Layers* layers) {
  const auto is_table = [&](ValueId id) {
    return id.valid() && (*layers)[id].role == Role::kConstant && (*layers)[id].shape.rank() > 0;
  };
  const bool any = std::ranges::any_of(layers->layers,
                                       [&](const Layer& layer) { return std::ranges::any_of(layer.inputs, is_table); });
  if (graph.signature.empty() || !any) return;
  std::unordered_set<std::string> listed;
  for (const SignatureEntry& entry : ParseSignature(graph.signature)) {
    listed.insert(entry.target);
    listed.insert(entry.placeholder);
  }
  const std::unordered_set<int64_t> held = HeldElements(*layers);
  const auto is_there = [&](const Value& stored) {
    const Dim elements = stored.shape.Elements();
    return listed.contains(stored.name) ||
           (IsNamedAsView(stored.name) && elements.IsConstant() && held.contains(elements.c0()));
  };
  std::vector<bool> made(layers->values.size());
  Edit edit(layers);
  for (size_t l = 0; l < layers->layers.size(); ++l) {
    for (const ValueId id : layers->layers[l].inputs) {
      if (!is_table(id) || made[id.index()] || is_there((*layers)[id])) continue;
      made[id.index()] = true;
      Value computed = (*layers)[id];
      computed.role = Role::kActivation;
      Layer layer = CallBeside(layers->layers[l], "arange", {}, {});
      layer.name = computed.name;
      edit.Rename(id, edit.InsertBefore(l, std::move(layer), std::move(computed)));
    }
  }
  edit.Apply();
}

}  // namespace vramplan
