#include <doctest/doctest.h>

#include <string>

#include "graph/lift/any_export/passes.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

TEST_CASE("what a class makes contiguous in training alone is copied in front of its convolution") {
  // diffusers/models/resnet.py 0.42, ResnetBlock2D.forward; in a file without classes the name tells.
  struct Row {
    const char *class_name, *call;
    bool copied;
  };
  for (const Row& row : {Row{"diffusers.models.resnet.ResnetBlock2D", "m.conv_shortcut", true},
                         Row{"diffusers.models.resnet.ResnetBlock2D", "m.conv1", false},
                         Row{"diffusers.models.resnet.ResnetBlockCondNorm2D", "m.conv_shortcut", false},
                         Row{"mine.ResnetBlock2D", "m.conv_shortcut", false}, Row{"", "m.conv_shortcut", true},
                         Row{"", "m.conv1", false}}) {
    CAPTURE(row.class_name);
    CAPTURE(row.call);
    for (const bool kept : {false, true}) {  // by the exporter
      LayersByHand hand(row.class_name);
      const Shape map{Dim::Batch(), 8, 16, 16};
      hand.layers.modules.push_back(
          {.path = row.call, .class_name = "torch.nn.modules.conv.Conv2d", .parent = ModuleId{1}});
      ValueId x = hand.Input("x", map);
      if (kept) x = hand.Add("contiguous", {x}, map);
      hand.layers.outputs = {hand.Add("conv2d", {x, hand.Parameter("w", {4, 8, 1, 1})}, {Dim::Batch(), 4, 16, 16})};
      hand.layers.layers.back().module = ModuleId{2};
      MakeCopiesOfTraining(&hand.layers);
      CHECK(OperatorsOf(hand.layers) == (kept || row.copied ? "contiguous conv2d" : "conv2d"));
      const Layer& first = hand.layers.layers.front();
      CHECK(first.attributes.Has("skipped-in-evaluation") == row.copied);
      if (!row.copied) continue;
      CHECK(first.module == ModuleId{1});
      CHECK(hand.layers.layers[1].inputs[0] == first.outputs[0]);
    }
  }
}

}  // namespace
}  // namespace vramplan
