#include "graph/layers/trained.h"

#include <algorithm>

namespace vramplan {

void SetTrained(Layers* layers, ValueId parameter, bool trained) {
  Value& value = layers->values[static_cast<size_t>(parameter.value)];
  value.role = trained && IsFloating(value.type) ? Role::kParameter : Role::kBuffer;
}

}  // namespace vramplan
