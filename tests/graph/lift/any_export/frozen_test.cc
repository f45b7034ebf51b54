#include <doctest/doctest.h>

#include "graph/layers/trained.h"
#include "graph/lift/any_export/passes.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

std::vector<ValueId> FrozenOf(const Layers& layers) {
  std::vector<ValueId> frozen;
  for (const ValueId id : layers.parameters) {
    if (!IsTrained(layers, id)) frozen.push_back(id);
  }
  return frozen;
}

TEST_CASE("statistics that no batch norm reads freeze their module") {
  for (const char* op : {"add", "batch_norm"}) {
    LayersByHand hand;
    for (const char* name : {"conv.weight", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"}) {
      hand.layers.values.push_back({.name = name, .type = DType::kFloat32, .shape = {8}, .role = Role::kParameter});
      hand.layers.parameters.push_back(ValueId{static_cast<int32_t>(hand.layers.values.size()) - 1});
    }
    const ValueId x = hand.Input("x", {Dim::Batch(), 8});
    hand.layers.outputs = {hand.Add(op, {x, ValueId{1}, ValueId{2}, ValueId{3}, ValueId{4}}, {Dim::Batch(), 8})};
    Notes notes;
    FreezeBatchNorms(&hand.layers, &notes);
    const bool frozen = std::string(op) == "add";
    CHECK(hand.layers.parameters.size() == (frozen ? 1 : 5));
    CHECK(hand.layers.buffers.size() == (frozen ? 4 : 0));
    CHECK((hand.layers[ValueId{1}].role == Role::kBuffer) == frozen);
    CHECK(notes.Has("frozen-norms") == frozen);
  }
}

TEST_CASE("of a DETR's backbone with frozen norms three stages are trained") {
  for (const char* queries : {"query_embed.weight", "head.weight"}) {
    LayersByHand hand;
    for (const char* name : {queries, "backbone.0.body.conv1.weight", "backbone.0.body.bn1.running_var",
                             "backbone.0.body.layer1.0.conv1.weight", "backbone.0.body.layer2.0.conv1.weight"}) {
      hand.layers.values.push_back({.name = name, .type = DType::kFloat32, .shape = {8}, .role = Role::kParameter});
      hand.layers.parameters.push_back(ValueId{static_cast<int32_t>(hand.layers.values.size()) - 1});
    }
    Notes notes;
    FreezeBackbonesOfDetr(&hand.layers, &notes);
    const bool is_detr = std::string(queries) == "query_embed.weight";
    CHECK(hand.layers.buffers.empty());  // still parameters
    CHECK(hand.layers.parameters.size() == 5);
    CHECK(FrozenOf(hand.layers) == (is_detr ? std::vector{ValueId{1}, ValueId{3}} : std::vector<ValueId>{}));
    CHECK(notes.Has("assumed-frozen") == is_detr);
  }
}

TEST_CASE("where a file says that the norm's weights are buffers, the rest of the backbone is frozen likewise") {
  for (const char* weight : {"backbone.bn1.weight", "backbone.bn2.weight"}) {
    LayersByHand hand;
    for (const char* name : {"query_embed.weight", "backbone.conv1.weight", weight, "backbone.bn1.running_var"}) {
      const ValueId id{static_cast<int32_t>(hand.layers.values.size())};
      hand.layers.values.push_back({.name = name, .type = DType::kFloat32, .shape = {8}, .role = Role::kParameter});
      (id.value < 2 ? hand.layers.parameters : hand.layers.buffers).push_back(id);
    }
    FreezeBackbonesOfDetr(&hand.layers, nullptr);
    CHECK(FrozenOf(hand.layers).size() == (weight == std::string("backbone.bn1.weight") ? 1 : 0));
  }
}

TEST_CASE("what a name of transformers says is of its own classes alone") {
  for (const char* class_name : {"transformers.models.detr.modeling_detr.DetrModel", "mine.Detr", ""}) {
    LayersByHand hand;
    hand.layers.modules.push_back({.path = "model", .class_name = class_name, .parent = ModuleId{0}});
    for (const char* name :
         {"model.query_position_embeddings.weight", "model.backbone.conv1.weight", "model.backbone.bn1.running_var"}) {
      hand.layers.values.push_back({.name = name, .type = DType::kFloat32, .shape = {8}, .role = Role::kParameter});
      hand.layers.parameters.push_back(ValueId{static_cast<int32_t>(hand.layers.values.size()) - 1});
    }
    FreezeBackbonesOfDetr(&hand.layers, nullptr);
    CHECK(FrozenOf(hand.layers).size() == (std::string(class_name) == "mine.Detr" ? 0 : 1));
  }
}

TEST_CASE("positions beside two convolutions are not trained, a decoder's are") {
  LayersByHand hand;
  for (const char* name : {"encoder.conv1.weight", "encoder.conv2.weight", "encoder.embed_positions.weight",
                           "decoder.conv1.weight", "decoder.embed_positions.weight"}) {
    hand.layers.values.push_back({.name = name, .type = DType::kFloat32, .shape = {8}, .role = Role::kParameter});
    hand.layers.parameters.push_back(ValueId{static_cast<int32_t>(hand.layers.values.size()) - 1});
  }
  Notes notes;
  FreezeEncoderPositions(&hand.layers, &notes);
  CHECK(FrozenOf(hand.layers) == std::vector{ValueId{2}});
  CHECK(hand.layers.buffers.empty());
  CHECK(hand.layers.parameters.size() == 5);
  CHECK(notes.Has("assumed-frozen"));
}

}  // namespace
}  // namespace vramplan
