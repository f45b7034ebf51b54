#include "planner/runtimes/onnxruntime.h"

#include <doctest/doctest.h>

#include <string>

#include "graph/lift/lift.h"
#include "planner/allocator/replay.h"
#include "planner/runtimes/memory_pattern.h"
#include "planner/runtimes/runtime.h"
#include "tests/support/onnx_text.h"

namespace vramplan {
namespace {

TEST_CASE("a pattern takes the smallest gap that is large enough") {
  const auto size = [](int64_t kib) { return SizeExpr::Constant(Bytes::KiB(kib)); };
  MemoryPattern pattern;
  const auto born = [&](int id, int64_t kib) { pattern.Allocate(ValueId{id}, Bytes::KiB(kib), size(kib)); };
  born(0, 256);
  born(1, 512);
  born(2, 64);
  born(3, 32);
  CHECK(pattern.peak() == Bytes::KiB(864));
  pattern.Free(ValueId{0});
  pattern.Free(ValueId{2});
  born(4, 64);  // where 2 was, not at 0
  born(5, 256);
  CHECK(pattern.peak() == Bytes::KiB(864));
  born(6, 8);  // behind the last one
  CHECK(pattern.peak() == Bytes::KiB(872));
  CHECK(pattern.PeakAround(1).At(1) == Bytes::KiB(872));
}

TEST_CASE("a pattern's size at another batch") {
  MemoryPattern pattern;
  const SizeExpr bytes = SizeExpr::Of(DType::kFloat32, Dim::Batch() * Dim(100));  // 400 B a sample
  pattern.Allocate(ValueId{0}, Bytes::Of(1024), bytes);                           // at batch 2: 800 B
  pattern.Allocate(ValueId{1}, Bytes::Of(1024), bytes);
  CHECK(pattern.PeakAround(2).At(2) == Bytes::Of(2048));
  CHECK(pattern.PeakAround(2).At(4) == Bytes::Of(2048 + 2 * 800));
}

Layers OnnxruntimeGiven(const char* text) {
  const Graph graph = GraphFromText(text);
  Notes notes;
  const auto binding = Bind(graph, {}, &notes);
  REQUIRE(binding.ok());
  const auto shapes = Infer(graph, *binding, &notes);
  REQUIRE(shapes.ok());
  return GraphFor(Runtime::kOnnxRuntime, graph, *shapes, PutBack(), &notes).value();
}

TrainingSpec Inference() {
  TrainingSpec spec;
  spec.framework.runtime = Runtime::kOnnxRuntime;
  spec.mode = Mode::kInfer;
  return spec;
}

// 64 KiB a sample everywhere; weights of 4 MiB.
constexpr const char* kChain = R"(
  agraph (float[batch, 16384] x) => (float[batch, 16384] y) <float[64, 16384] w, float[64] b> {
    a = Exp (x)
    r = Relu (a)
    c = Exp (r)
    h = Gemm <transB = 1> (c, w, b)
    e = Gemm (h, w)
    d = Add (e, r)
    y = Exp (d)
  })";

TEST_CASE("two runs: one by one, then one block for what the first had") {
  Notes notes;
  const auto timeline = ScheduleOnnxRuntime(OnnxruntimeGiven(kChain), Inference(), 16, &notes);
  REQUIRE(timeline.ok());
  CHECK(timeline->steps == 2);
  AllocatorConfig config;
  config.bfc = ArenaOf(Inference());
  config.bfc->growth = BfcGrowth::kSameAsRequested;
  const Peak peak = Replay(*timeline, 16, config, Bytes::Max());
  // Run 1: x, a (r lies in it), c, h (4 KiB), e in c's buffer, d; y finds a's or c's chunk. Run 2: the pattern of a, c
  // and d is 3 MiB, and no region has that much.
  const Bytes weights = Bytes::MiB(4) + Bytes::Of(256);
  CHECK(peak.steps[0].peak.reserved == weights + Bytes::MiB(4) + Bytes::KiB(4));
  CHECK(peak.steps[1].peak.reserved == peak.steps[0].peak.reserved + Bytes::MiB(3));
  CHECK(peak.peak.requested == peak.steps[1].peak.requested);
  CHECK(notes.all().empty());
}

TEST_CASE("on a full card the second run goes on without its block") {
  Notes notes;
  const auto timeline = ScheduleOnnxRuntime(OnnxruntimeGiven(kChain), Inference(), 16, &notes);
  REQUIRE(timeline.ok());
  AllocatorConfig config;
  config.bfc = ArenaOf(Inference());
  config.bfc->growth = BfcGrowth::kSameAsRequested;
  const Bytes first = Replay(*timeline, 16, config, Bytes::Max()).steps[0].peak.reserved;
  CHECK_FALSE(Replay(*timeline, 16, config, first).out_of_memory);
  CHECK(Replay(*timeline, 16, config, first).peak.reserved == first);
  CHECK(Replay(*timeline, 16, config, first - Bytes::Of(256)).out_of_memory);
}

TEST_CASE("halves of a converted file take half as much; other types are the file's own") {
  Notes notes;
  TrainingSpec spec = Inference();
  const auto requested = [&](Precision precision) {
    spec.precision = precision;
    const auto timeline = ScheduleOnnxRuntime(OnnxruntimeGiven(kChain), spec, 16, &notes);
    REQUIRE(timeline.ok());
    AllocatorConfig config;
    config.bfc = ArenaOf(spec);
    return Replay(*timeline, 16, config, Bytes::Max()).steps[0].peak.requested;
  };
  CHECK(requested(Precision::kFp32) == requested(Precision::kFp16) * 2);
  spec.precision = Precision::kAmpFp16;
  CHECK(ToString(ScheduleOnnxRuntime(OnnxruntimeGiven(kChain), spec, 16, &notes).error()) ==
        "--precision: onnxruntime runs the file's own types: there is no amp-fp16 (hint: type --precision fp32 for the "
        "types of the file, fp16 for a file converted to halves)");
  spec = Inference();
  spec.mode = Mode::kTrain;
  CHECK(ToString(ScheduleOnnxRuntime(OnnxruntimeGiven(kChain), spec, 16, &notes).error()) ==
        "--mode: onnxruntime only infers: train is a framework's (hint: type --mode infer, or --framework pytorch)");
}

TEST_CASE("workspaces of convolutions: none is likely, 32 MiB at most without cudnn_conv_use_max_workspace") {
  constexpr const char* kConv = R"(
    agraph (float[batch, 64, 224, 224] x) => (float[batch, 64, 224, 224] y) <float[64, 64, 3, 3] w> {
      y = Conv <pads = [1, 1, 1, 1]> (x, w)
    })";
  TrainingSpec spec = Inference();
  spec.capability = {8, 6};
  const auto workspace = [&](bool at_most) {
    Notes notes;
    const auto timeline = ScheduleOnnxRuntime(OnnxruntimeGiven(kConv), spec, 8, &notes);
    REQUIRE(timeline.ok());
    Bytes bytes;
    for (const Block& block : (at_most ? AtMost(*timeline) : *timeline).blocks) {
      if (block.category == Category::kWorkspace) bytes = std::max(bytes, block.bytes.At(8));
    }
    return bytes;
  };
  const auto most = [&] { return workspace(true); };
  CHECK(workspace(false) == Bytes());
  CHECK(most() > Bytes::MiB(32));
  spec.ort.max_workspace = false;
  CHECK(most() == Bytes::MiB(32));
  spec.cudnn_workspace = Bytes::MiB(5);
  CHECK(most() == Bytes::MiB(5));
}

TEST_CASE("what data decides counts as the largest known tensor, and is said") {
  Notes notes;
  const auto timeline = ScheduleOnnxRuntime(OnnxruntimeGiven(R"(
    agraph (float[batch, 256] x) => (float[2, n] y) {
      a = Exp (x)
      i = NonZero (a)
      f = Cast <to = 1> (i)
      y = Exp (f)
    })"),
                                            Inference(), 4, &notes);
  REQUIRE(timeline.ok());
  REQUIRE(notes.all().size() == 1);
  CHECK(notes.all()[0].code == "unknown-shape");
  for (const Block& block : timeline->blocks) CHECK(block.bytes.At(4) <= Bytes::KiB(20));
}

}  // namespace
}  // namespace vramplan
