#include "planner/picture/diff_page.h"

#include <algorithm>

#include "planner/picture/page.h"
#include "planner/picture/table.h"

namespace vramplan {
namespace {

// The bar is the new bytes; the longest one is the largest of old and new.
Markup DrawTable(const DiffTable& table) {
  Bytes most;
  for (const DiffRow& row : table.rows) most = std::max({most, row.before, row.after});
  std::vector<BarRow> rows;
  for (const DiffRow& row : table.rows) {
    const double share =
        most > Bytes() ? static_cast<double>(row.after.count()) / static_cast<double>(most.count()) : 0;
    rows.push_back({{row.name, ToString(row.before), ToString(row.after), ChangeText(row), GrowthText(row)},
                    share,
                    row.after > row.before   ? "bad"
                    : row.after < row.before ? "good"
                                             : ""});
  }
  Markup body;
  AddBarTable({{table.title, false}, {"old", true}, {"new", true}, {"change", true}, {"", true}}, rows, &body);
  return body;
}

}  // namespace

std::string PrintDiffPage(const Diff& diff) {
  Page page;
  page.verb = "diff";
  page.title = FileName(diff.before.file) + " and " + FileName(diff.after.file);
  page.verdict = Headline(diff);
  if (diff.budget) {
    page.mood = diff.within() ? Mood::kGood : Mood::kBad;
    page.badge = diff.within() ? "within the budget" : "beyond the budget";
  }
  page.said = ChangesOf(diff);
  for (const DiffTable& table : TablesOf(diff)) {
    if (!table.rows.empty()) page.Add(table.heading, "The bar is the new one.", DrawTable(table));
  }
  page.Add("What it rests on", "", DrawSpec(diff.spec));
  page.Add("Notes", "", DrawNotes(diff.notes));
  return PrintPage(page);
}

}  // namespace vramplan
