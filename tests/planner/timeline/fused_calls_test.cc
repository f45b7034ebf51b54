#include "planner/timeline/fused_calls.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tests/support/truth.h"

namespace vramplan {
namespace {

TrainingSpec Inference() {
  TrainingSpec spec;
  spec.mode = Mode::kInfer;
  return spec;
}

Layers Model(const std::string& graph) {
  auto layers = testing::LayersOf(testing::DataFolder() + "/zoo/" + graph + ".onnx", "");
  REQUIRE_MESSAGE(layers, graph);
  return std::move(*layers);
}

TEST_CASE("six encoder layers of torch.nn are six calls, under both exporters") {
  for (const char* graph : {"transformer_encoder.ts-train", "transformer_encoder.dynamo-train"}) {
    const Layers layers = Model(graph);
    const std::vector<FusedCall> calls = FusedCallsOf(layers, Inference());
    CHECK_MESSAGE(calls.size() == 6, graph);
    int end = -1;
    for (const FusedCall& call : calls) {
      CHECK(call.first > end);
      end = call.last;
      CHECK(call.heads == 8);
      REQUIRE(call.encoder_layer);
      CHECK_FALSE(call.encoder_layer->norm_first);
      CHECK(layers[call.in_projection.weight].shape == Shape{Dim(1536), Dim(512)});
      CHECK(layers[call.encoder_layer->linear1.weight].shape == Shape{Dim(2048), Dim(512)});
    }
  }
}

TEST_CASE("attention's parameters that a simplifier renamed are known by their parts in it") {
  Layers layers = Model("transformer_encoder.ts-train");
  for (Value& value : layers.values) {
    const size_t leaf = value.name.find(".self_attn.");
    if (leaf != std::string::npos) value.name = value.name.substr(0, leaf) + ".self_attn.weight";
  }
  CHECK(FusedCallsOf(layers, Inference()).size() == 6);
  // With modules of their own around the products it is not torch.nn's.
  for (Layer& layer : layers.layers) {
    if (layer.op == "linear") layer.module = layers.layers.back().module;
  }
  CHECK(FusedCallsOf(layers, Inference()).empty());
}

TEST_CASE("steps that record gradients, and autocast, run the Python") {
  const Layers layers = Model("transformer_encoder.ts-train");
  for (const Mode mode : {Mode::kTrain, Mode::kEval}) {
    TrainingSpec spec;
    spec.mode = mode;
    CHECK(FusedCallsOf(layers, spec).empty());
  }
  TrainingSpec mixed = Inference();
  mixed.precision = Precision::kAmpFp16;
  CHECK(FusedCallsOf(layers, mixed).empty());
  mixed.precision = Precision::kFp16;
  CHECK(FusedCallsOf(layers, mixed).size() == 6);
}

TEST_CASE("a mask of booleans is made in front of the call, and the encoder layer around it runs its Python") {
  Layers layers = Model("transformer_encoder.ts-train");
  const auto product = std::ranges::find(layers.layers, "scaled_dot_product_attention", &Layer::op);
  REQUIRE(product != layers.layers.end());
  const ModuleId attention = product->module;
  const ValueId mask = layers.Add({.name = "mask", .type = DType::kFloat32, .shape = {128, 128}});
  product->inputs.resize(4);
  product->inputs[3] = mask;
  Layer fill;
  fill.op = "masked_fill";
  fill.name = "fill";
  fill.outputs = {mask};
  fill.module = attention;
  layers.layers.insert(std::ranges::find(layers.layers, attention, &Layer::module), fill);
  const std::vector<FusedCall> calls = FusedCallsOf(layers, Inference());
  REQUIRE(calls.size() == 6);
  CHECK(calls[0].mask == mask);
  CHECK(layers.layers[static_cast<size_t>(calls[0].first) - 1].name == "fill");
  CHECK_FALSE(calls[0].encoder_layer);
  CHECK(calls[1].encoder_layer);
  CHECK_FALSE(calls[1].mask.valid());
}

// src_key_padding_mask [batch, positions], of which nn.TransformerEncoder makes floats; the dynamo exporter writes the view
// of it once for all layers.
TEST_CASE("a padding mask that the encoder made goes into the calls of its layers") {
  for (const bool view_is_shared : {false, true}) {
    Layers layers = Model("transformer_encoder.ts-train");
    const std::vector<FusedCall> before = FusedCallsOf(layers, Inference());
    REQUIRE(before.size() == 6);
    const auto is_product = [](const Layer& layer) { return layer.op == "scaled_dot_product_attention"; };
    const Layer first = *std::ranges::find_if(layers.layers, is_product);
    const ModuleId encoder = layers[layers[first.module].parent].parent;
    const Dim batch = layers[first.inputs[0]].shape[0];
    const ValueId mask = layers.Add({.name = "mask", .type = DType::kFloat32, .shape = {batch, Dim(128)}});
    const ValueId view =
        layers.Add({.name = "view", .type = DType::kFloat32, .shape = {batch, Dim(1), Dim(1), Dim(128)}});
    for (Layer& layer : layers.layers) {
      if (!is_product(layer)) continue;
      layer.inputs.resize(4);
      layer.inputs[3] = view_is_shared ? view : mask;
    }
    Layer fill = first, look = first;
    fill.op = "masked_fill";
    fill.name = "fill";
    fill.inputs = {layers.buffers.empty() ? layers.parameters[0] : layers.buffers[0]};
    fill.outputs = {mask};
    fill.module = encoder;
    look.op = "reshape";
    look.name = "look";
    look.inputs = {mask};
    look.outputs = {view};
    const auto start = std::ranges::find(layers.layers, first.module, &Layer::module);
    if (view_is_shared) layers.layers.insert(start + 1, look);
    layers.layers.insert(layers.layers.begin(), fill);
    const std::vector<FusedCall> calls = FusedCallsOf(layers, Inference());
    REQUIRE(calls.size() == 6);
    for (const FusedCall& call : calls) {
      CHECK(call.encoder_layer);
      CHECK(call.mask == mask);
    }
  }
}

TEST_CASE("what nn.MultiheadAttention does not fuse") {
  enum { kAsItIs, kMasked, kCausal, kReadFromOutside, kSecondInput };
  for (const int change : {kAsItIs, kMasked, kCausal, kReadFromOutside, kSecondInput}) {
    Layers layers = Model("transformer_encoder.ts-train");
    const std::vector<FusedCall> before = FusedCallsOf(layers, Inference());
    const FusedCall& call = before[0];
    for (int l = call.first; l <= call.last; ++l) {
      Layer& layer = layers.layers[static_cast<size_t>(l)];
      if (layer.op != "scaled_dot_product_attention") continue;
      if (change == kMasked) {
        layer.inputs.resize(4);
        layer.inputs[3] = layers.buffers.empty() ? layers.parameters[0] : layers.buffers[0];
      }
      if (change == kCausal) layer.attributes.Set("is_causal", int64_t{1});
      if (change == kReadFromOutside) layers.outputs.push_back(layer.outputs[0]);
      if (change == kSecondInput) layer.inputs[1] = layers.inputs[0];
    }
    CHECK_MESSAGE(FusedCallsOf(layers, Inference()).size() == (change == kAsItIs ? 6 : 5), change);
  }
}

}  // namespace
}  // namespace vramplan
