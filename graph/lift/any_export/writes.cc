// Writes: x[a:b] += y and x[a:b] = y are one call in eager; export makes them functional, a slice of x, a new part, and
// one slice_scatter for each axis on the way back:
//
//   s1 = slice(x); s2 = slice(s1); r = add(s2, y)
//   t1 = slice_scatter(s1, r); t0 = slice_scatter(x, t1)        ->   s1, s2 (views); t0 = slice_scatter(x, y)
//                                                                    update=add
//   u = slice(t0); ... slice_scatter(t0, u)                     ->   t0: a part put back where it came from
//   slice_scatter(x, number)                                    ->   t0 = slice_scatter(x, -) update=fill
//
// The vocabulary's slice_scatter with inplace 1 is then the one call; "update" says what it did: add, sub, mul, div,
// fill, or copy.
#include <algorithm>
#include <map>
#include <set>

#include "graph/base/text.h"
#include "graph/layers/edit.h"
#include "graph/layers/uses.h"
#include "graph/lift/any_export/passes.h"

namespace vramplan {
namespace {

class Gathering {
 public:
  explicit Gathering(Layers* layers) : layers_(*layers), uses_(*layers), edit_(layers) {}

  void Run() {
    for (Layer& layer : layers_.layers) {
      for (ValueId& input : layer.inputs) input = NameOf(input);
      const bool writes = layer.op == "slice_scatter" && layer.attributes.Int("inplace", 0) != 0 &&
                          layer.inputs.size() >= 2 && layer.inputs[0].valid() && layer.inputs[1].valid();
      if (writes) Gather(&layer);
    }
    for (ValueId& output : layers_.outputs) output = NameOf(output);
    edit_.Apply();
  }

 private:
  ValueId NameOf(ValueId id) const {
    const auto found = renamed_.find(id);
    return found == renamed_.end() ? id : found->second;
  }

  // Null: none, or it is gone.
  const Layer* MakerOf(ValueId id) const {
    const Layer* maker = uses_.MakerOf(id);
    return maker != nullptr && gone_.contains(maker) ? nullptr : maker;
  }

  void Remove(const Layer* layer) {
    gone_.insert(layer);
    edit_.Remove(uses_.PlaceOf(layer));
  }

  // Whether `id` is a part of `base`: slices and selects of it.
  bool IsPart(ValueId id, ValueId base) const {
    for (int steps = 0; steps < Shape::kMaxRank * 2; ++steps) {
      const Layer* maker = MakerOf(id);
      if (maker == nullptr || !IsOneOf(maker->op, {"slice", "select"})) return false;
      id = maker->inputs[0];
      if (id == base) return true;
    }
    return false;
  }

  // Makes `write` the one call, or nothing.
  void Gather(Layer* write) {
    const ValueId base = write->inputs[0], source = write->inputs[1], result = write->outputs[0];
    layers_.values[result.index()].shape = layers_[base].shape;
    if (IsPart(source, base)) {
      renamed_[result] = base;
      return Remove(write);
    }
    const Layer* maker = MakerOf(source);
    const bool only_here = maker != nullptr && uses_.ReadersOf(source).size() == 1;
    if (only_here && !maker->inputs.empty() && IsPart(maker->inputs[0], base)) {
      if (maker->op == "slice_scatter") {  // the same write, seen from the next axis
        write->inputs = maker->inputs;
        write->inputs[0] = base;
        write->attributes = maker->attributes;
        return Remove(maker);
      }
      if (IsOneOf(maker->op, {"add", "sub", "mul", "div"})) {
        write->inputs = {base, maker->inputs.size() > 1 ? maker->inputs[1] : ValueId()};
        write->attributes.Set("update", maker->op);
        return Remove(maker);
      }
    }
    const bool number =
        layers_[source].role == Role::kConstant || (maker != nullptr && IsOneOf(maker->op, {"full", "zeros", "ones"}));
    if (!number) return;
    write->inputs = {base, ValueId()};
    write->attributes.Set("update", std::string("fill"));
    if (only_here) Remove(maker);
  }

  Layers& layers_;
  const Uses uses_;
  Edit edit_;
  std::set<const Layer*> gone_;
  std::map<ValueId, ValueId> renamed_;
};

}  // namespace

void GatherWrites(Layers* layers) {
  const bool any = std::ranges::any_of(layers->layers, [](const Layer& layer) { return layer.op == "slice_scatter"; });
  if (any) Gathering(layers).Run();
}

}  // namespace vramplan
