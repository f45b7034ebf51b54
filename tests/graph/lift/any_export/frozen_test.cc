#include <doctest/doctest.h>

#include "graph/layers/trained.h"
#include "graph/lift/any_export/passes.h"
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
    Notes notes;
    FreezeBatchNorms(&hand.layers, &notes);
    const bool frozen = std::string(op) == "add";
    CHECK(hand.layers.parameters.size() == (frozen ? 1 : 5));
    CHECK(hand.layers.buffers.size() == (frozen ? 4 : 0));
    CHECK((hand.layers[ValueId{1}].role == Role::kBuffer) == frozen);
    CHECK(notes.Has("frozen-norms") == frozen);
  }
}

}  // namespace
}  // namespace vramplan
