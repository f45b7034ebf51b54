#include <algorithm>
#include <cctype>

#include "graph/architectures/named.h"
#include "graph/base/text_table.h"
#include "planner/cli/verbs.h"
#include "planner/report/writing/json.h"
#include "planner/report/writing/numbers.h"
#include "planner/spec/nearest.h"

namespace vramplan {
namespace {

std::string InLowerCase(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// 8030261248 -> "8.03 B", 124439808 -> "124 M".
std::string Rounded(int64_t parameters) {
  const auto number = static_cast<double>(parameters);
  return parameters >= 1'000'000'000 ? Formatted("%.3g B", number / 1e9) : Formatted("%.3g M", number / 1e6);
}

std::string PrintModels(const std::vector<KnownModel>& models, const Style& style) {
  using enum TextTable::Align;
  TextTable table({{"name"}, {"parameters", kRight}, {"on the Hub", kLeft, true}, {"class", kLeft, true}});
  for (const KnownModel& model : models)
    table.AddRow({model.name, Rounded(model.parameters), model.source, model.of_class});
  return std::to_string(models.size()) + (models.size() == 1 ? " model" : " models") +
         "; vramplan fit NAME --gpu t4 answers for one, and for any config.json of these classes\n\n" +
         table.Print(style.width, 0);
}

Json ModelsJson(const std::vector<KnownModel>& models) {
  Json rows = Json::Array();
  for (const KnownModel& model : models) {
    Json row = Json::Object();
    row.Set("name", model.name)
        .Set("source", model.source)
        .Set("class", model.of_class)
        .Set("parameters", model.parameters);
    rows.Push(std::move(row));
  }
  Json object = Json::Object();
  object.Set("schema", "vramplan.models/1").Set("models", std::move(rows));
  return object;
}

}  // namespace

Result<Outcome> RunModels(const Options& options, const Style& style) {
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
