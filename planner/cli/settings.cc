#include "planner/cli/settings.h"

#include <algorithm>

#include "planner/cli/option_row.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {

SpecRow& SettingsRows::Add(Json value, std::string text) {
  return rows.emplace_back(SpecRow{flag, std::move(value), std::move(text), spec.given.contains(flag)});
}

SpecRow& SettingsRows::Also(std::string option, std::string_view name) {
  const bool given = spec.given.contains(option);
  return rows.emplace_back(SpecRow{std::move(option), name, std::string(name), given});
}

SpecRow& SettingsRows::Real(double number) { return Add(number, NumberText(number)); }

void SettingsRows::List(const std::vector<std::string>& names, std::string shown) {
  if (names.empty()) return;
  constexpr size_t kPrinted = 4;  // models have dozens of blocks, all of which are in the JSON
  Json array = Json::Array();
  std::string text;
  for (const std::string& name : names) {
    if (static_cast<size_t>(&name - names.data()) < kPrinted) text += (text.empty() ? "" : " ") + name;
    array.Push(name);
  }
  if (names.size() > kPrinted) text += " and " + std::to_string(names.size() - kPrinted) + " more";
  Add(std::move(array), shown.empty() ? std::move(text) : std::move(shown));
}

std::vector<SpecRow> SpecRows(const Options& options, const TrainingSpec& spec, const AnswerHead& head,
                              const std::optional<ChosenDevice>& chosen, const ContextBand& context) {
  SettingsRows settings{options, spec, head, chosen, context};
  for (const OptionRow& row : OptionRows()) {
    if (row.show == nullptr) continue;
    settings.flag = std::string_view(row.flag).substr(2);
    row.show(&settings);
  }
  return std::move(settings.rows);
}

}  // namespace vramplan
