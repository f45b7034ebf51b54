#include "planner/report/fit.h"

#include <algorithm>

#include "planner/cli/doubts.h"
#include "planner/cli/prepare.h"
#include "planner/cli/verbs.h"
#include "planner/runtimes/runtime.h"

namespace vramplan {
namespace {

constexpr int kDoesNotFit = 3;

// The step at any batch. Notes were taken at the batch that is reported.
Layout LayoutOf(const Layers& layers, const TrainingSpec& spec) {
  return [&layers, spec](int64_t batch) {
    Notes already_told;
    return ScheduleFor(layers, spec, batch, &already_told);
  };
}

// The step, and where cuDNN chooses workspaces, the same step with them at their high end.
struct BothEnds {
  Timeline likely;
  std::optional<Timeline> high;
};
Result<BothEnds> LayOut(const Prepared& prepared, const TrainingSpec& spec, Notes* notes) {
  Result<Timeline> likely = ScheduleFor(prepared.layers, spec, prepared.question.batch, notes);
  if (!likely.ok()) return likely.error();
  BothEnds ends{*std::move(likely), std::nullopt};
  if (!CudnnChooses(prepared.layers, spec)) return ends;
  Notes already_told;
  Result<Timeline> high = ScheduleFor(prepared.layers, AtHighWorkspaces(spec), prepared.question.batch, &already_told);
  if (!high.ok()) return high.error();
  ends.high = *std::move(high);
  return ends;
}

// Within the capacity when it fits: what it reserved on a card without end may be more than it needs, it gives its
// cache back where it must. Else as if the card had no end.
Peak Within(const Timeline& timeline, int64_t batch, const AllocatorConfig& config, Bytes capacity, bool* fits) {
  Peak peak = Replay(timeline, batch, config, capacity);
  *fits = !peak.out_of_memory;
  if (*fits) return peak;
  AllocatorConfig endless = config;
  endless.device_total.reset();
  if (endless.bfc) endless.bfc->limit = Bytes::Max();
  return Replay(timeline, batch, endless, Bytes::Max());
}

// Other runtimes: what is not known is in a range of reserved bytes.
void JudgeByRange(const BothEnds& step, int64_t batch, const TrainingSpec& spec, const AllocatorConfig& config,
                  CardFit* fit) {
  bool fits = false;
  fit->peak = Within(step.likely, batch, config, fit->device.CapacityWith(fit->device.context.likely), &fits);
  const Bytes reserved = fit->peak.peak.reserved;
  const ReservedRange range = ReservedAround(step.likely, spec, batch, config, reserved);
  ReservedEnds ends{false, reserved, Band{range.low, range.likely, range.high}};
  const Bytes at_worst = fit->device.CapacityWith(fit->device.context.high);
  bool surely = fits && FitsSurely(step.likely, spec, batch, config, at_worst);
  if (step.high) {
    bool high_fits = false;
    const Bytes high = Within(*step.high, batch, config, at_worst, &high_fits).peak.reserved;
    ends = {true, std::max(high, reserved), ends.range};
    surely = surely && high_fits;
  }
  fit->band = BandOf(reserved, ends, fit->device.context);
  fit->verdict = !fits ? Verdict::kDoesNotFit : surely ? Verdict::kFits : Verdict::kTight;
}

// Fills `verdict`, `peak` and `band`.
void Judge(const BothEnds& step, int64_t batch, const TrainingSpec& spec, const AllocatorConfig& given, CardFit* fit) {
  const AllocatorConfig config = AllocatorOn(fit->device, given);
  if (config.bfc) return JudgeByRange(step, batch, spec, config, fit);
  const ContextBand& context = fit->device.context;
  bool fits = false, surely = false;
  fit->peak = Within(step.likely, batch, config, fit->device.CapacityWith(context.likely), &fits);
  const Bytes reserved = fit->peak.peak.reserved;
  const Bytes at_worst = fit->device.CapacityWith(context.high);
  ReservedEnds ends;
  if (step.high) {
    ends = {true, Within(*step.high, batch, config, at_worst, &surely).peak.reserved};
    const Bytes room = std::max(Bytes(), at_worst - MeasuredAbove(reserved));
    surely = fits && surely && (reserved <= room || !Replay(step.likely, batch, config, room).out_of_memory);
  } else if (fits) {
    surely = reserved <= at_worst || !Replay(step.likely, batch, config, at_worst).out_of_memory;
  }
  fit->band = BandOf(reserved, ends, context);
  fit->verdict = !fits ? Verdict::kDoesNotFit : surely ? Verdict::kFits : Verdict::kTight;
}

// A graph without a batch has one size: it fits as batch 1, or not.
Result<LargestBatch> Largest(const Prepared& prepared, const TrainingSpec& spec, const Device& device,
                             const AllocatorConfig& given, const Timeline& timeline, Verdict verdict) {
  const AllocatorConfig config = AllocatorOn(device, given);
  const Bytes capacity = device.CapacityWith(device.context.likely);
  if (prepared.question.model.has_batch) {
    return FindLargestBatch(LayoutOf(prepared.layers, spec), prepared.layers, config, capacity,
                            prepared.question.batch);
  }
  LargestBatch only;
  only.largest_batch = verdict == Verdict::kDoesNotFit ? 0 : 1;
  if (only.largest_batch == 1) return only;
  only.first_failing_batch = 1;
  const Peak refused = Replay(timeline, 1, config, capacity);
  if (refused.out_of_memory) only.bottleneck = DescribeAllocation(timeline, prepared.layers, 1, *refused.out_of_memory);
  return only;
}

// Precisions worth comparing, and the one asked for. tf32 computes on fp32 memory; bf16 needs capability 8.0 to be more
// than emulated.
std::vector<Precision> LadderPrecisions(const TrainingSpec& spec, bool nvidia) {
  // ONNX Runtime runs the file's own types; a file converted to halves is the other one that people have.
  if (spec.framework.runtime == Runtime::kOnnxRuntime) return {Precision::kFp32, Precision::kFp16};
  std::vector<Precision> ladder = {Precision::kFp32, Precision::kAmpBf16, Precision::kAmpFp16, Precision::kBf16,
                                   Precision::kFp16};
  const bool has_bf16 = !nvidia || spec.capability >= Capability{8, 0};
  if (!has_bf16) {
    ladder.erase(std::remove_if(ladder.begin(), ladder.end(),
                                [](Precision p) { return p == Precision::kAmpBf16 || p == Precision::kBf16; }),
                 ladder.end());
  }
  if (std::find(ladder.begin(), ladder.end(), spec.precision) == ladder.end())
    ladder.insert(ladder.begin(), spec.precision);
  return ladder;
}

std::vector<LadderRow> Ladder(const Prepared& prepared, const TrainingSpec& spec, const ChosenDevice& chosen,
                              const AllocatorConfig& given, const LargestBatch& asked) {
  const AllocatorConfig config = AllocatorOn(chosen.device, given);
  std::vector<LadderRow> rows;
  const Bytes capacity = chosen.device.CapacityWith(chosen.device.context.likely);
  for (const Precision precision : LadderPrecisions(spec, chosen.nvidia)) {
    if (precision == spec.precision) {
      rows.push_back({precision, asked});
    } else if (prepared.question.model.has_batch) {
      TrainingSpec other = spec;
      other.precision = precision;
      // A precision that cannot be laid out (yet) has no row.
      Result<LargestBatch> largest =
          FindLargestBatch(LayoutOf(prepared.layers, other), prepared.layers, config, capacity);
      if (largest.ok()) rows.push_back({precision, *std::move(largest)});
    }
  }
  for (LadderRow& row : rows) row.checkpointed = spec.checkpoint.size();
  return rows;
}

// The other way for an arena to grow, where it improves the answer.
std::vector<WhatIf> OtherGrowth(const Prepared& prepared, const TrainingSpec& spec, const ChosenDevice& chosen,
                                const BothEnds& step, const CardFit& now) {
  TrainingSpec other = spec;
  other.ort.growth = ArenaGrowth::kSameAsRequested;
  if (spec.framework.runtime != Runtime::kOnnxRuntime || spec.given.count("ort-arena") != 0) return {};
  AllocatorConfig config;
  config.bfc = ArenaOf(other);
  CardFit fit;
  fit.device = chosen.device;
  Judge(step, prepared.question.batch, other, config, &fit);
  const Result<LargestBatch> largest = Largest(prepared, other, chosen.device, config, step.likely, fit.verdict);
  if (!largest.ok()) return {};
  const WhatIf what{std::string(Name(other.ort.growth)), fit.verdict, largest->largest_batch, "arena_extend_strategy"};
  const bool worse = what.verdict > now.verdict || what.largest_batch < now.largest.largest_batch;
  const bool same = what.verdict == now.verdict && what.largest_batch == now.largest.largest_batch;
  if (worse || same) return {};
  return {what};
}

// The two settings that people try against fragmentation, where the user has set none: what improves the answer.
// Expandable segments came with PyTorch 2.1; 64 MiB and 256 MiB bracket the sizes that blogs and issues recommend.
std::vector<WhatIf> WhatIfs(const Prepared& prepared, const TrainingSpec& spec, const ChosenDevice& chosen,
                            const BothEnds& step, const CardFit& now) {
  std::vector<WhatIf> better;
  for (const char* conf : {"expandable_segments:True", "max_split_size_mb:64", "max_split_size_mb:256"}) {
    const AllocatorConfig config = ParseAllocatorConfig(conf).value();
    if (config.expandable_segments && spec.framework < Framework{2, 1}) continue;
    CardFit fit;
    fit.device = chosen.device;
    Judge(step, prepared.question.batch, spec, config, &fit);
    const Result<LargestBatch> largest = Largest(prepared, spec, chosen.device, config, step.likely, fit.verdict);
    if (!largest.ok()) continue;
    const WhatIf other{conf, fit.verdict, largest->largest_batch};
    const bool improves = other.verdict < now.verdict || other.largest_batch > now.largest.largest_batch;
    const bool nothing_lost = other.verdict <= now.verdict && other.largest_batch >= now.largest.largest_batch;
    if (!improves || !nothing_lost) continue;
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

void NoteAmd(Notes* notes) {
  notes->Add({"amd-card", Severity::kWarning, "--gpu",
              "the rules are those of CUDA; on an AMD card workspaces and context differ", ""});
}

Result<Outcome> RunFitMatrix(const Options& options, Prepared prepared, const Style& style) {
  FitMatrix matrix;
  bool fits = false;
  for (const Card& card : Cards()) {
    const ChosenDevice chosen = DeviceOf(card, options);
    const TrainingSpec spec = SpecOn(chosen, options.spec);
    const Result<BothEnds> step = LayOut(prepared, spec, &prepared.notes);
    if (!step.ok()) return step.error();
    CardFit fit;
    fit.device = chosen.device;
    fit.id = chosen.id;
    Judge(*step, prepared.question.batch, spec, options.allocator, &fit);
    Result<LargestBatch> largest = Largest(prepared, spec, chosen.device, options.allocator, step->likely, fit.verdict);
    if (!largest.ok()) return largest.error();
    fit.largest = *std::move(largest);
    fits = fits || fit.verdict != Verdict::kDoesNotFit;
    matrix.cards.push_back(std::move(fit));
  }
  NoteAmd(&prepared.notes);
  std::stable_sort(matrix.cards.begin(), matrix.cards.end());
  matrix.question = prepared.question;
  matrix.question.spec = SpecRows(options, options.spec, matrix.question, std::nullopt, ContextBand());
  // Those three are each card's own.
  matrix.question.spec.erase(
      std::remove_if(
          matrix.question.spec.begin(), matrix.question.spec.end(),
          [](const SpecRow& row) { return !row.given && (row.option == "capability" || row.option == "context"); }),
      matrix.question.spec.end());
  matrix.notes = prepared.notes;
  const int exit_code = fits ? 0 : kDoesNotFit;
  if (options.format == Format::kJson) return Outcome{Print(ToJson(matrix)), exit_code, Notes()};
  return Outcome{PrintFitMatrix(matrix, style), exit_code, matrix.notes};
}

}  // namespace

Result<Outcome> RunFit(const Options& options, const Style& style, Probe* machine) {
  std::optional<ChosenDevice> chosen;
  if (options.gpu == "all" && !options.profile.empty())
    return Error{ErrorCode::kUsage, "--profile", "is of one card, and --gpu all asks about many",
                 "leave one of them out"};
  if (options.gpu != "all") {
    Result<std::optional<ChosenDevice>> found = ChooseDevice(options, machine);
    if (!found.ok()) return found.error();
    chosen = *std::move(found);
  }
  Result<Prepared> prepared = Prepare(options);
  if (!prepared.ok()) return prepared.error();
  if (!chosen) return RunFitMatrix(options, *std::move(prepared), style);
  prepared->notes.Append(chosen->notes);

  const TrainingSpec spec = SpecOn(*chosen, options.spec);
  const int64_t batch = prepared->question.batch;
  const Result<BothEnds> step = LayOut(*prepared, spec, &prepared->notes);
  if (!step.ok()) return step.error();
  const Timeline& timeline = step->likely;
  if (!chosen->nvidia) NoteAmd(&prepared->notes);

  Fit fit;
  fit.card.device = chosen->device;
  fit.card.id = chosen->id;
  Judge(*step, batch, spec, options.allocator, &fit.card);
  if (const Status noted = NoteDoubts(prepared->layers, spec, batch, AllocatorOn(chosen->device, options.allocator),
                                      fit.card.peak.peak.requested, &prepared->notes);
      !noted) {
    return noted.error();
  }
  Result<LargestBatch> largest =
      Largest(*prepared, spec, chosen->device, options.allocator, timeline, fit.card.verdict);
  if (!largest.ok()) return largest.error();
  fit.card.largest = *std::move(largest);
  fit.question = prepared->question;
  fit.question.spec = SpecRows(options, spec, fit.question, chosen, chosen->device.context);
  fit.place = PlaceOf(fit.card.peak, timeline, prepared->layers);
  fit.layers = LayerTable(timeline, prepared->layers, spec, batch);
  fit.ladder = Ladder(*prepared, spec, *chosen, options.allocator, fit.card.largest);
  if (spec.framework.runtime != Runtime::kPyTorch) {
    fit.what_if = OtherGrowth(*prepared, spec, *chosen, *step, fit.card);
  } else if (chosen->nvidia && options.allocator_text.empty()) {
    fit.what_if = WhatIfs(*prepared, spec, *chosen, *step, fit.card);
  }
  fit.notes = prepared->notes;
  const int exit_code = fit.card.verdict == Verdict::kDoesNotFit ? kDoesNotFit : 0;
  if (options.format == Format::kJson) return Outcome{Print(ToJson(fit)), exit_code, Notes()};
  return Outcome{PrintFit(fit, style), exit_code, fit.notes};
}

}  // namespace vramplan
