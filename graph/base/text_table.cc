#include "graph/base/text_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "graph/base/check.h"

namespace vramplan {
namespace {

constexpr int kGap = 2;        // between columns
constexpr int kNarrowest = 8;  // that a flexible column shrinks to

bool ContinuesCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The first `count` characters.
std::string_view First(std::string_view text, int count) {
  size_t end = 0;
  while (end < text.size() && (ContinuesCharacter(text[end]) || count-- > 0)) ++end;
  return text.substr(0, end);
}

std::string_view Last(std::string_view text, int count) {
  return text.substr(First(text, DisplayWidth(text) - count).size());
}

}  // namespace

int DisplayWidth(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return !ContinuesCharacter(c); }));
}

std::string Shortened(std::string_view text, int width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  if (width <= 2) return std::string(First(text, std::max(width, 0)));
  // The end tells more than the beginning: it names the operator.
  const int before = (width - 2) / 2;
  return std::string(First(text, before)) + ".." + std::string(Last(text, width - 2 - before));
}

std::string Bar(double share, int cells, bool unicode) {
  share = std::clamp(share, 0.0, 1.0);
  if (share == 0) return "";
  if (!unicode) return std::string(static_cast<size_t>(std::max(1.0, std::round(share * cells))), '#');
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = std::max(1, static_cast<int>(std::round(share * cells * 8)));
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i) bar += "█";
  return bar + kEighths[eighths % 8];
}

std::string Wrapped(std::string_view text, int width, std::string_view indent) {
  std::string wrapped, line;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (!line.empty() && line != indent && DisplayWidth(line) + 1 + DisplayWidth(word) > width) {
      wrapped += line + "\n";
      line = indent;
    }
    if (!line.empty() && line != indent) line += " ";
    line += word;
    at = end + 1;
  }
  return wrapped + line;
}

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

void TextTable::AddRow(std::vector<std::string> cells) {
  CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

void TextTable::AddRule() { rows_.emplace_back(); }

std::string TextTable::Print(int width, int indent) const {
  std::vector<int> widths;
  for (const Column& column : columns_) widths.push_back(DisplayWidth(column.header));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  int excess = indent + kGap * (static_cast<int>(columns_.size()) - 1) - width;
  for (const int w : widths) excess += w;
  // The widest flexible column gives way first.
  while (excess > 0) {
    int widest = -1;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].flexible && widths[i] > kNarrowest &&
          (widest < 0 || widths[i] > widths[static_cast<size_t>(widest)])) {
        widest = static_cast<int>(i);
      }
    }
    if (widest < 0) break;
    --widths[static_cast<size_t>(widest)];
    --excess;
  }
  std::string printed;
  const auto print = [&](const std::vector<std::string>& cells) {
    std::string line(static_cast<size_t>(indent), ' ');
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string cell = columns_[i].flexible ? Shortened(cells[i], widths[i]) : cells[i];
      const std::string padding(static_cast<size_t>(std::max(0, widths[i] - DisplayWidth(cell))), ' ');
      if (i > 0) line.append(kGap, ' ');
      line += columns_[i].align == Align::kRight ? padding + cell : cell + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    printed += line + "\n";
  };
  std::vector<std::string> headers, rules;
  for (size_t i = 0; i < columns_.size(); ++i) {
    headers.push_back(columns_[i].header);
    rules.emplace_back(static_cast<size_t>(widths[i]), '-');
  }
  if (std::any_of(headers.begin(), headers.end(), [](const std::string& h) { return !h.empty(); })) print(headers);
  for (const auto& row : rows_) print(row.empty() ? rules : row);
  return printed;
}

}  // namespace vramplan
