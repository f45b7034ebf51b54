#include "planner/runtimes/buffer_plan.h"

#include <algorithm>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "graph/base/check.h"

namespace vramplan {
namespace {

class Planner {
 public:
  explicit Planner(const Layers& given) : given_(given), uses_(given.values.size()) {
    plan_.values.resize(given.values.size());
  }

  BufferPlan Run() {
    for (size_t v = 0; v < given_.values.size(); ++v) {
      const ValueId id{static_cast<int32_t>(v)};
      plan_.values[v].owner = id;
      const Role role = given_[id].role;
      if (role != Role::kInput && role != Role::kParameter) continue;
      plan_.values[v].kind = BufferPlan::Kind::kGiven;
      uses_[v] = 1;  // never let go
    }
    CountUses();
    for (size_t l = 0; l < given_.layers.size(); ++l) {
      const Layer& layer = given_.layers[l];
      for (size_t i = 0; i < layer.outputs.size(); ++i) {
        if (layer.outputs[i].valid()) Place(layer, i);
      }
      for (const ValueId input : layer.inputs) Release(input, static_cast<int32_t>(l), true);
      for (const ValueId output : layer.outputs) Release(output, static_cast<int32_t>(l), false);
    }
    return std::move(plan_);
  }

 private:
  using Kind = BufferPlan::Kind;
  BufferPlan::Value& At(ValueId id) { return plan_.values[static_cast<size_t>(id.value)]; }
  int& Uses(ValueId id) { return uses_[static_cast<size_t>(id.value)]; }

  // ComputeReuseCount: one for the definition, one a reader, one for the caller.
  void CountUses() {
    for (const Layer& layer : given_.layers) {
      for (const ValueId input : layer.inputs) {
        if (input.valid()) ++Uses(input);
      }
      for (const ValueId output : layer.outputs) {
        if (output.valid()) ++Uses(output);
      }
    }
    for (const ValueId output : given_.outputs) {
      ++Uses(output);
      is_output_.insert(output);
    }
  }

  void Place(const Layer& layer, size_t output) {
    const ValueId made = layer.outputs[output];
    if (is_output_.count(made) != 0) {
      At(made).kind = Kind::kOutput;
    } else if (const std::optional<ValueId> input = ReusableInput(layer, output)) {
      Share(*input, made);
    } else if (const std::optional<ValueId> free = ReusableBuffer(made)) {
      Share(*free, made);
    } else {
      At(made).kind = Kind::kOwn;
    }
  }

  // FindReusableInput
  std::optional<ValueId> ReusableInput(const Layer& layer, size_t output) {
    if (output != 0 || layer.inputs.empty() || !layer.inputs[0].valid()) return std::nullopt;
    const ValueId input = layer.inputs[0];
    if (At(input).kind == Kind::kHost) return std::nullopt;
    const InPlace in_place = InPlaceOf(layer);
    if (in_place == InPlace::kMust) return input;
    const bool last_reader = Uses(At(input).owner) == 1;
    if (in_place == InPlace::kMay && last_reader && SameSize(input, layer.outputs[0])) return input;
    return std::nullopt;
  }

  // SameSize: of the shapes, not of their products.
  bool SameSize(ValueId a, ValueId b) const {
    const Value& x = given_[a];
    const Value& y = given_[b];
    return x.shape.known() && y.shape.known() && x.shape == y.shape && BitWidth(x.type) == BitWidth(y.type);
  }

  // FindReusableTensor: the one that became free last.
  std::optional<ValueId> ReusableBuffer(ValueId made) {
    if (given_[made].shape.rank() == 0) return std::nullopt;
    const auto found = std::find_if(free_.begin(), free_.end(), [&](ValueId free) { return SameSize(free, made); });
    if (found == free_.end()) return std::nullopt;
    const ValueId owner = *found;
    free_.erase(found);
    return owner;
  }

  // Reuse
  void Share(ValueId with, ValueId made) {
    const ValueId owner = At(with).owner;
    At(made).kind = Kind::kShared;
    At(made).owner = owner;
    Uses(owner) += Uses(made);
  }

  void Release(ValueId id, int32_t layer, bool reads) {
    if (!id.valid() || At(id).kind == Kind::kHost) return;
    const ValueId owner = At(id).owner;
    if (reads) At(owner).last_reader = layer;
    if (--Uses(owner) == 0) free_.push_front(owner);
  }

  const Layers& given_;
  BufferPlan plan_;
  std::vector<int> uses_;  // by value; of owners: what is left
  std::set<ValueId> is_output_;
  std::list<ValueId> free_;
};

}  // namespace

// Which kernels: seen with the CUDA provider of ONNX Runtime 1.31, one operator at a time between two transposes: with
// two buffers the second run asks for a pattern of twice the tensor (tests/data/onnxruntime/in_place.csv).
InPlace InPlaceOf(const Layer& layer) {
  static const std::map<std::string, InPlace> kKernels = {
      {"Reshape", InPlace::kMust},
      {"Flatten", InPlace::kMust},
      {"Squeeze", InPlace::kMust},
      {"Unsqueeze", InPlace::kMust},
      {"Identity", InPlace::kMust},
      {"Dropout", InPlace::kMust},  // of inference: taken out of the graph (core/optimizer/dropout_elimination.cc)
      {"Relu", InPlace::kMay},
      {"Sigmoid", InPlace::kMay},
      {"Tanh", InPlace::kMay},
      {"Elu", InPlace::kMay},
      {"LeakyRelu", InPlace::kMay},
      {"Selu", InPlace::kMay},
      {"Softplus", InPlace::kMay},
      {"Softsign", InPlace::kMay},
      {"ThresholdedRelu", InPlace::kMay},
      {"HardSigmoid", InPlace::kMay},
      {"HardSwish", InPlace::kMay},
      {"Gelu", InPlace::kMay},
      {"com.microsoft.Gelu", InPlace::kMay},
      {"com.microsoft.QuickGelu", InPlace::kMay},
      {"Trilu", InPlace::kMay},
      {"ScatterND", InPlace::kMay},
  };
  const auto found = kKernels.find(layer.op);
  return found == kKernels.end() ? InPlace::kNo : found->second;
}

BufferPlan PlanBuffers(const Layers& given) { return Planner(given).Run(); }

}  // namespace vramplan
