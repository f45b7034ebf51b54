// Tables of a page: each keeps its meaning without styles and scripts.
#pragma once

#include <string>
#include <vector>

#include "planner/picture/markup.h"

namespace vramplan {

struct TableColumn {
  std::string header;
  bool number = false;  // to the right, digits below digits
};

// One cell a column.
void AddTable(const std::vector<TableColumn>& columns, const std::vector<std::vector<std::string>>& rows, Markup* to);

// A table whose last column is a bar: `shares` of 0 to 1, a row each; `classes` colour them.
struct BarRow {
  std::vector<std::string> cells;
  double share = 0;
  std::string color;  // a class; empty: the usual one
};
void AddBarTable(const std::vector<TableColumn>& columns, const std::vector<BarRow>& rows, Markup* to);

}  // namespace vramplan
