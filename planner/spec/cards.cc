#include <algorithm>
#include <cctype>
#include <set>

#include "graph/base/check.h"
#include "planner/spec/catalogue.h"
#include "planner/spec/device.h"
#include "planner/spec/nearest.h"

namespace vramplan {
namespace {

std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return parts;
}

void AddRows(std::span<const CardRow> rows, bool nvidia, std::vector<Card>* cards) {
  for (const CardRow& row : rows) {
    cards->push_back(Card{.id = row.id,
                          .name = row.name,
                          .aliases = SplitAtCommas(row.aliases),
                          .marketed_gb = row.marketed_gb,
                          .usable = row.usable,
                          .nvidia = nvidia,
                          .capability = row.capability,
                          .multiprocessors = row.multiprocessors,
                          .bandwidth_gb_s = row.bandwidth_gb_s,
                          .fp32_tflops = row.fp32_tflops,
                          .half_tflops = row.half_tflops,
                          .source = row.source});
  }
}

// Lower-case letters and digits only, without the words that only some people type: "NVIDIA GeForce RTX 3060 Laptop
// GPU" -> "3060laptop".
std::string Normalise(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      words.back().push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  std::string joined;
  for (const std::string& word : words) {
    if (word == "gpu" || word == "graphics") continue;
    joined += word;
  }
  static constexpr std::string_view kSeries[] = {"nvidia",   "amd",    "geforce", "tesla", "quadro",
                                                 "instinct", "radeon", "rtx",     "gtx",   "rx"};
  for (bool stripped = true; stripped;) {
    stripped = false;
    for (const std::string_view series : kSeries) {
      if (joined.size() > series.size() && joined.compare(0, series.size(), series) == 0) {
        joined.erase(0, series.size());
        stripped = true;
      }
    }
  }
  return joined;
}

// Every normalised way of naming a card.
std::set<std::string> KeysOf(const Card& card) {
  std::set<std::string> keys{Normalise(card.id), Normalise(card.name)};
  for (const std::string& alias : card.aliases) keys.insert(Normalise(alias));
  std::set<std::string> with_size;  // "4090 24gb", "16gb t4"
  const std::string size = std::to_string(card.marketed_gb) + "gb";
  for (const std::string& key : keys) {
    with_size.insert(key + size);
    with_size.insert(size + key);
  }
  keys.merge(with_size);
  return keys;
}

}  // namespace

const std::vector<Card>& Cards() {
  static const std::vector<Card> cards = [] {
    std::vector<Card> rows;
    AddRows(DataCentreCards(), true, &rows);
    AddRows(WorkstationCards(), true, &rows);
    AddRows(GeForceCards(), true, &rows);
    AddRows(AmdCards(), false, &rows);
    return rows;
  }();
  return cards;
}

Result<Card> FindCard(std::string_view name) {
  const std::string key = Normalise(name);
  // A cloud instance names its size after a point: "g4dn.xlarge".
  const size_t point = name.find('.');
  const std::string family = point == std::string_view::npos ? key : Normalise(name.substr(0, point));
  std::vector<const Card*> matches;
  for (const Card& card : Cards()) {
    const std::set<std::string> keys = KeysOf(card);
    if (keys.count(key) != 0 || (family != key && keys.count(family) != 0)) matches.push_back(&card);
  }
  if (matches.size() == 1) return *matches.front();
  const auto error = [&](std::string text, std::string hint) {
    return Error{ErrorCode::kUsage, "--gpu", InQuotes(name) + " " + std::move(text), std::move(hint)};
  };
  if (matches.size() > 1) {
    std::vector<std::string> ids;
    for (const Card* card : matches) ids.push_back(card->id);
    return error("is ambiguous: it can be " + JoinChoices(ids), "type --gpu " + ids.front());
  }
  // "16gb"
  const size_t unit = key.find_first_not_of("0123456789");
  if (unit != 0 && unit != std::string::npos &&
      (key.substr(unit) == "gb" || key.substr(unit) == "gib" || key.substr(unit) == "g")) {
    return error("is a size, not a card", "type --gpu-memory " + key.substr(0, unit) + "GiB; vramplan gpus " +
                                              key.substr(0, unit) + " lists the cards of this size");
  }
  // Near an id or, when none is, near one of the other names, which stand for their id.
  std::vector<std::string> near;
  for (const bool aliases : {false, true}) {
    std::vector<std::string> names, ids;
    for (const Card& card : Cards()) {
      const std::set<std::string> keys = aliases ? KeysOf(card) : std::set<std::string>{Normalise(card.id)};
      names.insert(names.end(), keys.begin(), keys.end());
      ids.insert(ids.end(), keys.size(), card.id);
    }
    for (const std::string& one : Nearest(key, names)) {
      const std::string& id = ids[static_cast<size_t>(std::find(names.begin(), names.end(), one) - names.begin())];
      if (std::find(near.begin(), near.end(), id) == near.end()) near.push_back(id);
    }
    if (!near.empty()) break;
  }
  return error("is not in the catalogue", near.empty()
                                              ? "\"vramplan gpus\" lists the cards; --gpu-memory 16GiB takes any size"
                                              : "did you mean " + JoinChoices(near) + "?");
}

}  // namespace vramplan
