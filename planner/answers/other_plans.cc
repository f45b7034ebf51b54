#include "planner/answers/other_plans.h"

#include <algorithm>
#include <condition_variable>
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

// Fits for sure, or fits at all where nothing did.
bool IsBetter(Verdict verdict, Verdict now) {
  return verdict == Verdict::kFits || (now == Verdict::kDoesNotFit && verdict != Verdict::kDoesNotFit);
}

// The verdict about another question, at this batch, and what else of the answer is asked for.
enum class Asked : uint8_t { kAll, kAllIfBetter, kVerdict };
Result<CardFit> JudgedAs(Question question, const ChosenDevice& chosen, int64_t batch, Asked asked = Asked::kAll,
                         Verdict now = Verdict::kDoesNotFit) {
  if (const Status named = TakeNamed(&question); !named.ok()) return named.error();
  Result<Prepared> prepared = Prepare(question);
  if (!prepared.ok()) return prepared.error();
  const TrainingSpec spec = SpecOn(chosen, question.spec);
  StepEnds steps(*prepared, spec);
  CardJudge judge(steps, chosen.device, question.allocator);
  if (asked == Asked::kAll) return judge.At(batch);
  const Result<BothEnds> step = steps.At(batch);
  if (!step.ok()) return step.error();
  CardFit verdict;
  if (RequestedPeak(*step->likely, batch) > chosen.device.CapacityWith(chosen.device.context.likely)) return verdict;
  if (asked == Asked::kVerdict) {
    verdict.verdict = judge.VerdictAt(*step, batch);
    return verdict;
  }
  OnCard alone = judge.Alone(*step, batch);
  if (IsBetter(alone.verdict, now)) return judge.At(*step, batch, std::move(alone));
  static_cast<OnCard&>(verdict) = std::move(alone);
  return verdict;
}

// What a card holds at once whatever the rest is: weights of two bytes or, packed, half a one, and where no adapters are
// trained for `model`, its weights in their type, with gradients and Adam's two states of what is trained, in that type
// or 8-bit.
Bytes AtLeast(const Question& question, const ModelFacts& model) {
  const TrainingSpec& spec = question.spec;
  double bytes = (question.quant ? 0.5 : 2) * static_cast<double>(question.named->parameters);
  if (spec.mode == Mode::kTrain && !question.lora && !question.quant) {
    const double weight = spec.recorded_in_fp32 ? 4 : 2;
    const bool adam = spec.optimizer == Optimizer::kAdam || spec.optimizer == Optimizer::kAdamW;
    const bool eight_bits = spec.optimizer == Optimizer::kAdam8bit || spec.optimizer == Optimizer::kAdamW8bit;
    const double of_trained = weight + (adam ? 2 * weight : eight_bits ? 2 : 0);
    bytes = weight * static_cast<double>(model.parameters) + of_trained * static_cast<double>(model.trained);
  }
  const int64_t parts = spec.strategy == Strategy::kDdp ? 1 : spec.ranks;
  return Bytes::Of(static_cast<int64_t>(bytes) / parts);
}

// Changed questions about a model and a card, at a batch with this verdict.
struct Before {
  const ModelFacts& model;
  const ChosenDevice& chosen;
  int64_t batch;
  Verdict now;

  bool CanHold(const Question& changed) const { return AtLeast(changed, model) <= chosen.device.usable; }
  bool Improves(Question changed) const {
    if (!CanHold(changed)) return false;
    const Result<CardFit> fit = JudgedAs(std::move(changed), chosen, batch, Asked::kVerdict);
    return fit.ok() && IsBetter(fit->verdict, now);
  }
  // The answer where it is better. The batches of what is not are nobody's question.
  std::optional<CardFit> WhereItFits(Question changed) const {
    if (!CanHold(changed)) return std::nullopt;
    Result<CardFit> fit = JudgedAs(std::move(changed), chosen, batch, Asked::kAllIfBetter, now);
    if (!fit.ok() || !IsBetter(fit->verdict, now)) return std::nullopt;
    return *std::move(fit);
  }
};

Remedy RemedyOf(std::string typed, const CardFit& fit) {
  return {std::move(typed), DeviceBytes(fit.peak, fit.device.context.likely), fit.verdict, fit.safe_batch,
          fit.largest.largest_batch};
}

// Where peft has none of its own: every linear layer, or, where all-linear makes adapters of experts too, those of attention.
std::vector<std::string> UsualTargets(const NamedModel& model) {
  if (!model.templates.lora_targets.empty()) return {};
  const auto has = [&](const char* setting) { return model.settings.Number(setting).value_or(0) > 0; };
  if (!has("num_experts") && !has("num_local_experts")) return {"all-linear"};
  return {"q_proj", "k_proj", "v_proj", "o_proj"};
}

// Whether --checkpoint all is refused of it.
bool HasNoSwitch(const Question& question) {
  return question.named != nullptr && !question.named->templates.unchecked.empty();
}

struct Change {
  bool checkpoints = false, eight_bits = false, adapters = false, packed = false;
  bool halves = false;  // --precision amp-fp16: diffusers' scripts freeze the base in halves then
  // Of all that is loaded, as torch_dtype=torch.float16 of from_pretrained.
  std::optional<Precision> type = std::nullopt;

  // False: the question has that already.
  bool Apply(Question* question) const {
    TrainingSpec& spec = question->spec;
    if ((checkpoints && (!spec.checkpoint.empty() || HasNoSwitch(*question))) || (packed && question->quant))
      return false;
    if (eight_bits && spec.optimizer != Optimizer::kAdam && spec.optimizer != Optimizer::kAdamW) return false;
    if (adapters && question->lora && !packed) return false;  // what is left of it is a change of its own
    if (checkpoints) spec.checkpoint = {"all"};
    if (eight_bits) spec.optimizer = spec.optimizer == Optimizer::kAdam ? Optimizer::kAdam8bit : Optimizer::kAdamW8bit;
    if (adapters && !question->lora) {
      question->lora = Lora{kUsualRank, UsualTargets(*question->named), 0};
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
    if (changed.lora && !before.lora) {
      text += " --lora " + std::to_string(changed.lora->rank);
      for (const std::string& target : changed.lora->targets)
        text += (&target == &changed.lora->targets.front() ? ",target=" : "+") + target;
    }
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
std::vector<Remedy> OnMoreCards(const Question& question, const Before& before) {
  constexpr int kMost = 8;  // 2 to the power of it
  std::vector<Remedy> remedies;
  if (question.spec.strategy == Strategy::kDdp || question.spec.mode != Mode::kTrain) return remedies;
  const Strategy strategy = IsDeepspeed(question.spec.strategy) ? question.spec.strategy : Strategy::kFsdp2;
  int most = kMost;  // worth a look
  for (const bool checkpoints : {false, true}) {
    if (checkpoints && (!question.spec.checkpoint.empty() || HasNoSwitch(question))) break;
    const auto with = [&](int power) {
      Question changed = question;
      changed.spec.strategy = strategy;
      changed.spec.ranks = 1 << power;
      if (checkpoints) changed.spec.checkpoint = {"all"};
      return changed;
    };
    // It is one of the first that can hold the weights. Where the most fail, it is not for want of cards.
    int power = 1;
    while (power <= most && !before.CanHold(with(power))) ++power;
    if (power > most) continue;
    std::optional<CardFit> fit = before.WhereItFits(with(power));
    if (!fit && (power == most || !before.Improves(with(most)))) continue;
    while (!fit) fit = before.WhereItFits(with(++power));
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

std::vector<Remedy> RemediesOf(const Question& asked, const ModelFacts& model, const ChosenDevice& chosen,
                               int64_t batch, Verdict now) {
  std::vector<Remedy> remedies;
  const bool serves = asked.spec.mode == Mode::kServe, infers = asked.spec.mode == Mode::kInfer;
  if (asked.named == nullptr || asked.spec.mode == Mode::kEval || asked.spec.framework.runtime != Runtime::kPyTorch)
    return remedies;
  Question question = asked;
  question.named = KeepingFacts(*asked.named);
  const Change of_inference[] = {{.type = chosen.capability >= Capability{8, 0} ? Precision::kBf16 : Precision::kFp16}};
  const std::span<const Change> changes = serves   ? kOfServing
                                          : infers ? std::span<const Change>(of_inference)
                                          : question.named->templates.OfDiffusers()
                                              ? std::span<const Change>(kOfDenoisers)
                                              : std::span<const Change>(kChanges);
  // What is found first by the order of the rows counts, so that a row is asked only if those before it are not enough,
  // which those that others are asking just now may be.
  enum class State : uint8_t { kOpen, kFits, kFails };
  std::vector<std::optional<Remedy>> found(changes.size());
  std::vector<State> states(changes.size(), State::kOpen);
  std::mutex mutex;
  std::condition_variable told;
  const auto enough_before = [&](size_t row) {
    std::unique_lock lock(mutex);
    const auto count = [&](State state) {
      return std::count(states.begin(), states.begin() + static_cast<std::ptrdiff_t>(row), state);
    };
    told.wait(lock, [&] {
      const auto fit = count(State::kFits);
      return fit >= kMostRemedies || fit + count(State::kOpen) < kMostRemedies;
    });
    return count(State::kFits) >= kMostRemedies;
  };
  const auto tell = [&](size_t row, std::optional<Remedy> remedy) {
    const std::lock_guard lock(mutex);
    states[row] = remedy ? State::kFits : State::kFails;
    found[row] = std::move(remedy);
    told.notify_all();
  };
  std::vector<Remedy> on_more_cards;
  const Before before{model, chosen, batch, now};
  ForEach(changes.size() + 1, [&](size_t i) {
    if (i == 0) {  // begun first, since it takes longest
      on_more_cards = OnMoreCards(question, before);
      return;
    }
    const size_t row = i - 1;
    Question changed = question;
    if (enough_before(row) || !changes[row].Apply(&changed)) return tell(row, std::nullopt);
    std::string typed = changes[row].Typed(changed, question);
    const std::optional<CardFit> fit = before.WhereItFits(std::move(changed));
    tell(row, fit ? std::optional(RemedyOf(std::move(typed), *fit)) : std::nullopt);
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
