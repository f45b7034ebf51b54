#include "graph/lift/any_export/skipped_masks.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "graph/base/text.h"
#include "graph/habits/habits.h"
#include "graph/lift/any_export/known_mask.h"

namespace vramplan {
namespace {

constexpr size_t kKey = 1, kValue = 2, kMask = 3;

// Appends layers of its own to a list that is being rewritten.
class Rewriting {
 public:
  explicit Rewriting(Layers* layers) : layers_(layers) {}

  ValueId Add(std::string op, const Layer& beside, std::vector<ValueId> inputs, DType type, Shape shape,
              Attributes attributes = {}) {
    const std::string name = beside.name + "." + op + std::to_string(added_++);
    const ValueId made = layers_->Add({.name = name, .type = type, .shape = shape});
    out.push_back({.op = std::move(op),
                   .name = name,
                   .inputs = std::move(inputs),
                   .outputs = {made},
                   .attributes = std::move(attributes),
                   .module = beside.module,
                   .evidence = beside.evidence});
    return made;
  }

  std::vector<Layer> out;

 private:
  Layers* layers_;
  int added_ = 0;
};

Attributes Axis(int64_t axis) {
  Attributes attributes;
  attributes.Set("dim", axis);
  return attributes;
}

class Rewrite {
 public:
  Rewrite(Layers* layers, bool nameless)
      : layers_(*layers), nameless_(nameless), draft_(layers), makers_(MakersOf(*layers)) {}

  // The masks that were read by the names of constants.
  const std::vector<ValueId>& by_name() const { return by_name_; }

  void Run() {
    for (Layer& layer : layers_.layers) {
      for (ValueId& input : layer.inputs) input = NameOf(input);
      if (SkipsMasks(layer)) {
        if (layer.op == "where" && SkipWhere(layer)) continue;
        if (layer.op == "scaled_dot_product_attention") {
          SkipMask(layer);
          BiasAnew(layer);
        }
      }
      draft_.out.push_back(std::move(layer));
    }
    for (ValueId& output : layers_.outputs) output = NameOf(output);
    layers_.layers = std::move(draft_.out);
    if (changed_) DropOrphans();
  }

 private:
  bool SkipsMasks(const Layer& layer) const {
    if (nameless_) return true;
    for (ModuleId m = layer.module; m.valid(); m = layers_[m].parent) {
      if (IsOfLibraryWith(layers_[m].class_name, Effect::kSkipsMasks)) return true;
    }
    return false;
  }

  ValueId NameOf(ValueId id) const {
    const auto found = renamed_.find(id);
    return found == renamed_.end() ? id : found->second;
  }

  // The layers are being moved out of their list one by one: what a maker was is read from the copy.
  KnownMask Read(ValueId mask) {
    const auto known = read_.find(mask);
    if (known != read_.end()) return known->second;
    bool by_name = false;
    const KnownMask read = ReadMask(before_, makers_, mask, &by_name);
    if (by_name && (read == KnownMask::kAllTrue || read == KnownMask::kCausal)) by_name_.push_back(mask);
    return read_[mask] = read;
  }

  void SkipMask(Layer& call) {
    if (call.inputs.size() <= kMask || !call.inputs[kMask].valid()) return;
    const KnownMask mask = Read(call.inputs[kMask]);
    if (mask != KnownMask::kAllTrue && mask != KnownMask::kCausal) return;
    if (nameless_ && layers_[call.inputs[kMask]].shape.rank() != 4) return;
    changed_ = true;
    call.inputs.resize(kMask);
    if (mask == KnownMask::kCausal) call.attributes.Set("is_causal", int64_t{1});
    for (const size_t i : {kKey, kValue}) {
      if (const ValueId once = BeforeRepeat(call.inputs[i]); once.valid()) call.inputs[i] = once;
    }
  }

  // repeat_kv: k[:, :, None].expand(...).reshape(...); invalid when the value was not made so.
  ValueId BeforeRepeat(ValueId id) const {
    static constexpr std::string_view kSteps[] = {"reshape", "contiguous", "expand", "unsqueeze"};
    // A file of fixed lengths has the reshape merged into attention's own (onnxscript's rule ReshapeReshape).
    size_t step = id.valid() && layers_[id].shape.rank() == 5 ? 1 : 0;
    while (id.valid() && step < std::size(kSteps)) {
      const int32_t maker = makers_[static_cast<size_t>(id.value)];
      if (maker < 0) return {};
      const Layer& layer = before_.layers[static_cast<size_t>(maker)];
      const bool is_copy = layer.op == "contiguous" || layer.op == "clone";
      if (kSteps[step] == "contiguous" && !is_copy) ++step;  // a reshape that copies by itself
      if (layer.op != kSteps[step] && !(is_copy && kSteps[step] == "contiguous")) return {};
      if (layer.op == "expand" && layers_[id].shape.rank() != 5) return {};
      ++step;
      id = layer.inputs[0];
    }
    return step == std::size(kSteps) ? NameOf(id) : ValueId{};
  }

  // where(mask, bias, number) in front of attention. True: the layer is gone.
  bool SkipWhere(Layer& where) {
    if (where.inputs.size() < 2 || !where.inputs[0].valid() || !where.inputs[1].valid()) return false;
    if (where.inputs.size() > 2 && where.inputs[2].valid()) return false;
    const KnownMask mask = Read(where.inputs[0]);
    if (mask == KnownMask::kAllTrue) {
      changed_ = true;
      renamed_[where.outputs[0]] = where.inputs[1];
      return true;
    }
    if (mask == KnownMask::kCausal) biased_[where.outputs[0]] = where;
    return false;
  }

  // create_position_bias_mask, once a call: where(arange(q)[:, None] >= arange(k)[None, :], bias, -inf). The exporter
  // merges the calls of all layers into one.
  void BiasAnew(Layer& call) {
    if (call.inputs.size() <= kMask) return;
    const auto found = biased_.find(call.inputs[kMask]);
    if (found == biased_.end()) return;
    changed_ = true;
    const Layer& where = found->second;
    const Shape& shape = layers_[where.inputs[0]].shape;
    const Dim queries = shape.FromEnd(2), keys = shape.FromEnd(1);
    const ValueId query = draft_.Add("arange", call, {}, DType::kInt64, Shape{queries});
    const ValueId column = draft_.Add("unsqueeze", call, {query}, DType::kInt64, Shape{queries, 1}, Axis(1));
    const ValueId key = draft_.Add("arange", call, {}, DType::kInt64, Shape{keys});
    const ValueId row = draft_.Add("unsqueeze", call, {key}, DType::kInt64, Shape{1, keys}, Axis(0));
    const ValueId causal = draft_.Add("ge", call, {column, row}, DType::kBool, Shape{queries, keys});
    const ValueId mask = draft_.Add("reshape", call, {causal}, DType::kBool, Shape{1, 1, queries, keys});
    const Value bias = layers_[where.inputs[1]];
    call.inputs[kMask] =
        draft_.Add("where", call, {mask, where.inputs[1], ValueId()}, bias.type, bias.shape, where.attributes);
  }

  // What made the masks, and nobody reads any more.
  void DropOrphans() {
    for (bool dropped = true; dropped;) {
      std::vector<int> readers(layers_.values.size(), 0);
      for (const Layer& layer : layers_.layers) {
        for (const ValueId id : layer.inputs) readers[id.valid() ? static_cast<size_t>(id.value) : 0] += id.valid();
      }
      for (const ValueId id : layers_.outputs) readers[id.valid() ? static_cast<size_t>(id.value) : 0] += id.valid();
      const auto is_orphan = [&](const Layer& layer) {
        return std::all_of(layer.outputs.begin(), layer.outputs.end(), [&](ValueId id) {
          return !id.valid() || (readers[static_cast<size_t>(id.value)] == 0 && was_read_.count(id) != 0);
        });
      };
      const auto end = std::remove_if(layers_.layers.begin(), layers_.layers.end(), is_orphan);
      dropped = end != layers_.layers.end();
      layers_.layers.erase(end, layers_.layers.end());
    }
  }

  static std::map<ValueId, bool> ReadValues(const Layers& layers) {
    std::map<ValueId, bool> read;
    for (const Layer& layer : layers.layers) {
      for (const ValueId id : layer.inputs) read[id] = true;
    }
    return read;
  }

  Layers& layers_;
  const bool nameless_;
  const Layers before_ = layers_;
  Rewriting draft_;
  std::vector<int32_t> makers_;
  const std::map<ValueId, bool> was_read_ = ReadValues(layers_);
  std::map<ValueId, ValueId> renamed_;
  std::map<ValueId, KnownMask> read_;
  std::map<ValueId, Layer> biased_;  // where(causal mask, bias, number), by its result
  std::vector<ValueId> by_name_;
  bool changed_ = false;
};

// Whether a permutation that moved the last axis made the value, with nothing behind it that would have copied.
bool IsPermuted(const Layers& layers, const std::vector<int32_t>& makers, ValueId id) {
  for (int steps = 0; steps < 16 && id.valid(); ++steps) {
    const int32_t maker = makers[static_cast<size_t>(id.value)];
    if (maker < 0) return false;
    const Layer& layer = layers.layers[static_cast<size_t>(maker)];
    if (layer.op == "permute") {
      const std::vector<int64_t> dims = layer.attributes.Ints("dims");
      return !dims.empty() && dims.back() != static_cast<int64_t>(dims.size()) - 1;
    }
    if (layer.op == "transpose") {
      const int rank = layers[id].shape.rank();
      const auto last = [&](const char* name) {
        const int64_t axis = layer.attributes.Int(name, 0);
        return axis == rank - 1 || axis == -1;
      };
      return last("dim0") || last("dim1");
    }
    // A sum or a choice lies in memory as its larger operand does.
    size_t next = 0;
    if (layer.op == "where" || layer.op == "add") {
      for (size_t i = 0; i < layer.inputs.size(); ++i) {
        if (layer.inputs[i].valid() && layers[layer.inputs[i]].shape == layers[id].shape) next = i;
      }
    } else if (!IsOneOf(layer.op, {"unsqueeze", "squeeze"})) {
      return false;
    }
    if (layer.inputs.empty()) return false;
    id = layer.inputs[next];
  }
  return false;
}

}  // namespace

void SkipKnownMasks(Layers* layers, bool nameless, Notes* notes) {
  const bool any = nameless || std::any_of(layers->modules.begin(), layers->modules.end(), [](const Module& module) {
                     return IsOfLibraryWith(module.class_name, Effect::kSkipsMasks);
                   });
  if (!any) return;
  Rewrite rewrite(layers, nameless);
  rewrite.Run();
  if (rewrite.by_name().empty() || notes == nullptr) return;
  notes->Add({.code = "assumed-mask",
              .severity = Severity::kNote,
              .subject = (*layers)[rewrite.by_name().front()].name,
              .text = "the export folded an attention mask into a constant; its name suggests that it masks nothing, "
                      "or only later positions",
              .hint = "an export with its metadata says how the mask is made"});
}

void MakeMasksContiguous(Layers* layers) {
  const bool any = std::any_of(layers->layers.begin(), layers->layers.end(), [](const Layer& layer) {
    return layer.op == "scaled_dot_product_attention" && layer.inputs.size() > kMask;
  });
  if (!any) return;
  const Layers before = *layers;
  const std::vector<int32_t> makers = MakersOf(before);
  Rewriting draft(layers);
  for (const Layer& given : before.layers) {
    Layer layer = given;
    if (layer.op == "scaled_dot_product_attention" && layer.inputs.size() > kMask && layer.inputs[kMask].valid() &&
        IsPermuted(before, makers, layer.inputs[kMask])) {
      const Value& mask = before[layer.inputs[kMask]];
      layer.inputs[kMask] = draft.Add("contiguous", layer, {layer.inputs[kMask]}, mask.type, mask.shape);
    }
    draft.out.push_back(std::move(layer));
  }
  layers->layers = std::move(draft.out);
}

void MakePositionBiasesContiguous(Layers* layers) {
  constexpr std::string_view kTable = "relative_position_bias_table";
  const bool any = std::any_of(layers->parameters.begin(), layers->parameters.end(),
                               [&](ValueId id) { return (*layers)[id].name.ends_with(kTable); });
  if (!any) return;
  const Layers before = *layers;
  const std::vector<int32_t> makers = MakersOf(before);
  const auto is_bias = [&](const Layer& permute) {
    ValueId id = permute.inputs[0];
    for (int steps = 0; steps < 4 && id.valid(); ++steps) {
      if (before[id].role == Role::kParameter) return before[id].name.ends_with(kTable);
      const int32_t maker = makers[static_cast<size_t>(id.value)];
      if (maker < 0) return false;
      const Layer& layer = before.layers[static_cast<size_t>(maker)];
      if (!IsOneOf(layer.op, {"reshape", "view", "index", "embedding", "gather", "index_select"})) return false;
      id = layer.inputs[0];
    }
    return false;
  };
  Rewriting draft(layers);
  std::map<ValueId, ValueId> dense;
  for (size_t l = 0; l < before.layers.size(); ++l) {
    Layer layer = before.layers[l];
    if (layer.op != "contiguous") {
      for (ValueId& input : layer.inputs) {
        if (const auto found = dense.find(input); found != dense.end()) input = found->second;
      }
    }
    const bool bias = layer.op == "permute" && is_bias(layer);
    const Layer beside = layer;
    draft.out.push_back(std::move(layer));
    if (!bias) continue;
    const Value& permuted = before[beside.outputs[0]];
    const bool kept = l + 1 < before.layers.size() && before.layers[l + 1].op == "contiguous";
    if (!kept) {
      dense[beside.outputs[0]] = draft.Add("contiguous", beside, {beside.outputs[0]}, permuted.type, permuted.shape);
    }
  }
  layers->layers = std::move(draft.out);
}

}  // namespace vramplan
