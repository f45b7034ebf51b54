#include "graph/lift/straight_through.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

std::vector<std::string> Operators(const Layers& layers) {
  std::vector<std::string> result;
  for (const Layer& layer : layers.layers) result.push_back(layer.op);
  return result;
}

// z_e + (z_q - z_e).detach(): VQ-VAE. The last three are ordinary sums.
TEST_CASE("a difference that is added to what was taken from it was detached") {
  using Ops = std::vector<std::string>;
  const Shape shape{Dim::Batch(), 8};
  enum class Form { kPlain, kTurned, kThroughView, kExported, kOther, kReadTwice, kScaled };
  const auto ops = [&](Form form) {
    LayersByHand hand;
    const ValueId x = hand.Input("x", shape), y = hand.Input("y", shape), z = hand.Input("z", shape);
    const ValueId seen = form == Form::kThroughView ? hand.Add("reshape", {x}, shape) : x;
    ValueId difference = hand.Add("sub", {y, form == Form::kOther ? z : seen}, shape);
    if (form == Form::kScaled) hand.attributes().Set("alpha", 2.0);
    const std::vector<ValueId> summands =
        form == Form::kTurned ? std::vector<ValueId>{difference, x} : std::vector<ValueId>{x, difference};
    hand.layers.outputs = {hand.Add("add", summands, shape)};
    if (form == Form::kExported) hand.layers.layers.back().evidence = Evidence::kProvenance;
    if (form == Form::kReadTwice) hand.layers.outputs.push_back(hand.Add("relu", {difference}, shape));
    DetachStraightThrough(&hand.layers);
    return Operators(hand.layers);
  };
  CHECK(ops(Form::kPlain) == Ops{"sub", "detach", "add"});
  CHECK(ops(Form::kTurned) == Ops{"sub", "detach", "add"});
  CHECK(ops(Form::kThroughView) == Ops{"reshape", "sub", "detach", "add"});
  CHECK(ops(Form::kExported) == Ops{"sub", "add"});  // a dynamo file says detach itself
  CHECK(ops(Form::kOther) == Ops{"sub", "add"});
  CHECK(ops(Form::kReadTwice) == Ops{"sub", "add", "relu"});
  CHECK(ops(Form::kScaled) == Ops{"sub", "add"});
}

}  // namespace
}  // namespace vramplan
