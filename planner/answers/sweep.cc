#include "planner/answers/sweep.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "planner/answers/judge.h"
#include "planner/answers/prepare.h"
#include "planner/answers/progress.h"
#include "planner/answers/spec_of_file.h"

namespace vramplan {
namespace {

using Values = std::vector<std::string>;

std::string TextOf(const std::vector<SweepAxis>& axes, const Values& values) {
  std::string text;
  for (size_t a = 0; a < axes.size(); ++a) text += (a == 0 ? "" : ", ") + axes[a].name + " " + values[a];
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

// In which they are worked out: the batch changes fastest, for the model is the same then.
std::vector<size_t> OrderOf(const std::vector<SweepAxis>& axes, const std::vector<std::vector<size_t>>& at) {
  std::vector<size_t> order(at.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto batch = std::ranges::find_if(axes, [](const SweepAxis& axis) { return IsBatchAxis(axis.name); });
  if (batch == axes.end()) return order;
  const size_t axis = static_cast<size_t>(batch - axes.begin());
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    std::vector<size_t> first = at[a], second = at[b];
    first[axis] = second[axis] = 0;
    return first < second;
  });
  return order;
}

class Sweeper {
 public:
  Sweeper(const std::vector<SweepAxis>& axes, const QuestionAt& at, const std::optional<ChosenDevice>& chosen,
          bool of_many_cards)
      : axes_(axes), at_(at), chosen_(chosen), of_many_cards_(of_many_cards) {}

  Result<SweepRow> Answer(const Values& values, Swept* swept) {
    SweepRow row;
    row.values = values;
    const auto failed = [&](const Error& error) {
      if (!first_failure_) first_failure_ = error;
      row.failure = error.text;
      return row;
    };
    Result<Question> asked = at_(values);
    if (!asked.ok()) return asked.error();
    if (const Status taken = TakeSpecOfFile(&*asked); !taken.ok()) return failed(taken.error());
    const Status second = TakeSecondModel(&*asked);
    if (const Status prepared = second.ok() ? Ready(*asked, values) : second; !prepared.ok()) {
      return failed(prepared.error());
    }
    const int64_t batch = asked->batch.value_or(prepared_.head.batch);
    const TrainingSpec spec = SpecOf(*asked, chosen_);
    const ContextBand context = ContextFor(*asked, chosen_, spec);
    if (!judged_) judged_ = std::make_unique<Judged>(prepared_, spec, asked->allocator, chosen_);
    Notes notes;
    const Result<BothEnds> step = judged_->steps.At(batch, &notes);
    if (!step.ok()) return failed(step.error());
    OnCard on;
    if (judged_->judge) {
      const Result<CardFit> fit = judged_->judge->At(batch);
      if (!fit.ok()) return failed(fit.error());
      on = static_cast<const OnCard&>(*fit);
      row.verdict = on.verdict;
    } else {
      on = WithoutCard(*step, batch, judged_->steps, asked->allocator, context);
    }
    row.levels = on.peak.peak;
    row.band = on.band;
    row.roomy = on.roomy;
    if (of_many_cards_) {
      const Card* card = SmallestCard(*asked, prepared_, batch);
      row.card = card != nullptr ? card->name : "";
    }
    if (swept->first.empty()) {
      swept->first = values;
      swept->asked = *asked;
      swept->report.head = prepared_.head;
      swept->report.head.loss = step->likely->loss;
      swept->report.notes = prepared_.notes;
    }
    return row;
  }

  // Of the combinations that have no answer.
  const std::optional<Error>& first_failure() const { return first_failure_; }

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

  // The model under these values, unless only the batch is another one.
  Status Ready(const Question& asked, Values values) {
    for (size_t a = 0; a < axes_.size(); ++a) {
      if (IsBatchAxis(axes_[a].name)) values[a].clear();
    }
    if (!failed_ && ready_for_ == values) return Done();
    ready_for_ = std::move(values);
    judged_.reset();
    Result<Prepared> prepared = Prepare(asked);
    failed_ = !prepared.ok();
    if (failed_) return prepared.error();
    prepared_ = *std::move(prepared);
    return Done();
  }

  const std::vector<SweepAxis>& axes_;
  const QuestionAt& at_;
  const std::optional<ChosenDevice>& chosen_;
  const bool of_many_cards_;
  bool failed_ = false;
  std::optional<Values> ready_for_;
  Prepared prepared_;
  std::unique_ptr<Judged> judged_;
  std::optional<Error> first_failure_;
};

}  // namespace

Result<Swept> SweepOf(const std::vector<SweepAxis>& axes, const QuestionAt& at,
                      const std::optional<ChosenDevice>& chosen, bool of_many_cards) {
  Swept swept;
  SweepReport& report = swept.report;
  report.all_cards = of_many_cards;
  if (chosen) report.device = chosen->device;
  for (const SweepAxis& axis : axes) report.axes.push_back(axis.name);
  const std::vector<std::vector<size_t>> all = SweepCombinations(axes);
  report.rows.resize(all.size());
  Sweeper sweeper(axes, at, chosen, of_many_cards);
  size_t done = 0;
  for (const size_t i : OrderOf(axes, all)) {
    Values values;
    for (size_t a = 0; a < axes.size(); ++a) values.push_back(axes[a].values[all[i][a]]);
    Progress::Say("laying out " + TextOf(axes, values) + " (" + std::to_string(++done) + " of " +
                  std::to_string(all.size()) + ")");
    Result<SweepRow> row = sweeper.Answer(values, &swept);
    if (!row.ok()) return row.error();
    report.rows[i] = *std::move(row);
  }
  if (std::ranges::none_of(report.rows, [](const SweepRow& row) { return row.levels.has_value(); })) {
    Error error = *sweeper.first_failure();
    if (std::ranges::any_of(report.rows, [&](const SweepRow& row) { return row.failure != error.text; }))
      error.text = "no combination can be answered: " + error.text;
    return error;
  }
  std::vector<SweptAnswer> answers;
  for (const SweepRow& row : report.rows) {
    answers.push_back({row.values, std::nullopt});
    if (row.levels) answers.back().requested = row.levels->requested;
  }
  report.laws = LawsAlong(report.axes, answers);
  return swept;
}

}  // namespace vramplan
