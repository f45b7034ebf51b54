#include "graph/lift/noise.h"

#include <vector>

namespace vramplan {
namespace {

struct NoiseUse {
  int maker = -1, reader = -1;
  int readers = 0;
};

// One number for each sample, or one for all of them, as stochastic depth draws them.
bool IsBySample(const Shape& shape) {
  for (int i = 1; i < shape.rank(); ++i) {
    if (shape[i] != Dim(1)) return false;
  }
  return shape.rank() > 1;
}

}  // namespace

void TypeNoise(Layers* layers) {
  std::vector<NoiseUse> uses(layers->values.size());
  for (size_t l = 0; l < layers->layers.size(); ++l) {
    for (const ValueId id : layers->layers[l].inputs) {
      if (!id.valid()) continue;
      uses[static_cast<size_t>(id.value)].reader = static_cast<int>(l);
      ++uses[static_cast<size_t>(id.value)].readers;
    }
    for (const ValueId id : layers->layers[l].outputs) {
      if (id.valid()) uses[static_cast<size_t>(id.value)].maker = static_cast<int>(l);
    }
  }
  for (size_t l = 0; l < layers->layers.size(); ++l) {
    Layer& noise = layers->layers[l];
    if (noise.op != "bernoulli" || (!noise.inputs.empty() && noise.inputs[0].valid())) continue;
    ValueId made = noise.outputs[0];
    Layer *reader = nullptr, *scaling = nullptr;
    for (int steps = 0; steps < 2; ++steps) {
      const NoiseUse& use = uses[static_cast<size_t>(made.value)];
      if (use.readers != 1) break;
      reader = &layers->layers[static_cast<size_t>(use.reader)];
      if (reader->op != "div" || !reader->attributes.Has("scalar")) break;
      reader->attributes.Set("inplace", int64_t{1});
      made = reader->outputs[0];
      scaling = reader;
    }
    if (reader == nullptr || reader->op != "mul" || reader->inputs.size() != 2) continue;
    const ValueId like = reader->inputs[0] == made ? reader->inputs[1] : reader->inputs[0];
    const bool earlier = like.valid() && uses[static_cast<size_t>(like.value)].maker < static_cast<int>(l);
    if (!earlier) continue;
    noise.inputs = {ValueId(), like};
    if (!IsBySample((*layers)[made].shape)) continue;
    noise.attributes.Set("skipped-in-evaluation", int64_t{1});
    if (scaling != nullptr) scaling->attributes.Set("skipped-in-evaluation", int64_t{0});
    reader->attributes.Set("skipped-in-evaluation", int64_t{reader->inputs[0] == made ? 1 : 0});
  }
}

}  // namespace vramplan
