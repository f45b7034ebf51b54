#include "planner/report/json/parts.h"
#include "planner/report/trace.h"

namespace vramplan {
namespace {

Json EventJson(const Trace& trace, size_t event) {
  if (event >= trace.size()) return Json();
  const TraceEvent& traced = trace[event];
  Json object = Json::Object();
  object.Set("event", static_cast<int64_t>(event))
      .Set("kind", traced.birth ? "alloc" : "free")
      .Set("bytes", traced.bytes)
      .Set("phase", traced.phase)
      .Set("module", traced.module)
      .Set("autograd_node", traced.autograd_node)
      .Set("operator", traced.op)
      .Set("layer", traced.layer);
  return object;
}

Json TraceLevelsJson(const TraceLevels& levels) {
  if (!levels.known) return Json();
  Json object = Json::Object();
  object.Set("before", levels.before)
      .Set("peak", levels.peak)
      .Set("after", levels.after)
      .Set("peak_event", static_cast<int64_t>(levels.peak_event));
  return object;
}

Json AgreementJson(const TraceAgreement& agreement) {
  Json object = Json::Object();
  object.Set("share", agreement.Share())
      .Set("common", agreement.common)
      .Set("ours", agreement.ours)
      .Set("recorded", agreement.recorded);
  return object;
}

}  // namespace

Json ToJson(const TraceReport& report) {
  const TraceComparison& comparison = report.comparison;
  Json hunks = Json::Array(), differences = Json::Array();
  for (const TraceHunk& hunk : comparison.hunks) {
    Json object = Json::Object();
    object.Set("ours", EventJson(report.ours, hunk.ours))
        .Set("recorded", EventJson(report.recorded, hunk.recorded))
        .Set("only_ours", static_cast<int64_t>(hunk.ours_count))
        .Set("only_recorded", static_cast<int64_t>(hunk.recorded_count));
    hunks.Push(std::move(object));
  }
  for (const OperatorDifference& row : comparison.differences) {
    Json object = Json::Object();
    object.Set("phase", row.phase)
        .Set("kind", row.birth ? "alloc" : "free")
        .Set("operator", row.op)
        .Set("only_ours", row.ours.count)
        .Set("only_ours_bytes", row.ours.bytes)
        .Set("only_recorded", row.recorded.count)
        .Set("only_recorded_bytes", row.recorded.bytes);
    differences.Push(std::move(object));
  }
  Json json = Json::Object();
  json.Set("schema", "vramplan.trace/1")
      .Set("equal", comparison.equal())
      .Set("model", report.model)
      .Set("recorded", report.file)
      .Set("step", report.step)
      .Set("batch", report.batch)
      .Set("spec", JsonOf(SpecOf{report.spec}))
      .Set("events", Json::Object()
                         .Set("ours", static_cast<int64_t>(report.ours.size()))
                         .Set("recorded", static_cast<int64_t>(report.recorded.size())))
      .Set("large_blocks", Json::Object()
                               .Set("births", AgreementJson(comparison.births))
                               .Set("deaths", AgreementJson(comparison.deaths)))
      .Set("allocated", Json::Object()
                            .Set("ours", TraceLevelsJson(comparison.ours))
                            .Set("recorded", TraceLevelsJson(comparison.recorded)))
      .Set("swapped", comparison.swapped)
      .Set("first_swapped_event",
           comparison.swapped > 0 ? Json(static_cast<int64_t>(comparison.first_swapped.ours)) : Json())
      .Set("other_slack", static_cast<int64_t>(comparison.slack.size()))
      .Set("places", std::move(hunks))
      .Set("differences", std::move(differences))
      .Set("notes", JsonOf(report.notes));
  return json;
}

}  // namespace vramplan
