#include "planner/report/json/parts.h"
#include "planner/report/json/schemas.h"
#include "planner/report/parts/bottleneck.h"
#include "planner/report/parts/breakdown.h"
#include "planner/report/validate.h"

namespace vramplan {

std::string_view Name(CardTry::End end) {
  switch (end) {
    case CardTry::End::kRan:
      return "ran";
    case CardTry::End::kFull:
      return "out-of-memory";
    case CardTry::End::kDisturbed:
      return "disturbed";
    case CardTry::End::kFailed:
      return "failed";
  }
  return "";
}

template <typename T>
struct Described<AtContext<T>> {
  static constexpr const char* kName = "";
  static Fields<AtContext<T>> Make() {
    using A = AtContext<T>;
    return Fields<A>()
        .Has("context_low", "", &A::low)
        .Has("context_likely", "", &A::likely)
        .Has("context_high", "", &A::high);
  }
};

template <>
struct Described<Refusal> {
  static constexpr const char* kName = "";
  static Fields<Refusal> Make() {
    return Fields<Refusal>()
        .Has("cause", "", &Refusal::cause)
        .Has("wanted", "", &Refusal::wanted)
        .Has("free", "", &Refusal::free)
        .Has("others", "what other programs held", &Refusal::others);
  }
};

template <>
struct Described<CardTry> {
  static constexpr const char* kName = "try";
  static Fields<CardTry> Make() {
    using T = CardTry;
    return Fields<T>()
        .Has("batch", "", &T::batch)
        .Has("end", "ran, out-of-memory, disturbed or failed", &T::end)
        .Has("levels", "as the allocator counted on the card", &T::peak, &Peak::peak)
        .Has("free_memory_fell", "by so much, without what others took", &T::FellInside)
        .Has("refusal", "", &T::refusal)
        .Has("failed_at", "what did not get its memory", &T::at)
        .Has("error", "", &T::error)
        .Has("others_took", "", &T::others)
        .Has("driver_took", "", &T::driver)
        .Has("not_given_back", "zero unless something is wrong", &T::left);
  }
};

template <>
struct Described<TimedWork> {
  static constexpr const char* kName = "";
  static Fields<TimedWork> Make() {
    return Fields<TimedWork>()
        .Has("bytes", "", [](const TimedWork& part) { return static_cast<int64_t>(part.work); })
        .Has("seconds", "", &TimedWork::seconds);
  }
};

template <>
struct Described<CardMoment> {
  static constexpr const char* kName = "";
  static Fields<CardMoment> Make() {
    using M = CardMoment;
    return Fields<M>()
        .Has("moment", "", &M::kind)
        .Has("event", "", &M::event)
        .Has("reserved", "", &M::reserved)
        .Has("free", "", &M::free)
        .Has("used", "", &M::used)
        .Has("others_took", "", &M::others);
  }
};

template <>
struct Described<ContextSeen> {
  static constexpr const char* kName = "";
  static Fields<ContextSeen> Make() {
    using C = ContextSeen;
    return Fields<C>()
        .Has("bare", "", &C::bare)
        .Has("kernel", "", &C::kernel)
        .Has("cublas", "null: not installed", &C::cublas)
        .Has("cudnn", "null: not installed", &C::cudnn)
        .Has("total", "", &C::total);
  }
};

template <>
struct Described<LevelRow> {
  static constexpr const char* kName = "";
  static Fields<LevelRow> Make() {
    return Fields<LevelRow>()
        .Has("level", "", &LevelRow::level)
        .Has("predicted", "", &LevelRow::predicted)
        .Has("observed", "", &LevelRow::seen);
  }
};

namespace {

Fields<ValidateReport> PredictedFields() {
  using R = ValidateReport;
  return Fields<R>()
      .All<Levels>(&R::prediction, &Prediction::peak, &Peak::peak)
      .Has("device", "", [](const R& of) { return DeviceBytes(of.prediction.peak, of.prediction.context.likely); })
      .Has("context", "", &R::prediction, &Prediction::context)
      .Has("fits", "", &R::prediction, &Prediction::fits)
      .Has("largest_batch", "", &R::prediction, &Prediction::largest)
      .Has("allocations", "of the step at the batch", &R::allocations)
      .Has("bytes_written", "", &R::written);
}

std::map<std::string, TimedWork> Written(const ValidateReport& report) {
  std::map<std::string, TimedWork> phases;
  const auto& written = report.seen->run.written;
  for (size_t phase = 0; phase < written.size(); ++phase) {
    if (written[phase].work != 0) phases[std::string(Name(static_cast<Phase>(phase)))] = written[phase];
  }
  return phases;
}

Fields<ValidateReport> ObservedFields() {
  using R = ValidateReport;
  return Fields<R>()
      .Has("run", "at the batch", &R::seen, &Observation::run)
      .Has("blocks_written", "", &R::seen, &Observation::run, &CardTry::blocks)
      .Has("segments_taken", "", &R::seen, &Observation::run, &CardTry::segments)
      .Has("written", "by phase", Written)
      .Has("moments", "", &R::seen, &Observation::run, &CardTry::moments)
      .Has("context", "what is taken before the first tensor", &R::seen, &Observation::context)
      .Has("device_from_inside", "at the peak, of cuMemGetInfo", &R::seen, &Observation::inside)
      .Has("device_from_outside", "at the peak, of NVML", &R::seen, &Observation::outside)
      .Has("largest_batch", "null: the search was stopped",
           [](const R& of) { return of.seen->found.stopped ? std::nullopt : std::optional(of.seen->found.largest); })
      .Has("first_failing_batch", "", &R::seen, &Observation::found, &FailingBatch::failed)
      .Has("largest_batch_predicted_with_this_context", "", &R::seen, &Observation::largest_predicted)
      .Has("tries", "of the search for the largest batch", &R::seen, &Observation::tries)
      .Has("left_behind", "when the session was over; null: the driver does not say", &R::left_behind);
}

}  // namespace

template <>
struct Described<ValidateReport> {
  static constexpr const char *kName = "", *kAnswer = "validate",
                              *kTitle = "a step on a card, predicted beside observed";
  static Fields<ValidateReport> Make() {
    using R = ValidateReport;
    return Fields<R>()
        .Has("verdict", "agrees, differs, stopped or dry-run",
             [](const R& of) { return of.seen ? Name(of.judgement.agreement) : std::string_view("dry-run"); })
        .Has("reason", "", &R::judgement, &Judgement::reason)
        .Has("model", "", &R::head, &AnswerHead::model)
        .Group("gpu", "",
               Fields<R>()
                   .Has("name", "", &R::device, &Device::name)
                   .Has("card", "its number here; null: a dry run", &R::card)
                   .Has("usable_bytes", "", &R::device, &Device::usable)
                   .Has("driver", "", &R::driver, &DriverFacts::driver)
                   .Has("cuda", "", &R::driver, &DriverFacts::cuda))
        .Has("spec", "the options behind the answer", &R::head, &AnswerHead::spec)
        .Has("batch", "", &R::prediction, &Prediction::batch)
        .Group("limits", "of what is taken of the card",
               Fields<R>()
                   .Has("margin", "left alone", &R::limits, &CardLimits::margin)
                   .Has("max_bytes", "",
                        [](const R& of) {
                          return of.limits.most == Bytes::Max() ? std::nullopt : std::optional(of.limits.most);
                        }))
        .Group("predicted", "", PredictedFields())
        .Has("levels", "predicted beside observed",
             [](const R& of) { return of.seen ? LevelRows(of.prediction, *of.seen) : std::vector<LevelRow>(); })
        .Group("observed", "null: a dry run", ObservedFields(), [](const R& of) { return of.seen.has_value(); })
        .Has("notes", "", &R::notes);
  }
};

Json ToJson(const ValidateReport& report) { return AnswerJson(report); }
Json ValidateSchema() { return AnswerSchema<ValidateReport>(); }

}  // namespace vramplan
