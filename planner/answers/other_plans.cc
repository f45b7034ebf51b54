#include "planner/answers/other_plans.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <mutex>
#include <span>
#include <utility>

#include "graph/architectures/named.h"
#include "planner/answers/judge.h"
#include "planner/answers/named_model.h"
#include "planner/answers/parallel.h"
#include "planner/report/parts/breakdown.h"

namespace vramplan {
namespace {

constexpr int64_t kShortestServed = 1024, kLongestServed = 1 << 20;
constexpr int64_t kUsualRank = 16;
constexpr std::ptrdiff_t kMostRemedies = 3;

// The verdict about another question, at this batch. `searches`: whether other batches are searched, which takes most of
// the time, by the verdict about this one; null: they are.
Result<CardFit> JudgedAs(Question question, const ChosenDevice& chosen, int64_t batch,
                         const std::function<bool(Verdict)>& searches = nullptr) {
  if (const Status named = TakeNamed(&question); !named.ok()) return named.error();
  Result<Prepared> prepared = Prepare(question);
  if (!prepared.ok()) return prepared.error();
  const TrainingSpec spec = SpecOn(chosen, question.spec);
  StepEnds steps(*prepared, spec);
  CardJudge judge(steps, chosen.device, question.allocator);
  if (searches == nullptr) return judge.At(batch);
  const Result<BothEnds> step = steps.At(batch);
  if (!step.ok()) return step.error();
  CardFit alone;
  static_cast<OnCard&>(alone) = judge.Alone(*step, batch);
  return searches(alone.verdict) ? judge.At(batch) : Result<CardFit>(std::move(alone));
}

// What a card holds at once whatever the rest is: weights of two bytes or, packed, half a one, and where all of them are
// trained their gradients and Adam's two states, each in the type of the weights or 8-bit.
Bytes AtLeast(const Question& question) {
  const TrainingSpec& spec = question.spec;
  const double weight = question.quant ? 0.5 : 2;
  double bytes = weight;
  if (spec.mode == Mode::kTrain && !question.lora && question.trained.empty()) {
    bytes += weight;
    if (spec.optimizer == Optimizer::kAdam || spec.optimizer == Optimizer::kAdamW) bytes += 2 * weight;
    if (spec.optimizer == Optimizer::kAdam8bit || spec.optimizer == Optimizer::kAdamW8bit) bytes += 2;
  }
  const int64_t parts = spec.strategy == Strategy::kDdp ? 1 : spec.ranks;
  return Bytes::Of(static_cast<int64_t>(bytes * static_cast<double>(question.named->parameters)) / parts);
}

// Fits for sure, or fits at all where nothing did.
bool IsBetter(Verdict verdict, Verdict now) {
  return verdict == Verdict::kFits || (now == Verdict::kDoesNotFit && verdict != Verdict::kDoesNotFit);
}

// The same where it is better. The batches of what is not are nobody's question.
std::optional<CardFit> WhereItFits(Question question, const ChosenDevice& chosen, int64_t batch, Verdict now,
                                   bool with_batches = true) {
  if (AtLeast(question) > chosen.device.usable) return std::nullopt;
  Result<CardFit> fit = JudgedAs(std::move(question), chosen, batch,
                                 [&](Verdict verdict) { return with_batches && IsBetter(verdict, now); });
  if (!fit.ok() || !IsBetter(fit->verdict, now)) return std::nullopt;
  return *std::move(fit);
}

Remedy RemedyOf(std::string typed, const CardFit& fit) {
  return {std::move(typed), DeviceBytes(fit.peak, fit.device.context.likely), fit.verdict, fit.safe_batch,
          fit.largest.largest_batch};
}

struct Change {
  bool checkpoints = false, eight_bits = false, adapters = false, packed = false;
  bool halves = false;  // --precision amp-fp16: diffusers' scripts freeze the base in halves then
  // Of all that is loaded, as torch_dtype=torch.float16 of from_pretrained.
  std::optional<Precision> type = std::nullopt;

  // False: the question has that already.
  bool Apply(Question* question) const {
    TrainingSpec& spec = question->spec;
    if ((checkpoints && !spec.checkpoint.empty()) || (packed && question->quant)) return false;
    if (eight_bits && spec.optimizer != Optimizer::kAdam && spec.optimizer != Optimizer::kAdamW) return false;
    if (adapters && question->lora && !packed) return false;  // what is left of it is a change of its own
    if (checkpoints) spec.checkpoint = {"all"};
    if (eight_bits) spec.optimizer = spec.optimizer == Optimizer::kAdam ? Optimizer::kAdam8bit : Optimizer::kAdamW8bit;
    if (adapters && !question->lora) {
      question->lora = Lora{kUsualRank, {}, 0};
      if (question->named->templates.lora_targets.empty()) question->lora->targets = {"all-linear"};
    }
    if (packed) question->quant = Quantization{"nf4", true};
    if (halves && IsAutocast(spec.precision)) return false;
    if (type && spec.precision != Precision::kFp32 && spec.precision != Precision::kTf32) return false;
    if (halves || type) {
      spec.precision = type.value_or(Precision::kAmpFp16);
      spec.given.insert("precision");
    }
    return true;
  }

  std::string Typed(const Question& changed, const Question& before) const {
    std::string text;
    if (changed.lora && !before.lora)
      text +=
          " --lora " + std::to_string(changed.lora->rank) + (changed.lora->targets.empty() ? "" : ",target=all-linear");
    if (changed.quant && !before.quant) text += " --quant nf4,double";
    if (changed.spec.precision != before.spec.precision && (halves || type))
      text += " --precision " + std::string(Name(changed.spec.precision));
    if (changed.spec.optimizer != before.spec.optimizer)
      text += " --optimizer " + std::string(Name(changed.spec.optimizer));
    if (changed.spec.checkpoint != before.spec.checkpoint) text += " --checkpoint all";
    return text.substr(1);
  }
};

// The fewest cards, of powers of two, that hold it together; with checkpoints, too, where fewer do then.
std::vector<Remedy> OnMoreCards(const Question& question, const ChosenDevice& chosen, int64_t batch, Verdict now) {
  constexpr int kMost = 8;  // 2 to the power of it
  std::vector<Remedy> remedies;
  if (question.spec.strategy == Strategy::kDdp || question.spec.mode != Mode::kTrain) return remedies;
  const Strategy strategy = IsDeepspeed(question.spec.strategy) ? question.spec.strategy : Strategy::kFsdp2;
  int most = kMost;  // worth a look
  for (const bool checkpoints : {false, true}) {
    if (checkpoints && !question.spec.checkpoint.empty()) break;
    const auto with = [&](int power) {
      Question changed = question;
      changed.spec.strategy = strategy;
      changed.spec.ranks = 1 << power;
      if (checkpoints) changed.spec.checkpoint = {"all"};
      return changed;
    };
    // It is one of the first that can hold the weights. Where the most fail, it is not for want of cards.
    int power = 1;
    while (power <= most && AtLeast(with(power)) > chosen.device.usable) ++power;
    if (power > most) continue;
    std::optional<CardFit> fit = WhereItFits(with(power), chosen, batch, now);
    if (!fit && (power == most || !WhereItFits(with(most), chosen, batch, now, false))) continue;
    while (!fit) fit = WhereItFits(with(++power), chosen, batch, now);
    most = power - 1;
    const std::string typed = "--strategy " + std::string(Name(strategy)) + " --gpus " + std::to_string(1 << power);
    remedies.push_back(RemedyOf(typed + (checkpoints ? " --checkpoint all" : ""), *fit));
  }
  return remedies;
}

constexpr Change kChanges[] = {{.checkpoints = true},
                               {.checkpoints = true, .eight_bits = true},
                               {.adapters = true},
                               {.checkpoints = true, .adapters = true},
                               {.adapters = true, .packed = true},
                               {.checkpoints = true, .adapters = true, .packed = true}};
constexpr Change kOfDenoisers[] = {{.checkpoints = true},
                                   {.halves = true},
                                   {.checkpoints = true, .halves = true},
                                   {.adapters = true, .halves = true},
                                   {.checkpoints = true, .adapters = true, .halves = true}};
constexpr Change kOfServing[] = {{.packed = true}};

}  // namespace

std::vector<Remedy> RemediesOf(const Question& question, const ChosenDevice& chosen, int64_t batch, Verdict now) {
  std::vector<Remedy> remedies;
  const bool serves = question.spec.mode == Mode::kServe, infers = question.spec.mode == Mode::kInfer;
  if (question.named == nullptr || question.spec.mode == Mode::kEval ||
      question.spec.framework.runtime != Runtime::kPyTorch)
    return remedies;
  const Change of_inference[] = {{.type = chosen.capability >= Capability{8, 0} ? Precision::kBf16 : Precision::kFp16}};
  const std::span<const Change> changes = serves   ? kOfServing
                                          : infers ? std::span<const Change>(of_inference)
                                          : question.named->templates.OfDiffusers()
                                              ? std::span<const Change>(kOfDenoisers)
                                              : std::span<const Change>(kChanges);
  // What is found first by the order of the rows counts, so that a row is not asked once enough of those before it fit.
  std::vector<std::optional<Remedy>> found(changes.size());
  std::mutex mutex;
  const auto enough_before = [&](size_t row) {
    const std::lock_guard lock(mutex);
    return std::count_if(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(row),
                         [](const auto& remedy) { return remedy.has_value(); }) >= kMostRemedies;
  };
  std::vector<Remedy> on_more_cards;
  ForEach(changes.size() + 1, [&](size_t i) {
    if (i == 0) {  // begun first, since it takes longest
      on_more_cards = OnMoreCards(question, chosen, batch, now);
      return;
    }
    const size_t row = i - 1;
    Question changed = question;
    if (enough_before(row) || !changes[row].Apply(&changed)) return;
    std::string typed = changes[row].Typed(changed, question);
    const std::optional<CardFit> fit = WhereItFits(std::move(changed), chosen, batch, now);
    if (!fit) return;
    const std::lock_guard lock(mutex);
    found[row] = RemedyOf(std::move(typed), *fit);
  });
  for (std::optional<Remedy>& remedy : found)
    if (remedy && std::ssize(remedies) < kMostRemedies) remedies.push_back(*std::move(remedy));
  std::ranges::move(on_more_cards, std::back_inserter(remedies));
  return remedies;
}

std::vector<AdaptedStep> AdaptedSteps(const Question& question) {
  std::vector<AdaptedStep> steps;
  if (question.named == nullptr || question.lora || question.quant || question.spec.mode != Mode::kTrain) return steps;
  for (const bool packed : {false, true}) {
    const Change change{.adapters = true, .packed = packed};
    Question changed = question;
    change.Apply(&changed);
    const std::string typed = change.Typed(changed, question);
    if (const Status named = TakeNamed(&changed); !named.ok()) continue;
    Result<Prepared> prepared = Prepare(changed);
    if (!prepared.ok()) continue;
    TrainingSpec spec = question.spec;  // with what the card decides
    spec.precision = changed.spec.precision;
    spec.precision_of_file = changed.spec.precision_of_file;
    spec.recorded_in_fp32 = changed.spec.recorded_in_fp32;
    steps.push_back({packed ? "QLoRA, rank 16" : "LoRA, rank 16", typed, std::move(spec), *std::move(prepared)});
  }
  return steps;
}

Result<Serving> ServingOf(const Question& question, const ChosenDevice& chosen, int64_t sequences) {
  const auto [length, positions] = ServedLength(*question.named);
  const auto at = [&, length = length](int64_t tokens) {
    Question changed = question;
    changed.bind.dims[length] = tokens;
    return JudgedAs(std::move(changed), chosen, sequences);
  };
  Serving serving;
  serving.sequences = sequences;
  serving.tokens = question.bind.dims.contains(length) ? question.bind.dims.at(length)
                                                       : question.named->templates.lengths.front().usual;
  const int64_t most = positions > 0 ? std::min(positions, kLongestServed) : kLongestServed;
  if (positions > 0) serving.most = positions;
  int64_t fails = most + kServedStep;  // the shortest that is known not to be safe
  for (int64_t tokens = std::min(kShortestServed, most);; tokens = std::min(2 * tokens, most)) {
    const Result<CardFit> fit = at(tokens);
    if (!fit.ok()) return fit.error();
    serving.rows.push_back({tokens, fit->safe_batch, fit->largest.largest_batch});
    if (fit->safe_batch >= sequences) serving.longest = tokens;
    if (fit->safe_batch < sequences) fails = std::min(fails, tokens);
    if (fit->largest.largest_batch == 0 || tokens == most) break;
  }
  while (fails - serving.longest > kServedStep) {
    const int64_t middle = (serving.longest + fails) / 2 / kServedStep * kServedStep;
    if (middle <= serving.longest) break;
    const Result<CardFit> fit = at(middle);
    if (!fit.ok()) return fit.error();
    (fit->safe_batch >= sequences ? serving.longest : fails) = middle;
  }
  return serving;
}

}  // namespace vramplan
