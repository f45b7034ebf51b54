// What the tools for experts print: replay and solve.
#include "planner/report/json/parts.h"
#include "planner/report/json/schemas.h"
#include "planner/report/remat.h"
#include "planner/report/replay.h"

namespace vramplan {

template <>
struct Described<StreamDifference> {
  static constexpr const char* kName = "";
  static Fields<StreamDifference> Make() {
    return Fields<StreamDifference>()
        .Has("line", "", &StreamDifference::line)
        .Has("column", "", &StreamDifference::column)
        .Has("recorded", "", &StreamDifference::recorded)
        .Has("ours", "", &StreamDifference::ours);
  }
};

template <>
struct Described<ReplayReport> {
  static constexpr const char *kName = "", *kAnswer = "replay", *kTitle = "what a stream of requests takes";
  static Fields<ReplayReport> Make() {
    using R = ReplayReport;
    using P = StreamPeak;
    return Fields<R>()
        .Has("file", "", &R::file)
        .Has("allocator_conf", "", &R::allocator_conf)
        .Has("gpu_memory", "null: a card that is never full", &R::gpu_memory)
        .Has("rows", "", &R::stream, &P::rows)
        .Has("allocations", "", &R::stream, &P::allocations)
        .Has("frees", "", &R::stream, &P::frees)
        .Has("cache_releases", "empty_cache()", &R::stream, &P::cache_releases)
        .Has("out_of_memory", "requests that were refused", &R::stream, &P::out_of_memory)
        .Has("first_refused_line", "", &R::stream, &P::refused_line)
        .Has("retries", "times that cached blocks were given back", &R::stream, &P::retries)
        .Has("segments", "the most at one time", &R::stream, &P::segments)
        .Has("before", "of a trace: from before the step", &R::stream, &P::before)
        .Has("peak", "", &R::stream, &P::peak)
        .Has("peak_line", "the first at which allocated is highest; 0: nothing was allocated", &R::stream,
             &P::peak_line)
        .Has("end", "", &R::stream, &P::end)
        .Has("checked", "rows that were compared and equal", &R::stream, &P::checked)
        .Has("difference", "where the check stopped", &R::stream, &P::difference);
  }
};

template <>
struct Described<RematReport> {
  static constexpr const char *kName = "", *kAnswer = "solve", *kTitle = "a schedule, and how good it is at least";
  static Fields<RematReport> Make() {
    using R = RematReport;
    using A = RematAnswer;
    const auto found = [](const R& of) { return of.answer.outcome ? &of.answer : nullptr; };
    return Fields<R>()
        .Has("budget", "", &R::answer, &A::budget)
        .Has("peak", "null: no schedule was found", Where(found, &A::outcome, &RematOutcome::peak))
        .Has("cost", "", Where(found, &A::outcome, &RematOutcome::cost))
        .Has("extra", "of recomputing", Where(found, &A::extra))
        .Has("bound", "no schedule costs less", &R::answer, &A::bound)
        .Has("gap", "", Where(found, &A::gap))
        .Has("proved_optimal", "", &R::answer, &A::proved_optimal)
        .Has("seconds", "that it took", &R::seconds)
        .Group("bounds", "",
               Fields<R>()
                   .Has("working_set", "of the peak", &R::answer, &A::working_set)
                   .Has("cuts", "of the cost", &R::answer, &A::cut_bound)
                   .Has("temporal_knapsack", "of the cost", &R::answer, &A::gap_bound));
  }
};

Json ToJson(const ReplayReport& report) { return AnswerJson(report); }
Json ToJson(const RematReport& report) { return AnswerJson(report); }
Json ReplaySchema() { return AnswerSchema<ReplayReport>(); }
Json SolveSchema() { return AnswerSchema<RematReport>(); }

}  // namespace vramplan
