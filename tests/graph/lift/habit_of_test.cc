#include "graph/lift/habit_of.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

Layers WithModules(std::vector<Module> modules) {
  Layers layers;
  layers.modules = std::move(modules);
  return layers;
}

TEST_CASE("habits: the class that has something of a name says whose habit it is") {
  struct Row {
    const char* class_name;  // of "net", which has the parameters
    const char* path;
    NameHabit::Of of;
    bool anywhere, has;
  };
  constexpr auto kPopped = NameHabit::Of::kPoppedFeatures;
  constexpr auto kHead = NameHabit::Of::kHeadOutOfPlace;
  const Row rows[] = {
      {"monai.networks.nets.segresnet_ds.SegResNetDS", "net.up_layers.0.upsample.conv.weight", kPopped, true, true},
      {"mine.Decoder", "net.up_layers.0.upsample.conv.weight", kPopped, true, false},
      {"", "net.up_layers.0.upsample.conv.weight", kPopped, true, true},  // a file without classes
      {"", "net.layers.0.upsample.conv.weight", kPopped, true, false},
      {"torchvision.models.segmentation.fcn.FCN", "net.classifier.2", kHead, true, true},
      {"mine.Net", "net.classifier.2", kHead, true, false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.class_name);
    CAPTURE(row.path);
    // Of what the file has no call, it does not know the class.
    const Layers unknown = WithModules({{"", "mine.Model", {}}, {"net.up_layers.0", "mine.Block", {}}});
    const Layers layers = WithModules({{"", "mine.Model", {}}, {"net", row.class_name, {}}});
    const auto habit_in = [&](const Layers& in) {
      return row.anywhere ? HabitInPath(in, row.path, row.of) : HabitOfPath(in, row.path, row.of);
    };
    CHECK((habit_in(layers) != nullptr) == row.has);
    if (row.has) CHECK(habit_in(unknown) != nullptr);
  }
}

}  // namespace
}  // namespace vramplan
