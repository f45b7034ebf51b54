#include "graph/lift/frozen.h"

#include <doctest/doctest.h>

#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

TEST_CASE("statistics that no batch norm reads freeze their module") {
  for (const char* op : {"add", "batch_norm"}) {
    LayersByHand hand;
    for (const char* name : {"conv.weight", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"}) {
      hand.layers.values.push_back({.name = name, .type = DType::kFloat32, .shape = {8}, .role = Role::kParameter});
      hand.layers.parameters.push_back(ValueId{static_cast<int32_t>(hand.layers.values.size()) - 1});
    }
    const ValueId x = hand.Input("x", {Dim::Batch(), 8});
    hand.layers.outputs = {hand.Add(op, {x, ValueId{1}, ValueId{2}, ValueId{3}, ValueId{4}}, {Dim::Batch(), 8})};
    FreezeBatchNorms(&hand.layers);
    const bool frozen = std::string(op) == "add";
    CHECK(hand.layers.parameters.size() == (frozen ? 1 : 5));
    CHECK(hand.layers.buffers.size() == (frozen ? 4 : 0));
    CHECK((hand.layers[ValueId{1}].role == Role::kBuffer) == frozen);
  }
}

TEST_CASE("positions beside two convolutions are not trained, a decoder's are") {
  LayersByHand hand;
  for (const char* name : {"encoder.conv1.weight", "encoder.conv2.weight", "encoder.embed_positions.weight",
                           "decoder.conv1.weight", "decoder.embed_positions.weight"}) {
    hand.layers.values.push_back({.name = name, .type = DType::kFloat32, .shape = {8}, .role = Role::kParameter});
    hand.layers.parameters.push_back(ValueId{static_cast<int32_t>(hand.layers.values.size()) - 1});
  }
  FreezeEncoderPositions(&hand.layers);
  CHECK(hand.layers.buffers == std::vector{ValueId{2}});
  CHECK(hand.layers[ValueId{2}].role == Role::kBuffer);
  CHECK(hand.layers.parameters == std::vector{ValueId{0}, ValueId{1}, ValueId{3}, ValueId{4}});
}

}  // namespace
}  // namespace vramplan
