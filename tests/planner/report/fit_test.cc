#include "planner/report/fit.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "planner/report/parts/breakdown.h"
#include "tests/support/timelines.h"

namespace vramplan {
namespace {

constexpr Style kFitPlain{.width = 100, .unicode = false}, kVerbose{.width = 100, .unicode = false, .verbose = true};

// 100 MiB of parameters and 10 MiB a sample.
constexpr const char* kStep =
    "setup + 0 parameters 104857600\n"
    "forward + 1 activations 10485760*B @0\n"
    "forward |\n"
    "backward |\n"
    "update |\n";

Peak PeakAt(int64_t batch) { return Replay(TimelineText(kStep), batch, AllocatorConfig(), Bytes::Max()); }

Fit FitAt(int64_t batch, Verdict verdict, int64_t largest) {
  Fit fit;
  fit.head.model.file = "zoo/net.onnx";
  fit.head.batch = batch;
  fit.head.batch_given = batch > 1;
  fit.head.spec = {{"batch", batch, std::to_string(batch), true}, {"precision", "fp32", "fp32", false}};
  fit.card.device = {"Tesla T4", Bytes::GiB(1), "seen", GivenContext(Bytes::MiB(300)), Bytes()};
  fit.card.id = "t4";
  fit.card.verdict = verdict;
  fit.card.peak = PeakAt(batch);
  fit.card.band = BandOf(fit.card.peak.peak.reserved, {}, fit.card.device.context);
  fit.card.largest.largest_batch = largest;
  fit.card.largest.first_failing_batch = largest + 1;
  fit.card.safe_batch = std::max<int64_t>(0, largest - 3);
  if (largest > 0) fit.card.largest.peak = PeakAt(largest);
  fit.card.largest.bottleneck = Bottleneck{largest + 1, 1, Phase::kForward, "/conv/Conv", "h", Bytes::MiB(630)};
  LayerRow conv;
  conv.name = "/conv/Conv";
  conv.op = "conv2d";
  conv.parameters = Bytes::MiB(100);
  conv.saved = Bytes::MiB(10) * batch;
  fit.layers = {conv};
  fit.ladder = {{Precision::kFp32, fit.card.largest}, {Precision::kAmpBf16, LargestBatch()}};
  fit.place = {"/conv/Conv", "aten::convolution"};
  return fit;
}

TEST_CASE("the first line is the verdict") {
  struct Row {
    int64_t batch;
    Verdict verdict;
    int64_t largest;
    const char* line;
  };
  constexpr Row kRows[] = {
      {32, Verdict::kFits, 62,
       "net.onnx training at batch 32 fits on Tesla T4: needs 720.00 MiB of 1.00 GiB (304.00 MiB free); batch 59 is "
       "safe, up to 62 may fit"},
      {60, Verdict::kTight, 62,
       "net.onnx training at batch 60 is tight on Tesla T4: needs 1000.00 MiB of 1.00 GiB (only 24.00 MiB free); batch "
       "59 is safe, up to 62 may fit"},
      {100, Verdict::kDoesNotFit, 62,
       "net.onnx training at batch 100 does not fit on Tesla T4: needs 1.37 GiB of 1.00 GiB (376.00 MiB too much); "
       "batch 59 is safe, up to 62 may fit"},
      {2, Verdict::kTight, 2,
       "net.onnx training at batch 2 is tight on Tesla T4: needs 420.00 MiB of 1.00 GiB (only 604.00 MiB free); no "
       "batch is safe, up to 2 may fit"},
      {1, Verdict::kFits, 62,
       "net.onnx trains on Tesla T4: batch 59 is safe, up to 62 may fit; batch 1 needs 410.00 MiB of 1.00 GiB"},
      {1, Verdict::kDoesNotFit, 0,
       "net.onnx training at batch 1 does not fit on Tesla T4: needs 410.00 MiB of 200.00 MiB (210.00 MiB too much); "
       "no batch fits"},
  };
  for (const Row& row : kRows) {
    Fit fit = FitAt(row.batch, row.verdict, row.largest);
    if (row.largest == 0) fit.card.device.usable = Bytes::MiB(200);
    CHECK_EQ(VerdictLine(fit), row.line);
  }
  Fit infer = FitAt(32, Verdict::kFits, kLargestBatchTried);
  infer.head.mode = Mode::kInfer;
  infer.card.largest.first_failing_batch.reset();
  infer.card.safe_batch = kLargestBatchTried;
  CHECK_EQ(VerdictLine(infer),
           "net.onnx inference at batch 32 fits on Tesla T4: needs 720.00 MiB of 1.00 GiB (304.00 MiB free); any batch "
           "up to 1048576 is safe");
  Fit sure = FitAt(1, Verdict::kFits, 62);
  sure.card.safe_batch = 62;
  CHECK_EQ(VerdictLine(sure),
           "net.onnx trains on Tesla T4: batch 62 is safe and the largest that fits; batch 1 needs 410.00 MiB of 1.00 "
           "GiB");
  Fit fixed = FitAt(1, Verdict::kFits, 1);
  fixed.head.model.has_batch = false;
  CHECK_EQ(VerdictLine(fixed), "net.onnx training fits on Tesla T4: needs 410.00 MiB of 1.00 GiB (614.00 MiB free)");
}

TEST_CASE("the rows of a breakdown sum to the device, its categories to allocated") {
  const Peak peak = PeakAt(3);
  Bytes sum;
  for (const BreakdownRow& row : Breakdown(peak, Bytes::MiB(300))) sum += row.bytes;
  CHECK_EQ(sum, peak.peak.reserved + Bytes::MiB(300));
  CHECK_EQ(sum, DeviceBytes(peak, Bytes::MiB(300)));
}

TEST_CASE("an answer fits on a screen: the verdict, what moves it, what binds, and the rows that matter") {
  Fit fit = FitAt(32, Verdict::kFits, 62);
  fit.assumptions = {
      {"in-place", "assumed: activations run in place", "--inplace on or off", 32, Bytes::MiB(99), Bytes::MiB(100),
       Bytes::MiB(100)},
      {"names", "not in the file: names", "export again", 32, Bytes::MiB(96), Bytes::MiB(100), Bytes::MiB(108)},
      {"folded-batch-norms", "assumed: the 2 batch norms run", "--assume-batchnorm off", 32, Bytes::MiB(69),
       Bytes::MiB(100), Bytes::MiB(100)}};
  CHECK_EQ(
      PrintFit(fit, kFitPlain),
      R"(net.onnx training at batch 32 fits on Tesla T4: needs 720.00 MiB of 1.00 GiB (304.00 MiB free); batch 59 is safe, up to 62 may fit
  not in the file: names (otherwise the peak is from 4.0 % lower to 8.0 % higher; export again)
  safe batches assume this
  batch 63 fails in the forward of step 1: no room for 630.00 MiB at /conv/Conv
assumed: precision fp32

  at the peak                 batch 32     batch 62
  parameters                100.00 MiB   100.00 MiB   9.8 %  ##
  activations               320.00 MiB   620.00 MiB  60.8 %  ###############
  CUDA context and kernels  300.00 MiB   300.00 MiB  29.4 %  #######
  ------------------------  ----------  -----------  ------  ---------------
  on the device             720.00 MiB  1020.00 MiB

with amp-bf16 no batch fits
  as little as 69.00 MiB instead of 100.00 MiB requested, if this is not so: the 2 batch norms run
    (--assume-batchnorm off)
)");
}

TEST_CASE("a verbose answer has every table") {
  CHECK_EQ(
      PrintFit(FitAt(32, Verdict::kFits, 62), kVerbose),
      R"(net.onnx training at batch 32 fits on Tesla T4: needs 720.00 MiB of 1.00 GiB (304.00 MiB free); batch 59 is safe, up to 62 may fit
  batch 63 fails in the forward of step 1: 630.00 MiB for h, at /conv/Conv
given:   batch 32
assumed: precision fp32

  at the peak                 batch 32     batch 62
  parameters                100.00 MiB   100.00 MiB   9.8 %  ##
  buffers                          0 B          0 B   0.0 %
  gradients                        0 B          0 B   0.0 %
  optimizer state                  0 B          0 B   0.0 %
  activations               320.00 MiB   620.00 MiB  60.8 %  ###############
  temporaries                      0 B          0 B   0.0 %
  inputs                           0 B          0 B   0.0 %
  workspace                        0 B          0 B   0.0 %
  slack of blocks                  0 B          0 B   0.0 %
  reserved, not allocated          0 B          0 B   0.0 %
  CUDA context and kernels  300.00 MiB   300.00 MiB  29.4 %  #######
  ------------------------  ----------  -----------  ------  ---------------
  on the device             720.00 MiB  1020.00 MiB

peak: step 1, forward, at /conv/Conv (aten::convolution)

  biggest layers  op          states       saved  temporary
  /conv/Conv      conv2d  100.00 MiB  320.00 MiB        0 B
  --------------  ------  ----------  ----------  ---------
  sum                     100.00 MiB  320.00 MiB

  precision  checkpointing  largest that may fit  needs there
  fp32       none                             62  1020.00 MiB
  amp-bf16   none                       no batch
)");
}

TEST_CASE("tight says what would have to be true for it not to fit, by how much, and what another allocator does") {
  Fit fit = FitAt(60, Verdict::kTight, 62);
  fit.card.device.context = {Bytes::MiB(200), Bytes::MiB(300), Bytes::MiB(350), "seen"};
  fit.card.band = BandOf(Bytes::MiB(700), {true, Bytes::MiB(800)}, fit.card.device.context);
  fit.what_if = {{"expandable_segments:True", Verdict::kFits, 63}, {"max_split_size_mb:64", Verdict::kTight, 64}};
  const std::string text = PrintFit(fit, kVerbose);
  const std::string second = text.substr(text.find('\n') + 1);
  CHECK(second.starts_with(
      R"(  tight: it may need 126.00 MiB too much: cuDNN workspaces 100.00 MiB instead of 0 B, CUDA context
    350.00 MiB instead of 300.00 MiB
  batch 63 fails in the forward of step 1: 630.00 MiB for h, at /conv/Conv
  with PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: fits instead of tight, up to batch 63 may
    fit instead of 62
  with PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64: up to batch 64 may fit instead of 62
)"));
  CAPTURE(text);
  CHECK(text.find("  how sure ") != std::string::npos);
  const std::string json = Print(ToJson(fit));
  CAPTURE(json);
  for (const char* part : {"\"margin_bytes\": 25165824", "\"margin_bytes_high\": -132120576", "\"cudnn_workspaces\": {",
                           "\"allocator_conf\": \"max_split_size_mb:64\""}) {
    CHECK(json.find(part) != std::string::npos);
  }
}

TEST_CASE("the JSON of fit holds the contract") {
  const std::string json = Print(ToJson(FitAt(32, Verdict::kFits, 62)));
  for (const char* part :
       {"\"schema\": \"vramplan.fit/1\"", "\"verdict\": \"fits\"", "\"usable_bytes\": 1073741824", "\"batch\": 32",
        "\"device\": 754974720", "\"largest_batch\": 62", "\"safe_batch\": 59", "\"assumptions\": []",
        "\"first_failing_batch\": 63", "\"tensor\": \"h\"", "\"bytes\": 660602880", "\"checkpointing\": \"none\"",
        "\"cards\": []", "\"notes\": []", "\"phase\": \"forward\"", "\"node\": \"/conv/Conv\""}) {
    CAPTURE(part);
    CHECK(json.find(part) != std::string::npos);
  }
}

}  // namespace
}  // namespace vramplan
