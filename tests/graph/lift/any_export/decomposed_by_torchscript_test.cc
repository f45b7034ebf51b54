#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "graph/lift/any_export/decomposed.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

TEST_CASE("half times sigmoid of the other half is one glu, when nothing else reads them") {
  for (const bool shared : {false, true}) {
    LayersByHand hand;
    const ValueId x = hand.Input("x", {Dim::Batch(), 8});
    const ValueId a = hand.Add("split", {x}, {Dim::Batch(), 4});
    hand.attributes().Set("dim", int64_t{1});
    hand.layers.values.push_back(hand.layers[a]);
    const ValueId b{static_cast<int32_t>(hand.layers.values.size()) - 1};
    hand.layers.layers.back().outputs.push_back(b);
    const ValueId gate = hand.Add("sigmoid", {b}, {Dim::Batch(), 4});
    const ValueId y = hand.Add("mul", {a, gate}, {Dim::Batch(), 4});
    hand.layers.outputs = {shared ? hand.Add("add", {y, gate}, {Dim::Batch(), 4}) : y};
    GatherDecomposedCalls(&hand.layers);
    CHECK(OperatorsOf(hand.layers) == (shared ? "split sigmoid mul add" : "glu"));
    if (!shared) CHECK(hand.layers.layers[0].inputs == std::vector<ValueId>{x});
  }
}

TEST_CASE("F.linear with a bias that is computed: the exporter puts it first") {
  for (const bool first : {true, false}) {
    LayersByHand hand;
    const Shape wide{Dim::Batch(), 4, 6};
    const ValueId x = hand.Input("x", {Dim::Batch(), 4, 3}), w = hand.Parameter("w", {6, 3}),
                  q = hand.Parameter("q", {3});
    const ValueId bias = hand.Add("cat", {q, q}, {6}), product = hand.Add("linear", {x, w}, wide);
    hand.layers.outputs = {hand.Add("add", first ? std::vector{bias, product} : std::vector{product, bias}, wide)};
    GatherDecomposedCalls(&hand.layers);
    CHECK(OperatorsOf(hand.layers) == (first ? "cat linear" : "cat linear add"));
    if (first) CHECK(hand.layers.layers[1].inputs == std::vector{x, w, bias});
  }
}

TEST_CASE("in a dynamo export, which names glu, a gate is the program's own") {
  LayersByHand hand;
  const ValueId x = hand.Input("x", {Dim::Batch(), 8});
  const ValueId a = hand.Add("split", {x}, {Dim::Batch(), 4});
  hand.layers.values.push_back(hand.layers[a]);
  const ValueId b{static_cast<int32_t>(hand.layers.values.size()) - 1};
  hand.layers.layers.back().outputs.push_back(b);
  hand.layers.outputs = {hand.Add("mul", {a, hand.Add("sigmoid", {b}, {Dim::Batch(), 4})}, {Dim::Batch(), 4})};
  hand.layers.layers.back().evidence = Evidence::kProvenance;
  GatherDecomposedCalls(&hand.layers);
  CHECK(OperatorsOf(hand.layers) == "split sigmoid mul");
}

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
  GatherDecomposedCalls(&hand.layers);
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

// What torch_geometric's scatter(reduce="max") writes where it is exported.
Layers Exported(bool of_same_tensor, bool same_places) {
  const Shape nodes{8, 4}, edges{20, 4};
  LayersByHand hand;
  const ValueId src = hand.Input("src", edges), other = hand.Input("other", edges);
  const ValueId index = hand.Input("index", edges), elsewhere = hand.Input("elsewhere", edges);
  const ValueId least = hand.Add("amin", {of_same_tensor ? src : other}, {});
  const ValueId fill = hand.Add("add", {hand.Add("zeros", {}, {1}), least}, {1});
  const ValueId spread = hand.Add("expand", {fill}, edges);
  const ValueId zeros = hand.Add("zeros", {}, nodes);
  const ValueId begin = hand.Add("scatter_reduce", {zeros, same_places ? index : elsewhere, spread}, nodes);
  hand.layers.outputs = {hand.Add("scatter_reduce", {begin, index, src}, nodes)};
  hand.attributes().Set("reduce", std::string("amax"));
  GatherDecomposedCalls(&hand.layers);
  return hand.layers;
}

TEST_CASE("two reductions by index, the first of the least value: one in place that leaves self out") {
  const Layers gathered = Exported(true, true);
  REQUIRE(OperatorsOf(gathered) == "zeros scatter_reduce");
  CHECK(gathered.layers[1].attributes.Int("include_self", 1) == 0);
  CHECK(gathered.layers[1].attributes.Int("inplace", 0) == 1);
  CHECK(gathered.layers[1].attributes.Text("reduce", "") == "amax");
  CHECK(gathered.layers[1].inputs[0] == gathered.layers[0].outputs[0]);
  const std::string as_given = "amin zeros add expand zeros scatter_reduce scatter_reduce";
  CHECK(OperatorsOf(Exported(false, true)) == as_given);
  CHECK(OperatorsOf(Exported(true, false)) == as_given);
}

}  // namespace
}  // namespace vramplan
