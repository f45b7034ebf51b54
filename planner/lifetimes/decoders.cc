#include "planner/lifetimes/decoders.h"

#include <algorithm>
#include <utility>

namespace vramplan {
namespace {

class Decoders {
 public:
  Decoders(const Layers& layers, const Statements& statements, Holds& release)
      : layers_(layers), statements_(statements), release_(release) {}

  void Hold() {
    for (const Layer& layer : layers_.layers) {
      if (layer.inputs.size() != 2 || !Made(layer.inputs[0]) || !Made(layer.inputs[1])) continue;
      if (layer.op == "add") HoldLateral(layer);
    }
  }

 private:
  bool Made(ValueId id) const { return id.valid() && statements_.MakerOf(id) >= 0; }
  const Layer& MakerOf(ValueId id) const { return layers_.layers[static_cast<size_t>(statements_.MakerOf(id))]; }
  // Whether a call of this frame returned it.
  bool IsResult(ValueId id, ModuleId frame) const {
    return statements_.IsInside(MakerOf(id).module, frame) &&
           statements_.StatementOf(statements_.MakerOf(id), frame).call.valid();
  }
  void Name(ValueId id, ModuleId frame) {
    const Release end = statements_.WithFrame(frame);
    vramplan::Hold(release_, id, {statements_.EndOfName(statements_.MakerOf(id), frame), end.holder});
  }

  // torchvision/ops/feature_pyramid_network.py; segmentation_models_pytorch/decoders/fpn/decoder.py.
  void HoldLateral(const Layer& sum) {
    ValueId lateral = sum.inputs[0], top_down = sum.inputs[1];
    if (MakerOf(lateral).op.starts_with("upsample")) std::swap(lateral, top_down);
    const Layer& resize = MakerOf(top_down);
    if (!resize.op.starts_with("upsample") || resize.module != sum.module || !IsResult(lateral, sum.module)) return;
    for (const ValueId id : {lateral, top_down, sum.outputs[0]}) Name(id, sum.module);
  }

  const Layers& layers_;
  const Statements& statements_;
  Holds& release_;
};

}  // namespace

void HoldDecoders(const Layers& layers, const Statements& statements, Holds& release) {
  Decoders(layers, statements, release).Hold();
}

}  // namespace vramplan
