#include "graph/lift/torchscript/added_products.h"

#include <doctest/doctest.h>

#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

// add(mul(matmul(a, b), 1.0), mul(c, 1.0)); without factors where `factors` is false.
Layers Sum(bool factors, int axes) {
  LayersByHand hand;
  const Shape left = axes == 3 ? Shape{Dim::Batch(), 8, 16} : Shape{8, 16};
  const Shape right = axes == 3 ? Shape{Dim::Batch(), 16, 4} : Shape{16, 4};
  const Shape sum = axes == 3 ? Shape{Dim::Batch(), 8, 4} : Shape{8, 4};
  const ValueId a = hand.Input("a", left), b = hand.Input("b", right), c = hand.Input("c", sum);
  const auto scaled = [&](ValueId id) {
    if (!factors) return id;
    const ValueId product = hand.Add("mul", {id, ValueId()}, sum);
    hand.attributes().Set("scalar", 1.0);
    return product;
  };
  const ValueId product = scaled(hand.Add("matmul", {a, b}, sum));
  hand.layers.outputs = {hand.Add("add", {product, scaled(c)}, sum)};
  GatherAddedProducts(&hand.layers);
  return hand.layers;
}

TEST_CASE("a product of batches with a factor, and a sum with another: baddbmm") {
  const Layers layers = Sum(true, 3);
  CHECK(OperatorsOf(layers) == "baddbmm");
  REQUIRE(layers.layers.size() == 1);
  CHECK(layers.layers[0].inputs == std::vector<ValueId>{ValueId{2}, ValueId{0}, ValueId{1}});
}

TEST_CASE("a sum that somebody wrote stays one, and so does a product of matrices") {
  CHECK(OperatorsOf(Sum(false, 3)) == "matmul add");
  CHECK(OperatorsOf(Sum(true, 2)) == "matmul mul mul add");
}

}  // namespace
}  // namespace vramplan
