#include "planner/report/json/parts.h"
#include "planner/report/parts/bottleneck.h"
#include "planner/report/validate.h"

namespace vramplan {
namespace {

Json ValidateLevelsJson(const Levels& levels) {
  Json object = Json::Object();
  object.Set("requested", levels.requested).Set("allocated", levels.allocated).Set("reserved", levels.reserved);
  return object;
}

template <typename T>
Json EndsJson(const AtContext<T>& ends) {
  Json object = Json::Object();
  object.Set("context_low", ends.low).Set("context_likely", ends.likely).Set("context_high", ends.high);
  return object;
}

Json PredictionJson(const ValidateReport& report) {
  const Prediction& prediction = report.prediction;
  Json context = Json::Object();
  context.Set("low", prediction.context.low)
      .Set("likely", prediction.context.likely)
      .Set("high", prediction.context.high)
      .Set("source", prediction.context.source);
  Json object = ValidateLevelsJson(prediction.peak.peak);
  object.Set("device", prediction.peak.peak.reserved + prediction.context.likely)
      .Set("context", std::move(context))
      .Set("fits", EndsJson(prediction.fits))
      .Set("largest_batch", EndsJson(prediction.largest))
      .Set("allocations", report.allocations)
      .Set("bytes_written", report.written);
  return object;
}

Json RefusalJson(const std::optional<Refusal>& refusal) {
  if (!refusal) return Json();
  Json object = Json::Object();
  object.Set("cause", Name(refusal->cause))
      .Set("wanted", refusal->wanted)
      .Set("free", refusal->free)
      .Set("others", refusal->others);
  return object;
}

const char* Word(CardTry::End end) {
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

Json TryJson(const CardTry& tried) {
  Json object = Json::Object();
  object.Set("batch", tried.batch)
      .Set("end", Word(tried.end))
      .Set("levels", ValidateLevelsJson(tried.peak.peak))
      .Set("free_memory_fell", tried.FellInside())
      .Set("refusal", RefusalJson(tried.refusal))
      .Set("failed_at", JsonOf(tried.at))
      .Set("error", tried.error ? Json(ToString(*tried.error)) : Json())
      .Set("others_took", tried.others)
      .Set("driver_took", tried.driver)
      .Set("not_given_back", tried.left);
  return object;
}

Json WrittenJson(const CardTry& run) {
  Json phases = Json::Object();
  for (size_t phase = 0; phase < run.written.size(); ++phase) {
    const TimedWork& part = run.written[phase];
    if (part.work == 0) continue;
    Json object = Json::Object();
    object.Set("bytes", static_cast<int64_t>(part.work)).Set("seconds", part.seconds);
    phases.Set(std::string(Name(static_cast<Phase>(phase))), std::move(object));
  }
  return phases;
}

Json MomentsJson(const CardTry& run) {
  Json moments = Json::Array();
  for (const CardMoment& moment : run.moments) {
    Json object = Json::Object();
    object.Set("moment", Name(moment.kind))
        .Set("event", static_cast<int64_t>(moment.event))
        .Set("reserved", moment.reserved)
        .Set("free", moment.free)
        .Set("used", moment.used)
        .Set("others_took", moment.others);
    moments.Push(std::move(object));
  }
  return moments;
}

Json SeenJson(const ValidateReport& report) {
  if (!report.seen) return Json();
  const Observation& seen = *report.seen;
  Json context = Json::Object();
  context.Set("bare", seen.context.bare)
      .Set("kernel", seen.context.kernel)
      .Set("cublas", seen.context.cublas)
      .Set("cudnn", seen.context.cudnn)
      .Set("total", seen.context.total());
  Json tried = Json::Array();
  for (const CardTry& one : seen.tries) tried.Push(TryJson(one));
  Json object = Json::Object();
  object.Set("run", TryJson(seen.run))
      .Set("blocks_written", seen.run.blocks)
      .Set("segments_taken", seen.run.segments)
      .Set("written", WrittenJson(seen.run))
      .Set("moments", MomentsJson(seen.run))
      .Set("context", std::move(context))
      .Set("device_from_inside", seen.inside)
      .Set("device_from_outside", seen.outside)
      .Set("largest_batch", seen.found.stopped ? Json() : Json(seen.found.largest))
      .Set("first_failing_batch", seen.found.failed)
      .Set("largest_batch_predicted_with_this_context", seen.largest_predicted)
      .Set("tries", std::move(tried))
      .Set("left_behind", report.left_behind);
  return object;
}

}  // namespace

Json ToJson(const ValidateReport& report) {
  Json gpu = Json::Object();
  gpu.Set("name", report.device.name)
      .Set("card", report.card ? Json(*report.card) : Json())
      .Set("usable_bytes", report.device.usable)
      .Set("driver", report.driver.driver)
      .Set("cuda", report.driver.cuda);
  Json limits = Json::Object();
  limits.Set("margin", report.limits.margin)
      .Set("max_bytes", report.limits.most == Bytes::Max() ? Json() : Json(report.limits.most));
  Json levels = Json::Array();
  if (report.seen) {
    for (const LevelRow& row : LevelRows(report.prediction, *report.seen)) {
      Json object = Json::Object();
      object.Set("level", row.level).Set("predicted", row.predicted).Set("observed", row.seen);
      levels.Push(std::move(object));
    }
  }
  Json json = Json::Object();
  json.Set("schema", "vramplan.validate/1")
      .Set("verdict", report.seen ? Json(Name(report.judgement.agreement)) : Json("dry-run"))
      .Set("reason", report.judgement.reason)
      .Set("model", JsonOf(report.question.model))
      .Set("gpu", std::move(gpu))
      .Set("spec", JsonOf(SpecOf{report.question.spec}))
      .Set("batch", report.prediction.batch)
      .Set("limits", std::move(limits))
      .Set("predicted", PredictionJson(report))
      .Set("levels", std::move(levels))
      .Set("observed", SeenJson(report))
      .Set("notes", JsonOf(report.notes));
  return json;
}

}  // namespace vramplan
