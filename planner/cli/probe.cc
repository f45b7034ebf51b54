#include "planner/report/probe.h"

#include "planner/answers/choose_device.h"
#include "planner/answers/profile_store.h"
#include "planner/cli/verbs.h"

namespace vramplan {

Result<Outcome> RunProbe(const Options& options, const Style& style, Probe* machine) {
  ProbeReport report;
  Result<DriverFacts> driver = machine->Driver();
  if (!driver.ok()) return driver.error();
  report.driver = *std::move(driver);
  Result<std::vector<CardFacts>> cards = machine->Cards();
  if (!cards.ok()) return cards.error();
  for (CardFacts& facts : *cards) {
    ProbedCard card;
    if (!options.no_context) card.loads = MeasureLoads(machine, facts);
    if (const std::optional<Card> known = CatalogueCardOf(facts)) card.id = known->id;
    if (std::optional<StoredProfile> stored = FindStoredProfile(facts, ProfileFolders(), &report.notes)) {
      card.profile = std::move(stored->file);
      card.profile_date = std::move(stored->profile.date);
    }
    card.facts = std::move(facts);
    report.cards.push_back(std::move(card));
  }
  if (options.format == Format::kJson) return Outcome{.text = Print(ToJson(report))};
  return Outcome{.text = PrintProbe(report, style), .notes = report.notes};
}

}  // namespace vramplan
