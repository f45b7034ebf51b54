#include "planner/report/explain.h"
#include "planner/report/parts/bottleneck.h"

namespace vramplan {
namespace {

Json MessageJson(const OutOfMemory& message) {
  Json processes = Json::Array();
  for (const OutOfMemoryProcess& process : message.processes) {
    Json object = Json::Object();
    object.Set("pid", process.pid).Set("in_use", process.in_use).Set("own", process.own);
    processes.Push(std::move(object));
  }
  Json parts = Json::Array();
  for (const OutOfMemoryPart& part : message.parts) {
    Json object = Json::Object();
    object.Set("name", part.name).Set("bytes", part.bytes);
    parts.Push(std::move(object));
  }
  Json json = Json::Object();
  json.Set("kind", message.kind)
      .Set("place", Name(message.place))
      .Set("backend", message.backend)
      .Set("gpu", message.gpu)
      .Set("tried", message.tried)
      .Set("capacity", message.capacity)
      .Set("free", message.free)
      .Set("allowed", message.allowed)
      .Set("allocated", message.allocated)
      .Set("private_pools", message.private_pools)
      .Set("unallocated", message.unallocated)
      .Set("reserved", message.reserved)
      .Set("in_use", message.in_use)
      .Set("outside", message.outside)
      .Set("total", message.total)
      .Set("parts", std::move(parts))
      .Set("tokens", message.tokens)
      .Set("tokens_fit", message.tokens_fit)
      .Set("processes", std::move(processes))
      .Set("shape", message.shape)
      .Set("node", message.node)
      .Set("op", message.op);
  return json;
}

Json SharesJson(const CardShares& shares) {
  Json json = Json::Object();
  json.Set("allocated", shares.allocated)
      .Set("unallocated", shares.unallocated)
      .Set("outside", shares.outside)
      .Set("undivided", shares.undivided)
      .Set("others", shares.others)
      .Set("free", shares.free)
      .Set("unknown", shares.unknown);
  return json;
}

Json StepJson(const ExplainedStep& step) {
  Json match;
  if (step.match) {
    match = Json::Object();
    match.Set("request", BottleneckJson(step.match->request))
        .Set("tried", step.match->tried)
        .Set("allocated", step.match->allocated)
        .Set("alike", int64_t{step.match->alike})
        .Set("refused", step.match->refused)
        .Set("fails_elsewhere", step.match->fails_elsewhere)
        .Set("difference", step.match->difference);
  }
  Json json = Json::Object();
  json.Set("model", ToJson(step.question.model))
      .Set("batch", step.question.batch)
      .Set("batch_found", step.batch_found)
      .Set("spec", SpecJson(step.question.spec))
      .Set("match", std::move(match))
      .Set("room", step.room)
      .Set("room_told", step.room_told)
      .Set("refused", BottleneckJson(step.refused))
      .Set("expandable_fits", step.expandable_fits)
      .Set("largest_batch", step.largest ? Json(step.largest->largest_batch) : Json())
      .Set("plan", step.plan);
  return json;
}

}  // namespace

Json ToJson(const ExplainReport& report) {
  Json json = Json::Object();
  json.Set("schema", "vramplan.explain/1")
      .Set("file", report.file)
      .Set("message", MessageJson(report.message))
      .Set("cause", Name(report.cause))
      .Set("shares", SharesJson(report.shares))
      .Set("step", report.step ? StepJson(*report.step) : Json())
      .Set("notes", ToJson(report.notes));
  return json;
}

}  // namespace vramplan
