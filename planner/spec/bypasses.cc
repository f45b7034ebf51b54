#include "planner/spec/bypasses.h"

#include <algorithm>
#include <optional>
#include <set>

#include "graph/base/text.h"
#include "graph/layers/uses.h"

namespace vramplan {
namespace {

// A matrix product with a parameter: linear(x, W), or matmul(x, W turned).
struct Product {
  ValueId input, weight;
  int64_t few = 0, many = 0;  // the shorter and the longer side of the weight
};

class PairFinder {
 public:
  explicit PairFinder(const Layers& layers) : layers_(layers), uses_(layers) {}

  // The pair beside the linear layer of this sum: first what x goes down with. The sum may be with a part of what the
  // layer made: q and v, which LoRA adapts (arXiv 2106.09685, 4.2), of one projection of qkv.
  std::optional<std::pair<ValueId, ValueId>> PairOf(const Layer& sum) const {
    if (sum.op != "add" || sum.inputs.size() != 2) return std::nullopt;
    for (const size_t side : {0, 1}) {
      const std::optional<Product> base =
          ProductAt(uses_.Behind({"split", "chunk", "slice", "select", "unbind"}, sum.inputs[side]));
      const std::optional<Product> up = base ? ProductAt(Behind(sum.inputs[1 - side])) : std::nullopt;
      const std::optional<Product> down = up ? ProductAt(Behind(up->input)) : std::nullopt;
      if (!down || Behind(down->input) != Behind(base->input)) continue;
      const bool meet = up->few == down->few && 2 * up->few <= std::min(up->many, down->many);
      if (meet && base->weight != up->weight && up->weight != down->weight) return {{down->weight, up->weight}};
    }
    return std::nullopt;
  }

  std::optional<Product> ProductAt(ValueId id) const {
    const Layer* maker = uses_.MakerOf(id);
    if (maker == nullptr || (maker->op != "linear" && maker->op != "matmul") || maker->inputs.size() < 2) return {};
    ValueId weight = maker->inputs[1];
    const Layer* turned = uses_.MakerOf(weight);
    if (turned != nullptr && IsOneOf(turned->op, {"t", "transpose", "permute"})) weight = turned->inputs[0];
    if (!weight.valid() || layers_[weight].role != Role::kParameter) return {};
    const Shape& shape = layers_[weight].shape;
    if (shape.rank() != 2 || !shape[0].IsConstant() || !shape[1].IsConstant()) return {};
    const auto [few, many] = std::minmax({shape[0].c0(), shape[1].c0()});
    return Product{maker->inputs[0], weight, few, many};
  }

 private:
  // Behind dropouts, casts and scales.
  ValueId Behind(ValueId id) const {
    for (const Layer* maker = uses_.MakerOf(id); maker != nullptr; maker = uses_.MakerOf(id)) {
      const bool scaled = IsOneOf(maker->op, {"mul", "div"}) && (maker->inputs.size() < 2 || !maker->inputs[1].valid());
      if (!scaled && !IsOneOf(maker->op, {"dropout", "float", "to", "type_as"})) break;
      id = maker->inputs[0];
    }
    return id;
  }

  const Layers& layers_;
  const Uses uses_;
};

// Before a table of uses is made: whether two matrices are so narrow.
bool MayHave(const Layers& layers) {
  return std::ranges::count_if(layers.parameters, [&](ValueId id) {
           const Shape& shape = layers[id].shape;
           if (shape.rank() != 2 || !shape[0].IsConstant() || !shape[1].IsConstant()) return false;
           return 2 * std::min(shape[0].c0(), shape[1].c0()) <= std::max(shape[0].c0(), shape[1].c0());
         }) >= 4;
}

// "*.a" where all parameters of that name are of pairs, and the names of the others.
std::vector<TrainedPattern> PatternsOf(const Layers& layers, const std::set<ValueId>& pairs) {
  std::set<std::string> globs, others;
  for (const ValueId id : layers.parameters) {
    const std::string& name = layers[id].name;
    const std::string glob = "*" + name.substr(std::min(name.rfind('.'), name.size()));
    (pairs.contains(id) ? globs : others).insert(glob);
  }
  std::vector<TrainedPattern> patterns;
  for (const std::string& glob : globs) {
    if (glob.size() > 1 && !others.contains(glob)) patterns.push_back({glob, true});
  }
  std::set<std::string> named;
  for (const ValueId id : pairs) {
    const std::string& name = layers[id].name;
    const bool covered =
        std::ranges::any_of(patterns, [&](const TrainedPattern& p) { return MatchesGlob(p.glob, name); });
    if (!covered && named.insert(name).second) patterns.push_back({name, true});
  }
  return patterns;
}

}  // namespace

Bypasses FindBypasses(const Layers& layers) {
  if (!MayHave(layers)) return {};
  const PairFinder finder(layers);
  Bypasses found;
  std::set<ValueId> parameters;
  std::optional<Product> last;
  for (const Layer& layer : layers.layers) {
    if (const auto pair = finder.PairOf(layer)) {
      if (found.pairs++ == 0) found.first = layers[pair->first].name;
      parameters.insert(pair->first);
      parameters.insert(pair->second);
    }
    if (layer.op == "linear") last = finder.ProductAt(layer.outputs[0]);
  }
  if (found.pairs < 2) return {};
  found.patterns = PatternsOf(layers, parameters);
  // A classifier of its own is trained beside the pairs; the output table of a language model is not.
  constexpr int64_t kHead = 8;
  if (last && kHead * last->few <= last->many && !parameters.contains(last->weight)) {
    const std::string& name = layers[last->weight].name;
    found.patterns.push_back({name.substr(0, std::min(name.rfind('.'), name.size())) + ".*", true});
  }
  return found;
}

}  // namespace vramplan
