#include <algorithm>
#include <cctype>

#include "graph/architectures/named.h"
#include "graph/base/text.h"
#include "planner/cli/verbs.h"
#include "planner/report/models_report.h"
#include "planner/spec/nearest.h"

namespace vramplan {
Result<Outcome> RunModels(const Options& options, const Style& style, Probe* /*machine*/) {
  const std::string wanted = LowerCase(options.filter);
  std::vector<KnownModel> chosen;
  std::vector<std::string> names;
  for (KnownModel& model : KnownModels()) {
    names.push_back(model.name);
    const std::string all = model.name + " " + LowerCase(model.source) + " " + LowerCase(model.of_class);
    if (all.find(wanted) != std::string::npos) chosen.push_back(std::move(model));
  }
  if (chosen.empty()) {
    const std::string near = SuggestNearest(wanted, names);
    return Error{ErrorCode::kUsage, "models", "no model has the name " + InQuotes(options.filter),
                 near.empty() ? "vramplan models lists all; others are given by their config.json" : near};
  }
  return Outcome{.text = options.format == Format::kJson ? Print(ModelsJson(chosen)) : PrintModels(chosen, style)};
}

}  // namespace vramplan
