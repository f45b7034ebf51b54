#include <doctest/doctest.h>

#include "graph/lift/readings/readings_of_copies.h"
#include "graph/lift/torchscript/passes.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

// norm -> [B, 16, 8] -> [B, 4, 4, 8] -> permuted -> conv2d
Layers Encoder(std::vector<int64_t> dims, Evidence evidence, bool of_sequence) {
  LayersByHand hand("mine.Encoder");
  const Shape sequence{Dim::Batch(), 16, 8}, windows{Dim::Batch(), 2, 8, 8}, last{Dim::Batch(), 4, 4, 8};
  const ValueId x = hand.Input("x", of_sequence ? sequence : windows);
  const ValueId normed = hand.Add("layer_norm", {x}, of_sequence ? sequence : windows);
  const ValueId split = hand.Add("reshape", {normed}, last);
  const ValueId map = hand.Add("permute", {split}, {Dim::Batch(), 8, 4, 4});
  hand.attributes().Set("dims", std::move(dims));
  const ValueId made = hand.Add("conv2d", {map}, {Dim::Batch(), 8, 4, 4});
  hand.layers.outputs = {made, map};
  for (Layer& layer : hand.layers.layers) layer.evidence = evidence;
  return hand.layers;
}

TEST_CASE("a map that was made of a sequence is contiguous for all who read it") {
  Layers layers = Encoder({0, 3, 1, 2}, Evidence::kNode, true);
  MakeMapsOfSequencesContiguous(&layers);
  CHECK(OperatorsOf(layers) == "layer_norm reshape permute contiguous conv2d");
  const ValueId dense = layers.layers[3].outputs[0];
  CHECK(layers.layers[3].module == ModuleId{1});
  CHECK(layers.layers[3].inputs == layers.layers[2].outputs);
  CHECK(layers.layers[4].inputs == std::vector{dense});
  CHECK(layers.outputs == std::vector{layers.layers[4].outputs[0], dense});
  CHECK(layers[dense].shape == Shape{Dim::Batch(), 8, 4, 4});
  const std::string once = OperatorsOf(layers);
  MakeMapsOfSequencesContiguous(&layers);
  CHECK(OperatorsOf(layers) == once);
}

TEST_CASE("that such a map is copied is a guess, and the other reading has it as it lies") {
  const Layers before = Encoder({0, 3, 1, 2}, Evidence::kNode, true);
  CHECK_FALSE(MapsAsTheyLieInstead(before).has_value());
  Layers layers = before;
  MakeMapsOfSequencesContiguous(&layers);
  const std::optional<Reading> other = MapsAsTheyLieInstead(layers);
  REQUIRE(other.has_value());
  CHECK(other->code == "copy-guessed");
  CHECK(OperatorsOf(other->layers) == OperatorsOf(before));
  CHECK(other->layers.layers[3].inputs == before.layers[3].inputs);
  CHECK(other->layers.outputs == before.outputs);
}

TEST_CASE("maps that were none, other turns, and files that name their copies stay") {
  for (Layers layers : {Encoder({0, 3, 1, 2}, Evidence::kNode, false), Encoder({0, 3, 2, 1}, Evidence::kNode, true),
                        Encoder({0, 3, 1, 2}, Evidence::kProvenance, true)}) {
    MakeMapsOfSequencesContiguous(&layers);
    CHECK(OperatorsOf(layers) == "layer_norm reshape permute conv2d");
  }
}

TEST_CASE("a table of positions that is turned to be resized stays as it is") {
  LayersByHand hand("mine.Embeddings");
  const ValueId table = hand.Input("positions", {1, 17, 8});
  hand.layers.values[0].role = Role::kParameter;
  const ValueId rows = hand.Add("slice", {table}, {1, 16, 8});
  const ValueId grid = hand.Add("reshape", {rows}, {1, 4, 4, 8});
  hand.layers.outputs = {hand.Add("permute", {grid}, {1, 8, 4, 4})};
  hand.attributes().Set("dims", std::vector<int64_t>{0, 3, 1, 2});
  for (Layer& layer : hand.layers.layers) layer.evidence = Evidence::kNode;
  MakeMapsOfSequencesContiguous(&hand.layers);
  CHECK(OperatorsOf(hand.layers) == "slice reshape permute");
}

TEST_CASE("the norm that ends a stage makes a map, which the encoder makes contiguous") {
  const Shape map{Dim::Batch(), 8, 4, 4}, sequence{Dim::Batch(), 16, 8}, turned{Dim::Batch(), 8, 16};
  for (const char* beside : {"m.patch_embed2", "m.patch_embed1"}) {
    LayersByHand hand("");
    hand.layers.modules.push_back({.path = "m.norm2", .class_name = "", .parent = ModuleId{1}});
    hand.layers.modules.push_back({.path = beside, .class_name = "", .parent = ModuleId{1}});
    const ValueId x = hand.Input("x", map);
    const ValueId in = hand.Add("transpose", {hand.Add("reshape", {x}, turned)}, sequence);
    const ValueId out = hand.Add("transpose", {hand.Add("layer_norm", {in}, sequence)}, turned);
    hand.layers.outputs = {hand.Add("reshape", {out}, map)};
    for (Layer& layer : hand.layers.layers) {
      layer.evidence = Evidence::kNode;
      layer.module = ModuleId{2};
    }
    MakeMapsOfSequencesContiguous(&hand.layers);
    const bool is_encoder = beside == std::string_view("m.patch_embed2");
    CHECK(OperatorsOf(hand.layers) ==
          std::string("reshape transpose layer_norm transpose reshape") + (is_encoder ? " contiguous" : ""));
    if (is_encoder) CHECK(hand.layers.layers.back().module == ModuleId{1});
  }
}

}  // namespace
}  // namespace vramplan
