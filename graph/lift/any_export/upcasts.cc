#include "graph/lift/any_export/upcasts.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/habits/habits.h"
#include "graph/layers/uses.h"

namespace vramplan {
namespace {

// One RMSNorm, by its layers.
struct Norm {
  size_t square = 0, scaled = 0;  // pow(x, 2); mul(x, rsqrt(...))
  ValueId input;
  ValueId weight;                   // invalid: none is multiplied
  size_t offset = 0, weighted = 0;  // Gemma's: add(weight, 1), and the product with it; 0: not so
  bool by_weight = false;           // T5's: x itself is scaled, and the result has the weight's type
};

class Upcasts {
 public:
  explicit Upcasts(Layers* layers) : layers_(*layers), uses_(*layers) {}

  void Run() {
    std::vector<Norm> norms;
    const bool t5 = IsT5();
    for (size_t l = 0; l < layers_.layers.size(); ++l) {
      Norm norm = NormAt(l);
      norm.by_weight = t5 || IsByWeight(layers_.layers[l].module);
      if (norm.input.valid()) norms.push_back(norm);
    }
    if (norms.empty()) return;
    std::map<size_t, const Norm*> squares, products, narrowed;
    std::set<size_t> offsets;
    for (const Norm& norm : norms) {
      squares[norm.square] = &norm;
      products[norm.scaled] = &norm;
      narrowed[norm.weighted > 0 ? norm.weighted : norm.scaled] = &norm;
      if (norm.weighted > 0) offsets.insert(norm.offset);
    }
    std::vector<Layer> out;
    std::map<ValueId, ValueId> renamed;
    for (size_t l = 0; l < layers_.layers.size(); ++l) {
      Layer layer = std::move(layers_.layers[l]);
      for (ValueId& input : layer.inputs) {
        if (const auto found = renamed.find(input); found != renamed.end()) input = found->second;
      }
      if (t5 && layer.op == "linear" && IsOutOfFeedForward(layer.module)) {
        const ValueId weight = layer.inputs[1];
        layer.inputs[0] = Add(&out, layer, "type_as", {layer.inputs[0], weight}, layers_[layer.module].parent);
      }
      if (const auto found = squares.find(l); found != squares.end()) {
        const ValueId wide = Add(&out, layer, "float", {layer.inputs[0]});
        if (!found->second->by_weight) wide_[found->second] = wide;
        layer.inputs[0] = wide;
      }
      if (offsets.contains(l)) layer.inputs[0] = Add(&out, layer, "float", {layer.inputs[0]});
      const auto product = products.find(l), last = narrowed.find(l);
      if (product != products.end() && !product->second->by_weight) {
        const Norm& norm = *product->second;
        std::replace(layer.inputs.begin(), layer.inputs.end(), norm.input, wide_.at(&norm));
      }
      if (last == narrowed.end()) {
        const bool residual = t5 && layer.op == "add" && IsSublayer(layer.module);
        const Layer sum = residual ? layer : Layer();
        out.push_back(std::move(layer));
        if (residual) renamed[sum.outputs[0]] = Add(&out, sum, "clamp_inf", {sum.outputs[0]});
        continue;
      }
      const Norm& norm = *last->second;
      const Layer wide = layer;
      out.push_back(std::move(layer));
      const ValueId like = norm.by_weight && norm.weight.valid() ? norm.weight : norm.input;
      renamed[wide.outputs[0]] = Add(&out, wide, "type_as", {wide.outputs[0], like});
    }
    for (ValueId& output : layers_.outputs) {
      if (const auto found = renamed.find(output); found != renamed.end()) output = found->second;
    }
    layers_.layers = std::move(out);
  }

 private:
  // The only reader of a layer's result, when it is of this operator; else the number of layers.
  size_t Next(size_t l, const char* op) const {
    const Layer* reader = uses_.OnlyReaderOf(layers_.layers[l].outputs[0]);
    return reader != nullptr && reader->op == op ? uses_.PlaceOf(reader) : layers_.layers.size();
  }

  bool IsByWeight(ModuleId module) const {
    return module.valid() && HasHabit(layers_[module].class_name, Effect::kNormsByWeightType);
  }

  Norm NormAt(size_t l) const {
    const Layer& square = layers_.layers[l];
    if (square.op != "pow" || square.attributes.Real("scalar", 0) != 2 || square.inputs.empty()) return {};
    const size_t none = layers_.layers.size();
    size_t at = l;
    for (const char* op : {"mean", "add", "rsqrt", "mul"}) {
      at = Next(at, op);
      if (at == none) return {};
    }
    const Layer& scaled = layers_.layers[at];
    if (std::find(scaled.inputs.begin(), scaled.inputs.end(), square.inputs[0]) == scaled.inputs.end()) return {};
    Norm norm{l, at, square.inputs[0], {}};
    if (const size_t weighted = Next(at, "mul"); weighted != none) {
      for (const ValueId id : layers_.layers[weighted].inputs) {
        if (id.valid() && layers_[id].role == Role::kParameter) norm.weight = id;
        const Layer* maker = uses_.MakerOf(id);
        if (maker == nullptr || maker->op != "add" || !maker->attributes.Has("scalar")) continue;
        const ValueId weight = maker->inputs[0];
        if (!weight.valid() || layers_[weight].role != Role::kParameter) continue;
        norm.offset = uses_.PlaceOf(maker);
        norm.weighted = weighted;
      }
    }
    return norm;
  }

  // By the classes of T5 and its children, or, without classes, by T5's name for what looks at the encoder.
  bool IsT5() const {
    return std::any_of(layers_.modules.begin(), layers_.modules.end(), [](const Module& module) {
      return module.path.ends_with(".EncDecAttention") || module.class_name.find("T5LayerNorm") != std::string::npos;
    });
  }

  // "m.encoder.block.3.layer.1"
  bool IsSublayer(ModuleId module) const {
    if (!module.valid()) return false;
    const std::string& path = layers_[module].path;
    const size_t layer = path.rfind(".layer."), block = path.rfind(".block.");
    return layer != std::string::npos && block != std::string::npos && block < layer &&
           path.find('.', layer + 7) == std::string::npos;
  }

  // "m.encoder.block.3.layer.1.DenseReluDense.wo"
  bool IsOutOfFeedForward(ModuleId module) const {
    return module.valid() && layers_[module].path.ends_with(".DenseReluDense.wo");
  }

  ValueId Add(std::vector<Layer>* out, const Layer& beside, const char* op, std::vector<ValueId> inputs) {
    return Add(out, beside, op, std::move(inputs), beside.module);
  }
  ValueId Add(std::vector<Layer>* out, const Layer& beside, const char* op, std::vector<ValueId> inputs,
              ModuleId module) {
    const Value& from = layers_[inputs[0]];
    Value value{.name = beside.name + "." + op, .type = from.type, .shape = from.shape};
    const ValueId made = layers_.Add(value);
    out->push_back({.op = op,
                    .name = value.name,
                    .inputs = std::move(inputs),
                    .outputs = {made},
                    .attributes = {},
                    .module = module,
                    .nodes = {},
                    .evidence = beside.evidence});
    return made;
  }

  Layers& layers_;
  const Uses uses_;
  std::map<const Norm*, ValueId> wide_;
};

}  // namespace

void RestoreUpcasts(Layers* layers) { Upcasts(layers).Run(); }

}  // namespace vramplan
