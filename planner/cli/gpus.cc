#include <cctype>
#include <charconv>
#include <optional>

#include "graph/base/text.h"
#include "planner/cli/verbs.h"
#include "planner/report/gpus_report.h"
#include "planner/spec/device.h"
#include "planner/spec/nearest.h"

namespace vramplan {
namespace {

std::string LettersAndDigits(std::string_view text) {
  std::string kept = LowerCase(text);
  std::erase_if(kept, [](unsigned char c) { return std::isalnum(c) == 0; });
  return kept;
}

// "24", "24gb", "24GiB": the size that cards are sold with. Nothing for other texts.
std::optional<int> SoldSize(std::string_view wanted) {
  int size = 0;
  const auto [end, status] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), size);
  const std::string_view unit = wanted.substr(static_cast<size_t>(end - wanted.data()));
  if (status != std::errc() || !(unit.empty() || unit == "g" || unit == "gb" || unit == "gib")) return std::nullopt;
  return size;
}

bool Contains(const Card& card, const std::string& wanted) {
  std::string all = LettersAndDigits(card.id) + " " + LettersAndDigits(card.name);
  for (const std::string& alias : card.aliases) all += " " + LettersAndDigits(alias);
  return all.find(wanted) != std::string::npos;
}

}  // namespace

Result<Outcome> RunGpus(const Options& options, const Style& style, Probe* /*machine*/) {
  const std::string wanted = LettersAndDigits(options.filter);
  std::vector<Card> chosen;
  // A number that is a size is one, though names may hold it, too: 16 is not a GTX 1660.
  if (const std::optional<int> size = SoldSize(wanted)) {
    for (const Card& card : Cards()) {
      if (card.marketed_gb == *size) chosen.push_back(card);
    }
  }
  const bool by_size = !chosen.empty();
  for (const Card& card : Cards()) {
    if (!by_size && Contains(card, wanted)) chosen.push_back(card);
  }
  if (chosen.empty()) {
    const Result<Card> near = FindCard(options.filter);
    return Error{ErrorCode::kUsage, "gpus", "no card has the name or the size " + InQuotes(options.filter),
                 near.ok() ? "vramplan gpus lists all cards" : near.error().hint};
  }
  return Outcome{.text = options.format == Format::kJson ? Print(CardsJson(chosen)) : PrintCards(chosen, style)};
}

}  // namespace vramplan
