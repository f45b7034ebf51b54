#include "graph/lift/dynamo/folded.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

std::string PathsOf(const std::string& module, const ClassByPath& classes) {
  std::string paths;
  for (const ModuleFrame& frame : PathOfModule(module, "Conv2d", classes))
    paths += frame.path + ":" + frame.class_name + " ";
  return paths;
}

TEST_CASE("a module whose only call was folded away has the frames of its like") {
  const ClassByPath monai = {{"b", "Block"}, {"b.3", "Convolution"}, {"b.3.conv", "Conv3d"}, {"b.0", "Adn"}};
  CHECK(PathsOf("b.1.conv", monai) == "b:Block b.1:Convolution b.1.conv:Conv2d ");
  CHECK(PathsOf("b.1.N", monai) == "b:Block b.1.N:Conv2d ");  // no other member of the list has an N
  CHECK(PathsOf("c.1.conv", monai) == "c.1.conv:Conv2d ");
}

}  // namespace
}  // namespace vramplan
