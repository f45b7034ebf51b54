#include "planner/report/breakdown.h"

#include <algorithm>

#include "graph/base/check.h"
#include "graph/base/text_table.h"
#include "planner/report/numbers.h"

namespace vramplan {
namespace {

std::string Percent(Bytes part, Bytes whole) {
  if (whole == Bytes()) return "";
  return Formatted("%.1f %%", 100.0 * static_cast<double>(part.count()) / static_cast<double>(whole.count()));
}

double Share(Bytes part, Bytes whole) {
  return whole == Bytes() ? 0 : static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

}  // namespace

Bytes DeviceBytes(const Peak& peak, Bytes context) { return peak.peak.reserved + context; }

std::vector<BreakdownRow> Breakdown(const Peak& peak, Bytes context) {
  std::vector<BreakdownRow> rows;
  Bytes sum;
  const auto add = [&](std::string name, Bytes bytes) {
    CHECK(bytes >= Bytes());
    rows.push_back({std::move(name), bytes});
    sum += bytes;
  };
  for (int i = 0; i < kCategories; ++i) {
    std::string name(Name(static_cast<Category>(i)));
    std::replace(name.begin(), name.end(), '_', ' ');  // "optimizer_state" is for scripts
    add(std::move(name), peak.moment.categories[static_cast<size_t>(i)]);
  }
  CHECK(sum == peak.moment.levels.requested);
  add("slack of blocks", peak.moment.slack);
  CHECK(sum == peak.peak.allocated);
  add("reserved, not allocated", peak.peak.reserved - peak.peak.allocated);
  CHECK(sum == peak.peak.reserved);
  add("CUDA context and kernels", context);
  CHECK(sum == DeviceBytes(peak, context));
  return rows;
}

Json CategoriesJson(const Peak& peak) {
  Json object = Json::Object();
  Bytes sum = peak.moment.slack;
  for (int i = 0; i < kCategories; ++i) {
    const Bytes bytes = peak.moment.categories[static_cast<size_t>(i)];
    object.Set(std::string(Name(static_cast<Category>(i))), bytes);
    sum += bytes;
  }
  object.Set("slack", peak.moment.slack);
  CHECK(sum == peak.peak.allocated);
  return object;
}

std::string PrintBreakdown(const std::vector<BreakdownColumn>& columns, Bytes context, const Style& style) {
  using enum TextTable::Align;
  std::vector<TextTable::Column> layout = {{"at the peak", kLeft, true}};
  std::vector<std::vector<BreakdownRow>> rows;
  for (const BreakdownColumn& column : columns) {
    layout.push_back({column.header, kRight});
    rows.push_back(Breakdown(*column.peak, context));
  }
  layout.push_back({"", kRight});
  layout.push_back({"", kLeft});
  TextTable table(layout);
  const Bytes whole = DeviceBytes(*columns.front().peak, context);
  for (size_t r = 0; r < rows.front().size(); ++r) {
    std::vector<std::string> cells = {rows.front()[r].name};
    for (const auto& column : rows) cells.push_back(ToString(column[r].bytes));
    cells.push_back(Percent(rows.front()[r].bytes, whole));
    cells.push_back(Bar(Share(rows.front()[r].bytes, whole), 24, style.unicode));
    table.AddRow(std::move(cells));
  }
  table.AddRule();
  std::vector<std::string> total = {"on the device"};
  for (const BreakdownColumn& column : columns) total.push_back(ToString(DeviceBytes(*column.peak, context)));
  total.insert(total.end(), {"", ""});
  table.AddRow(std::move(total));
  return table.Print(style.width);
}

}  // namespace vramplan
