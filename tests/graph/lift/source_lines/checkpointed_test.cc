#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "graph/lift/source_lines/passes.h"

namespace vramplan {
namespace {

TEST_CASE("what a line of Python checkpoints") {
  struct Row {
    const char* line;
    const char* callee;
  };
  for (const Row& row : {
           Row{"x = checkpoint(block, x, use_reentrant=False)", "block"},
           Row{"x = torch.utils.checkpoint.checkpoint(self.attn, x)", "self.attn"},
           Row{"x = cp.checkpoint(blk.forward, x) if self.training else blk(x)", "blk.forward"},
           Row{"x = self._gradient_checkpointing_func(layer.__call__, x, mask)", "layer.__call__"},
           Row{"x = checkpoint_sequential(self.layers, 4, x)", "self.layers"},
           Row{"state = load_checkpoint(path)", ""},
           Row{"x = self.checkpoint(x)", ""},
           Row{"x = block(x)", ""},
       }) {
    CAPTURE(row.line);
    CHECK(CheckpointedIn(row.line) == row.callee);
  }
}

// for block in self.blocks: x = LINE, where two blocks of one operator each run; `operators`: in the line itself.
Layers Blocks(const std::string& line, bool operators) {
  Layers layers;
  layers.modules = {{"", "", {}}, {"blocks.0", "", ModuleId{0}}, {"blocks.1", "", ModuleId{0}}};
  layers.source.lines = {{{"net.py", 7, "forward"}, line}, {{"net.py", 3, "forward"}, "return F.relu(x)"}};
  for (int i = 0; i < 3; ++i) layers.values.push_back({std::to_string(i), DType::kFloat32, Shape{Dim(4)}});
  for (int i = 0; i < 2; ++i) {
    Layer layer;
    layer.op = "relu";
    layer.inputs = {ValueId{i}};
    layer.outputs = {ValueId{i + 1}};
    layer.module = operators ? ModuleId() : ModuleId{i + 1};
    layer.nodes = {NodeId{i}};
    layers.layers.push_back(layer);
    layers.source.stacks.push_back(operators ? std::vector<int32_t>{0} : std::vector<int32_t>{0, 1});
  }
  return layers;
}

TEST_CASE("what a condition decides is not known") {
  const std::vector<ModuleId> both = {ModuleId{1}, ModuleId{2}};
  const auto read = [](const char* line) {
    Layers layers = Blocks(line, false);
    Notes notes;
    ReadCheckpoints(&layers, &notes);
    return layers;
  };
  const Layers flag = read("x = checkpoint(block, x) if self.use_checkpoint else block(x)");
  CHECK(flag.checkpointed.empty());
  CHECK(flag.perhaps_checkpointed == both);
  // Three segments, of which the last is not: torch/utils/checkpoint.py makes a forward of each, which is no module's.
  const Layers segments = read("x = checkpoint_sequential(self.blocks, 3, x)");
  CHECK(segments.checkpointed.empty());
  CHECK(segments.perhaps_checkpointed == both);
  const Layers training = read("x = checkpoint(block, x) if self.training else block(x)");
  CHECK(training.checkpointed == both);
  CHECK(training.perhaps_checkpointed.empty());
}

TEST_CASE("calls that a line checkpoints are applied; a function of the model's own is told") {
  struct Row {
    const char* line;
    bool operators;
    std::vector<ModuleId> calls;
    const char* note;
  };
  const Row kRows[] = {
      {"x = checkpoint(block, x)", false, {ModuleId{1}, ModuleId{2}}, "checkpoint-in-code"},
      {"x = checkpoint(self.inner, x)", false, {}, "checkpoint-of-function"},
      {"x = checkpoint(inner, x)", true, {}, "checkpoint-of-function"},
      {"x = block(x)", false, {}, ""},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.line);
    Layers layers = Blocks(row.line, row.operators);
    Notes notes;
    ReadCheckpoints(&layers, &notes);
    CHECK(layers.checkpointed == row.calls);
    CHECK(static_cast<int>(notes.all().size()) == (*row.note == 0 ? 0 : 1));
    if (*row.note != 0) CHECK(notes.Has(row.note));
  }
}

TEST_CASE("the forwards of a torch.autograd.Function and of a segment are no module's") {
  Layers layers = Blocks("x = checkpoint(block, x)", false);
  layers.source.lines.push_back({{"act.py", 9, "forward"}, "return Swish.apply(x)"});
  layers.source.lines.push_back({{"act.py", 2, "forward"}, "return x * torch.sigmoid(x)"});
  layers.source.lines.push_back({{"/torch/utils/checkpoint.py", 590, "forward"}, "input = functions[j](input)"});
  layers.source.stacks[0] = {0, 4, 2, 3};
  CHECK(layers.source.ForwardsOf(NodeId{0}) == std::vector<int32_t>{0, 2});
  ReadCheckpoints(&layers, nullptr);
  CHECK(layers.checkpointed.size() == 2);
}

}  // namespace
}  // namespace vramplan
