// `vramplan sweep`: the step under every combination of a few options.
#include "planner/report/sweep.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "planner/answers/judge.h"
#include "planner/answers/prepare.h"
#include "planner/answers/progress.h"
#include "planner/answers/spec_of_file.h"
#include "planner/cli/all_forms.h"
#include "planner/cli/settings.h"
#include "planner/cli/verbs.h"
#include "planner/picture/sweep_page.h"

namespace vramplan {
namespace {

// The command line of one combination: an option of that name, else a dim.
void Put(const SweepAxis& axis, const std::string& value, TypedOptions* typed) {
  const std::string flag = "--" + axis.name;
  if (TakesOption(Verb::kSweep, flag)) {
    std::erase_if(*typed, [&](const TypedOption& one) { return one.flag == flag; });
    typed->push_back({flag, value});
  } else {
    typed->push_back({"--dim", axis.name + "=" + value});
  }
}

std::string TextOf(const std::vector<SweepAxis>& axes, const std::vector<size_t>& at) {
  std::string text;
  for (size_t a = 0; a < axes.size(); ++a) text += (a == 0 ? "" : ", ") + axes[a].name + " " + axes[a].values[at[a]];
  return text;
}

// Every combination, the last axis changing fastest.
std::vector<std::vector<size_t>> SweepCombinations(const std::vector<SweepAxis>& axes) {
  std::vector<std::vector<size_t>> all = {{}};
  for (const SweepAxis& axis : axes) {
    std::vector<std::vector<size_t>> longer;
    for (const std::vector<size_t>& begun : all) {
      for (size_t v = 0; v < axis.values.size(); ++v) {
        longer.push_back(begun);
        longer.back().push_back(v);
      }
    }
    all = std::move(longer);
  }
  return all;
}

class Sweeper {
 public:
  Sweeper(const Options& options, const std::optional<ChosenDevice>& chosen) : options_(options), chosen_(chosen) {}

  Result<SweepRow> Answer(const std::vector<size_t>& at, SweepReport* report) {
    const std::vector<SweepAxis>& axes = options_.over;
    SweepRow row;
    TypedOptions typed = options_.typed;
    for (size_t a = 0; a < axes.size(); ++a) {
      row.values.push_back(axes[a].values[at[a]]);
      Put(axes[a], axes[a].values[at[a]], &typed);
    }
    Result<Options> asked = Understand(Verb::kSweep, options_.model, typed);
    if (!asked.ok()) return asked.error();
    if (const Status taken = TakeSpecOfFile(&*asked); !taken.ok()) return taken.error();
    const Status second = TakeSecondModel(&*asked);
    if (const Status prepared = second.ok() ? Ready(*asked, typed) : second; !prepared.ok()) {
      row.failure = prepared.error().text;
      return row;
    }
    const int64_t batch = asked->batch.value_or(prepared_.question.batch);
    const TrainingSpec spec = SpecOf(*asked, chosen_);
    const ContextBand context = ContextFor(*asked, chosen_, spec);
    if (!judged_) judged_ = std::make_unique<Judged>(prepared_, spec, asked->allocator, chosen_);
    Notes notes;
    const Result<BothEnds> step = judged_->steps.At(batch, &notes);
    if (!step.ok()) {
      row.failure = step.error().text;
      return row;
    }
    OnCard on;
    if (judged_->judge) {
      const Result<CardFit> fit = judged_->judge->At(batch);
      if (!fit.ok()) {
        row.failure = fit.error().text;
        return row;
      }
      on = static_cast<const OnCard&>(*fit);
      row.verdict = on.verdict;
    } else {
      on = WithoutCard(*step, batch, judged_->steps, asked->allocator, context);
    }
    row.levels = on.peak.peak;
    row.band = on.band;
    row.roomy = on.roomy;
    if (AsksOfMany(options_.gpu)) {
      const Card* card = SmallestCard(*asked, prepared_, batch);
      row.card = card != nullptr ? card->name : "";
    }
    if (report->question.spec.empty()) TakeQuestion(*asked, spec, context, *step, report);
    return row;
  }

 private:
  // The steps of one setting at any batch, and on the card if there is one.
  struct Judged {
    Judged(const Prepared& prepared, TrainingSpec spec_, AllocatorConfig config_,
           const std::optional<ChosenDevice>& chosen)
        : spec(std::move(spec_)), config(std::move(config_)), steps(prepared, spec) {
      if (chosen) judge.emplace(steps, chosen->device, config);
    }
    const TrainingSpec spec;
    const AllocatorConfig config;
    StepEnds steps;
    std::optional<CardJudge> judge;
  };

  // The model under these options, unless only the batch is another one.
  Status Ready(const Options& asked, TypedOptions typed) {
    std::erase_if(typed, [](const TypedOption& one) { return one.flag == "--batch"; });
    if (!failed_ && is_ready_ && typed == ready_for_) return Done();
    ready_for_ = std::move(typed);
    is_ready_ = true;
    judged_.reset();
    Result<Prepared> prepared = Prepare(asked);
    failed_ = !prepared.ok();
    if (failed_) return prepared.error();
    prepared_ = *std::move(prepared);
    return Done();
  }

  // What is said of all of them: the options that no axis changes.
  void TakeQuestion(const Options& asked, const TrainingSpec& spec, const ContextBand& context, const BothEnds& step,
                    SweepReport* report) {
    report->question = prepared_.question;
    report->question.loss = step.likely->loss;
    report->question.spec = SpecRows(asked, spec, report->question, chosen_, context);
    std::erase_if(report->question.spec, [&](const SpecRow& row) {
      return std::ranges::any_of(options_.over, [&](const SweepAxis& axis) {
        return row.option == axis.name || (row.option == "dim" && row.text.starts_with(axis.name + "="));
      });
    });
    report->notes = prepared_.notes;
  }

  const Options& options_;
  const std::optional<ChosenDevice>& chosen_;
  bool is_ready_ = false, failed_ = false;
  TypedOptions ready_for_;
  Prepared prepared_;
  std::unique_ptr<Judged> judged_;
};

}  // namespace

Result<Outcome> RunSweep(const Options& options, const Style& style, Probe* machine) {
  if (options.over.empty())
    return Error{ErrorCode::kUsage, "sweep", "nothing to change is given", "add --over batch=1:256:x2"};
  std::optional<ChosenDevice> chosen;
  if (AsksOfMany(options.gpu)) {
    if (const Result<std::vector<const Card*>> asked = CardsAsked(options); !asked.ok()) return asked.error();
  } else {
    Result<std::optional<ChosenDevice>> found = ChooseDevice(options, machine);
    if (!found.ok()) return found.error();
    chosen = *std::move(found);
  }
  SweepReport report;
  report.all_cards = AsksOfMany(options.gpu);
  if (chosen) report.device = chosen->device;
  for (const SweepAxis& axis : options.over) report.axes.push_back(axis.name);
  const std::vector<std::vector<size_t>> at = SweepCombinations(options.over);
  // The batch changes fastest while they are worked out, for the model is the same then.
  std::vector<size_t> order(at.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto is_batch = [](const SweepAxis& axis) { return axis.name == "batch"; };
  if (const auto batch = std::ranges::find_if(options.over, is_batch); batch != options.over.end()) {
    const size_t axis = static_cast<size_t>(batch - options.over.begin());
    std::ranges::stable_sort(order, [&](size_t a, size_t b) {
      std::vector<size_t> first = at[a], second = at[b];
      first[axis] = second[axis] = 0;
      return first < second;
    });
  }
  report.rows.resize(at.size());
  Sweeper sweeper(options, chosen);
  for (size_t i = 0; i < order.size(); ++i) {
    Progress::Say("laying out " + TextOf(options.over, at[order[i]]) + " (" + std::to_string(i + 1) + " of " +
                  std::to_string(order.size()) + ")");
    Result<SweepRow> row = sweeper.Answer(at[order[i]], &report);
    if (!row.ok()) return row.error();
    report.rows[order[i]] = *std::move(row);
  }
  const auto answered = std::ranges::find_if(report.rows, [](const SweepRow& row) { return row.levels.has_value(); });
  if (answered == report.rows.end())
    return Error{ErrorCode::kBadInput, options.model, "no combination can be answered: " + report.rows.front().failure,
                 "vramplan inspect " + options.model + " lists its dims"};
  std::vector<SweptAnswer> answers;
  for (const SweepRow& row : report.rows) {
    answers.push_back({row.values, std::nullopt});
    if (row.levels) answers.back().requested = row.levels->requested;
  }
  report.laws = LawsAlong(report.axes, answers);
  switch (options.format) {
    case Format::kJson:
      return Outcome{.text = Print(ToJson(report))};
    case Format::kHtml:
      return Outcome{.text = PrintSweepPage(report)};
    case Format::kAll:
      return Outcome{.text = AllForms(ToJson(report), PrintSweep(report, style), PrintSweepPage(report))};
    case Format::kSvg: {
      Result<std::string> svg = PrintSweepSvg(report);
      if (!svg.ok()) return svg.error();
      return Outcome{.text = *std::move(svg)};
    }
    case Format::kCsv:
      return Outcome{.text = PrintSweepCsv(report), .notes = report.notes};
    default:
      return Outcome{.text = PrintSweep(report, style), .notes = report.notes};
  }
}

}  // namespace vramplan
