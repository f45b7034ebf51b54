#include <algorithm>

#include "planner/report/fit.h"
#include "planner/report/parts/bottleneck.h"
#include "planner/report/parts/breakdown.h"

namespace vramplan {
namespace {

Json GpuJson(const CardFit& card) {
  Json object = Json::Object();
  object.Set("id", card.id)
      .Set("name", card.device.name)
      .Set("usable_bytes", card.device.usable)
      .Set("reserve_bytes", card.device.reserve)
      .Set("held_bytes", card.device.held)
      .Set("context_bytes", card.device.context.likely)
      .Set("context_source", card.device.context.source)
      .Set("source", card.device.source);
  if (!card.device.pool.source.empty()) object.Set("pool", PoolJson(card.device));
  return object;
}

// Null where no batch is safe.
Json SafeJson(const CardFit& card) { return card.safe_batch > 0 ? Json(card.safe_batch) : Json(); }

Json WhatIfJson(const std::vector<WhatIf>& others) {
  Json rows = Json::Array();
  for (const WhatIf& other : others) {
    Json row = Json::Object();
    row.Set("setting", other.setting)
        .Set("allocator_conf", other.conf)
        .Set("verdict", Name(other.verdict))
        .Set("largest_batch", other.largest_batch);
    rows.Push(std::move(row));
  }
  return rows;
}

Json RemediesJson(const std::vector<Remedy>& remedies) {
  Json rows = Json::Array();
  for (const Remedy& remedy : remedies) {
    Json row = Json::Object();
    row.Set("options", remedy.options)
        .Set("device", remedy.needs.count())
        .Set("safe_batch", remedy.safe_batch)
        .Set("largest_batch", remedy.largest_batch);
    rows.Push(std::move(row));
  }
  return rows;
}

Json ServingJson(const std::optional<Serving>& serving) {
  if (!serving) return Json();
  Json rows = Json::Array();
  for (const Serving::Row& row : serving->rows) {
    Json object = Json::Object();
    object.Set("tokens", row.tokens).Set("safe_sequences", row.safe).Set("largest_sequences", row.largest);
    rows.Push(std::move(object));
  }
  Json object = Json::Object();
  object.Set("rows", std::move(rows)).Set("sequences", serving->sequences).Set("longest_tokens", serving->longest);
  return object;
}

Json LadderJson(const Fit& fit) {
  Json ladder = Json::Array();
  for (const LadderRow& row : fit.ladder) {
    Json object = Json::Object();
    object.Set("precision", Name(row.precision))
        .Set("checkpointing", CheckpointingText(row))
        .Set("largest_batch", row.largest.largest_batch)
        .Set("peak_device",
             row.largest.peak ? Json(DeviceBytes(*row.largest.peak, fit.card.device.context.likely)) : Json());
    ladder.Push(std::move(object));
  }
  return ladder;
}

}  // namespace

Json ToJson(const Fit& fit) {
  const CardFit& card = fit.card;
  Json object = Json::Object();
  object.Set("schema", "vramplan.fit/1")
      .Set("verdict", Name(card.verdict))
      .Set("model", ToJson(fit.question.model))
      .Set("spec", SpecJson(fit.question.spec))
      .Set("gpu", GpuJson(card))
      .Set("batch", fit.question.batch)
      .Set("peak", PeakJson(card.peak, fit.place, card.device.context.likely))
      .Set("device", ToJson(card.band))
      .Set("on_a_larger_card", card.OnALargerCard())
      .Set("margin_bytes", card.MarginAt(card.band.device().likely))
      .Set("margin_bytes_high", card.MarginAt(card.band.device().high))
      .Set("categories", CategoriesJson(card.peak))
      .Set("largest_batch", card.largest.largest_batch)
      .Set("safe_batch", SafeJson(card))
      .Set("first_failing_batch", card.largest.first_failing_batch)
      .Set("binding", BottleneckJson(card.largest.bottleneck))
      .Set("ladder", LadderJson(fit))
      .Set("what_if", WhatIfJson(fit.what_if))
      .Set("remedies", RemediesJson(fit.remedies))
      .Set("serving", ServingJson(fit.serving))
      .Set("cards", Json::Array())
      .Set("assumptions", ToJson(fit.assumptions))
      .Set("assumptions_together", TogetherJson(fit.assumptions))
      .Set("notes", ToJson(fit.notes));
  if (fit.kept) {
    Json kept = Json::Object();
    object.Set("kept_graphs", std::move(kept.Set("each_batch", fit.kept->each).Set("full_in_batch", fit.kept->full)));
  }
  if (fit.host) object.Set("host", ToJson(*fit.host));
  return object;
}

Json ToJson(const FitMatrix& matrix) {
  Verdict best = Verdict::kDoesNotFit;
  Json cards = Json::Array();
  for (const CardFit& card : matrix.cards) {
    best = std::min(best, card.verdict);
    Json row = Json::Object();
    row.Set("id", card.id)
        .Set("name", card.device.name)
        .Set("usable_bytes", card.device.usable)
        .Set("verdict", Name(card.verdict))
        .Set("peak_device", DeviceBytes(card.peak, card.device.context.likely))
        .Set("peak_device_low", card.band.device().low)
        .Set("peak_device_high", card.band.device().high)
        .Set("largest_batch", card.largest.largest_batch)
        .Set("safe_batch", SafeJson(card))
        .Set("first_failing_batch", card.largest.first_failing_batch)
        .Set("source", card.device.source);
    cards.Push(std::move(row));
  }
  Json object = Json::Object();
  object.Set("schema", "vramplan.fit/1")
      .Set("verdict", Name(best))
      .Set("model", ToJson(matrix.question.model))
      .Set("spec", SpecJson(matrix.question.spec))
      .Set("gpu", Json())
      .Set("batch", matrix.question.batch)
      .Set("peak", Json())
      .Set("largest_batch", Json())
      .Set("safe_batch", Json())
      .Set("first_failing_batch", Json())
      .Set("binding", Json())
      .Set("ladder", Json::Array())
      .Set("cards", std::move(cards))
      .Set("notes", ToJson(matrix.notes));
  return object;
}

}  // namespace vramplan
