// Noise: torchvision's StochasticDepth and timm's DropPath make noise like what they multiply with it, and scale it in
// place:
//
//   noise = torch.empty(shape, dtype=input.dtype); noise.bernoulli_(p); noise.div_(p); return input * noise
//
// A file in fp32 says neither: under autocast an fp32 noise would make the product, and all behind it, fp32. Nor does
// an export in training mode say that evaluation does none of it ("if not self.training: return x"), whether a number
// is drawn for a sample or for each of its channels, as dropouts written by hand do (salesforce/awd-lstm-lm,
// locked_dropout.py).

#include "graph/layers/uses.h"
#include "graph/lift/any_export/passes.h"

namespace vramplan {

void TypeNoise(Layers* layers) {
  const Uses uses(*layers);
  for (size_t l = 0; l < layers->layers.size(); ++l) {
    Layer& noise = layers->layers[l];
    if (noise.op != "bernoulli" || (!noise.inputs.empty() && noise.inputs[0].valid())) continue;
    ValueId made = noise.outputs[0];
    Layer *reader = nullptr, *scaling = nullptr;
    for (int steps = 0; steps < 2; ++steps) {
      const Layer* only = uses.OnlyReaderOf(made);
      if (only == nullptr) break;
      reader = &layers->layers[uses.PlaceOf(only)];
      if (reader->op != "div" || !reader->attributes.Has("scalar")) break;
      reader->attributes.Set("inplace", int64_t{1});
      made = reader->outputs[0];
      scaling = reader;
    }
    if (reader == nullptr || reader->op != "mul" || reader->inputs.size() != 2) continue;
    const ValueId like = reader->inputs[0] == made ? reader->inputs[1] : reader->inputs[0];
    if (!like.valid() || uses.PlaceOfMaker(like) >= static_cast<int>(l)) continue;
    noise.inputs = {ValueId(), like};
    if ((*layers)[made].shape == (*layers)[like].shape) continue;  // a VAE's, which evaluation may draw, too
    noise.attributes.Set("skipped-in-evaluation", int64_t{1});
    if (scaling != nullptr) scaling->attributes.Set("skipped-in-evaluation", int64_t{0});
    reader->attributes.Set("skipped-in-evaluation", int64_t{reader->inputs[0] == made ? 1 : 0});
  }
}

}  // namespace vramplan
