// Joins of one tensor: torch.cat([x], 1) copies x, and the dynamo export drops it. The other calls of its class tell:
//
//   _DenseLayer.forward     cat(features) -> batch_norm -> relu -> conv2d -> ...     the second to the last of a block
//                           batch_norm -> relu -> conv2d -> ...                      the first, whose list has one
//                           entry
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "graph/layers/edit.h"
#include "graph/lift/dynamo/passes.h"

namespace vramplan {
namespace {

constexpr std::string_view kJoin = "cat";

struct Call {
  int first = -1;         // its first layer
  std::string operators;  // "cat batch_norm relu conv2d ", those of the modules inside included
};

std::vector<Call> CallsOf(const Layers& layers) {
  std::vector<Call> calls(layers.modules.size());
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    for (ModuleId m = layers.layers[l].module; m.valid(); m = layers[m].parent) {
      Call& call = calls[static_cast<size_t>(m.value)];
      if (call.first < 0) call.first = static_cast<int>(l);
      call.operators += layers.layers[l].op + " ";
    }
  }
  return calls;
}

}  // namespace

void RestoreSingleJoins(Layers* layers) {
  bool any = false;  // most files join nothing: they need no texts
  for (const Layer& layer : layers->layers) any = any || (layer.op == kJoin && layer.evidence == Evidence::kProvenance);
  if (!any) return;
  const std::vector<Call> calls = CallsOf(*layers);
  std::set<std::pair<std::string_view, std::string_view>> joining;  // class, operators behind the join
  const auto is_joining = [&](const Call& call) {
    return call.first >= 0 && layers->layers[static_cast<size_t>(call.first)].op == kJoin;
  };
  for (size_t m = 0; m < calls.size(); ++m) {
    const std::string& name = layers->modules[m].class_name;
    if (name.empty() || name.starts_with("torch.nn.") || !is_joining(calls[m])) continue;
    joining.emplace(name, std::string_view{calls[m].operators}.substr(kJoin.size() + 1));
  }
  std::map<int, ModuleId> missing;  // by the layer that the join stood in front of
  for (size_t m = 0; m < calls.size(); ++m) {
    if (is_joining(calls[m]) || joining.count({layers->modules[m].class_name, calls[m].operators}) == 0) continue;
    missing.emplace(calls[m].first, ModuleId{static_cast<int32_t>(m)});
  }
  Edit edit(layers);
  for (const auto& [place, module] : missing) {
    Layer& layer = layers->layers[static_cast<size_t>(place)];
    if (layer.inputs.empty() || !layer.inputs[0].valid()) continue;
    Value copy = (*layers)[layer.inputs[0]];
    copy.role = Role::kActivation;
    Layer join;
    join.op = kJoin;
    join.name = layer.name + "." + join.op;
    join.inputs = {layer.inputs[0]};
    join.attributes.Set("dim", int64_t{1});
    join.module = module;
    join.evidence = layer.evidence;
    layer.inputs[0] = edit.InsertBefore(static_cast<size_t>(place), std::move(join), std::move(copy));
  }
  edit.Apply();
}

}  // namespace vramplan
