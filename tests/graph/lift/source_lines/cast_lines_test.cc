#include "graph/lift/source_lines/cast_lines.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

// keep = to(gt(x, y)); mul(h, keep), with the source line of the cast.
Layers Masked(const std::string& line) {
  LayersByHand hand;
  const ValueId x = hand.Input("x", {Dim::Batch(), 8});
  const ValueId h = hand.Add("neg", {x}, {Dim::Batch(), 8});
  const ValueId mask = hand.Add("gt", {x, ValueId()}, {Dim::Batch(), 8});
  hand.layers.values[mask.index()].type = DType::kBool;
  const ValueId keep = hand.Add("to", {mask}, {Dim::Batch(), 8});
  hand.layers.layers.back().nodes = {NodeId{0}};
  hand.layers.outputs = {hand.Add("mul", {h, keep}, {Dim::Batch(), 8})};
  if (!line.empty()) hand.layers.source = {{{"net.py", "forward", line, 7}}, {{0}}};
  return hand.layers;
}

TEST_CASE("the source line of a cast says which type was meant") {
  struct Row {
    const char* line;
    const char* op;  // behind ReadCastLines
    bool open;       // whether another reading is left
  };
  for (const Row& row : {Row{"keep = (x > 0).to(h.dtype)", "type_as", false},
                         Row{"keep = (x > 0).type_as(h)", "type_as", false}, Row{"keep = (x > 0).float()", "to", false},
                         Row{"keep = (x > 0).to(torch.float32)", "to", false}, Row{"", "to", true}}) {
    CAPTURE(row.line);
    Layers layers = Masked(row.line);
    ReadCastLines(&layers);
    CHECK(layers.layers[2].op == row.op);
    CHECK(CastAsOperand(&layers) == row.open);
    if (row.open) CHECK(layers.layers[2].op == "type_as");
  }
}

}  // namespace
}  // namespace vramplan
