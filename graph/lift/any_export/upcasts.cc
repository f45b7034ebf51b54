// Upcasts: code written for halves computes its norms in fp32 and says so, x.float() and .to(input_dtype), which in an
// fp32 export is nothing and leaves no node. They matter in halves and under autocast only.
//
//   pow(x, 2) -> mean -> add eps -> rsqrt -> mul(x, .) -> mul(weight, .)
//   LlamaRMSNorm, Meta's RMSNorm and their children     x32 = float(x); the whole norm of x32; type_as(., x); weight
//   GemmaRMSNorm (transformers, modeling_gemma.py)      x32 = float(x); 1 + float(weight); type_as(the product, x)
//   T5LayerNorm (transformers, modeling_t5.py)          pow(float(x)); mul(x, .) is promoted; type_as(., weight)
//
// T5Block also clamps in fp16, and only there, what each of its sublayers returns: clamp_inf.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/habits/habits.h"
#include "graph/layers/edit.h"
#include "graph/layers/form.h"
#include "graph/lift/any_export/passes.h"
#include "graph/lift/habit_of.h"

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
  explicit Upcasts(Layers* layers) : layers_(*layers), uses_(*layers), edit_(layers) {}

  void Run() {
    std::vector<Norm> norms;
    const bool t5 = IsT5();
    for (size_t l = 0; l < layers_.layers.size(); ++l) {
      Norm norm = NormAt(l);
      norm.by_weight = t5;
      if (norm.input.valid()) norms.push_back(norm);
    }
    std::map<size_t, const Norm*> squares, products, narrowed;
    std::set<size_t> offsets;
    for (const Norm& norm : norms) {
      squares[norm.square] = &norm;
      products[norm.scaled] = &norm;
      narrowed[norm.weighted > 0 ? norm.weighted : norm.scaled] = &norm;
      if (norm.offset > 0) offsets.insert(norm.offset);
    }
    for (size_t l = 0; l < layers_.layers.size(); ++l) {
      Layer& layer = layers_.layers[l];
      if (const auto found = squares.find(l); found != squares.end()) {
        layer.inputs[0] = InFront(l, CallBeside(layer, "float", {layer.inputs[0]}));
        if (!found->second->by_weight) wide_[found->second] = layer.inputs[0];
      }
      if (offsets.contains(l)) layer.inputs[0] = InFront(l, CallBeside(layer, "float", {layer.inputs[0]}));
      const auto product = products.find(l), last = narrowed.find(l);
      if (product != products.end() && !product->second->by_weight) {
        const Norm& norm = *product->second;
        std::ranges::replace(layer.inputs, norm.input, wide_.at(&norm));
      }
      if (last != narrowed.end()) {
        const Norm& norm = *last->second;
        const ValueId like = norm.by_weight && norm.weight.valid() ? norm.weight : norm.input;
        Follow(l, CallBeside(layer, "type_as", {layer.outputs[0], like}));
      } else if (t5 && layer.op == "add" && IsSublayer(layer.module)) {
        Follow(l, CallBeside(layer, "clamp_inf", {layer.outputs[0]}));
      }
    }
    edit_.Apply();
  }

 private:
  // The only reader of a layer's result, when it is of this operator; else the number of layers.
  size_t Next(size_t l, const char* op) const {
    const Layer* reader = uses_.OnlyReaderOf(layers_.layers[l].outputs[0]);
    return reader != nullptr && reader->op == op ? uses_.PlaceOf(reader) : layers_.layers.size();
  }

  // The norm whose product with the root this is.
  Norm NormAt(size_t at) const {
    static const Form form("mul(x, !rsqrt(!add(!mean(!square=pow(x, 2)))))");
    Match match;
    if (layers_.layers[at].op != "mul" || !form.Matches(LayerCalls(uses_), static_cast<int32_t>(at), &match)) return {};
    const auto square = static_cast<size_t>(uses_.PlaceOfMaker(ValueId{match.Value("square")}));
    Norm norm{square, at, ValueId{match.Value("x")}, {}};
    const size_t none = layers_.layers.size();
    if (const size_t weighted = Next(at, "mul"); weighted != none) {
      for (const ValueId id : layers_.layers[weighted].inputs) {
        if (id.valid() && layers_[id].role == Role::kParameter) {
          norm.weight = id;
        }
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

  // By a name.
  bool IsT5() const {
    return std::ranges::any_of(layers_.modules, [](const Module& module) {
      return HabitOfModule(module, NameHabit::Of::kHalvesOfT5) != nullptr;
    });
  }

  // "m.encoder.block.3.layer.1"
  bool IsSublayer(ModuleId module) const {
    if (!module.valid()) return false;
    const std::string& path = layers_[module].path;
    const NameHabit* habit = HabitWithin(path, NameHabit::Of::kClamped, layers_[module].class_name);
    const size_t layer = habit == nullptr ? std::string::npos : path.rfind(habit->with);
    return layer != std::string::npos && path.rfind(habit->name) < layer &&
           path.find('.', layer + habit->with.size()) == std::string::npos;
  }

  // A cast has the shape and, in a file in fp32, the type of what it casts.
  ValueId InFront(size_t place, Layer cast) {
    const Value& from = layers_[cast.inputs[0]];
    return edit_.InsertBefore(place, std::move(cast), {.type = from.type, .shape = from.shape});
  }
  // What read the layer's result reads the cast's.
  void Follow(size_t place, Layer cast) {
    const ValueId from = cast.inputs[0];
    edit_.Rename(from, InFront(place + 1, std::move(cast)));
  }

  Layers& layers_;
  const Uses uses_;
  Edit edit_;
  std::map<const Norm*, ValueId> wide_;
};

}  // namespace

void RestoreUpcasts(Layers* layers) { Upcasts(layers).Run(); }

}  // namespace vramplan
