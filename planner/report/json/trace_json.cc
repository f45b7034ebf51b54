#include "planner/report/json/parts.h"
#include "planner/report/json/schemas.h"
#include "planner/report/trace.h"

namespace vramplan {
namespace {

// An event of a trace; of none, where the trace is over.
struct EventAt {
  const Trace* trace;
  size_t event;
  const TraceEvent& operator*() const { return (*trace)[event]; }
};
std::optional<EventAt> EventOf(const Trace& trace, size_t event) {
  return event < trace.size() ? std::optional(EventAt{&trace, event}) : std::nullopt;
}

struct HunkOf {
  const TraceReport* report;
  const TraceHunk* hunk;
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
        .Has("event", "", &E::event)
        .Has("kind", "alloc or free", &TraceEvent::birth, KindOf)
        .Has("bytes", "of the block", &TraceEvent::bytes)
        .Has("phase", "", &TraceEvent::phase)
        .Has("module", "the innermost, in the forward", &TraceEvent::module)
        .Has("autograd_node", "in the backward", &TraceEvent::autograd_node)
        .Has("operator", "", &TraceEvent::op)
        .Has("layer", "", &TraceEvent::layer);
  }
};

template <>
struct Described<HunkOf> {
  static constexpr const char* kName = "";
  static Fields<HunkOf> Make() {
    using H = HunkOf;
    return Fields<H>()
        .Has("ours", "", [](const H& of) { return EventOf(of.report->ours, of.hunk->ours); })
        .Has("recorded", "", [](const H& of) { return EventOf(of.report->recorded, of.hunk->recorded); })
        .Has("only_ours", "so many events", &H::hunk, &TraceHunk::ours_count)
        .Has("only_recorded", "", &H::hunk, &TraceHunk::recorded_count);
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
        .Has("peak_event", "", &L::peak_event);
  }
};

template <>
struct Described<OperatorDifference> {
  static constexpr const char* kName = "";
  static Fields<OperatorDifference> Make() {
    using D = OperatorDifference;
    return Fields<D>()
        .Has("phase", "", &D::phase)
        .Has("kind", "alloc or free", &D::birth, KindOf)
        .Has("operator", "of a free: what had allocated the block", &D::op)
        .Has("only_ours", "so many", &D::ours, &OperatorDifference::Side::count)
        .Has("only_ours_bytes", "", &D::ours, &OperatorDifference::Side::bytes)
        .Has("only_recorded", "so many", &D::recorded, &OperatorDifference::Side::count)
        .Has("only_recorded_bytes", "", &D::recorded, &OperatorDifference::Side::bytes);
  }
};

template <>
struct Described<TraceReport> {
  static constexpr const char *kName = "", *kAnswer = "trace", *kTitle = "a step beside a recorded one";
  static Fields<TraceReport> Make() {
    using R = TraceReport;
    return Fields<R>()
        .Has("equal", "", &R::comparison, &TraceComparison::equal)
        .Has("model", "", &R::model)
        .Has("recorded", "its file", &R::file)
        .Has("step", "", &R::step)
        .Has("batch", "", &R::batch)
        .Has("spec", "the options behind the answer", &R::spec)
        .Group("events", "so many",
               Fields<R>().Has("ours", "", &R::ours, EventCount).Has("recorded", "", &R::recorded, EventCount))
        .Group("large_blocks", "of 64 KiB and more",
               Fields<R>()
                   .Has("births", "", &R::comparison, &TraceComparison::births)
                   .Has("deaths", "", &R::comparison, &TraceComparison::deaths))
        .Group("allocated", "bytes of the blocks that they were given: max_memory_allocated()",
               Fields<R>()
                   .Has("ours", "", &R::comparison, &TraceComparison::ours, Known)
                   .Has("recorded", "", &R::comparison, &TraceComparison::recorded, Known))
        .Has("swapped", "frees of another block of the same size", &R::comparison, &TraceComparison::swapped)
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
               for (const TraceHunk& hunk : of.comparison.hunks) hunks.push_back({&of, &hunk});
               return hunks;
             })
        .Has("differences", "by operator, most bytes first", &R::comparison, &TraceComparison::differences)
        .Has("notes", "", &R::notes);
  }
};

Json ToJson(const TraceReport& report) { return AnswerJson(report); }
Json TraceSchema() { return AnswerSchema<TraceReport>(); }

}  // namespace vramplan
