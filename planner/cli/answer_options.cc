// Options about what is searched for, and how it is answered.
#include <limits>
#include <string>

#include "planner/cli/option_row.h"
#include "planner/cli/settings.h"
#include "planner/spec/nearest.h"

namespace vramplan {
namespace {

using namespace verbs;  // NOLINT(google-build-using-namespace): the columns of the table below
using enum OptionGroup;

constexpr int64_t kMostWorkers = 4096, kMostSeed = std::numeric_limits<int64_t>::max();
constexpr int64_t kLastPort = 65535;
constexpr int kLastStep = 3;  // what Schedule lays out

Status ReadMultiple(const Typed& typed, Options* options) {
  options->wishes.power_of_two = typed.text() == "power-of-two";
  if (options->wishes.power_of_two) return Done();
  return Into<&PlanWishes::multiple_of, [](const Typed& t) { return Whole(t, 1, kMostSamples, "8"); }>(typed, options);
}

Status ReadGoal(const Typed& typed, Options* options) {
  const Result<bool> largest = IsSecond(typed, "time", "batch");
  if (!largest.ok()) return largest.error();
  options->wishes.goal = *largest ? Goal::kBatch : Goal::kTime;
  return Done();
}

Result<Tier> ParseTier(const std::string& text) {
  for (const Tier tier : {Tier::kNone, Tier::kModules, Tier::kOperators}) {
    if (text == Name(tier)) return tier;
  }
  return Wrong("--tier", InQuotes(text) + " is not one of none, modules or operators", "type --tier modules");
}

// "2%" or "100MiB".
Result<std::optional<GrowthBudget>> ReadGrowth(const Typed& typed) {
  const std::string& text = typed.text();
  const Error wrong =
      Wrong("--budget", InQuotes(text) + " is neither a percentage nor a size", "type --budget 2% or --budget 100MiB");
  if (text.ends_with('%')) {
    const Result<double> percent = ReadReal("--budget", text.substr(0, text.find_last_not_of("% ") + 1));
    if (!percent.ok()) return wrong;
    return std::optional(GrowthBudget{.percent = *percent});
  }
  const bool bare = text.find_first_not_of("0123456789.") == text.npos;
  const Result<Bytes> bytes = ParseBytes(text);
  if (!bytes.ok() || bare) return wrong;
  return std::optional(GrowthBudget{.bytes = *bytes});
}

// In the unit of the problem, so that any number is one.
Result<int64_t> ReadBudget(const Typed& typed, Notes* notes) {
  const bool bare = typed.text().find_first_not_of("0123456789.") == std::string::npos;
  const Result<Bytes> budget = bare ? ParseBytes(typed.text()) : SizeOf(typed, notes);
  if (!budget.ok())
    return Wrong("--budget", InQuotes(typed.text()) + " is not a number or a size", "type --budget 8GiB");
  return budget->count();
}

Result<std::optional<int>> ReadStep(const Typed& typed) {
  if (typed.text() == "all") return std::optional<int>();
  const std::optional<int64_t> step = ReadInteger(typed.text());
  if (!step || *step < 1 || *step > kLastStep) {
    return Wrong("--step",
                 InQuotes(typed.text()) + " is not a step from 1 to " + std::to_string(kLastStep) + ", or all",
                 "type --step 2, the first steady one");
  }
  return std::optional(static_cast<int>(*step));
}

Result<Dump> ParseDump(const std::string& text) {
  if (text == "shapes") return Dump::kShapes;
  if (text == "layers") return Dump::kLayers;
  if (text == "parameters") return Dump::kParameters;
  if (text == "holds") return Dump::kHolds;
  const std::string near = SuggestNearest(text, {"shapes", "layers", "parameters", "holds"});
  return Wrong("--dump", InQuotes(text) + " is not one of shapes, layers, parameters or holds",
               near.empty() ? "type --dump shapes" : near);
}

Status ReadPasses(const Typed& /*typed*/, Options* options) {
  options->dump = Dump::kPasses;
  return Done();
}

// Text and JSON, and `others`.
template <Format... others>
Status ReadFormat(const Typed& typed, Options* options) {
  std::vector<std::string> names;
  for (const Format format : {Format::kText, Format::kJson, others...}) {
    names.emplace_back(Name(format));
    if (typed.text() != names.back()) continue;
    options->format = format;
    return Done();
  }
  const std::string near = SuggestNearest(typed.text(), names);
  return Wrong("--format", InQuotes(typed.text()) + " is not one of " + JoinChoices(names),
               near.empty() ? "type --format json" : near);
}

Result<std::string> ReadOut(const Typed& typed) {
  if (typed.text().empty())
    return Wrong("--out", "the name of the file is empty", "type --out FILE, or - for the terminal");
  return typed.text() == "/dev/stdout" ? "-" : typed.text();
}

std::vector<std::string> FormatWords() { return {"text", "json"}; }

constexpr OptionRow kAnswerRows[] = {
    OptionRow{"--over", "NAME=VALUES",
              "what to vary, and its values: 1:256:x2 doubles, 16:128:+16 adds, a,b,c lists them; NAME is batch, a "
              "free dim, or an option of estimate such as precision; repeatable: every combination",
              Of({kSweep}), kSearch, Into<&Options::over, [](const Typed& t) { return ReadSweepAxes(t.values); }>}
        .Repeats()
        .First(),
    OptionRow{"--effective-batch", "N", "samples of one optimizer step: plan chooses batch and accumulation",
              Of({kPlan}), kSearch,
              Into<&PlanWishes::effective_batch, [](const Typed& t) { return Whole(t, 1, kMostSamples, "8"); }>},
    OptionRow{"--multiple-of", "N", "make the batch a multiple of N, or power-of-two: 1, 2, 4, 8 ... [1]", Of({kPlan}),
              kSearch, ReadMultiple},
    OptionRow{"--goal", "GOAL", "time: the least time per sample; batch: the largest batch, at any cost in time [time]",
              Of({kPlan}), kSearch, ReadGoal},
    OptionRow{"--tier", "TIER",
              "none: nothing is checkpointed; modules: whole modules; operators: modules, and operator calls saved "
              "inside them [modules; operators with --emit pytorch-sac]",
              Of({kPlan}), kSearch, Into<&PlanWishes::tier, ParseTier>},
    OptionRow{"--budget", "N",
              "the most that may be held at once, in the unit of the file's bytes [solve: the smallest budget for "
              "which it finds a schedule]",
              Of({kSolve, kCheck}), kSearch, Into<&RematWishes::budget, ReadBudget>},
    OptionRow{"--budget", "N%|SIZE",
              "how much the requested peak may grow, as a share of the old one or in bytes, such as 2% or 100MiB; "
              "beyond it the exit code is 3 [any growth]",
              Of({kDiff}), kSearch, Into<&Options::growth, ReadGrowth>}
        .First(),
    OptionRow{"--seed", "K", "seed of the random numbers; another seed may find another schedule [0]", Of({kSolve}),
              kSearch, Into<&RematWishes::seed, [](const Typed& t) { return Whole(t, 0, kMostSeed, "1"); }>},
    OptionRow{"--emit", "KIND",
              "pytorch, pytorch-sac, hf, sft, accelerate, fsdp2, deepspeed, lightning, axolotl, torchtune, diffusers, "
              "nnunet, keras or env: print the configuration that applies the plan instead of the answer, or write it "
              "to --out FILE. fit prints the configuration of the step as asked, at its batch or the safe one; it also "
              "takes vllm, the command line of --engine vllm",
              Of({kPlan, kFit}), kAnswer, Into<&Options::emit, ParseEmit>}
        .Words(EmitNames),
    OptionRow{"--host", "",
              "also count the host's RAM: beside the card, and with the whole step on the CPU; and say why it fits "
              "there and not on the card",
              Of({kFit}), kAnswer, Flag<&Options::host>}
        .Of(kPyTorchAlone),
    OptionRow{"--workers", "N", "with --host: workers of the DataLoader [0]", Of({kFit}), kAnswer,
              Into<&LoaderQuestion::workers, [](const Typed& t) { return Whole(t, 0, kMostWorkers, "4"); }>},
    OptionRow{"--prefetch", "N", "with --host: batches that each worker loads ahead [2]", Of({kFit}), kAnswer,
              Into<&LoaderQuestion::prefetch, [](const Typed& t) { return Whole(t, 1, kMostWorkers, "4"); }>},
    OptionRow{"--sample-bytes", "SIZE",
              "with --host: the size of a sample as the loader gives it [the model's inputs and target]", Of({kFit}),
              kAnswer, Into<&LoaderQuestion::sample, SizeOf>},
    OptionRow{"--segments", "", "draw the allocator's segments at the peak: what is free, and why it cannot be used",
              Of({kEstimate}), kAnswer, Flag<&Options::segments>},
    OptionRow{"--step", "N",
              "which step to write; all: from model.to(\"cuda\") on [2, or the last one of a record with fewer]",
              Of({kTrace}), kAnswer, Into<&Options::step, ReadStep>},
    OptionRow{"--step", "N", "which optimizer step of the snapshot, counted from 1 [the last whole one]",
              Of({kCompare}), kAnswer,
              Into<&Options::step, [](const Typed& t) { return Whole(t, 1, kMostSteps, "2"); }>},
    OptionRow{"--compare", "FILE",
              "print where the step differs from a recorded stream with the same columns (.gz is fine)", Of({kTrace}),
              kAnswer, Text<&Options::compare>},
    OptionRow{"--problem", "", "instead write what the step computes as a problem for solve (nanoseconds, bytes)",
              Of({kTrace}), kAnswer, Flag<&Options::problem>},
    OptionRow{"--check", "", "compare every recorded row, and stop at the first that differs (exit code 1)",
              Of({kReplay}), kAnswer, Flag<&Options::check>},
    OptionRow{"--dump", "WHAT",
              "shapes, layers or parameters: print every one of them; holds: until when the forward keeps each tensor, "
              "and why",
              Of({kInspect}), kAnswer, Into<&Options::dump, ParseDump>},
    OptionRow{"--dump", "holds", "print until when the forward keeps each tensor, and why, instead of the estimate",
              Of({kEstimate}), kAnswer, Into<&Options::dump, ParseDump>},
    OptionRow{"--why", "NODE",
              "how this node of the file became a call: the rules that were tried, and where they failed. For a form "
              "of several nodes, give its last node",
              Of({kInspect}), kAnswer, Text<&Options::why>},
    OptionRow{"--passes", "", "the passes that undo what the exporter did to the model, and what each of them changed",
              Of({kInspect}), kAnswer, ReadPasses},
    OptionRow{"--port", "N", "the port of the page on this machine [any free one]", Of({kUi}), kAnswer,
              Into<&Options::port, [](const Typed& t) { return Whole(t, 1, kLastPort, "8040"); }>}
        .First(),
    OptionRow{"--verbose", "", "print every table, option and note [what fits on a screen]",
              Of({kEstimate, kFit, kPlan, kDiff}), kAnswer, Flag<&Options::verbose>},
    OptionRow{"--format", "FORMAT",
              "text, json, html (a self-contained page with pictures), all (these three in one object), svg (memory "
              "over the step) or snapshot (for PyTorch's memory_viz) [text]",
              kDraws & ~Of({kFit, kRun}), kAnswer,
              ReadFormat<Format::kHtml, Format::kAll, Format::kSvg, Format::kSnapshot>}
        .Words(FormatWords),
    OptionRow{
        "--format", "FORMAT",
        "text, json, html (a self-contained page with pictures), all (these three in one object), svg (memory over the "
        "step), snapshot (for PyTorch's memory_viz) or request (what to request from Slurm or Kubernetes) [text]",
        Of({kFit, kRun}), kAnswer,
        ReadFormat<Format::kHtml, Format::kAll, Format::kSvg, Format::kSnapshot, Format::kRequest>}
        .Words(FormatWords),
    OptionRow{"--format", "FORMAT", "text, json or all (both in one object) [text]", Of({kInspect}), kAnswer,
              ReadFormat<Format::kAll>}
        .Words(FormatWords),
    OptionRow{"--format", "FORMAT",
              "text, json, csv, html (a page with pictures), all or svg (its curves alone) [text]", Of({kSweep}),
              kAnswer, ReadFormat<Format::kCsv, Format::kHtml, Format::kAll, Format::kSvg>}
        .Words(FormatWords),
    OptionRow{"--format", "FORMAT", "text, json, markdown (tables, for a pull request) or html (a page) [text]",
              Of({kDiff}), kAnswer, ReadFormat<Format::kMarkdown, Format::kHtml>}
        .Words(FormatWords),
    OptionRow{"--format", "FORMAT", "text or json [text]",
              (kEach | Of({kSolve, kCalibrate})) & ~kDraws & ~Of({kSweep, kDiff, kInspect}), kAnswer, ReadFormat<>}
        .Words(FormatWords),
    OptionRow{"--out", "FILE", "write the answer to FILE (trace: the stream) instead of the terminal; .gz: gzipped",
              (kEach & ~Of({kWatch})) | Of({kRun}), kAnswer, Into<&Options::out, ReadOut>},
    OptionRow{"--out", "FILE", "write the answer there; with --save the profile", Of({kWatch}), kAnswer,
              Into<&Options::out, ReadOut>},
    OptionRow{"--out", "FILE", "write the schedule there", Of({kSolve}), kAnswer, Into<&Options::out, ReadOut>},
    OptionRow{"--out", "FILE",
              "write the profile there [$XDG_DATA_HOME or ~/.local/share, vramplan/profiles/UUID.json]",
              Of({kCalibrate}), kAnswer, Into<&Options::out, ReadOut>},
    OptionRow{"--force", "", "with --out: overwrite a file even if it is not an earlier answer of vramplan",
              kEach | Of({kSolve, kCalibrate}), kAnswer, Flag<&Options::force>},
    OptionRow{"--force", "",
              "with --out and --record: overwrite a file even if it is not an earlier answer of vramplan", Of({kRun}),
              kAnswer, Flag<&Options::force>},
};

}  // namespace

std::span<const OptionRow> AnswerOptions() { return kAnswerRows; }

}  // namespace vramplan
