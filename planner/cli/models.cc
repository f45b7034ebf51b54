#include <algorithm>
#include <cctype>

#include "graph/architectures/named.h"
#include "planner/cli/verbs.h"
#include "planner/report/models_report.h"
#include "planner/spec/nearest.h"

namespace vramplan {
namespace {

std::string InLowerCase(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

Result<Outcome> RunModels(const Options& options, const Style& style, Probe* /*machine*/) {
  const std::string wanted = InLowerCase(options.filter);
  std::vector<KnownModel> chosen;
  std::vector<std::string> names;
  for (KnownModel& model : KnownModels()) {
    names.push_back(model.name);
    const std::string all = model.name + " " + InLowerCase(model.source) + " " + InLowerCase(model.of_class);
    if (all.find(wanted) != std::string::npos) chosen.push_back(std::move(model));
  }
  if (chosen.empty()) {
    const std::string near = SuggestNearest(wanted, names);
    return Error{ErrorCode::kUsage, "models", "no model has the name " + InQuotes(options.filter),
                 near.empty() ? "vramplan models lists all; others are named by their config.json" : near};
  }
  return Outcome{.text = options.format == Format::kJson ? Print(ModelsJson(chosen)) : PrintModels(chosen, style)};
}

}  // namespace vramplan
