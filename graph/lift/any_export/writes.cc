#include "graph/lift/any_export/writes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "graph/base/text.h"

namespace vramplan {
namespace {

class Gathering {
 public:
  explicit Gathering(Layers* layers) : layers_(*layers), readers_(layers->values.size(), 0) {
    for (const Layer& layer : layers_.layers) {
      for (const ValueId id : layer.inputs) readers_[Index(id)] += id.valid() ? 1 : 0;
    }
    for (const ValueId id : layers_.outputs) readers_[Index(id)] += id.valid() ? 1 : 0;
  }

  void Run() {
    for (Layer& layer : layers_.layers) {
      for (ValueId& input : layer.inputs) input = NameOf(input);
      const bool writes = layer.op == "slice_scatter" && layer.attributes.Int("inplace", 0) != 0 &&
                          layer.inputs.size() >= 2 && layer.inputs[0].valid() && layer.inputs[1].valid();
      if (writes && !Gather(&layer)) continue;
      for (const ValueId id : layer.outputs) {
        if (id.valid()) maker_[id] = out_.size();
      }
      out_.push_back(std::move(layer));
    }
    for (ValueId& output : layers_.outputs) output = NameOf(output);
    layers_.layers.clear();
    for (std::optional<Layer>& layer : out_) {
      if (layer) layers_.layers.push_back(std::move(*layer));
    }
  }

 private:
  static size_t Index(ValueId id) { return id.valid() ? static_cast<size_t>(id.value) : 0; }

  ValueId NameOf(ValueId id) const {
    const auto found = renamed_.find(id);
    return found == renamed_.end() ? id : found->second;
  }

  std::optional<Layer>* MakerOf(ValueId id) {
    const auto found = maker_.find(id);
    return found == maker_.end() ? nullptr : &out_[found->second];
  }

  // Whether `id` is a part of `base`: slices and selects of it.
  bool IsPart(ValueId id, ValueId base) {
    for (int steps = 0; steps < Shape::kMaxRank * 2; ++steps) {
      const std::optional<Layer>* maker = MakerOf(id);
      if (maker == nullptr || !*maker || !IsOneOf((*maker)->op, {"slice", "select"})) return false;
      id = (*maker)->inputs[0];
      if (id == base) return true;
    }
    return false;
  }

  // Makes `write` the one call; false: nothing is left of it.
  bool Gather(Layer* write) {
    const ValueId base = write->inputs[0], source = write->inputs[1], result = write->outputs[0];
    layers_.values[static_cast<size_t>(result.value)].shape = layers_[base].shape;
    if (IsPart(source, base)) {
      renamed_[result] = base;
      return false;
    }
    std::optional<Layer>* maker = MakerOf(source);
    const bool only_here = readers_[Index(source)] == 1;
    if (maker != nullptr && *maker && only_here && !(*maker)->inputs.empty() && IsPart((*maker)->inputs[0], base)) {
      const Layer inner = **maker;
      if (inner.op == "slice_scatter") {  // the same write, seen from the next axis
        write->inputs = inner.inputs;
        write->inputs[0] = base;
        write->attributes = inner.attributes;
        maker->reset();
        return true;
      }
      if (IsOneOf(inner.op, {"add", "sub", "mul", "div"})) {
        write->inputs = {base, inner.inputs.size() > 1 ? inner.inputs[1] : ValueId()};
        write->attributes.Set("update", inner.op);
        maker->reset();
        return true;
      }
    }
    const bool number = layers_[source].role == Role::kConstant ||
                        (maker != nullptr && *maker && IsOneOf((*maker)->op, {"full", "zeros", "ones"}));
    if (number) {
      write->inputs = {base, ValueId()};
      write->attributes.Set("update", std::string("fill"));
      if (maker != nullptr && only_here) maker->reset();
    }
    return true;
  }

  Layers& layers_;
  std::vector<int> readers_;  // by value
  std::vector<std::optional<Layer>> out_;
  std::map<ValueId, size_t> maker_;  // into out_
  std::map<ValueId, ValueId> renamed_;
};

}  // namespace

void GatherWrites(Layers* layers) {
  const bool any = std::any_of(layers->layers.begin(), layers->layers.end(),
                               [](const Layer& layer) { return layer.op == "slice_scatter"; });
  if (any) Gathering(layers).Run();
}

}  // namespace vramplan
