#include "planner/report/fit.h"

#include <algorithm>

#include "planner/cli/doubts.h"
#include "planner/cli/host.h"
#include "planner/cli/judge.h"
#include "planner/cli/prepare.h"
#include "planner/cli/progress.h"
#include "planner/cli/recorded.h"
#include "planner/cli/step_alone.h"
#include "planner/cli/verbs.h"
#include "planner/picture/fit_page.h"
#include "planner/report/sparkline.h"
#include "planner/runtimes/runtime.h"

namespace vramplan {
namespace {

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

// Whether PyTorch raises an error in this step, which no batch avoids.
bool IsRefused(const Prepared& prepared, const TrainingSpec& spec) {
  Notes notes;
  const Result<Timeline> step = LayOut(prepared, spec, prepared.question.batch, &notes);
  return step.ok() && std::ranges::any_of(notes.all(), [](const Note& n) { return n.code == "bce-under-autocast"; });
}

std::vector<LadderRow> Ladder(const Prepared& prepared, const TrainingSpec& spec, const ChosenDevice& chosen,
                              const AllocatorConfig& given, const LargestBatch& asked, Notes* notes) {
  const AllocatorConfig config = AllocatorOn(chosen.device, given);
  std::vector<LadderRow> rows;
  const Bytes capacity = chosen.device.CapacityWith(chosen.device.context.likely);
  for (const Precision precision : LadderPrecisions(spec, chosen.nvidia)) {
    if (precision == spec.precision) {
      rows.push_back({precision, asked});
    } else if (prepared.question.model.has_batch) {
      TrainingSpec other = spec;
      other.precision = precision;
      if (IsRefused(prepared, other)) {
        notes->Add({"bce-under-autocast", Severity::kNote, "--loss",
                    "PyTorch refuses binary_cross_entropy (BCELoss) under autocast, so " +
                        std::string(Name(precision)) + " is not compared",
                    "let the model return logits, without its sigmoid, and type --loss bce-logits"});
        continue;
      }
      // A precision that cannot be laid out (yet) has no row.
      Result<LargestBatch> largest = FindLargestBatch(LayoutOf(prepared, other), prepared.layers, config, capacity);
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
  const Result<LargestBatch> largest = FindLargest(prepared, other, config, step.likely, fit);
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
    const Result<LargestBatch> largest = FindLargest(prepared, spec, config, step.likely, fit);
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

// Asked at the batch that people will run: the one that they gave, else the largest.
std::vector<Assumption> DoubtsOf(const CardFit& card, const Prepared& prepared, const Options& options,
                                 const TrainingSpec& spec, const Timeline& likely) {
  const bool at_largest = !prepared.question.batch_given && card.largest.peak;
  const int64_t batch = at_largest ? card.largest.largest_batch : prepared.question.batch;
  const Bytes requested = (at_largest ? *card.largest.peak : card.peak).peak.requested;
  return Doubts({prepared, options, spec, batch, likely, requested});
}

// The page, or the step alone: at the batch that was asked for, else at the largest.
Result<std::string> Drawn(const Prepared& prepared, const Options& options, const TrainingSpec& spec,
                          const BothEnds& step, const Fit& fit) {
  const int64_t asked = fit.question.batch;
  const bool at_largest = !fit.question.batch_given && fit.card.largest.largest_batch > 1;
  const ContextBand& context = fit.card.device.context;
  std::optional<Timeline> largest;
  if (at_largest) {
    Result<Timeline> timeline = LayoutOf(prepared, spec)(fit.card.largest.largest_batch);
    if (!timeline.ok()) return timeline.error();
    largest = *std::move(timeline);
  }
  const DrawnStep drawn{prepared,
                        fit.question,
                        largest ? *largest : step.likely,
                        largest ? fit.card.largest.largest_batch : asked,
                        spec,
                        options.allocator,
                        context,
                        fit.card.device};
  if (IsStepAlone(options.format)) return StepAlone(options.format, drawn);
  const Result<BatchChart> batches = BatchesAround(drawn, fit.card);
  if (!batches.ok()) return batches.error();
  return PrintFitPage(fit, DrawnPictures(drawn), *batches);
}

Result<Outcome> RunFitMatrix(const Options& options, Prepared prepared, const Style& style) {
  FitMatrix matrix;
  bool fits = false;
  for (const Card& card : Cards()) {
    Progress::Say("fitting on " + card.name + " (" + std::to_string(matrix.cards.size() + 1) + " of " +
                  std::to_string(Cards().size()) + " cards)");
    const ChosenDevice chosen = DeviceOf(card, options);
    const TrainingSpec spec = SpecOn(chosen, options.spec);
    const Result<BothEnds> step = LayOutBothEnds(prepared, spec, prepared.question.batch, &prepared.notes);
    if (!step.ok()) return step.error();
    CardFit fit;
    fit.device = chosen.device;
    fit.id = chosen.id;
    Judge(*step, prepared.question.batch, spec, options.allocator, &fit);
    Result<LargestBatch> largest = FindLargest(prepared, spec, options.allocator, step->likely, fit);
    if (!largest.ok()) return largest.error();
    fit.largest = *std::move(largest);
    const Result<int64_t> safe = FindSafe(prepared, prepared.question.batch, spec, options.allocator, fit);
    if (!safe.ok()) return safe.error();
    fit.safe_batch = *safe;
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
  const int exit_code = fits ? 0 : kExitDoesNotFit;
  if (options.format == Format::kJson) return Outcome{Print(ToJson(matrix)), exit_code, Notes()};
  if (options.format == Format::kHtml) return Outcome{PrintFitMatrixPage(matrix), exit_code, Notes()};
  return Outcome{PrintFitMatrix(matrix, style), exit_code, matrix.notes};
}

}  // namespace

Result<Outcome> RunFit(const Options& options, const Style& style, Probe* machine) {
  if (IsRecord(options.file)) return RunRecorded(options, style, machine);
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
  const Result<BothEnds> step = LayOutBothEnds(*prepared, spec, batch, &prepared->notes);
  if (!step.ok()) return step.error();
  const Timeline& timeline = step->likely;
  if (!chosen->nvidia) NoteAmd(&prepared->notes);

  Fit fit;
  fit.card.device = chosen->device;
  fit.card.id = chosen->id;
  Judge(*step, batch, spec, options.allocator, &fit.card);
  Result<LargestBatch> largest = FindLargest(*prepared, spec, options.allocator, timeline, fit.card);
  if (!largest.ok()) return largest.error();
  fit.card.largest = *std::move(largest);
  const Result<int64_t> safe = FindSafe(*prepared, batch, spec, options.allocator, fit.card);
  if (!safe.ok()) return safe.error();
  fit.card.safe_batch = *safe;
  fit.assumptions = DoubtsOf(fit.card, *prepared, options, spec, timeline);
  fit.question = prepared->question;
  fit.question.spec = SpecRows(options, spec, fit.question, chosen, chosen->device.context);
  SayLoss(timeline.loss, &fit.question.spec);
  fit.place = PlaceOf(fit.card.peak, timeline, prepared->layers);
  fit.layers = LayerTable(timeline, prepared->layers, spec, batch);
  fit.over_step = StepCourse(timeline, batch, kSparks);
  if (const std::optional<int64_t>& failing = fit.card.largest.first_failing_batch;
      failing && *failing > 4 && prepared->question.model.has_batch) {
    fit.last_batch = *failing + *failing / 4;
    fit.over_batch = BatchCourse(timeline, fit.last_batch, kSparks);
  }
  fit.ladder = Ladder(*prepared, spec, *chosen, options.allocator, fit.card.largest, &prepared->notes);
  if (spec.framework.runtime != Runtime::kPyTorch) {
    fit.what_if = OtherGrowth(*prepared, spec, *chosen, *step, fit.card);
  } else if (chosen->nvidia && options.allocator_text.empty()) {
    fit.what_if = WhatIfs(*prepared, spec, *chosen, *step, fit.card);
  }
  if (options.host) {
    Result<HostMemory> host = HostOf(*prepared, options, spec, fit.card);
    if (!host.ok()) return host.error();
    fit.host = *std::move(host);
  }
  fit.notes = prepared->notes;
  const int exit_code = fit.card.verdict == Verdict::kDoesNotFit ? kExitDoesNotFit : 0;
  if (options.format == Format::kJson) return Outcome{Print(ToJson(fit)), exit_code, Notes()};
  if (IsPicture(options.format)) {
    Result<std::string> drawn = Drawn(*prepared, options, spec, *step, fit);
    if (!drawn.ok()) return drawn.error();
    return Outcome{*std::move(drawn), exit_code, Notes()};
  }
  return Outcome{PrintFit(fit, style), exit_code, fit.notes};
}

}  // namespace vramplan
