#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/layers/edit.h"
#include "graph/layers/trained.h"
#include "graph/lift/recorded/recorded.h"

namespace vramplan {
namespace {

Shape ShapeOf(const RecordedTensor& tensor) {
  Shape shape;
  for (const int64_t length : tensor.shape) shape.Append(length);
  return shape;
}

class Tensors {
 public:
  explicit Tensors(Layers* layers) : layers_(*layers) {
    for (const auto* list : {&layers_.parameters, &layers_.buffers}) {
      for (const ValueId id : *list) listed_.emplace(layers_[id].name, id);
    }
    for (size_t v = 0; v < layers_.values.size(); ++v) {
      const Value& value = layers_.values[v];
      const ValueId id{static_cast<int32_t>(v)};
      if (value.role == Role::kConstant || IsStored(value)) listed_.emplace(value.name, id);
    }
  }

  void Take(const std::vector<RecordedTensor>& parameters, const std::vector<RecordedTensor>& buffers) {
    for (const auto* list : {&parameters, &buffers}) {
      for (const RecordedTensor& tensor : *list) names_.insert(tensor.name);
    }
    Edit edit(&layers_);
    std::vector<ValueId> trained = Found(parameters, &edit), kept = Found(buffers, &edit);
    // A parameter that no fact lists is not on the card before a step: the code makes it.
    for (const ValueId id : layers_.parameters) {
      if (taken_.contains(id)) continue;
      layers_.values[id.index()].role = Role::kBuffer;
      if (!renamed_.contains(id)) kept.push_back(id);
    }
    for (const ValueId id : layers_.buffers) {
      if (!taken_.contains(id) && !renamed_.contains(id)) kept.push_back(id);
    }
    layers_.parameters = std::move(trained);
    layers_.buffers = std::move(kept);
    edit.Apply();
    const std::set<ValueId> buffer_ids(layers_.buffers.begin(), layers_.buffers.end());
    for (const RecordedTensor& tensor : parameters) {
      if (tensor.same_as.empty() && !buffer_ids.contains(ids_.at(tensor.name)))
        SetTrained(&layers_, ids_.at(tensor.name), tensor.trained);
    }
  }

  // A table that no fact lists is no tensor of a module: the code makes it in each forward, and an export folded that.
  void MakeInTheForward() {
    Edit edit(&layers_);
    std::set<ValueId> made;
    for (size_t l = 0; l < layers_.layers.size(); ++l) {
      for (const ValueId id : layers_.layers[l].inputs) {
        if (!id.valid() || layers_[id].role != Role::kConstant || layers_[id].shape.rank() == 0) continue;
        if (taken_.contains(id) || !made.insert(id).second) continue;
        edit.InsertBefore(
            l,
            {.op = "arange", .name = "made " + layers_[id].name, .outputs = {id}, .module = layers_.layers[l].module});
      }
    }
    edit.Apply();
    for (const ValueId id : made) layers_.values[id.index()].role = Role::kActivation;
  }

 private:
  std::vector<ValueId> Found(const std::vector<RecordedTensor>& tensors, Edit* edit) {
    std::vector<ValueId> found;
    for (const RecordedTensor& tensor : tensors) {
      const auto first = ids_.find(tensor.same_as);
      const ValueId id = first != ids_.end() ? first->second : IdOf(tensor);
      ids_.emplace(tensor.name, id);
      const auto own = listed_.find(tensor.name);
      if (first != ids_.end() && own != listed_.end() && own->second != id && !taken_.contains(own->second)) {
        edit->Rename(own->second, id);
        renamed_.insert(own->second);
      }
      if (taken_.insert(id).second) found.push_back(id);
    }
    return found;
  }

  ValueId IdOf(const RecordedTensor& tensor) {
    if (const auto own = listed_.find(tensor.name); own != listed_.end()) return WithRole(own->second);
    // Where an exporter turned a matrix around it has another name: the first of as many elements that no fact lists.
    const Shape shape = ShapeOf(tensor);
    for (const ValueId id : layers_.parameters) {
      const Value& value = layers_[id];
      if (names_.contains(value.name) || taken_.contains(id) || value.type != tensor.type) continue;
      if (value.shape.Elements() == shape.Elements() && shape.rank() > 1) return WithRole(id);
    }
    return layers_.Add({tensor.name, tensor.type, shape, Role::kBuffer});
  }

  ValueId WithRole(ValueId id) {
    if (!IsStored(layers_[id])) layers_.values[id.index()].role = Role::kBuffer;
    return id;
  }

  Layers& layers_;
  std::unordered_map<std::string, ValueId> listed_;  // of the file, by name
  std::unordered_map<std::string, ValueId> ids_;     // of the facts, by name
  std::set<std::string> names_;
  std::set<ValueId> taken_, renamed_;
};

}  // namespace

void TakeRecordedTensors(const Facts& facts, Layers* layers) {
  if (!facts.parameters || !facts.buffers) return;
  Tensors tensors(layers);
  tensors.Take(*facts.parameters, *facts.buffers);
  tensors.MakeInTheForward();
  layers->told.tensors = true;
}

}  // namespace vramplan
