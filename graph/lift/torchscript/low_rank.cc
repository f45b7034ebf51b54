// Low-rank pairs in TorchScript files of model.eval(): peft keeps lora_A and lora_B in a ModuleDict each, which is
// never called, so that both products run in the scope of their key ("query/default/MatMul", "query/default_1/MatMul"),
// and the folded matrices lose the names. Fresh ones of zeros are stored once for all.
//
//   query.base_layer.weight [768, 768]        query.base_layer.weight
//   query.default.weight [8, 768]        ->   query.lora_A.default.weight
//   query.default.weight [768, 8]             query.lora_B.default.weight       one of its own in each module
//
// The same where a layer of somebody's own computes all three, of which folded matrices all have its name:
//
//   c_attn.weight [640, 512], c_attn.weight [8, 512], c_attn.weight [640, 8]    ->    the last two lora_A and lora_B
//
// The dynamo exporter takes the dropouts of query and value, which read the same tensor, for one (its optimizer merges
// equal nodes, random or not): each module has its own again.
//
// peft/tuners/lora/layer.py 0.21.2, LoraLayer: base_layer, lora_dropout, lora_A, lora_B.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/layers/edit.h"
#include "graph/layers/uses.h"
#include "graph/lift/torchscript/passes.h"

namespace vramplan {
namespace {

constexpr std::string_view kBase = "base_layer";

class Restorer {
 public:
  explicit Restorer(Layers* layers) : layers_(*layers) {
    for (const ValueId id : layers_.parameters) names_.insert(layers_[id].name);
    for (const Layer& layer : layers_.layers) {
      if (layer.op == "linear" && layer.module.valid()) matrices_[layer.module].push_back(layer.inputs[1]);
    }
  }

  void RestoreNames() {
    const Uses uses(layers_);
    for (Layer& layer : layers_.layers) {
      const Layer* down = layer.op == "linear" ? uses.Operand(&layer, 0, "linear") : nullptr;
      if (down != nullptr) Restore(layers_.layers[uses.PlaceOf(down)], layer);
    }
  }

  void SplitDropouts() {
    const Uses uses(layers_);
    Edit edit(&layers_);
    for (Layer& layer : layers_.layers) {
      const std::string around = layer.op == "linear" ? AroundOf(layer, "lora_A") : "";
      const Layer* dropout = around.empty() ? nullptr : uses.Operand(&layer, 0, "dropout");
      const std::string merged = dropout == nullptr ? "" : AroundOf(*dropout, "lora_dropout");
      if (merged.empty() || merged == around) continue;
      Layer own = *dropout;
      const std::string path = layers_[layer.module].path;
      own.module = Module(around + ".lora_dropout" + path.substr(path.rfind('.')), layer.module);
      own.name = around + "/" + own.name;
      layer.inputs[0] = edit.InsertBefore(uses.PlaceOf(&layer), std::move(own), layers_[dropout->outputs[0]]);
    }
    edit.Apply();
  }

 private:
  const Shape& WeightOf(const Layer& layer) const { return layers_[layer.inputs[1]].shape; }

  // The second reads what the first made, both in the same scope beside a base layer.
  void Restore(Layer& down, Layer& up) {
    if (!down.module.valid() || !up.module.valid()) return;
    const std::string path = layers_[down.module].path;
    const size_t dot = path.rfind('.');
    if (dot == std::string::npos || layers_[up.module].path != path) return;
    if (IsBesideItsBase(down, up, path + ".weight")) {
      Name(&down, path + ".lora_A", ValueId());
      Name(&up, path + ".lora_B", down.inputs[1]);
      return;
    }
    const std::string around = path.substr(0, dot), key = path.substr(dot);
    if (!names_.contains(around + "." + std::string(kBase) + ".weight")) return;
    if (WeightOf(down).rank() != 2 || WeightOf(up).rank() != 2) return;
    Name(&down, around + ".lora_A" + key + ".weight", ValueId());
    Name(&up, around + ".lora_B" + key + ".weight", down.inputs[1]);
    // What else runs in that scope is the dropout.
    const ModuleId scope = down.module;
    layers_.modules[scope.index()].path = around + ".lora_dropout" + key;
    down.module = Module(around + ".lora_A" + key, scope);
    up.module = Module(around + ".lora_B" + key, scope);
  }

  // Whether the module's third matrix is as large as the product of these two, all of one name.
  bool IsBesideItsBase(const Layer& down, const Layer& up, const std::string& name) const {
    const Shape &a = WeightOf(down), &b = WeightOf(up);
    const bool named_alike = layers_[down.inputs[1]].name == name && layers_[up.inputs[1]].name == name;
    if (!named_alike || down.module != up.module || a.rank() != 2 || b.rank() != 2 || a[0] != b[1]) return false;
    return std::ranges::any_of(matrices_.at(down.module), [&](ValueId id) {
      return id != down.inputs[1] && id != up.inputs[1] && layers_[id].shape == Shape{b[0], a[1]};
    });
  }

  // "query" of query.lora_A.default, where `part` is lora_A; empty: it is no such module.
  std::string AroundOf(const Layer& layer, std::string_view part) const {
    if (!layer.module.valid()) return "";
    const std::string& path = layers_[layer.module].path;
    const size_t key = path.rfind('.');
    const size_t dot = key == std::string::npos || key == 0 ? key : path.rfind('.', key - 1);
    if (dot == std::string::npos || path.substr(dot + 1, key - dot - 1) != part) return "";
    return path.substr(0, dot);
  }

  // A call of that module, beside `scope`.
  ModuleId Module(const std::string& path, ModuleId scope) {
    vramplan::Module call = layers_[scope];
    call.path = path;
    layers_.modules.push_back(std::move(call));
    return ModuleId{static_cast<int32_t>(layers_.modules.size()) - 1};
  }

  // The weight of `layer` is called so; one that has another module's name is another tensor, listed behind `before`.
  void Name(Layer* layer, const std::string& name, ValueId before) {
    const ValueId id = layer->inputs[1];
    Value& value = layers_.values[id.index()];
    if (value.role != Role::kParameter || !names_.insert(name).second) return;
    if (named_.insert(id).second) {
      value.name = name;
      return;
    }
    Value own = value;
    own.name = name;
    const ValueId fresh = layers_.Add(std::move(own));
    const auto place = std::ranges::find(layers_.parameters, before);
    layers_.parameters.insert(place == layers_.parameters.end() ? place : place + 1, fresh);
    layer->inputs[1] = fresh;
  }

  Layers& layers_;
  std::map<ModuleId, std::vector<ValueId>> matrices_;  // of linears, by module call
  std::set<std::string> names_;
  std::set<ValueId> named_;
};

}  // namespace

void RestoreLowRankPairs(Layers* layers) {
  Restorer restorer(layers);
  restorer.RestoreNames();
  restorer.SplitDropouts();
}

}  // namespace vramplan
