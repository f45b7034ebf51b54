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
    bool has;
  };
  const Row rows[] = {
      {"torchvision.models.densenet.DenseNet", "net.features.norm5", true},
      {"mine.Net", "net.features.norm5", false},
      {"", "net.features.norm5", true},  // a file without classes
      {"torchvision.models.densenet.DenseNet", "net.features.norm4", false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.class_name);
    CAPTURE(row.path);
    // Of what the file has no call, it does not know the class.
    const Layers unknown = WithModules({{"", "mine.Model", {}}, {"net.features", "mine.Block", {}}});
    const Layers layers = WithModules({{"", "mine.Model", {}}, {"net", row.class_name, {}}});
    const auto habit_in = [&](const Layers& in) { return HabitOfPath(in, row.path, NameHabit::Of::kNormThenInPlace); };
    CHECK((habit_in(layers) != nullptr) == row.has);
    if (row.has) CHECK(habit_in(unknown) != nullptr);
  }
}

}  // namespace
}  // namespace vramplan
