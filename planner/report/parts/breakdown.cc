#include "planner/report/parts/breakdown.h"

#include <algorithm>

#include "graph/base/check.h"
#include "graph/base/text_table.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

double ShareOf(Bytes part, Bytes whole) {
  return whole == Bytes() ? 0 : static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

// One column a peak; small rows become one.
using Columns = std::vector<std::vector<BreakdownRow>>;
Columns Merged(const Columns& columns, const std::vector<Bytes>& wholes, double below) {
  Columns merged(columns.size());
  std::vector<Bytes> rest(columns.size());
  for (size_t r = 0; r < columns.front().size(); ++r) {
    bool small = true;
    for (size_t c = 0; c < columns.size(); ++c) small &= ShareOf(columns[c][r].bytes, wholes[c]) < below;
    for (size_t c = 0; c < columns.size(); ++c) {
      if (small) {
        rest[c] += columns[c][r].bytes;
      } else {
        merged[c].push_back(columns[c][r]);
      }
    }
  }
  if (std::all_of(rest.begin(), rest.end(), [](Bytes bytes) { return bytes == Bytes(); })) return merged;
  for (size_t c = 0; c < columns.size(); ++c) merged[c].push_back({"the rest", rest[c]});
  return merged;
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

std::string PrintBreakdown(const std::vector<BreakdownColumn>& columns, Bytes context, const Style& style, int room) {
  using enum TextTable::Align;
  std::vector<TextTable::Column> layout = {{"at the peak", kLeft, true}};
  Columns rows;
  std::vector<Bytes> wholes;
  for (const BreakdownColumn& column : columns) {
    layout.push_back({column.header, kRight});
    rows.push_back(Breakdown(*column.peak, context));
    wholes.push_back(DeviceBytes(*column.peak, context));
  }
  if (!style.verbose) {
    constexpr size_t kOtherLines = 3, kLeastRows = 3;
    double below = 0.05;
    Columns merged = Merged(rows, wholes, below);
    while (merged.front().size() > kLeastRows && static_cast<int>(merged.front().size() + kOtherLines) > room)
      merged = Merged(rows, wholes, below *= 1.1);
    rows = std::move(merged);
  }
  layout.push_back({"", kRight});
  layout.push_back({"", kLeft});
  TextTable table(layout);
  // Shares of the column that they stand beside.
  const std::vector<BreakdownRow>& shared = rows.back();
  const Bytes whole = wholes.back();
  for (size_t r = 0; r < rows.front().size(); ++r) {
    std::vector<std::string> cells = {rows.front()[r].name};
    for (const auto& column : rows) cells.push_back(ToString(column[r].bytes));
    cells.push_back(PartText(shared[r].bytes, whole));
    cells.push_back(Bar(ShareOf(shared[r].bytes, whole), 24, style.unicode));
    table.AddRow(std::move(cells));
  }
  table.AddRule();
  std::vector<std::string> total = {"on the device"};
  for (const Bytes bytes : wholes) total.push_back(ToString(bytes));
  total.insert(total.end(), {"", ""});
  table.AddRow(std::move(total));
  return table.Print(style.width);
}

}  // namespace vramplan
