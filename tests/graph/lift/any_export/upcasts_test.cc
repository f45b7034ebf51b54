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

TEST_CASE("Olmo2's norm goes back behind its weight") {
  // return (self.weight * hidden_states).to(input_dtype)
  for (const std::string name : {"olmo2.modeling_olmo2.Olmo2RMSNorm", "llama.modeling_llama.LlamaRMSNorm"}) {
    RmsNorm hand(("transformers.models." + name).c_str());
    const ValueId x = hand.Input("x", {Dim::Batch(), 8});
    hand.Norm(x);
    const ValueId result = hand.layers.layers.back().outputs[0];
    RestoreUpcasts(&hand.layers);
    const bool whole = name.starts_with("olmo2");
    CHECK(OperatorsOf(hand.layers) ==
          (whole ? "float pow mean add rsqrt mul mul type_as" : "float pow mean add rsqrt mul type_as mul"));
    if (whole) CHECK(hand.layers.layers.back().inputs == std::vector<ValueId>{result, x});
  }
}

TEST_CASE("T5 squares in fp32 only, takes its weight's type, and clamps what its sublayers return") {
  RmsNorm hand("transformers.models.t5.modeling_t5.T5LayerNorm");
  hand.layers.modules.push_back({.path = "m.encoder.block.0.layer.0", .class_name = "", .parent = ModuleId{0}});
  const ValueId x = hand.Input("x", {Dim::Batch(), 8});
  const ValueId sum = hand.Add("add", {x, x}, {Dim::Batch(), 8});
  hand.layers.layers.back().module = ModuleId{2};
  const ValueId scaled = hand.Norm(sum);
  const ValueId weight = hand.layers.layers.back().inputs[0];
  RestoreUpcasts(&hand.layers);
  CHECK(OperatorsOf(hand.layers) == "add clamp_inf float pow mean add rsqrt mul type_as mul");
  const std::vector<Layer>& layers = hand.layers.layers;
  CHECK(layers[7].inputs[0] == layers[1].outputs[0]);  // not of x32
  CHECK(layers[8].inputs == std::vector<ValueId>{scaled, weight});
}

TEST_CASE("T5's feed forward gives its second linear what has its weight's type") {
  // hidden_states.to(self.wo.weight.dtype), modeling_t5.py; recorded under autocast: fp32, and halves again.
  RmsNorm hand("transformers.models.t5.modeling_t5.T5LayerNorm");
  hand.layers.modules.push_back({.path = "m.DenseReluDense", .class_name = "", .parent = ModuleId{0}});
  hand.layers.modules.push_back({.path = "m.DenseReluDense.wo", .class_name = "", .parent = ModuleId{2}});
  const ValueId scaled = hand.Norm(hand.Input("x", {Dim::Batch(), 8}));
  const ValueId weight = hand.layers.layers.back().inputs[0];
  hand.Add("linear", {scaled, weight}, {Dim::Batch(), 8});
  hand.layers.layers.back().module = ModuleId{3};
  RestoreUpcasts(&hand.layers);
  CHECK(OperatorsOf(hand.layers) == "float pow mean add rsqrt mul type_as mul type_as linear");
  const std::vector<Layer>& layers = hand.layers.layers;
  CHECK(layers[8].inputs[1] == weight);
  CHECK(layers[8].module == ModuleId{2});
  CHECK(layers[9].inputs[0] == layers[8].outputs[0]);
}

TEST_CASE("so does SeamlessM4T's, which has no RMSNorm; another ffn.fc2 does not") {
  // hidden_states.to(self.fc2.weight.dtype), modeling_seamless_m4t.py
  for (const char* norm : {"m.decoder.layers.0.cross_attention_layer_norm", "m.decoder.layers.0.norm"}) {
    LayersByHand hand;
    hand.layers.modules.push_back({.path = "m.decoder.layers.0.ffn", .class_name = "", .parent = ModuleId{0}});
    hand.layers.modules.push_back({.path = "m.decoder.layers.0.ffn.fc2", .class_name = "", .parent = ModuleId{2}});
    hand.layers.modules.push_back({.path = norm, .class_name = "", .parent = ModuleId{0}});
    const ValueId x = hand.Input("x", {Dim::Batch(), 8}), weight = hand.Input("w", {4, 8});
    hand.Add("linear", {x, weight}, {Dim::Batch(), 4});
    hand.layers.layers.back().module = ModuleId{3};
    RestoreUpcasts(&hand.layers);
    CHECK(OperatorsOf(hand.layers) ==
          (std::string(norm).ends_with("cross_attention_layer_norm") ? "type_as linear" : "linear"));
  }
}

TEST_CASE("another power is another thing") {
  RmsNorm hand;
  hand.Norm(hand.Input("x", {Dim::Batch(), 8}), 3);
  RestoreUpcasts(&hand.layers);
  CHECK(OperatorsOf(hand.layers) == "pow mean add rsqrt mul mul");
}

}  // namespace
}  // namespace vramplan
