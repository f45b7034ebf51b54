#include "planner/report/json/parts.h"
#include "planner/report/probe.h"

namespace vramplan {
namespace {

template <typename T>
Json OrNull(const std::optional<T>& fact) {
  return fact ? Json(*fact) : Json();
}
Json OrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json LinesJson(const std::vector<std::string>& lines) {
  Json array = Json::Array();
  for (const std::string& line : lines) array.Push(line);
  return array;
}

Json HoldersJson(const CardFacts& card) {
  Json array = Json::Array();
  for (const Holder& holder : card.holders) {
    Json object = Json::Object();
    object.Set("pid", holder.pid)
        .Set("name", OrNull(holder.name))
        .Set("bytes", OrNull(holder.bytes))
        .Set("compute", holder.compute)
        .Set("graphics", holder.graphics);
    array.Push(std::move(object));
  }
  return array;
}

Json ProbeRowsJson(const CardFacts& card) {
  Json array = Json::Array();
  for (const HolderRow& row : HolderRows(card)) {
    Json object = Json::Object();
    object.Set("name", row.name).Set("bytes", OrNull(row.bytes)).Set("what", row.what);
    array.Push(std::move(object));
  }
  return array;
}

Json LoadsJson(const std::optional<SeenLoads>& seen) {
  if (!seen) return Json();
  Json object = Json::Object();
  object.Set("context_bytes", OrNull(seen->loads.context))
      .Set("kernel_bytes", OrNull(seen->loads.kernel))
      .Set("cublas_bytes", OrNull(seen->loads.cublas))
      .Set("cudnn_bytes", OrNull(seen->loads.cudnn))
      .Set("others_took_bytes", seen->drift)
      .Set("unknown", LinesJson(seen->unknown))
      .Set("failed", seen->failed ? Json(ToString(*seen->failed)) : Json());
  return object;
}

Json ProbedJson(const ProbedCard& probed) {
  const CardFacts& card = probed.facts;
  Json object = Json::Object();
  object.Set("index", card.index)
      .Set("name", card.name)
      .Set("uuid", OrNull(card.uuid))
      .Set("pci", OrNull(card.pci))
      .Set("capability", std::to_string(card.capability_major) + "." + std::to_string(card.capability_minor))
      .Set("multiprocessors", card.multiprocessors)
      .Set("total_bytes", card.total)
      .Set("usable_bytes", card.usable)
      .Set("free_bytes", OrNull(card.free))
      .Set("reserved_bytes", OrNull(card.reserved))
      .Set("granularity_bytes", card.granularity > Bytes() ? Json(card.granularity) : Json())
      .Set("ecc", OrNull(card.ecc))
      .Set("display", OrNull(card.display))
      .Set("mig", card.mig)
      .Set("holders", HoldersJson(card))
      .Set("memory", ProbeRowsJson(card))
      .Set("loads", LoadsJson(probed.loads))
      .Set("catalogue_id", OrNull(probed.id))
      .Set("profile", OrNull(probed.profile))
      .Set("unknown", LinesJson(card.unknown));
  return object;
}

}  // namespace

Json ToJson(const ProbeReport& report) {
  Json driver = Json::Object();
  driver.Set("version", OrNull(report.driver.driver))
      .Set("cuda", OrNull(report.driver.cuda))
      .Set("toolkit", OrNull(report.driver.toolkit))
      .Set("wsl", report.driver.wsl);
  Json cards = Json::Array();
  for (const ProbedCard& card : report.cards) cards.Push(ProbedJson(card));
  Json object = Json::Object();
  object.Set("schema", "vramplan.probe/1")
      .Set("driver", std::move(driver))
      .Set("cards", std::move(cards))
      .Set("notes", JsonOf(report.notes));
  return object;
}

}  // namespace vramplan
