#include "planner/allocator/trace.h"

#include <doctest/doctest.h>

#include "planner/allocator/stream.h"
#include "tests/support/one_operator.h"
#include "tests/support/timelines.h"
#include "tests/support/truth.h"

namespace vramplan::testing {
namespace {

// The zoo's MLP as truth/events recorded it.
struct Run {
  Layers layers;
  Timeline timeline;
};
Run Mlp(const char* graph) {
  Run run{LayersOf(DataFolder() + "/zoo/mlp." + graph + ".onnx", "").value(), {}};
  TrainingSpec spec = SpecFromWords("adam");
  spec.loss = Loss::kCrossEntropy;
  run.timeline = Schedule(run.layers, spec, 64, nullptr).value();
  return run;
}

TEST_CASE("MLP: the stream is the recorded one, line by line") {
  const std::string path = DataFolder() + "/truth/events/mlp.b64.adam-foreach.csv.gz";
  const Trace recorded = ParseTrace(ReadStream(path).value(), path).value();
  REQUIRE(recorded.size() == 54);
  for (const char* graph : {"ts-train", "dynamo-train"}) {
    CAPTURE(std::string(graph));
    const Run run = Mlp(graph);
    const Trace ours = TraceOf(run.timeline, run.layers, 2, AllocatorConfig()).value();
    REQUIRE(ours.size() == recorded.size());
    for (size_t i = 0; i < ours.size(); ++i) {
      CAPTURE(i);
      CHECK(ours[i].birth == recorded[i].birth);
      CHECK(ours[i].block == recorded[i].block);
      CHECK(ours[i].bytes == recorded[i].bytes);
      CHECK(ours[i].phase == recorded[i].phase);
      CHECK(ours[i].allocated_after == recorded[i].allocated_after);
      if (!ours[i].birth) continue;
      CHECK(ours[i].module == recorded[i].module);
      CHECK(ours[i].autograd_node == recorded[i].autograd_node);
      if (ours[i].phase == "forward") CHECK(ours[i].op == recorded[i].op);
    }
  }
}

TEST_CASE("steps follow each other: what one ends with, the next begins with") {
  const Run run = Mlp("ts-train");
  const Trace all = TraceOf(run.timeline, run.layers, std::nullopt, AllocatorConfig()).value();
  CHECK(all.front().phase == "setup");
  CHECK(all.front().allocated_after == all.front().bytes);
  Trace steps;
  for (const int step : {1, 2, 3}) {
    const Trace one = TraceOf(run.timeline, run.layers, step, AllocatorConfig()).value();
    REQUIRE(!one.empty());
    if (!steps.empty()) CHECK(*one.front().allocated_after - one.front().bytes == *steps.back().allocated_after);
    steps.insert(steps.end(), one.begin(), one.end());
  }
  // Blocks are numbered anew in each step; all else is the same.
  const size_t setup = all.size() - steps.size();
  for (size_t i = 0; i < steps.size(); ++i) {
    CHECK(all[setup + i].bytes == steps[i].bytes);
    CHECK(all[setup + i].allocated_after == steps[i].allocated_after);
    CHECK(all[setup + i].block.has_value());
  }
}

TEST_CASE("phases as the profiler names them; a tensor without elements has no block") {
  Timeline timeline = TimelineText(
      "setup + 0 parameters 4096\n"
      "forward + 1 activations 600\n"
      "forward + 2 activations 0\n"
      "forward |\n"
      "recompute + 3 activations 1200\n"
      "backward |\n"
      "update - 3\n"
      "update - 0\n"
      "update |\n");
  Event mark = timeline.events[2];
  mark.kind = EventKind::kBeforeLoss;
  mark.block = BlockId();
  timeline.events.insert(timeline.events.begin() + 2, mark);
  mark = timeline.events[7];
  mark.kind = EventKind::kBeforeZeroGrad;
  mark.block = BlockId();
  timeline.events.insert(timeline.events.begin() + 8, mark);
  const Trace trace = TraceOf(timeline, Layers(), 1, AllocatorConfig()).value();
  CHECK(PrintTrace(trace) ==
        "event,block,bytes,phase,module,autograd_node,operator,inner_operator,allocated_after,onnx_node\n"
        "alloc,0,1024,forward,,,aten::test,aten::test,5120,\n"
        "alloc,1,1536,backward,,,aten::test,aten::test,6656,\n"
        "free,1,1536,update,,,,,5120,\n"
        "free,old,4096,zero_grad,,,,,1024,\n");
}

TEST_CASE("what is written is read again, names with commas and quotes too") {
  TraceEvent birth;
  birth.block = 7;
  birth.bytes = Bytes::Of(1536);
  birth.phase = "forward";
  birth.module = "blocks[0,\"a\"]";
  birth.op = "aten::linear";
  birth.inner_op = "aten::addmm";
  birth.allocated_after = Bytes::Of(2048);
  birth.line = 2;
  TraceEvent old;
  old.birth = false;
  old.bytes = Bytes::Of(512);
  old.phase = "backward";
  old.autograd_node = "AddmmBackward0";
  old.line = 3;
  const Trace trace = {birth, old};
  const auto read = ParseTrace(PrintTrace(trace), "t.csv");
  REQUIRE(read);
  CHECK(*read == trace);
}

TEST_CASE("four columns are enough, in any order, with others between them") {
  const auto read =
      ParseTrace("phase,stream,event,bytes,block\r\nloss,0,alloc,512,0\r\n\r\nupdate,0,free,512,0\r\n", "t.csv");
  REQUIRE(read);
  REQUIRE(read->size() == 2);
  CHECK((*read)[0].phase == "loss");
  CHECK((*read)[1].line == 4);
  CHECK(!(*read)[1].allocated_after);
}

TEST_CASE("files that are no trace: the line, and what is wrong in it") {
  const std::string header = "event,block,bytes,phase\n";
  const struct {
    std::string text;
    const char* says;
  } rows[] = {
      {"", "t.csv:1: the first line has no column 'event'"},
      {"op,id,bytes\nalloc,0,5\n", "t.csv:1: the first line has no column 'event'"},
      {"event,block,bytes\n", "t.csv:1: the first line has no column 'phase'"},
      {header, "t.csv:1: no event follows the header"},
      {header + "malloc,0,512,forward\n", "t.csv:2: event 'malloc' is not alloc or free"},
      {header + "alloc,zero,512,forward\n", "t.csv:2: block 'zero' is not a number, or old"},
      {header + "alloc,old,512,forward\n", "t.csv:2: block 'old' is allocated"},
      {header + "alloc,0,many,forward\n", "t.csv:2: bytes 'many' is not a number of bytes"},
      {header + "alloc,0,-512,forward\n", "t.csv:2: bytes '-512' is not a number of bytes"},
      {header + "alloc,0,512,fwd\n", "t.csv:2: phase 'fwd' is not one of forward, loss, backward, update or zero_grad"},
      {header + "alloc,0,512\n", "t.csv:2: 3 cells where the first line has 4"},
      {header + "alloc,0,512,forward\nalloc,0,512,forward\n", "t.csv:3: block '0' is allocated twice"},
      {header + "free,0,512,forward\n", "t.csv:2: block '0' is freed but not allocated"},
      {header + "alloc,0,512,forward\nfree,0,512,forward\nfree,0,512,forward\n", "t.csv:4: block '0' is freed twice"},
      {"event,block,bytes,phase,allocated_after\nalloc,0,512,forward,x\n",
       "t.csv:2: allocated_after 'x' is not a number of bytes"},
  };
  for (const auto& row : rows) {
    const auto read = ParseTrace(row.text, "t.csv");
    REQUIRE(!read);
    CAPTURE(ToString(read.error()));
    CHECK(ToString(read.error()).starts_with(row.says));
    CHECK(!read.error().hint.empty());
    CHECK(read.error().code == ErrorCode::kBadInput);
  }
}

TEST_CASE("a size that nobody knows is an error, not a crash") {
  Timeline timeline = TimelineText("forward + 0 activations 4096\n");
  timeline.blocks[0].bytes = SizeExpr::Constant(Bytes::Max());
  const auto trace = TraceOf(timeline, Layers(), 1, AllocatorConfig());
  REQUIRE(!trace);
  CHECK(trace.error().text == "its size is not known");
}

}  // namespace
}  // namespace vramplan::testing
