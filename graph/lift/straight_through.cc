#include "graph/lift/straight_through.h"

#include <set>
#include <utility>
#include <vector>

#include "graph/lift/walk.h"

namespace vramplan {
namespace {

bool IsPlain(const Layer& layer) {  // x + y, x - y: no factor, no number
  return layer.inputs.size() == 2 && layer.inputs[0].valid() && layer.inputs[1].valid() &&
         layer.attributes.Real("alpha", 1.0) == 1.0;
}

// Which operand of `add` is the difference that nobody else reads; -1: none is.
int DifferenceOf(const Walk& walk, const Layer& add) {
  for (const size_t i : {1, 0}) {
    const Layer* sub = walk.Operand(&add, i, "sub");
    if (sub == nullptr || !IsPlain(*sub) || walk.OnlyReaderOf(add.inputs[i]) != &add) continue;
    if (walk.BehindViews(sub->inputs[1]) == walk.BehindViews(add.inputs[1 - i])) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

void DetachStraightThrough(Layers* layers) {
  std::vector<std::pair<size_t, int>> found;
  {
    const Walk walk(*layers);
    for (const Layer& layer : layers->layers) {
      const bool may_be = layer.op == "add" && layer.evidence != Evidence::kProvenance && IsPlain(layer);
      const int operand = may_be ? DifferenceOf(walk, layer) : -1;
      if (operand >= 0) found.emplace_back(walk.PlaceOf(&layer), operand);
    }
  }
  if (found.empty()) return;
  std::vector<Layer> out;
  auto next = found.begin();
  for (size_t place = 0; place < layers->layers.size(); ++place) {
    Layer& layer = layers->layers[place];
    if (next != found.end() && next->first == place) {
      ValueId& difference = layer.inputs[static_cast<size_t>(next->second)];
      Value value = (*layers)[difference];
      value.name += ".detach";
      Layer detach{.op = "detach", .name = value.name, .inputs = {difference}};
      detach.module = layer.module;
      detach.evidence = layer.evidence;
      layers->values.push_back(std::move(value));
      difference = ValueId{static_cast<int32_t>(layers->values.size()) - 1};
      detach.outputs = {difference};
      out.push_back(std::move(detach));
      ++next;
    }
    out.push_back(std::move(layer));
  }
  layers->layers = std::move(out);
}

}  // namespace vramplan
