#include "graph/layers/trained.h"

namespace vramplan {

void SetTrained(Layers* layers, ValueId parameter, bool trained) {
  Value& value = layers->values[parameter.index()];
  value.role = trained && IsFloating(value.type) ? Role::kParameter : Role::kBuffer;
}

void MakeBuffer(Layers* layers, ValueId id) {
  if (std::erase(layers->parameters, id) == 0) return;
  layers->buffers.push_back(id);
  layers->values[id.index()].role = Role::kBuffer;
}

}  // namespace vramplan
