#include "planner/report/models_report.h"

#include "graph/base/text_table.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

// 8030261248 -> "8.03 B", 124439808 -> "124 M".
std::string Rounded(int64_t parameters) {
  const auto number = static_cast<double>(parameters);
  constexpr int64_t kRoundsToBillion = 999'500'000;
  return parameters >= kRoundsToBillion ? Formatted("%.3g B", number / 1e9) : Formatted("%.3g M", number / 1e6);
}

}  // namespace

std::string PrintModels(const std::vector<KnownModel>& models, const Style& style) {
  using enum TextTable::Align;
  TextTable table({{"name"}, {"parameters", kRight}, {"on the Hub", kLeft, true}, {"class", kLeft, true}});
  for (const KnownModel& model : models)
    table.AddRow({model.name, Rounded(model.parameters), model.source, model.of_class});
  return Counted(static_cast<int64_t>(models.size()), "model") +
         "; vramplan fit NAME --gpu t4 answers for one, and for any config.json of these classes\n\n" +
         table.Print(style.width, 0);
}

}  // namespace vramplan
