#include <doctest/doctest.h>

#include <string>

#include "graph/lift/torchscript/passes.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

// x + a stored tensor [1, 2, 8, 8], which `op` reads.
Layers Biased(const std::string& name, const std::string& op, ExportedMode exported) {
  LayersByHand hand;
  const Shape shape{Dim::Batch(), 2, 8, 8};
  const ValueId x = hand.Input("x", shape), bias = hand.Parameter(name, {1, 2, 8, 8});
  hand.layers.values[bias.index()].role = Role::kBuffer;
  hand.layers.parameters.clear();
  hand.layers.buffers = {bias};
  hand.layers.outputs = {hand.Add(op, {x, bias}, shape)};
  hand.layers.exported = exported;
  return hand.layers;
}

TEST_CASE("an export of eval() stores what attention adds, and the forward makes it") {
  Layers layers = Biased("onnx::Add_812", "add", ExportedMode::kEvaluation);
  MakeFoldedBiases(&layers);
  CHECK(OperatorsOf(layers) == "full add");
  CHECK(layers.buffers.empty());
  CHECK(layers[layers.layers[1].inputs[1]].role == Role::kActivation);
  CHECK(layers.layers[1].inputs[1] == layers.layers[0].outputs[0]);
}

TEST_CASE("buffers with names of their own, other operands and exports of train() stay") {
  for (Layers layers :
       {Biased("mask", "add", ExportedMode::kEvaluation), Biased("onnx::Mul_812", "mul", ExportedMode::kEvaluation),
        Biased("onnx::Add_812", "add", ExportedMode::kTraining)}) {
    MakeFoldedBiases(&layers);
    CHECK(layers.layers.size() == 1);
    CHECK(layers.buffers.size() == 1);
  }
}

}  // namespace
}  // namespace vramplan
