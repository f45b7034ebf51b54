#include "planner/report/json/parts.h"
#include "planner/report/json/schemas.h"
#include "planner/report/watch.h"

namespace vramplan {

std::string_view Name(WatchResult::End end) {
  switch (end) {
    case WatchResult::End::kOver:
      return "over";
    case WatchResult::End::kTime:
      return "time";
    case WatchResult::End::kInterrupted:
      return "interrupted";
    case WatchResult::End::kFailed:
      return "failed";
  }
  return "";
}

template <>
struct Described<WatchedProcess> {
  static constexpr const char* kName = "";
  static Fields<WatchedProcess> Make() {
    using P = WatchedProcess;
    return Fields<P>()
        .Has("pid", "", &P::pid)
        .Has("name", "", &P::name)
        .Has("ours", "it is of the run", &P::ours)
        .Has("appeared_seconds", "", &P::appeared)
        .Has("first", "", &P::first)
        .Has("highest", "", &P::highest)
        .Has("at_peak", "", &P::at_peak);
  }
};

template <>
struct Described<Watched> {
  static constexpr const char* kName = "";
  static Fields<Watched> Make() {
    using W = Watched;
    return Fields<W>()
        .Has("card", "", &W::card)
        .Has("looks", "", &W::samples)
        .Has("seconds", "", &W::seconds)
        .Has("source", "", &W::source)
        .Has("peak", "of the run; null: nobody said",
             [](const W& of) { return of.source == WatchSource::kNothing ? std::nullopt : std::optional(of.peak); })
        .Has("peak_seconds", "", &W::peak_at)
        .Has("used_before", "by everybody at the first look, without the run", &W::before)
        .Has("used_at_peak", "by everybody", &W::used_at_peak)
        .Has("there_before", "the run held memory at the first look", &W::there_before)
        .Has("processes", "", &W::processes);
  }
};

template <>
struct Described<Explanation> {
  static constexpr const char* kName = "";
  static Fields<Explanation> Make() {
    return Fields<Explanation>()
        .Has("place", "", &Explanation::place)
        .Has("level", "empty: nothing is to be explained", &Explanation::level)
        .Has("text", "", &Explanation::text);
  }
};

template <>
struct Described<WatchReport> {
  static constexpr const char *kName = "", *kAnswer = "watch", *kTitle = "a run that was watched";
  static Fields<WatchReport> Make() {
    using R = WatchReport;
    const auto predicted = [](const R& of) { return of.prediction.has_value(); };
    return Fields<R>()
        .Has("run", "a process, or the command", &R::run)
        .Has("end", "", &R::result, &WatchResult::end)
        .Has("error", "", &R::result, &WatchResult::error)
        .Has("exit_code", "", &R::exit_code)
        .Has("signal", "that ended the command", &R::signal)
        .Has("gpu", "the name of the busiest card", &R::card)
        .Has("card", "its number", &R::result, &WatchResult::busiest, &Watched::card)
        .Has("cards", "", &R::result, &WatchResult::cards)
        .Group("predicted", "of --model",
               Fields<R>()
                   .Has("model", "", &R::estimate, &Estimate::head, &AnswerHead::model)
                   .Has("spec", "", &R::estimate, &Estimate::head, &AnswerHead::spec)
                   .All<Levels>(&R::prediction, &WatchPrediction::levels)
                   .Has("context", "",
                        [](const R& of) {
                          const WatchPrediction& p = *of.prediction;
                          return Band{p.context_low, p.context_likely, p.context_high};
                        })
                   .Has("device", "",
                        [](const R& of) {
                          const WatchPrediction& p = *of.prediction;
                          return Band{p.device_low, p.device_likely, p.device_high};
                        }),
               predicted)
        .Has("explanation", "of the difference",
             [](const R& of) { return of.prediction ? std::optional(of.explanation) : std::nullopt; })
        .Has("saved", "the file of --save; empty: none", &R::saved)
        .Has("saved_context", "", &R::saved_context)
        .Has("notes", "", &R::notes);
  }
};

Json ToJson(const WatchReport& report) { return AnswerJson(report); }
Json WatchSchema() { return AnswerSchema<WatchReport>(); }

}  // namespace vramplan
