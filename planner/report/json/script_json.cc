#include "planner/report/json/parts.h"
#include "planner/report/json/places.h"
#include "planner/report/parts/breakdown.h"
#include "planner/report/script.h"
#include "planner/report/script_growth.h"
#include "planner/report/script_holders.h"
#include "planner/report/script_seen.h"

namespace vramplan {
namespace {

Json CountersJson(const Levels& counters) {
  Json json = Json::Object();
  json.Set("requested", counters.requested).Set("allocated", counters.allocated).Set("reserved", counters.reserved);
  return json;
}

Json LineJson(const CodePlace& place) {
  Json json = Json::Object();
  json.Set("file", place.file).Set("line", place.line).Set("function", place.function);
  return json;
}

Json ScriptStepsJson(const Recording& recording) {
  Json steps = Json::Array();
  for (const RecordedStep& step : recording.steps) {
    Json json = Json::Object();
    json.Set("step", step.step)
        .Set("requested", step.peak.requested)
        .Set("allocated", step.peak.allocated)
        .Set("reserved", step.peak.reserved)
        .Set("left", CountersJson(step.after));
    steps.Push(std::move(json));
  }
  return steps;
}

Json OutOfMemoryJson(const ScriptReport& report) {
  if (!report.oom) return Json();
  const RecordedRefusal& oom = *report.oom;
  Json json = Json::Object();
  json.Set("asked", oom.asked)
      .Set("free", oom.free)
      .Set("held", CountersJson(oom.held))
      .Set("place", LineJson(oom.place))
      .Set("step", report.moment.step)
      .Set("phase", Name(report.moment.phase))
      .Set("with_gradients", report.moment.keeps_graphs)
      .Set("largest_refused", report.card.largest_refused);
  return json;
}

Json ScriptGpuJson(const ScriptReport& report) {
  if (!report.card_given) return Json();
  Json json = Json::Object();
  json.Set("name", report.device.name)
      .Set("usable", report.device.usable)
      .Set("capability", report.capability)
      .Set("available", report.device.available());
  return json;
}

Json ByValueJson(const Recording& recording) {
  Json rows = Json::Array();
  for (const ByValue& value : recording.by_value) {
    Json row = LineJson(value.place);
    row.Set("what", value.what).Set("times", value.times);
    rows.Push(std::move(row));
  }
  return rows;
}

Json ScriptTogetherJson(const ScriptReport& report) {
  if (!report.together) return Json();
  Json json = Json::Object();
  json.Set("processes", report.together->contexts).Set("held", report.together->bytes);
  return json;
}

Json Strings(const std::vector<std::string>& texts) {
  Json array = Json::Array();
  for (const std::string& text : texts) array.Push(text);
  return array;
}

}  // namespace

Json ToJson(const ScriptReport& report, Json largest) {
  const Recording& recording = report.recording;
  Json peak = CountersJson(recording.peak());
  peak.Set("device", JsonOf(report.band)).Set("step", report.moment.step).Set("phase", Name(report.moment.phase));
  Json ranks = Json::Array();
  for (const ScriptProcess& process : report.processes) {
    Json json = CountersJson(process.peak);
    json.Set("pid", process.pid)
        .Set("rank", process.rank)
        .Set("ranks", process.ranks)
        .Set("card", process.card)
        .Set("steps", process.steps)
        .Set("categories", process.replayed ? JsonOf(CategoriesOf{*process.replayed}) : Json());
    ranks.Push(std::move(json));
  }
  const std::optional<ScriptGrowth> growth = GrowthOf(report);
  Json json = Json::Object();
  json.Set("schema", "vramplan.run/1")
      .Set("command", Strings(report.command))
      .Set("exit", report.exit_code)
      .Set("ended_by", recording.end)
      .Set("framework", "pytorch " + recording.torch)
      .Set("gpu", ScriptGpuJson(report))
      .Set("verdict", report.card_given ? Json(Name(report.verdict)) : Json())
      .Set("on_a_larger_card", report.on_a_larger_card ? Json(*report.on_a_larger_card) : Json())
      .Set("steps", ScriptStepsJson(recording))
      .Set("peak", std::move(peak))
      .Set("places", JsonOf(report.moment.rows))
      .Set("growth", growth ? ToJson(*growth) : Json())
      .Set("seen", NotSeenJson(report))
      .Set("oom", OutOfMemoryJson(report))
      .Set("next", report.next ? ToJson(*report.next) : Json())
      .Set("ranks", std::move(ranks))
      .Set("together", ScriptTogetherJson(report))
      .Set("largest", std::move(largest))
      .Set("uncovered", Strings(report.card.uncovered))
      .Set("value_dependent", ByValueJson(recording))
      .Set("notes", JsonOf(report.notes));
  return json;
}

}  // namespace vramplan
