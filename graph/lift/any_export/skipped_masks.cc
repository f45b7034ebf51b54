// Skipped masks: transformers looks at a mask's values before it passes one to attention and skips those that hide
// nothing or only the future; torch.export cannot look, so the exported graph has masks that never exist in training
// (transformers 5.23, masking_utils.py, _ignore_causal_mask_sdpa and _ignore_bidirectional_mask_sdpa).
//
//   in the file                                               in eager
//   sdpa(q, k, v, le(key, query) [B, 1, 128, 128])            sdpa(q, k, v, is_causal=True)
//   k = repeat_kv(k); sdpa(q, k, v, ...)                      sdpa(q, k, v, ..., enable_gqa=True), without a mask
//   where(ge(query, 0), bias, -inf)                           bias
//   where(le(key, query), bias, -inf)                         the same, compared anew in each call
#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "graph/base/ablation.h"
#include "graph/base/text.h"
#include "graph/habits/habits.h"
#include "graph/layers/edit.h"
#include "graph/lift/any_export/known_mask.h"
#include "graph/lift/any_export/passes.h"

namespace vramplan {
namespace {

constexpr size_t kKey = 1, kValue = 2, kMask = 3;

// Puts layers of its own beside others.
class MaskEdit {
 public:
  explicit MaskEdit(Layers* layers) : edit(layers) {}

  ValueId Insert(size_t place, const std::string& op, const Layer& beside, std::vector<ValueId> inputs, DType type,
                 Shape shape, Attributes attributes = {}) {
    Layer layer = CallBeside(beside, op, std::move(inputs), std::move(attributes));
    layer.name += std::to_string(added_++);
    return edit.InsertBefore(place, std::move(layer), {.type = type, .shape = shape});
  }

  Edit edit;

 private:
  int added_ = 0;
};

Attributes Axis(int64_t axis) { return Named({{"dim", axis}}); }

class Rewrite {
 public:
  explicit Rewrite(Layers* layers) : layers_(*layers), uses_(*layers), draft_(layers) {}

  void Run() {
    std::set<ValueId> read;
    for (const Layer& layer : layers_.layers) read.insert(layer.inputs.begin(), layer.inputs.end());
    for (size_t l = 0; l < layers_.layers.size(); ++l) {
      Layer& layer = layers_.layers[l];
      for (ValueId& input : layer.inputs) input = NameOf(input);
      if (!SkipsMasks(layer)) continue;
      if (layer.op == "where" && SkipWhere(layer)) draft_.edit.Remove(l);
      if (layer.op == "contiguous") FollowCopy(layer);
      if (layer.op == "scaled_dot_product_attention") {
        SkipMask(layer);
        BiasAnew(layer, l);
      }
    }
    for (ValueId& output : layers_.outputs) output = NameOf(output);
    draft_.edit.Apply();
    if (!changed_) return;
    DropUnread(&layers_, [&](const Layer& layer) {  // what made the masks
      return std::ranges::all_of(layer.outputs, [&](ValueId id) { return !id.valid() || read.contains(id); });
    });
  }

 private:
  bool SkipsMasks(const Layer& layer) const {
    for (ModuleId m = layer.module; m.valid(); m = layers_[m].parent) {
      if (IsOfLibraryWith(layers_[m].class_name, Effect::kSkipsMasks)) return true;
    }
    return false;
  }

  ValueId NameOf(ValueId id) const {
    const auto found = renamed_.find(id);
    return found == renamed_.end() ? id : found->second;
  }

  KnownMask Read(ValueId mask) {
    const auto known = read_.find(mask);
    if (known != read_.end()) return known->second;
    return read_[mask] = ReadMask(uses_, mask);
  }

  void SkipMask(Layer& call) {
    if (call.inputs.size() <= kMask || !call.inputs[kMask].valid()) return;
    const KnownMask mask = Read(call.inputs[kMask]);
    if (mask != KnownMask::kAllTrue && mask != KnownMask::kCausal) return;
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
    if (!Runs("read", "skipped_masks BeforeRepeat")) return {};
    // A file of fixed lengths has the reshape merged into attention's own (onnxscript's rule ReshapeReshape).
    size_t step = id.valid() && layers_[id].shape.rank() == 5 ? 1 : 0;
    while (id.valid() && step < std::size(kSteps)) {
      const Layer* maker = uses_.MakerOf(id);
      if (maker == nullptr) return {};
      if (maker->op == "slice" && layers_[id].shape == layers_[maker->inputs[0]].shape) {  // k[:, :, None, :, :]
        id = maker->inputs[0];
        continue;
      }
      const bool is_copy = maker->op == "contiguous" || maker->op == "clone";
      if (kSteps[step] == "contiguous" && !is_copy) ++step;  // a reshape that copies by itself
      if (maker->op != kSteps[step] && !(is_copy && kSteps[step] == "contiguous")) return {};
      if (maker->op == "expand" && layers_[id].shape.rank() != 5) return {};
      ++step;
      id = maker->inputs[0];
    }
    return step == std::size(kSteps) ? NameOf(id) : ValueId{};
  }

  // where(mask, bias, number) in front of attention. True: the layer goes.
  bool SkipWhere(const Layer& where) {
    if (where.inputs.size() < 2 || !where.inputs[0].valid() || !where.inputs[1].valid()) return false;
    if (where.inputs.size() > 2 && where.inputs[2].valid()) return false;
    if (!Runs("read", "skipped_masks SkipWhere")) return false;
    const KnownMask mask = Read(where.inputs[0]);
    if (mask == KnownMask::kAllTrue) {
      changed_ = true;
      renamed_[where.outputs[0]] = where.inputs[1];
      unmasked_.insert(where.inputs[1]);
      return true;
    }
    biased_[where.outputs[0]] = &where;
    return false;
  }

  // A copy of what is without its mask now has the axes of that; of what is made anew, it is made anew behind that.
  void FollowCopy(const Layer& copy) {
    if (copy.inputs.empty() || copy.outputs.empty() || !copy.inputs[0].valid()) return;
    if (unmasked_.contains(copy.inputs[0]))
      layers_.values[copy.outputs[0].index()].shape = layers_[copy.inputs[0]].shape;
    const auto where = biased_.find(copy.inputs[0]);
    if (where == biased_.end()) return;
    biased_[copy.outputs[0]] = where->second;
    copied_.insert(copy.outputs[0]);
  }

  // create_position_bias_mask, once a call: where(mask, bias, -inf), with a mask that is given or arange(q)[:, None] >=
  // arange(k)[None, :]. The exporter merges the calls of all layers into one.
  void BiasAnew(Layer& call, size_t place) {
    if (call.inputs.size() <= kMask) return;
    const auto found = biased_.find(call.inputs[kMask]);
    if (found == biased_.end()) return;
    if (!Runs("read", "skipped_masks BiasAnew")) return;
    const Layer& where = *found->second;
    const bool causal = Read(where.inputs[0]) == KnownMask::kCausal;
    const auto shared = [&](ValueId id) { return uses_.LayersReading(id).size() > 1; };
    if (!causal && !shared(call.inputs[kMask]) && !shared(where.outputs[0])) return;  // its own already
    changed_ = true;
    const auto insert = [&](const char* op, std::vector<ValueId> inputs, DType type, Shape made, Attributes with = {}) {
      return draft_.Insert(place, op, call, std::move(inputs), type, made, std::move(with));
    };
    const ValueId mask = causal ? CausalAnew(layers_[where.inputs[0]].shape, insert) : where.inputs[0];
    Value bias = layers_[where.inputs[1]];
    if (!causal) bias.shape = layers_[where.outputs[0]].shape;
    const bool copied = copied_.contains(call.inputs[kMask]);
    call.inputs[kMask] = insert("where", {mask, where.inputs[1], ValueId()}, bias.type, bias.shape, where.attributes);
    if (copied) call.inputs[kMask] = insert("contiguous", {call.inputs[kMask]}, bias.type, bias.shape);
  }

  template <typename Insert>
  ValueId CausalAnew(const Shape& shape, const Insert& insert) const {
    const Dim queries = shape.FromEnd(2), keys = shape.FromEnd(1);
    const ValueId query = insert("arange", {}, DType::kInt64, Shape{queries});
    const ValueId column = insert("unsqueeze", {query}, DType::kInt64, Shape{queries, 1}, Axis(1));
    const ValueId key = insert("arange", {}, DType::kInt64, Shape{keys});
    const ValueId row = insert("unsqueeze", {key}, DType::kInt64, Shape{1, keys}, Axis(0));
    const ValueId causal = insert("ge", {column, row}, DType::kBool, Shape{queries, keys});
    return insert("reshape", {causal}, DType::kBool, Shape{1, 1, queries, keys});
  }

  Layers& layers_;
  const Uses uses_;
  MaskEdit draft_;
  std::map<ValueId, ValueId> renamed_;
  std::map<ValueId, KnownMask> read_;
  std::map<ValueId, const Layer*> biased_;  // where(mask, bias, number), by its result
  std::set<ValueId> unmasked_;              // what is read where a mask of nothing was
  std::set<ValueId> copied_;                // copies of what is in biased_
  bool changed_ = false;
};

// Whether a permutation that moved the last axis made the value, with nothing behind it that would have copied.
bool IsPermuted(const Uses& uses, ValueId id) {
  const Layers& layers = uses.layers();
  for (int steps = 0; steps < 16 && id.valid(); ++steps) {
    const Layer* maker = uses.MakerOf(id);
    if (maker == nullptr) return false;
    if (maker->op == "permute") {
      const std::vector<int64_t> dims = maker->attributes.Ints("dims");
      return !dims.empty() && dims.back() != static_cast<int64_t>(dims.size()) - 1;
    }
    if (maker->op == "transpose") {
      const int rank = layers[id].shape.rank();
      const auto last = [&](const char* name) {
        const int64_t axis = maker->attributes.Int(name, 0);
        return axis == rank - 1 || axis == -1;
      };
      return last("dim0") || last("dim1");
    }
    // A sum or a choice lies in memory as an operand of its size does; where each is broadcast, a permuted one decides
    // on the axes that the others lack (TensorIterator.cpp reorder_dimensions).
    size_t next = 0;
    if (maker->op == "where" || maker->op == "add") {
      bool whole = false;
      for (size_t i = 0; i < maker->inputs.size(); ++i) {
        if (!maker->inputs[i].valid() || layers[maker->inputs[i]].shape != layers[id].shape) continue;
        next = i;
        whole = true;
      }
      if (!whole) return std::ranges::any_of(maker->inputs, [&](ValueId operand) { return IsPermuted(uses, operand); });
    } else if (!IsOneOf(maker->op, {"unsqueeze", "squeeze"})) {
      return false;
    }
    if (maker->inputs.empty()) return false;
    id = maker->inputs[next];
  }
  return false;
}

}  // namespace

void SkipKnownMasks(Layers* layers) {
  const bool any = std::ranges::any_of(
      layers->modules, [](const Module& module) { return IsOfLibraryWith(module.class_name, Effect::kSkipsMasks); });
  if (any) Rewrite(layers).Run();
}

void MakeMasksContiguous(Layers* layers) {
  const Uses uses(*layers);
  MaskEdit draft(layers);
  for (Layer& call : layers->layers) {
    if (call.op != "scaled_dot_product_attention" || !IsPermuted(uses, Uses::In(&call, kMask))) continue;
    const Value mask = (*layers)[call.inputs[kMask]];
    call.inputs[kMask] =
        draft.Insert(uses.PlaceOf(&call), "contiguous", call, {call.inputs[kMask]}, mask.type, mask.shape);
  }
  draft.edit.Apply();
}

}  // namespace vramplan
