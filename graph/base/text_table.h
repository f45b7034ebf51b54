// TextTable: columns for people. As wide as its contents, never wider than asked: the flexible columns give way, losing
// their middle.
//
//   TextTable table({{"layer"}, {"saved", TextTable::Align::kRight}});
//   table.AddRow({"/layer1/conv1/Conv", "3.06 MiB"});
//   table.AddRule();
//   table.AddRow({"sum", "3.06 MiB"});
//
//     layer                 saved
//     /layer1/conv1/Conv  3.06 MiB
//     ------------------  --------
//     sum                 3.06 MiB
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vramplan {

// Columns that a terminal gives to a UTF-8 text without wide or combining characters.
int DisplayWidth(std::string_view text);

// `text` in at most `width` columns: "/layer1/..onv1/Conv".
std::string Shortened(std::string_view text, int width);

// A share of 0 to 1 as a bar of at most `cells` cells: "#####" or, where the terminal has them, eighths of blocks. A
// share above zero is never empty.
std::string Bar(double share, int cells, bool unicode);

// Lines of `text` broken at spaces so that none is wider than `width`; lines after the first begin with `indent`.
std::string Wrapped(std::string_view text, int width, std::string_view indent);

class TextTable {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string header;
    Align align = Align::kLeft;
    bool flexible = false;
  };

  explicit TextTable(std::vector<Column> columns);
  // One cell a column.
  void AddRow(std::vector<std::string> cells);
  void AddRule();
  bool empty() const { return rows_.empty(); }
  // Every line ends with a newline and has no spaces at its end; `indent` columns are left free on the left. Headers
  // that are all empty take no line.
  std::string Print(int width, int indent = 2) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // a rule is an empty row
};

}  // namespace vramplan
