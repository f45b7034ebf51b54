#include <cctype>

#include "planner/cli/verbs.h"
#include "planner/report/gpus_report.h"
#include "planner/spec/device.h"
#include "planner/spec/nearest.h"

namespace vramplan {
namespace {

std::string LettersAndDigits(std::string_view text) {
  std::string kept;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)))
      kept.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  }
  return kept;
}

bool Contains(const Card& card, const std::string& wanted) {
  std::string all = LettersAndDigits(card.id) + " " + LettersAndDigits(card.name);
  for (const std::string& alias : card.aliases) all += " " + LettersAndDigits(alias);
  return all.find(wanted) != std::string::npos;
}

}  // namespace

Result<Outcome> RunGpus(const Options& options, const Style& style) {
  const std::string wanted = LettersAndDigits(options.filter);
  std::vector<Card> chosen;
  for (const Card& card : Cards()) {
    if (Contains(card, wanted)) chosen.push_back(card);
  }
  if (chosen.empty()) {
    const Result<Card> near = FindCard(options.filter);
    return Error{ErrorCode::kUsage, "gpus", "no card's name contains \"" + options.filter + "\"",
                 near.ok() ? "vramplan gpus lists all" : near.error().hint};
  }
  return Outcome{.text = options.format == Format::kJson ? Print(CardsJson(chosen)) : PrintCards(chosen, style)};
}

}  // namespace vramplan
