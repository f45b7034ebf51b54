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

namespace {

// Read of the stream.
template <typename Member>
auto Stream(Member member) {
  return [member](const ReplayReport& of) { return of.stream.*member; };
}

// Of a schedule that was found.
template <typename Get>
auto Found(Get get) {
  return [get](const RematReport& of) { return of.answer.outcome ? std::optional(get(of.answer)) : std::nullopt; };
}

struct BoundsOf {
  const RematAnswer& answer;
};

}  // namespace

template <>
struct Described<ReplayReport> {
  static constexpr const char *kName = "", *kAnswer = "replay", *kTitle = "what a stream of requests takes";
  static Fields<ReplayReport> Make() {
    using P = StreamPeak;
    return Fields<ReplayReport>()
        .Has("file", "", &ReplayReport::file)
        .Has("allocator_conf", "", &ReplayReport::allocator_conf)
        .Has("gpu_memory", "null: a card that is never full", &ReplayReport::gpu_memory)
        .Has("rows", "", Stream(&P::rows))
        .Has("allocations", "", Stream(&P::allocations))
        .Has("frees", "", Stream(&P::frees))
        .Has("cache_releases", "empty_cache()", Stream(&P::cache_releases))
        .Has("out_of_memory", "requests that were refused", Stream(&P::out_of_memory))
        .Has("first_refused_line", "", Stream(&P::refused_line))
        .Has("retries", "times that cached blocks were given back", Stream(&P::retries))
        .Has("segments", "the most at one time", Stream(&P::segments))
        .Has("before", "of a trace: from before the step", Stream(&P::before))
        .Has("peak", "", Stream(&P::peak))
        .Has("peak_line", "the first at which allocated is highest; 0: nothing was allocated", Stream(&P::peak_line))
        .Has("end", "", Stream(&P::end))
        .Has("checked", "rows that were compared and equal", Stream(&P::checked))
        .Has("difference", "where the check stopped", Stream(&P::difference));
  }
};

template <>
struct Described<BoundsOf> {
  static constexpr const char* kName = "";
  static Fields<BoundsOf> Make() {
    return Fields<BoundsOf>()
        .Has("working_set", "of the peak", [](const BoundsOf& of) { return of.answer.working_set; })
        .Has("cuts", "of the cost", [](const BoundsOf& of) { return of.answer.cut_bound; })
        .Has("temporal_knapsack", "of the cost", [](const BoundsOf& of) { return of.answer.gap_bound; });
  }
};

template <>
struct Described<RematReport> {
  static constexpr const char *kName = "", *kAnswer = "solve", *kTitle = "a schedule, and how good it is at least";
  static Fields<RematReport> Make() {
    return Fields<RematReport>()
        .Has("budget", "", [](const RematReport& of) { return of.answer.budget; })
        .Has("peak", "null: no schedule was found", Found([](const RematAnswer& of) { return of.outcome->peak; }))
        .Has("cost", "", Found([](const RematAnswer& of) { return of.outcome->cost; }))
        .Has("extra", "of recomputing", Found([](const RematAnswer& of) { return of.extra(); }))
        .Has("bound", "no schedule costs less", [](const RematReport& of) { return of.answer.bound; })
        .Has("gap", "", Found([](const RematAnswer& of) { return of.gap(); }))
        .Has("proved_optimal", "", [](const RematReport& of) { return of.answer.proved_optimal(); })
        .Has("seconds", "that it took", &RematReport::seconds)
        .Has("bounds", "", [](const RematReport& of) { return BoundsOf{of.answer}; });
  }
};

Json ToJson(const ReplayReport& report) { return AnswerJson(report); }
Json ToJson(const RematReport& report) { return AnswerJson(report); }
Json ReplaySchema() { return AnswerSchema<ReplayReport>(); }
Json SolveSchema() { return AnswerSchema<RematReport>(); }

}  // namespace vramplan
