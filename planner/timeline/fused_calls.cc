#include "planner/timeline/fused_calls.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "graph/base/text.h"
#include "graph/layers/trained.h"
#include "graph/layers/uses.h"

namespace vramplan {
namespace {

struct Call : FusedCall {
  ValueId second;  // a second value that others read
};

struct Extent {
  int first = -1, last = -1, layers = 0;
};

class Search {
 public:
  explicit Search(const Layers& layers) : layers_(layers), uses_(layers), extents_(layers.modules.size()) {
    for (const ValueId id : layers.parameters) parameters_.emplace(layers[id].name, id);
    for (size_t l = 0; l < layers.layers.size(); ++l) {
      const Layer& layer = layers.layers[l];
      for (ModuleId m = layer.module; m.valid(); m = layers[m].parent) {
        Extent& extent = extents_[static_cast<size_t>(m.value)];
        if (extent.first < 0) extent.first = static_cast<int>(l);
        extent.last = static_cast<int>(l);
        ++extent.layers;
      }
    }
  }

  // `given`: the mask, which other modules made; invalid: none, or the module makes its own.
  std::optional<FusedCall> Attention(ModuleId module, ValueId given = {}) const {
    const std::string& path = layers_[module].path;
    auto in = Named(path + ".in_proj_weight", path + ".in_proj_bias");
    auto out = Named(path + ".out_proj.weight", path + ".out_proj.bias");
    const ValueId mask = given.valid() ? given : MaskOf(module);
    std::optional<Call> call = Enclosed(module, mask);
    if (!call || layers_[call->input].shape.rank() != 3 || !IsBatchFirst(*call)) return std::nullopt;
    if (!in || !out) {
      const auto [first, second] = OwnProjections(module, *call);
      in = first;
      out = second;
    }
    if (!in || !out) return std::nullopt;
    const Layer* product = nullptr;
    for (int l = call->first; l <= call->last; ++l) {
      const Layer& layer = At(l);
      if (layer.op != "scaled_dot_product_attention") continue;
      if (product != nullptr || layer.attributes.Int("is_causal", 0) != 0) return std::nullopt;
      if (layer.inputs.size() > 3 && layer.inputs[3].valid() && !mask.valid()) return std::nullopt;
      product = &layer;
    }
    if (mask.valid() && product == nullptr) return std::nullopt;
    if (product == nullptr && !TakeWeights(module, &*call)) return std::nullopt;
    if (product != nullptr && (call->second.valid() || layers_[product->inputs[0]].shape.rank() != 4))
      return std::nullopt;
    const Dim heads = product != nullptr ? layers_[product->inputs[0]].shape[1] : Dim(call->heads);
    if (!heads.IsConstant() || heads.c0() % 2 != 0) return std::nullopt;
    call->heads = heads.c0();
    call->in_projection = *in;
    call->out_projection = *out;
    return call;
  }

  // `attention`: a call directly inside of this one.
  std::optional<FusedCall> EncoderLayer(ModuleId module, const FusedCall& attention) const {
    const std::string& path = layers_[module].path;
    FusedCall::EncoderLayer parts;
    const std::pair<const char*, AffineValues*> wanted[] = {
        {".norm1", &parts.norm1}, {".norm2", &parts.norm2}, {".linear1", &parts.linear1}, {".linear2", &parts.linear2}};
    for (const auto& [name, values] : wanted) {
      const auto found = Named(path + name + ".weight", path + name + ".bias");
      if (!found) return std::nullopt;
      *values = *found;
    }
    if (attention.mask.valid() && IsInside(layers_, uses_.MakerOf(attention.mask)->module, module)) return std::nullopt;
    std::optional<Call> call = Enclosed(module, attention.mask);
    if (!call || call->second.valid() || attention.weights != eager::AttentionWeights::kNone) return std::nullopt;
    // norm, (sum, norm,) linear, activation, linear and sums: whatever else computes here is not torch.nn's layer.
    int norms = 0, linears = 0, activations = 0;
    for (int l = call->first; l <= call->last; ++l) {
      if (l >= attention.first && l <= attention.last) continue;
      const std::string& op = At(l).op;
      if (op == "layer_norm" && ++norms == 1) parts.norm_first = l < attention.first;
      if (op == "linear") ++linears;
      if (op == "relu" || op == "gelu") ++activations;
      if (op != "layer_norm" && op != "linear" && op != "relu" && op != "gelu" && op != "add" && op != "dropout")
        return std::nullopt;
    }
    if (norms != 2 || linears != 2 || activations != 1) return std::nullopt;
    call->heads = attention.heads;
    call->mask = attention.mask;
    call->in_projection = attention.in_projection;
    call->out_projection = attention.out_projection;
    call->encoder_layer = parts;
    return call;
  }

  // The padding mask of a module's only product, of which nn.TransformerEncoder made floats for all its layers. Invalid:
  // there is none.
  ValueId PaddingMaskGiven(ModuleId module) const {
    const ModuleId layer = layers_[module].parent;
    const ValueId mask = MaskMade(module, [&](ModuleId maker) { return !IsInside(layers_, maker, layer); });
    return mask.valid() && layers_[mask].shape[0] == layers_[ProductOf(module)->inputs[0]].shape[0] ? mask : ValueId();
  }

 private:
  const Layer& At(int layer) const { return layers_.layers[static_cast<size_t>(layer)]; }

  std::optional<AffineValues> Named(const std::string& weight, const std::string& bias) const {
    const auto w = parameters_.find(weight), b = parameters_.find(bias);
    if (w == parameters_.end() || b == parameters_.end()) return std::nullopt;
    return AffineValues{w->second, b->second};
  }

  // Where a simplifier renamed the parameters: two products that the module computes itself, with no module of their
  // own around them, the first of them of query, key and value in one. Only torch.nn writes attention so.
  std::pair<std::optional<AffineValues>, std::optional<AffineValues>> OwnProjections(ModuleId module,
                                                                                     const FusedCall& call) const {
    std::vector<const Layer*> linears;
    for (int l = call.first; l <= call.last; ++l) {
      const Layer& layer = At(l);
      if (layer.op != "linear") continue;
      if (layer.module != module || layer.inputs.size() < 3 || !layer.inputs[2].valid()) return {};
      if (!IsStored(layers_[layer.inputs[1]])) return {};
      linears.push_back(&layer);
    }
    const Dim width = layers_[call.input].shape.FromEnd(1);
    if (linears.size() != 2 || layers_[linears[0]->inputs[1]].shape != Shape{width * 3, width} ||
        layers_[linears[1]->inputs[1]].shape != Shape{width, width})
      return {};
    return {AffineValues{linears[0]->inputs[1], linears[0]->inputs[2]},
            AffineValues{linears[1]->inputs[1], linears[1]->inputs[2]}};
  }

  // need_weights: the product written out, softmax(q @ k) @ v of the module itself without a mask, whose weights
  // [B * heads, positions, positions] are seen by head and, as a rule, averaged (F.multi_head_attention_forward).
  bool TakeWeights(ModuleId module, Call* call) const {
    const Layer* softmax = nullptr;
    for (int l = call->first; l <= call->last; ++l) {
      if (At(l).op == "baddbmm" || At(l).op == "masked_fill") return false;
      if (At(l).op != "softmax") continue;
      if (softmax != nullptr || At(l).module != module) return false;
      softmax = &At(l);
    }
    if (softmax == nullptr || uses_.Operand(softmax, 0, "bmm") == nullptr) return false;
    const auto heads = DivideExactly(layers_[softmax->inputs[0]].shape[0], layers_[call->input].shape[0]);
    if (!heads || !heads->IsConstant()) return false;
    call->heads = heads->c0();
    call->weights = eager::AttentionWeights::kEach;
    for (int l = call->first; l <= call->last; ++l) {
      const bool averages = At(l).op == "mean" && At(l).module == module;
      if (averages) call->weights = eager::AttentionWeights::kAveraged;
      // A name may keep them although nobody reads them.
      if (averages || (Uses::In(&At(l), 0) == softmax->outputs[0] && At(l).op != "bmm"))
        call->weights_output = At(l).outputs[0];
    }
    if (!call->second.valid()) return true;
    if (call->output == call->weights_output) std::swap(call->output, call->second);
    if (call->second != call->weights_output) return false;
    return true;
  }

  // The mask of a module's only product, where the module itself made floats of booleans: attention that is given a mask
  // of floats runs in Python (F._canonical_mask). Invalid: there is none.
  ValueId MaskOf(ModuleId module) const {
    return MaskMade(module, [&](ModuleId maker) { return maker == module; });
  }
  template <typename In>
  ValueId MaskMade(ModuleId module, const In& in) const {
    const Layer* product = ProductOf(module);
    const ValueId made = product == nullptr ? ValueId() : BehindViews(Uses::In(product, 3));
    const Layer* maker = uses_.MakerOf(made);
    const bool is_mask = maker != nullptr && maker->op == "masked_fill" && in(maker->module);
    return is_mask && layers_[made].shape.rank() == 2 ? made : ValueId();
  }

  // The mask or a view of it, which the dynamo exporter writes once for all layers.
  bool SeesMask(ValueId id, ValueId mask) const { return mask.valid() && BehindViews(id) == mask; }

  ValueId BehindViews(ValueId id) const {
    return uses_.Behind({"unsqueeze", "view", "reshape", "expand", "contiguous"}, id);
  }

  // The last of the module's products; null: it has none.
  const Layer* ProductOf(ModuleId module) const {
    const Extent& extent = extents_[static_cast<size_t>(module.value)];
    const Layer* product = nullptr;
    for (int l = std::max(extent.first, 0); l <= extent.last; ++l) {
      if (At(l).op == "scaled_dot_product_attention") product = &At(l);
    }
    return product;
  }

  // The call's layers behind those that make its mask, if nothing runs between them, one value goes in beside the mask
  // and one comes out.
  std::optional<Call> Enclosed(ModuleId module, ValueId mask) const {
    const Extent& extent = extents_[static_cast<size_t>(module.value)];
    if (extent.first < 0 || extent.last - extent.first + 1 != extent.layers) return std::nullopt;
    Call call;
    call.mask = mask;
    call.first = std::max(extent.first, mask.valid() ? uses_.PlaceOfMaker(mask) + 1 : 0);
    call.last = extent.last;
    const auto inside = [&](int layer) { return layer >= call.first && layer <= call.last; };
    for (int l = call.first; l <= call.last; ++l) {
      for (const ValueId id : At(l).inputs) {
        if (!id.valid() || (layers_[id].role != Role::kActivation && layers_[id].role != Role::kInput)) continue;
        if (inside(uses_.PlaceOfMaker(id)) || SeesMask(id, mask)) continue;
        if (call.input.valid() && call.input != id) return std::nullopt;
        call.input = id;
      }
      for (const ValueId id : At(l).outputs) {
        if (!id.valid()) continue;
        if (std::ranges::all_of(uses_.ReadersOf(id), inside) || SeesMask(id, mask)) continue;
        if (call.second.valid()) return std::nullopt;
        (call.output.valid() ? call.second : call.output) = id;
      }
    }
    if (!call.input.valid() || !call.output.valid()) return std::nullopt;
    return call;
  }

  // query = query.transpose(1, 0): the Python computes positions first.
  bool IsBatchFirst(const FusedCall& call) const {
    const Layer& turn = At(call.first);
    return (turn.op == "transpose" || turn.op == "permute") && turn.inputs[0] == call.input &&
           layers_[turn.outputs[0]].shape[0] == layers_[call.input].shape[1];
  }

  const Layers& layers_;
  const Uses uses_;
  std::vector<Extent> extents_;  // by module call
  std::unordered_map<std::string_view, ValueId> parameters_;
};

}  // namespace

std::vector<FusedCall> FusedCallsOf(const Layers& layers, const TrainingSpec& spec) {
  const bool autocast = IsAutocast(spec.precision);
  if (!IsWithoutGradients(spec.mode) || autocast) return {};
  const bool any = std::any_of(layers.layers.begin(), layers.layers.end(), [](const Layer& layer) {
    return layer.op == "scaled_dot_product_attention" || layer.op == "softmax";
  });
  if (!any) return {};
  std::vector<FusedCall> calls;
  const Search search(layers);
  for (size_t m = 0; m < layers.modules.size(); ++m) {
    const ModuleId module{static_cast<int32_t>(m)};
    const ModuleId parent = layers[module].parent;
    const ValueId given = parent.valid() ? search.PaddingMaskGiven(module) : ValueId();
    const std::optional<FusedCall> call = search.Attention(module, given);
    if (!call) continue;
    const auto around = parent.valid() ? search.EncoderLayer(parent, *call) : std::nullopt;
    if (around || !given.valid()) calls.push_back(around ? *around : *call);
  }
  std::sort(calls.begin(), calls.end(), [](const FusedCall& a, const FusedCall& b) { return a.first < b.first; });
  return calls;
}

}  // namespace vramplan
