#include <algorithm>
#include <map>

#include "planner/timeline/run.h"

namespace vramplan {

eager::ParameterUses ModelRun::Uses() const {
  eager::ParameterUses uses;
  for (size_t l = 0; l < layers_.layers.size(); ++l) {
    for (ValueId id : layers_.layers[l].inputs) {
      if (!id.valid() || (layers_[id].role != Role::kParameter && layers_[id].role != Role::kBuffer)) continue;
      const eager::Tensor& tensor = resident_[static_cast<size_t>(id.value)];
      uses.layer_of.emplace(tensor.get(), static_cast<int32_t>(l));
      if (layers_.layers[l].op == "embedding" && layers_[id].role == Role::kParameter)
        uses.embeddings.push_back(tensor);
    }
  }
  return uses;
}

// Modules in the order of their first parameter, those without one last; a module's parameters before its buffers.
std::vector<eager::Tensor> ModelRun::StateDict() const {
  std::map<std::string, size_t> module_number;
  std::vector<std::vector<eager::Tensor>> of_modules;
  for (const auto* list : {&layers_.parameters, &layers_.buffers}) {
    for (ValueId id : *list) {
      const std::string& path = layers_[id].name;
      const std::string module = path.substr(0, std::min(path.rfind('.'), path.size()));
      const auto [place, fresh] = module_number.emplace(module, of_modules.size());
      if (fresh) of_modules.emplace_back();
      of_modules[place->second].push_back(resident_[static_cast<size_t>(id.value)]);
    }
  }
  std::vector<eager::Tensor> all;
  for (const auto& module : of_modules) all.insert(all.end(), module.begin(), module.end());
  return all;
}

std::map<ValueId, const Layer*> ModelRun::LastWeightsOfRecurrent(const std::vector<ValueId>& order) const {
  std::map<ValueId, size_t> position;
  std::map<ValueId, const Layer*> last_weights;
  for (const Layer& layer : layers_.layers) {
    if (layer.op != "lstm" && layer.op != "gru" && layer.op != "rnn") continue;
    for (size_t i = position.size(); i < order.size(); ++i) position.emplace(order[i], i);  // once
    ValueId last;
    for (const ValueId id : layer.inputs) {
      if (id.valid() && position.count(id) != 0 && (!last.valid() || position[id] > position[last])) last = id;
    }
    if (last.valid()) last_weights.emplace(last, &layer);
  }
  return last_weights;
}

// RNNBase._apply ends with flatten_parameters (torch/nn/modules/rnn.py): one block for all weights, of which they are
// parts from then on. cuDNN has room for biases there also when the module has none.
void ModelRun::FlattenWeights(const Layer& recurrent) {
  constexpr size_t kFirst = 3, kWithBiases = 4;
  const auto cells = static_cast<size_t>(recurrent.attributes.Int("num_layers", 1) *
                                         (recurrent.attributes.Int("bidirectional", 0) != 0 ? 2 : 1));
  const size_t each = (recurrent.inputs.size() - kFirst) / cells;
  std::vector<eager::Tensor> weights;
  int64_t numbers = 0;
  for (size_t i = kFirst; i < recurrent.inputs.size(); ++i) {
    const ValueId id = recurrent.inputs[i];
    if (!id.valid() || !resident_[static_cast<size_t>(id.value)]) return;  // tied to something that comes later
    const eager::Tensor& weight = resident_[static_cast<size_t>(id.value)];
    if ((i - kFirst) % each == 0 && each < kWithBiases) numbers += 2 * weight->lengths[0];
    numbers += weight->numel();
    weights.push_back(weight);
  }
  const eager::Tensor flat = e_.Empty(Shape{Dim(numbers)}, weights[0]->dtype);
  for (const eager::Tensor& weight : weights) weight->storage = flat->storage;
}

}  // namespace vramplan
