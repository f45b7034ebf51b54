#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/answers/fit.h"
#include "planner/answers/parallel.h"
#include "planner/answers/progress.h"

namespace vramplan {
namespace {

// The cards of one generation.
struct CardGroup {
  TrainingSpec spec;
  std::vector<size_t> cards;  // of the catalogue
};

std::vector<CardGroup> GroupsOf(const std::vector<ChosenDevice>& cards, const TrainingSpec& spec) {
  std::vector<CardGroup> groups;
  std::map<Generation, size_t> known;
  for (size_t i = 0; i < cards.size(); ++i) {
    const auto [at, is_new] = known.try_emplace(GenerationOf(cards[i]), groups.size());
    if (is_new) groups.push_back({SpecOn(cards[i], spec), {}});
    groups[at->second].cards.push_back(i);
  }
  return groups;
}

// Where the largest batch of a card is to be looked for: one group's step stands for all.
class Expected {
 public:
  Expected(Steps& steps, bool has_batch) {
    if (!has_batch) return;
    const Result<LaidOut> step = steps.At(kFirstBatchLaidOut);
    if (step.ok()) step_ = *step;
  }
  int64_t At(Bytes capacity) const { return step_ ? IdealBatch(*step_, capacity, kLargestBatchTried) : 1; }

 private:
  LaidOut step_;
};

Result<CardFit> FitOn(const ChosenDevice& chosen, StepEnds& steps, const Question& question, const Expected& expected) {
  const int64_t near = expected.At(chosen.device.CapacityWith(chosen.device.context.likely));
  Result<CardFit> fit = CardJudge(steps, chosen.device, question.allocator, near).At(steps.prepared.head.batch);
  if (fit.ok()) fit->id = chosen.id;
  return fit;
}

}  // namespace

void NoteAmd(Notes* notes) {
  notes->Add({"amd-card", Severity::kWarning, "--gpu",
              "the rules are those of CUDA; on an AMD card workspaces and context differ", ""});
}

Result<FitMatrix> FitMatrixOf(const Question& question, Prepared prepared) {
  const Result<std::vector<const Card*>> asked = CardsAsked(question);
  if (!asked.ok()) return asked.error();
  std::vector<ChosenDevice> chosen;
  for (const Card* card : *asked) chosen.push_back(DeviceOf(*card, question));
  const std::vector<CardGroup> groups = GroupsOf(chosen, question.spec);
  StepEnds first(prepared, groups.front().spec);
  const Expected expected(first.likely, prepared.head.model.has_batch);

  std::vector<std::optional<Result<CardFit>>> fits(chosen.size());
  std::vector<Notes> notes(groups.size());
  std::atomic<size_t> done = 0;
  Loss loss = Loss::kNone;
  ForEach(groups.size(), [&](size_t i) {
    StepEnds steps(prepared, groups[i].spec);
    const Result<BothEnds> step = steps.At(prepared.head.batch, &notes[i]);
    if (i == 0 && step.ok()) loss = step->likely->loss;
    for (const size_t card : groups[i].cards) {
      fits[card] = step.ok() ? FitOn(chosen[card], steps, question, expected) : Result<CardFit>(step.error());
      Progress::Say("fitting: " + std::to_string(++done) + " of " + std::to_string(chosen.size()) + " cards");
    }
  });

  FitMatrix matrix;
  for (std::optional<Result<CardFit>>& fit : fits) {
    if (!fit->ok()) return fit->error();
    matrix.cards.push_back(**std::move(fit));
  }
  for (const Notes& told : notes) prepared.notes.Append(told);
  NoteCards(question, *asked, &prepared.notes);
  if (std::ranges::any_of(*asked, [](const Card* card) { return !card->nvidia; })) NoteAmd(&prepared.notes);
  // All of them by size; those that were named as they were.
  if (question.gpu == "all") std::stable_sort(matrix.cards.begin(), matrix.cards.end());
  matrix.head = prepared.head;
  matrix.head.loss = loss;
  matrix.notes = prepared.notes;
  return matrix;
}

}  // namespace vramplan
