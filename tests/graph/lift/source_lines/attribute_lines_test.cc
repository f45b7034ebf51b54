#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "graph/lift/source_lines/passes.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

// A call of each line, one behind the other, in the forward of the module.
struct Forward : LayersByHand {
  std::vector<ValueId> made;
  void Run(const std::vector<std::string>& ops, const std::string& line) {
    layers.source.lines.push_back({"net.py", "forward", line, static_cast<int32_t>(layers.source.lines.size())});
    for (const std::string& op : ops) {
      const ValueId from = made.empty() ? Input("x", shape) : made.back();
      made.push_back(Add(op, {from}, shape));
      layers.layers.back().nodes = {NodeId{static_cast<int32_t>(layers.source.stacks.size())}};
      layers.source.stacks.push_back({static_cast<int32_t>(layers.source.lines.size()) - 1});
    }
  }
  std::vector<ValueId> Kept() {
    ReadAttributeLines(&layers);
    return layers.kept_by_modules;
  }
  const Shape shape{Dim::Batch(), 8};
};

TEST_CASE("an attribute keeps what its statement made last") {
  Forward forward;
  forward.Run({"linear", "relu"}, "self.feats = torch.relu(self.a(x))");
  forward.Run({"linear"}, "y = self.b(self.feats)");
  CHECK(forward.Kept() == std::vector{forward.made[1]});
}

TEST_CASE("what a line gives to the same attribute again is what it keeps") {
  Forward forward;
  forward.Run({"linear"}, "self.h = self.a(x)");
  forward.Run({"linear"}, "self.h = self.b(self.h)");
  CHECK(forward.Kept() == std::vector{forward.made[1]});
}

TEST_CASE("attention returns its probabilities second") {
  Forward forward;
  forward.Run({"matmul", "softmax", "dropout", "matmul"}, "x, self.attn = attention(query, key, value)");
  CHECK(forward.Kept() == std::vector{forward.made[2]});
}

TEST_CASE("names, comparisons, arguments and writes into buffers keep nothing") {
  for (const auto& [op, line] : {std::pair{"relu", "y = torch.relu(x)"},
                                 {"relu", "if self.kind == 3: y = x"},
                                 {"relu", "y = self.act(x, out = self.y)"},
                                 {"slice_scatter", "self.queue[:, at:at + n] = keys.t()"}}) {
    CAPTURE(line);
    Forward forward;
    forward.Run({op}, line);
    CHECK(forward.Kept().empty());
  }
}

}  // namespace
}  // namespace vramplan
