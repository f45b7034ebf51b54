#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "graph/lift/any_export/passes.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

// x * rsqrt(mean(x^2) + eps) * weight, as the exporters write it.
struct RmsNorm : LayersByHand {
  using LayersByHand::LayersByHand;
  ValueId Norm(ValueId x, double exponent = 2) {
    const Shape shape = layers[x].shape, row{shape[0], 1};
    const ValueId square = Add("pow", {x, ValueId()}, shape);
    attributes().Set("scalar", exponent);
    const ValueId mean = Add("mean", {square}, row);
    const ValueId sum = Add("add", {mean, ValueId()}, row);
    const ValueId scale = Add("rsqrt", {sum}, row);
    const ValueId scaled = Add("mul", {x, scale}, shape);
    layers.values.push_back({.name = "weight", .type = DType::kFloat32, .shape = {8}, .role = Role::kParameter});
    const ValueId weight{static_cast<int32_t>(layers.values.size()) - 1};
    layers.outputs = {Add("mul", {weight, scaled}, shape)};
    return scaled;
  }
};

TEST_CASE("an RMS norm computes in fp32 and goes back") {
  RmsNorm hand;
  const ValueId x = hand.Input("x", {Dim::Batch(), 8});
  const ValueId scaled = hand.Norm(x);
  RestoreUpcasts(&hand.layers);
  CHECK(OperatorsOf(hand.layers) == "float pow mean add rsqrt mul type_as mul");
  const std::vector<Layer>& layers = hand.layers.layers;
  CHECK(layers[1].inputs[0] == layers[0].outputs[0]);
  CHECK(layers[5].inputs[0] == layers[0].outputs[0]);  // both of x32
  CHECK(layers[6].inputs == std::vector<ValueId>{scaled, x});
  CHECK(layers[7].inputs[1] == layers[6].outputs[0]);
}

TEST_CASE("Gemma's norm goes back behind its weight, which is widened, too") {
  // output = norm(x.float()); output = output * (1.0 + self.weight.float()); return output.type_as(x)
  RmsNorm hand;
  const ValueId x = hand.Input("x", {Dim::Batch(), 8});
  hand.Norm(x);
  Layer& product = hand.layers.layers.back();
  const ValueId weight = product.inputs[0], result = product.outputs[0];
  const ValueId offset = hand.Add("add", {weight, ValueId()}, {8});
  hand.attributes().Set("scalar", 1.0);
  std::swap(hand.layers.layers[5], hand.layers.layers[6]);
  hand.layers.layers[6].inputs[0] = offset;
  RestoreUpcasts(&hand.layers);
  CHECK(OperatorsOf(hand.layers) == "float pow mean add rsqrt mul float add mul type_as");
  const std::vector<Layer>& layers = hand.layers.layers;
  CHECK(layers[6].inputs[0] == weight);
  CHECK(layers[7].inputs[0] == layers[6].outputs[0]);
  CHECK(layers[9].inputs == std::vector<ValueId>{result, x});
  CHECK(hand.layers.outputs == layers[9].outputs);
}

TEST_CASE("another power is another thing") {
  RmsNorm hand;
  hand.Norm(hand.Input("x", {Dim::Batch(), 8}), 3);
  RestoreUpcasts(&hand.layers);
  CHECK(OperatorsOf(hand.layers) == "pow mean add rsqrt mul mul");
}

}  // namespace
}  // namespace vramplan
