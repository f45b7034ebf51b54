#include "graph/lift/any_export/creations.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

Layers File(const std::string& nodes) {
  return testing::Lifted(R"(
    <ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch", producer_version: "2.10.0">
    agraph (float[batch, 8] x, int64[batch, 8] i) => (float[batch, 8] y) {
)" + nodes + "\n }");
}

TEST_CASE("zeros take the type of what the file says they are like") {
  using Lines = std::vector<std::string>;
  CHECK(testing::LinesOf(File("h = Neg (x)\n s = Shape (h)\n z = ConstantOfShape (s)\n y = Add (z, h)")) ==
        Lines{"neg(x) -> [B, 8]", "zeros(h) -> [B, 8]", "add(z, h) -> [B, 8]"});
  // Sizes that were computed: torch.zeros and new_zeros look alike, and what is added to them tells.
  const std::string computed = "h = Neg (x)\n s = Shape (i)\n z = ConstantOfShape (s)\n";
  CHECK(testing::LinesOf(File(computed + "y = ScatterElements <axis = 0, reduction = \"add\"> (z, i, h)")) ==
        Lines{"neg(x) -> [B, 8]", "zeros(h) -> [B, 8]", "scatter_add(z, i, h) -> [B, 8]"});
}

TEST_CASE("what torch_geometric's aggregations add to, they write into") {
  for (const char* path : {"convs.0.aggr_module", "convs.0"}) {
    CAPTURE(path);
    Layers layers = File(
        "h = Neg (x)\n s = Shape (i)\n z = ConstantOfShape (s)\n"
        "y = ScatterElements <axis = 0, reduction = \"add\"> (z, i, h)");
    layers.modules = {{"", "", {}}, {path, "", ModuleId{0}}};
    for (Layer& layer : layers.layers) {
      layer.module = ModuleId{1};
      layer.nodes.clear();
    }
    TypeCreations(Graph(), &layers);
    const bool writes = std::string(path).ends_with("aggr_module");
    CHECK(layers.layers.back().attributes.Int("inplace", 0) == (writes ? 1 : 0));
  }
}

TEST_CASE("ones that are scattered into fresh zeros are written in place") {
  const std::string zeros =
      "s = Shape (i)\n z = ConstantOfShape (s)\n one = Constant <value = float {1.0}> ()\n o = Expand (one, s)\n";
  const auto writes = [&](const std::string& rest) {
    const Layers layers = File(zeros + rest);
    const auto scatter = std::ranges::find_if(layers.layers, [](const Layer& layer) { return layer.op == "scatter"; });
    REQUIRE(scatter != layers.layers.end());
    return scatter->attributes.Int("inplace", 0) != 0;
  };
  CHECK(writes("y = ScatterElements <axis = 1> (z, i, o)"));
  CHECK(!writes("y = ScatterElements <axis = 1> (z, i, x)"));                   // scatter, or scatter_: a reading
  CHECK(!writes("h = ScatterElements <axis = 1> (z, i, o)\n y = Mul (h, z)"));  // the zeros are read again
  CHECK(!writes("h = Neg (x)\n a = ScatterElements <axis = 1> (h, i, o)\n y = Add (a, z)"));
}

TEST_CASE("an integer has no type to take") {
  Layers layers =
      File("s = Shape (x)\n z = ConstantOfShape <value = int64 {0}> (s)\n f = Cast <to = 1> (z)\n y = Add (f, x)");
  REQUIRE(!layers.layers.empty());
  CHECK(IsCreation(layers.layers[0]));
  CHECK(!IsUntypedCreation(layers, layers.layers[0]));
}

}  // namespace
}  // namespace vramplan
