// Copies of training: code that makes the operand of a convolution contiguous in training alone, for the sake of
// DistributedDataParallel's gradients (graph/habits: kCopiedInTraining). Behind attention a map lies in memory with the
// channels last: the copy is what the convolution keeps, and what it makes is dense. Neither exporter keeps the call
// where the traced map was dense, nor says that evaluation does without.
//
//   if self.training: input_tensor = input_tensor.contiguous()
//   input_tensor = self.conv_shortcut(input_tensor)             conv2d(x) -> contiguous(x), conv2d
#include <cstdint>
#include <string>
#include <utility>

#include "graph/layers/edit.h"
#include "graph/layers/uses.h"
#include "graph/lift/any_export/passes.h"
#include "graph/lift/habit_of.h"

namespace vramplan {

void MakeCopiesOfTraining(Layers* layers) {
  const Uses uses(*layers);
  Edit edit(layers);
  for (size_t l = 0; l < layers->layers.size(); ++l) {
    Layer& layer = layers->layers[l];
    if (layer.op != "conv2d" || !layer.module.valid() || !layer.inputs[0].valid()) continue;
    const Module& module = (*layers)[layer.module];
    if (!module.parent.valid()) continue;
    const std::string& caller = (*layers)[module.parent].class_name;
    const NameHabit* habit = HabitOfName(module.path, NameHabit::Of::kCopiedInTraining, caller);
    if (habit == nullptr || (!caller.empty() && caller != habit->with)) continue;
    const Layer* maker = uses.MakerOf(layer.inputs[0]);
    if (maker != nullptr && maker->op == "contiguous" && maker->module == module.parent) {
      layers->layers[uses.PlaceOf(maker)].attributes.Set("skipped-in-evaluation", int64_t{0});
      continue;
    }
    Layer copy = CallBeside(layer, "contiguous", {layer.inputs[0]}, Named({{"skipped-in-evaluation", int64_t{0}}}));
    copy.module = module.parent;
    const Value& given = (*layers)[layer.inputs[0]];
    layer.inputs[0] = edit.InsertBefore(l, std::move(copy), {.type = given.type, .shape = given.shape});
  }
  edit.Apply();
}

}  // namespace vramplan
