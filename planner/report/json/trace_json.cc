#include "planner/report/json/parts.h"
#include "planner/report/json/schemas.h"
#include "planner/report/trace.h"

namespace vramplan {
namespace {

// An event of a trace; of none, where the trace is over.
struct EventAt {
  const Trace& trace;
  size_t event;
  const TraceEvent& operator*() const { return trace[event]; }
};
std::optional<EventAt> EventOf(const Trace& trace, size_t event) {
  return event < trace.size() ? std::optional<EventAt>(EventAt{trace, event}) : std::nullopt;
}

struct HunkOf {
  const TraceReport& report;
  const TraceHunk& hunk;
};

std::string_view KindOf(bool birth) { return birth ? "alloc" : "free"; }
int64_t EventCount(const Trace& trace) { return static_cast<int64_t>(trace.size()); }
std::optional<TraceLevels> Known(const TraceLevels& levels) {
  return levels.known ? std::optional(levels) : std::nullopt;
}

}  // namespace

template <>
struct Described<EventAt> {
  static constexpr const char* kName = "event";
  static Fields<EventAt> Make() {
    using E = EventAt;
    return Fields<E>()
        .Has("event", "", [](const E& at) { return static_cast<int64_t>(at.event); })
        .Has("kind", "alloc or free", [](const E& at) { return KindOf((*at).birth); })
        .Has("bytes", "of the block", [](const E& at) { return (*at).bytes; })
        .Has("phase", "", [](const E& at) { return (*at).phase; })
        .Has("module", "the innermost, in the forward", [](const E& at) { return (*at).module; })
        .Has("autograd_node", "in the backward", [](const E& at) { return (*at).autograd_node; })
        .Has("operator", "", [](const E& at) { return (*at).op; })
        .Has("layer", "", [](const E& at) { return (*at).layer; });
  }
};

template <>
struct Described<HunkOf> {
  static constexpr const char* kName = "";
  static Fields<HunkOf> Make() {
    using H = HunkOf;
    return Fields<H>()
        .Has("ours", "", [](const H& of) { return EventOf(of.report.ours, of.hunk.ours); })
        .Has("recorded", "", [](const H& of) { return EventOf(of.report.recorded, of.hunk.recorded); })
        .Has("only_ours", "so many events", [](const H& of) { return static_cast<int64_t>(of.hunk.ours_count); })
        .Has("only_recorded", "", [](const H& of) { return static_cast<int64_t>(of.hunk.recorded_count); });
  }
};

template <>
struct Described<TraceAgreement> {
  static constexpr const char* kName = "agreement";
  static Fields<TraceAgreement> Make() {
    using A = TraceAgreement;
    return Fields<A>()
        .Has("share", "of the bytes of both that are the same", &A::Share)
        .Has("common", "", &A::common)
        .Has("ours", "", &A::ours)
        .Has("recorded", "", &A::recorded);
  }
};

template <>
struct Described<TraceLevels> {
  static constexpr const char* kName = "trace_levels";
  static Fields<TraceLevels> Make() {
    using L = TraceLevels;
    return Fields<L>()
        .Has("before", "", &L::before)
        .Has("peak", "", &L::peak)
        .Has("after", "", &L::after)
        .Has("peak_event", "", [](const L& of) { return static_cast<int64_t>(of.peak_event); });
  }
};

template <>
struct Described<OperatorDifference> {
  static constexpr const char* kName = "";
  static Fields<OperatorDifference> Make() {
    using D = OperatorDifference;
    return Fields<D>()
        .Has("phase", "", &D::phase)
        .Has("kind", "alloc or free", [](const D& row) { return KindOf(row.birth); })
        .Has("operator", "of a free: what had allocated the block", &D::op)
        .Has("only_ours", "so many", [](const D& row) { return row.ours.count; })
        .Has("only_ours_bytes", "", [](const D& row) { return row.ours.bytes; })
        .Has("only_recorded", "so many", [](const D& row) { return row.recorded.count; })
        .Has("only_recorded_bytes", "", [](const D& row) { return row.recorded.bytes; });
  }
};

template <>
struct Described<TraceReport> {
  static constexpr const char *kName = "", *kAnswer = "trace", *kTitle = "a step beside a recorded one";
  static Fields<TraceReport> Make() {
    using R = TraceReport;
    return Fields<R>()
        .Has("equal", "", [](const R& of) { return of.comparison.equal(); })
        .Has("model", "", &R::model)
        .Has("recorded", "its file", &R::file)
        .Has("step", "", &R::step)
        .Has("batch", "", &R::batch)
        .Has("spec", "the options behind the answer", [](const R& of) { return SpecOf{of.spec}; })
        .Group("events", "so many",
               Fields<R>()
                   .Has("ours", "", [](const R& of) { return EventCount(of.ours); })
                   .Has("recorded", "", [](const R& of) { return EventCount(of.recorded); }))
        .Group("large_blocks", "of 64 KiB and more",
               Fields<R>()
                   .Has("births", "", [](const R& of) { return of.comparison.births; })
                   .Has("deaths", "", [](const R& of) { return of.comparison.deaths; }))
        .Group("allocated", "bytes of the blocks that they were given: max_memory_allocated()",
               Fields<R>()
                   .Has("ours", "", [](const R& of) { return Known(of.comparison.ours); })
                   .Has("recorded", "", [](const R& of) { return Known(of.comparison.recorded); }))
        .Has("swapped", "frees of another block of the same size", [](const R& of) { return of.comparison.swapped; })
        .Has("first_swapped_event", "",
             [](const R& of) {
               const TraceComparison& comparison = of.comparison;
               return comparison.swapped > 0 ? std::optional(static_cast<int64_t>(comparison.first_swapped.ours))
                                             : std::nullopt;
             })
        .Has("other_slack", "the same tensors in blocks of another size",
             [](const R& of) { return static_cast<int64_t>(of.comparison.slack.size()); })
        .Has("places", "where the two part",
             [](const R& of) {
               std::vector<HunkOf> hunks;
               for (const TraceHunk& hunk : of.comparison.hunks) hunks.push_back({of, hunk});
               return hunks;
             })
        .Has("differences", "by operator, most bytes first", [](const R& of) { return of.comparison.differences; })
        .Has("notes", "", &R::notes);
  }
};

Json ToJson(const TraceReport& report) { return AnswerJson(report); }
Json TraceSchema() { return AnswerSchema<TraceReport>(); }

}  // namespace vramplan
