#include "planner/report/diff.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/base/text_table.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

using enum TextTable::Align;

// Rows of both, in the order of the first and then of the second.
std::vector<DiffRow> Joined(const std::vector<NamedBytes>& before, const std::vector<NamedBytes>& after) {
  std::vector<DiffRow> rows;
  std::map<std::string, size_t> at;
  const auto row = [&](const std::string& name) -> DiffRow& {
    const auto [found, fresh] = at.emplace(name, rows.size());
    if (fresh) rows.push_back({name, {}, {}});
    return rows[found->second];
  };
  for (const NamedBytes& one : before) row(one.name).before += one.bytes;
  for (const NamedBytes& one : after) row(one.name).after += one.bytes;
  return rows;
}

std::vector<DiffRow> Changed(std::vector<DiffRow> rows) {
  std::erase_if(rows, [](const DiffRow& row) { return row.change() == Bytes(); });
  std::ranges::stable_sort(rows, [](const DiffRow& a, const DiffRow& b) { return a.moved() > b.moved(); });
  return rows;
}

// "optimizer_state" is for scripts.
std::vector<DiffRow> Spaced(std::vector<DiffRow> rows) {
  for (DiffRow& row : rows) std::ranges::replace(row.name, '_', ' ');
  return rows;
}

// "blocks.0.attn.qkv" at depth 2: "blocks.0".
std::string CutTo(const std::string& path, int depth) {
  size_t end = 0;
  for (int level = 0; level < depth && end != std::string::npos; ++level)
    end = path.find('.', level == 0 ? 0 : end + 1);
  return path.substr(0, end);
}

// As deep as at most so many rows allow: if every layer of a model changed, its blocks say it.
constexpr int kDeepest = 12;
std::vector<DiffRow> RolledUp(const std::vector<DiffRow>& rows, size_t most) {
  std::vector<DiffRow> rolled = rows;
  for (int depth = kDeepest; depth > 0 && rolled.size() > most; --depth) {
    std::vector<NamedBytes> before, after;
    for (const DiffRow& row : rows) {
      before.push_back({CutTo(row.name, depth), row.before});
      after.push_back({CutTo(row.name, depth), row.after});
    }
    rolled = Changed(Joined(before, after));
  }
  return rolled;
}

std::string BudgetText(const GrowthBudget& budget) {
  return budget.percent ? NumberText(*budget.percent) + " %" : ToString(budget.bytes);
}

// Two files of one name are told apart by their folders.
std::string NamesText(const Diff& diff) {
  const std::string before = FileName(diff.before.file), after = FileName(diff.after.file);
  return before == after ? diff.before.file + " -> " + diff.after.file : before + " -> " + after;
}

std::string NodeText(const DiffSide& side) { return side.phase + (side.node.empty() ? "" : " at " + side.node); }

std::string MovedText(const Diff& diff) {
  const std::string before = NodeText(diff.before), after = NodeText(diff.after);
  return before == after ? "" : "the peak was in the " + before + " and is in the " + after;
}

std::string OptionText(const OptionChange& change) {
  if (change.before.empty()) return "only now: " + change.after;
  if (change.after.empty()) return "only before: " + change.before;
  return change.before + " -> " + change.after;
}

void AddRows(const std::vector<DiffRow>& rows, size_t most, TextTable* table) {
  for (size_t i = 0; i < rows.size() && i < most; ++i)
    table->AddRow(
        {rows[i].name, ToString(rows[i].before), ToString(rows[i].after), ChangeText(rows[i]), GrowthText(rows[i])});
  if (rows.size() <= most) return;
  DiffRow rest{std::to_string(rows.size() - most) + " more", {}, {}};
  for (size_t i = most; i < rows.size(); ++i) {
    rest.before += rows[i].before;
    rest.after += rows[i].after;
  }
  table->AddRow({rest.name, ToString(rest.before), ToString(rest.after), ChangeText(rest), GrowthText(rest)});
}

std::string Rows(const char* title, const std::vector<DiffRow>& rows, size_t most, const Style& style) {
  if (rows.empty()) return "";
  TextTable table({{title, kLeft, true}, {"old", kRight}, {"new", kRight}, {"change", kRight}, {"", kRight}});
  AddRows(rows, most, &table);
  return "\n" + table.Print(style.width);
}

// Bars would end a cell of a Markdown table.
std::string Cell(const std::string& text) {
  std::string cell;
  for (const char c : text) cell += c == '|' ? std::string("\\|") : std::string(1, c);
  return cell;
}

std::string MarkdownRows(const char* title, const std::vector<DiffRow>& rows) {
  if (rows.empty()) return "";
  std::string text = std::string("\n| ") + title + " | old | new | change | |\n|---|--:|--:|--:|--:|\n";
  for (const DiffRow& row : rows)
    text += "| " + Cell(row.name) + " | " + ToString(row.before) + " | " + ToString(row.after) + " | " +
            ChangeText(row) + " | " + GrowthText(row) + " |\n";
  return text;
}

constexpr size_t kMostModules = 12;
constexpr const char* kModulesOfEstimate = "modules: states and saved activations";
constexpr const char* kModulesOfRun = "modules, at the peak";
const char* ModulesTitle(const Diff& diff) {
  return diff.after.schema == "vramplan.run/1" ? kModulesOfRun : kModulesOfEstimate;
}

}  // namespace

std::vector<DiffRow> PeakRows(const Diff& diff) {
  const DiffSide& a = diff.before;
  const DiffSide& b = diff.after;
  return {{"requested", a.requested, b.requested},
          {"allocated", a.allocated, b.allocated},
          {"reserved", a.reserved, b.reserved},
          {"on the device", a.device, b.device}};
}

std::vector<DiffRow> CategoryRows(const Diff& diff) {
  if (diff.before.categories.empty() || diff.after.categories.empty()) return {};
  return Changed(Joined(diff.before.categories, diff.after.categories));
}

std::vector<DiffRow> ModuleRows(const Diff& diff) {
  if (diff.before.schema != diff.after.schema) return {};
  return Changed(Joined(diff.before.modules, diff.after.modules));
}

std::vector<OptionChange> OptionChanges(const Diff& diff) {
  const auto name = [](const std::string& option) { return option.substr(0, option.find(' ')); };
  std::map<std::string, OptionChange> by_name;
  for (const std::string& option : diff.before.options) by_name[name(option)].before = option;
  for (const std::string& option : diff.after.options) by_name[name(option)].after = option;
  std::vector<OptionChange> changes;
  for (const auto& [unused, change] : by_name) {
    if (change.before != change.after) changes.push_back(change);
  }
  return changes;
}

// Of nothing there is no share.
std::string GrowthText(const DiffRow& row) {
  if (row.before == Bytes()) return row.after == Bytes() ? "" : "new";
  if (row.after == Bytes()) return "gone";
  const double share = 100.0 * static_cast<double>(row.change().count()) / static_cast<double>(row.before.count());
  constexpr double kMostPercent = 1000;
  if (share > kMostPercent) return Formatted("x %.0f", share / 100 + 1);
  return row.change() == Bytes() ? "" : Formatted("%+.1f %%", share);
}

std::string ChangeText(const DiffRow& row) { return row.change() == Bytes() ? "" : SignedText(row.change(), true); }

std::string Headline(const Diff& diff) {
  const DiffRow row = PeakRows(diff).front();
  std::string text = NamesText(diff) + ": the peak ";
  if (row.change() == Bytes()) {
    text += "stays " + ToString(row.after) + " requested";
  } else {
    text += std::string(row.change() > Bytes() ? "grows" : "shrinks") + " by " +
            (row.before == Bytes() ? "0.0 %" : PartText(row.moved(), row.before)) + ", from " + ToString(row.before) +
            " to " + ToString(row.after) + " requested";
  }
  if (!diff.budget) return text;
  return text + (diff.within() ? ", within the budget of " : ", beyond the budget of ") + BudgetText(*diff.budget);
}

bool Diff::within() const {
  if (!budget || after.requested <= before.requested) return true;
  const Bytes growth = after.requested - before.requested;
  if (!budget->percent) return growth <= budget->bytes;
  return static_cast<double>(growth.count()) * 100.0 <=
         *budget->percent * static_cast<double>(before.requested.count());
}

std::vector<DiffTable> TablesOf(const Diff& diff) {
  return {{"The peak", "level", PeakRows(diff)},
          {"At the peak", "what it is for", CategoryRows(diff)},
          {"Modules", ModulesTitle(diff), RolledUp(ModuleRows(diff), kMostModules)}};
}

std::vector<std::string> ChangesOf(const Diff& diff) {
  std::vector<std::string> lines;
  for (const OptionChange& change : OptionChanges(diff)) lines.push_back(OptionText(change));
  if (const std::string moved = MovedText(diff); !moved.empty()) lines.push_back(moved);
  return lines;
}

std::string PrintDiff(const Diff& diff, const Style& style) {
  std::string text = Headline(diff) + "\n";
  for (const OptionChange& change : OptionChanges(diff)) text += Indented(OptionText(change), style);
  text += PrintSpec(diff.spec, style);
  const size_t all = static_cast<size_t>(kAnyRoom);
  text += Rows("peak", PeakRows(diff), all, style);
  text += Rows("at the peak", Spaced(CategoryRows(diff)), all, style);
  const std::vector<DiffRow> modules = ModuleRows(diff);
  text += Rows(ModulesTitle(diff), style.verbose ? modules : RolledUp(modules, kMostModules),
               style.verbose ? all : kMostModules, style);
  if (const std::string moved = MovedText(diff); !moved.empty()) text += "\n" + Indented(moved, style);
  return text;
}

std::string PrintDiffMarkdown(const Diff& diff) {
  std::string text = std::string("### ") + (diff.within() ? "" : "⚠ ") + "GPU memory: " + Headline(diff) + "\n";
  for (const OptionChange& change : OptionChanges(diff)) text += "\n- " + OptionText(change) + "\n";
  text += MarkdownRows("peak", PeakRows(diff));
  text += MarkdownRows("at the peak", Spaced(CategoryRows(diff)));
  text += MarkdownRows(ModulesTitle(diff), RolledUp(ModuleRows(diff), kMostModules));
  if (const std::string moved = MovedText(diff); !moved.empty()) text += "\n" + moved + "\n";
  return text;
}

}  // namespace vramplan
