#include "planner/answers/fit.h"

#include <algorithm>
#include <utility>

#include "planner/answers/assumptions.h"
#include "planner/answers/host.h"
#include "planner/answers/other_plans.h"
#include "planner/report/writing/sparkline.h"
#include "planner/runtimes/runtime.h"

namespace vramplan {
namespace {

// Precisions worth comparing, and the one asked for. tf32 computes on fp32 memory; bf16 needs capability 8.0 to be more
// than emulated.
std::vector<Precision> LadderPrecisions(const TrainingSpec& spec, bool nvidia) {
  if (spec.precision_of_file) return {spec.precision};  // its calls are in no other one
  // ONNX Runtime runs the file's own types; a file converted to halves is the other one that people have.
  if (spec.framework.runtime == Runtime::kOnnxRuntime) return {Precision::kFp32, Precision::kFp16};
  std::vector<Precision> ladder = {Precision::kFp32, Precision::kAmpBf16, Precision::kAmpFp16, Precision::kBf16,
                                   Precision::kFp16};
  const bool has_bf16 = !nvidia || spec.capability >= Capability{8, 0};
  if (!has_bf16) std::erase_if(ladder, RunsInBf16);
  if (spec.recorded_in_fp32)
    std::erase_if(ladder, [](Precision p) { return p == Precision::kBf16 || p == Precision::kFp16; });
  if (std::find(ladder.begin(), ladder.end(), spec.precision) == ladder.end())
    ladder.insert(ladder.begin(), spec.precision);
  return ladder;
}

bool IsRefused(StepEnds& steps) {
  const Result<BothEnds> step = steps.At(kFirstBatchLaidOut);
  return step.ok() && !step->likely->refused.empty();
}

std::vector<LadderRow> Ladder(const Prepared& prepared, const TrainingSpec& spec, const ChosenDevice& chosen,
                              const AllocatorConfig& given, const LargestBatch& asked, Notes* notes) {
  const AllocatorConfig config = AllocatorOn(chosen.device, given);
  std::vector<LadderRow> rows;
  const Bytes capacity = chosen.device.CapacityWith(chosen.device.context.likely);
  for (const Precision precision : LadderPrecisions(spec, chosen.nvidia)) {
    if (precision == spec.precision) {
      rows.push_back({precision, asked});
    } else if (prepared.head.model.has_batch) {
      TrainingSpec other = spec;
      other.precision = precision;
      StepEnds steps(prepared, other);
      if (IsRefused(steps)) {
        notes->Add({"bce-under-autocast", Severity::kNote, "--loss",
                    "PyTorch refuses binary_cross_entropy (BCELoss) under autocast, so " +
                        std::string(Name(precision)) + " is not compared",
                    "let the model return logits, without its sigmoid, and type --loss bce-logits"});
        continue;
      }
      // A precision that cannot be laid out (yet) has no row.
      Result<LargestBatch> largest = FindLargestBatch(steps.likely, prepared.layers, config, capacity);
      if (largest.ok()) rows.push_back({precision, *std::move(largest)});
    }
  }
  for (LadderRow& row : rows) row.checkpointed = spec.checkpoint.size();
  return rows;
}

bool Improves(const WhatIf& other, const CardFit& now) {
  const bool better = other.verdict < now.verdict || other.largest_batch > now.largest.largest_batch;
  return better && other.verdict <= now.verdict && other.largest_batch >= now.largest.largest_batch;
}

// The same card under another setting, where it improves the answer. `now`: without it, near to what is looked for.
std::optional<WhatIf> Otherwise(StepEnds& steps, const Device& device, const AllocatorConfig& config,
                                const BothEnds& step, const CardFit& now) {
  const int64_t batch = steps.prepared.head.batch;
  CardJudge judge(steps, device, config, std::max<int64_t>(1, now.largest.largest_batch));
  WhatIf other;
  const bool has_batch = steps.prepared.head.model.has_batch;
  if (has_batch) {
    const Result<int64_t> largest = judge.LargestAlone(batch);
    if (!largest.ok()) return std::nullopt;
    other.largest_batch = *largest;
    // At the best verdict it does not improve.
    other.verdict = Verdict::kFits;
    if (!Improves(other, now)) return std::nullopt;
  }
  other.verdict = judge.VerdictAt(step, batch);
  if (!has_batch) other.largest_batch = other.verdict == Verdict::kDoesNotFit ? 0 : 1;
  return Improves(other, now) ? std::optional(other) : std::nullopt;
}

// Whether no setting of the allocator can improve the answer: a verdict that could be better is about a step that asks
// for more than the card has, and so does the first batch that fails.
bool NoSettingHelps(StepEnds& steps, const Device& device, const BothEnds& step, const CardFit& now) {
  const Bytes room = device.CapacityWith(device.context.likely);
  const int64_t batch = steps.prepared.head.batch;
  if (now.verdict != Verdict::kFits && RequestedPeak(*step.likely, batch) <= room) return false;
  const std::optional<int64_t>& failing = now.largest.first_failing_batch;
  if (!steps.prepared.head.model.has_batch || !failing) return true;
  const Result<LaidOut> fails = steps.likely.At(*failing);
  return fails.ok() && RequestedPeak(**fails, *failing) > room;
}

// The other way for an arena to grow, where it improves the answer.
std::vector<WhatIf> OtherGrowth(StepEnds& steps, const ChosenDevice& chosen, const BothEnds& step, const CardFit& now) {
  TrainingSpec other = steps.spec;
  other.ort.growth = ArenaGrowth::kSameAsRequested;
  if (other.framework.runtime != Runtime::kOnnxRuntime || other.given.count("ort-arena") != 0) return {};
  AllocatorConfig config;
  config.bfc = ArenaOf(other);
  StepEnds grown(steps.prepared, other);
  const std::optional<WhatIf> what = Otherwise(grown, chosen.device, config, step, now);
  if (!what) return {};
  return {WhatIf{std::string(Name(other.ort.growth)), what->verdict, what->largest_batch, "arena_extend_strategy"}};
}

// The two settings that people try against fragmentation, where the user has set none: what improves the answer.
// Expandable segments came with PyTorch 2.1; 64 MiB and 256 MiB bracket the sizes that blogs and issues recommend.
std::vector<WhatIf> WhatIfs(StepEnds& steps, const ChosenDevice& chosen, const BothEnds& step, const CardFit& now) {
  std::vector<WhatIf> better;
  if (NoSettingHelps(steps, chosen.device, step, now)) return better;
  for (const char* conf : {"expandable_segments:True", "max_split_size_mb:64", "max_split_size_mb:256"}) {
    const AllocatorConfig config = ParseAllocatorConfig(conf).value();
    if (config.expandable_segments && steps.spec.framework < Framework{2, 1}) continue;
    const std::optional<WhatIf> what = Otherwise(steps, chosen.device, config, step, now);
    if (!what) continue;
    const WhatIf other{conf, what->verdict, what->largest_batch};
    // One line a setting: of the two sizes, the better one.
    if (!better.empty() && config.max_split_size && better.back().conf.starts_with("max_split_size_mb")) {
      if (std::pair(better.back().verdict, -better.back().largest_batch) <=
          std::pair(other.verdict, -other.largest_batch))
        continue;
      better.pop_back();
    }
    better.push_back(other);
  }
  return better;
}

// Asked at the batch that people will run: the one that they gave, else the largest.
std::vector<Assumption> AssumptionsAt(const CardFit& card, const StepEnds& steps, const Question& question, bool brief,
                                      const Timeline& likely) {
  const Prepared& prepared = steps.prepared;
  const bool at_largest = !prepared.head.batch_given && card.largest.peak;
  const int64_t batch = at_largest ? card.largest.largest_batch : prepared.head.batch;
  const Bytes requested = (at_largest ? *card.largest.peak : card.peak).peak.requested;
  return AssumptionsOf({prepared, question, steps.spec, batch, likely, requested, brief});
}

}  // namespace

Result<Fit> FitOf(const Question& question, const ChosenDevice& chosen, StepEnds& steps, CardFit card,
                  const FitParts& parts, Notes notes) {
  const TrainingSpec& spec = steps.spec;
  const Prepared& prepared = steps.prepared;
  const int64_t batch = prepared.head.batch;
  const Result<BothEnds> step = steps.At(batch);
  if (!step.ok()) return step.error();
  const Timeline& timeline = *step->likely;
  Fit fit;
  fit.card = std::move(card);
  if (spec.around.keep_loss_graph && fit.card.verdict != Verdict::kDoesNotFit) {
    const Device& device = fit.card.device;
    fit.kept = KeptGraphsOf(timeline, batch, fit.card.peak.peak.reserved, device.CapacityWith(device.context.likely));
  }
  fit.assumptions = AssumptionsAt(fit.card, steps, question, parts.brief, timeline);
  fit.head = prepared.head;
  fit.head.loss = timeline.loss;
  fit.place = PlaceOf(fit.card.peak, timeline, prepared.layers);
  fit.layers = LayerTable(timeline, prepared.layers, spec, batch);
  fit.over_step = StepCourse(timeline, batch, kSparks);
  if (const std::optional<int64_t>& failing = fit.card.largest.first_failing_batch;
      failing && *failing > 4 && prepared.head.model.has_batch) {
    fit.last_batch = *failing + *failing / 4;
    fit.over_batch = BatchCourse(timeline, fit.last_batch, kSparks);
  }
  fit.ladder = Ladder(prepared, spec, chosen, question.allocator, fit.card.largest, &notes);
  if (spec.framework.runtime != Runtime::kPyTorch) {
    fit.what_if = OtherGrowth(steps, chosen, *step, fit.card);
  } else if (chosen.nvidia && question.allocator_text.empty()) {
    fit.what_if = WhatIfs(steps, chosen, *step, fit.card);
  }
  if (fit.card.verdict != Verdict::kFits)
    fit.remedies = RemediesOf(question, prepared.head.model, chosen, batch, fit.card.verdict);
  if (spec.mode == Mode::kServe) {
    Result<Serving> serving = ServingOf(question, chosen, batch);
    if (!serving.ok()) return serving.error();
    fit.serving = *std::move(serving);
  }
  if (parts.host) {
    Result<HostMemory> host = HostOf(prepared, question, spec, fit.card);
    if (!host.ok()) return host.error();
    fit.host = *std::move(host);
  }
  fit.notes = std::move(notes);
  return fit;
}

}  // namespace vramplan
