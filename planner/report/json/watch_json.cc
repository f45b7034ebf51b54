#include "planner/report/json/parts.h"
#include "planner/report/watch.h"

namespace vramplan {
namespace {

const char* WatchWord(WatchResult::End end) {
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

Json WatchCardJson(const Watched& watched) {
  Json processes = Json::Array();
  for (const WatchedProcess& process : watched.processes) {
    Json object = Json::Object();
    object.Set("pid", process.pid)
        .Set("name", process.name)
        .Set("ours", process.ours)
        .Set("appeared_seconds", process.appeared)
        .Set("first", process.first)
        .Set("highest", process.highest)
        .Set("at_peak", process.at_peak);
    processes.Push(std::move(object));
  }
  Json object = Json::Object();
  object.Set("card", watched.card)
      .Set("looks", watched.samples)
      .Set("seconds", watched.seconds)
      .Set("source", Name(watched.source))
      .Set("peak", watched.source == WatchSource::kNothing ? Json() : Json(watched.peak))
      .Set("peak_seconds", watched.peak_at)
      .Set("used_before", watched.before)
      .Set("used_at_peak", watched.used_at_peak)
      .Set("there_before", watched.there_before)
      .Set("processes", std::move(processes));
  return object;
}

Json WatchPredictionJson(const WatchReport& report) {
  if (!report.prediction) return Json();
  const WatchPrediction& prediction = *report.prediction;
  const auto band = [](Bytes low, Bytes likely, Bytes high) {
    Json object = Json::Object();
    object.Set("low", low).Set("likely", likely).Set("high", high);
    return object;
  };
  Json object = Json::Object();
  object.Set("model", JsonOf(report.estimate->question.model))
      .Set("spec", JsonOf(SpecOf{report.estimate->question.spec}))
      .Set("requested", prediction.levels.requested)
      .Set("allocated", prediction.levels.allocated)
      .Set("reserved", prediction.levels.reserved)
      .Set("context", band(prediction.context_low, prediction.context_likely, prediction.context_high))
      .Set("device", band(prediction.device_low, prediction.device_likely, prediction.device_high));
  return object;
}

}  // namespace

Json ToJson(const WatchReport& report) {
  Json cards = Json::Array();
  for (const Watched& card : report.result.cards) cards.Push(WatchCardJson(card));
  Json explanation;
  if (report.prediction) {
    explanation = Json::Object();
    explanation.Set("place", Name(report.explanation.place))
        .Set("level", report.explanation.level)
        .Set("text", report.explanation.text);
  }
  Json json = Json::Object();
  json.Set("schema", "vramplan.watch/1")
      .Set("run", report.run)
      .Set("end", WatchWord(report.result.end))
      .Set("error", report.result.error ? Json(ToString(*report.result.error)) : Json())
      .Set("exit_code", report.exit_code)
      .Set("signal", report.signal)
      .Set("gpu", report.card)
      .Set("card", report.result.busiest().card)
      .Set("cards", std::move(cards))
      .Set("predicted", WatchPredictionJson(report))
      .Set("explanation", std::move(explanation))
      .Set("saved", report.saved)
      .Set("saved_context", report.saved_context)
      .Set("notes", JsonOf(report.notes));
  return json;
}

}  // namespace vramplan
