#include "planner/timeline/class_axis.h"

#include <algorithm>
#include <array>
#include <utility>

namespace vramplan {
namespace {

constexpr int kLast = 2;

int At(int64_t axis) { return static_cast<int>(axis < 0 ? axis + kLast + 1 : axis); }

}  // namespace

int ClassAxis(const Layers& layers, ValueId output) {
  if (!output.valid() || layers[output].shape.rank() != kLast + 1) return kLast;
  std::array<int, 3> at = {0, 1, 2};  // by axis of `id`: the output's
  ValueId id = output;
  for (auto layer = layers.layers.rbegin(); layer != layers.layers.rend(); ++layer) {
    if (std::find(layer->outputs.begin(), layer->outputs.end(), id) == layer->outputs.end()) continue;
    const std::string_view op = layer->op;
    if (op.starts_with("conv") || op == "batch_norm") return at[1];
    if (op == "linear" || op == "layer_norm") return at[kLast];
    if ((op == "log_softmax" || op == "softmax") && layer->attributes.Has("dim"))
      return at[static_cast<size_t>(At(layer->attributes.Int("dim", -1)))];
    if (op == "transpose") {
      std::swap(at[static_cast<size_t>(At(layer->attributes.Int("dim0", 1)))],
                at[static_cast<size_t>(At(layer->attributes.Int("dim1", 2)))]);
    } else if (op == "permute") {
      const std::vector<int64_t> dims = layer->attributes.Ints("dims");
      if (dims.size() != at.size()) return kLast;
      const std::array<int, 3> before = at;
      for (size_t i = 0; i < dims.size(); ++i) at[static_cast<size_t>(At(dims[i]))] = before[i];
    }
    if (layer->inputs.empty() || !layer->inputs[0].valid()) return kLast;
    id = layer->inputs[0];
    if (layers[id].shape.rank() != kLast + 1) return kLast;
  }
  return kLast;
}

}  // namespace vramplan
