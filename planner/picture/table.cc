#include "planner/picture/table.h"

#include <algorithm>

#include "graph/base/check.h"
#include "planner/picture/plot.h"

namespace vramplan {
namespace {

void OpenTable(const std::vector<TableColumn>& columns, bool bars, Markup* to) {
  to->Open("div", {{"class", "scroll"}, {"tabindex", "0"}}).Open("table").Open("thead").Open("tr");
  for (const TableColumn& column : columns) {
    to->Element("th", {{"scope", "col"}, {"class", column.number ? "n" : "t"}}, column.header);
  }
  if (bars) to->Element("th", {{"class", "bar-cell"}, {"aria-hidden", "true"}}, "");
  to->Close().Close().Open("tbody");
}

void AddCells(const std::vector<TableColumn>& columns, const std::vector<std::string>& cells, Markup* to) {
  CHECK(cells.size() == columns.size());
  for (size_t i = 0; i < cells.size(); ++i) to->Element("td", {{"class", columns[i].number ? "n" : "t"}}, cells[i]);
}

}  // namespace

void AddTable(const std::vector<TableColumn>& columns, const std::vector<std::vector<std::string>>& rows, Markup* to) {
  OpenTable(columns, false, to);
  for (const std::vector<std::string>& row : rows) {
    to->Open("tr");
    AddCells(columns, row, to);
    to->Close();
  }
  to->Close().Close().Close();
}

void AddBarTable(const std::vector<TableColumn>& columns, const std::vector<BarRow>& rows, Markup* to) {
  OpenTable(columns, true, to);
  for (const BarRow& row : rows) {
    to->Open("tr");
    AddCells(columns, row.cells, to);
    to->Open("td", {{"class", "bar-cell"}, {"aria-hidden", "true"}});
    to->Element("i",
                {{"class", row.color.empty() ? "bar usual" : "bar " + row.color},
                 {"style", "width:" + PercentOf(std::clamp(row.share, 0.0, 1.0), 1)}},
                "");
    to->Close().Close();
  }
  to->Close().Close().Close();
}

}  // namespace vramplan
