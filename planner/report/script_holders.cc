#include "planner/report/script_holders.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "graph/base/check.h"
#include "graph/base/text.h"
#include "graph/base/text_table.h"
#include "planner/report/script_places.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

using enum TextTable::Align;

std::string TextOf(HeldKind kind, Phase phase) {
  switch (kind) {
    case HeldKind::kOutputs:
      return "outputs (logits) and loss";
    case HeldKind::kTemporaries:
      return "temporaries of the " + std::string(Name(phase));
    case HeldKind::kUntold:
      if (phase == Phase::kSetup) return "made before step 1: weights, data";
      if (phase == Phase::kBackward) return "gradients, temporaries";
      return phase == Phase::kUpdate ? "optimizer state, temporaries" : "activations";
    default: {
      std::string text(Name(kind));
      std::ranges::replace(text, '_', ' ');
      return text;
    }
  }
}

// "h.*.mlp" of "h.11.mlp", "encoder_layer_*" of "encoder_layer_0".
std::string PatternOf(const std::string& module) {
  std::string pattern;
  for (const std::string_view part : PartsOf(module)) {
    if (part.data() != module.data()) pattern += '.';
    const size_t number = IsNumber(part) ? 0 : part.rfind('_') + 1;
    pattern += part.substr(0, number);
    pattern += IsNumber(part.substr(number)) ? "*" : part.substr(number);
  }
  return pattern;
}

// A script's own line with its function; a library's is found by its caller's.
std::string HolderText(const HeldLine& line, size_t width) {
  const std::string whole = LineText(line.place) + FunctionText(line.place);
  return line.caller.file.empty() && whole.size() <= width ? whole : LineText(line.place, width);
}

// Those below 0.05 % as one, but for what people look for.
std::vector<HeldPart> WithoutCrumbs(const std::vector<HeldPart>& parts, Bytes whole) {
  std::vector<HeldPart> shown;
  HeldPart rest{.name = "others"};
  for (const HeldPart& part : parts) {
    const bool wanted = part.kind == HeldKind::kTrainedWeights || part.kind == HeldKind::kGradients ||
                        part.kind == HeldKind::kOptimizerState;
    if (wanted || 2000 * part.bytes.count() >= whole.count()) {
      shown.push_back(part);
    } else {
      rest.blocks += part.blocks;
      rest.bytes += part.bytes;
    }
  }
  if (rest.blocks > 0) shown.push_back(std::move(rest));
  return shown;
}

// Which columns there are and how wide names may be: where the line is too short for all of them, blocks go first, then
// modules, then shares.
struct Columns {
  bool callers = false, modules = false, blocks = true, shares = true;
  size_t name = 0, module = 0;
};
Columns ColumnsFor(const std::vector<HeldRow>& rows, size_t least_name, size_t width) {
  constexpr size_t kIndent = 2, kBytes = 13, kBlocks = 8, kShare = 8, kLeastModule = 12;
  Columns columns;
  size_t caller = 0, module = 0;
  for (const HeldRow& row : rows) {
    if (!row.caller.file.empty()) caller = std::max(caller, LineText(row.caller).size() + 2);
    if (!row.module.empty()) module = std::max(module, std::max<size_t>(PatternOf(row.module).size(), 6) + 2);
  }
  columns.callers = caller > 0;
  columns.modules = module > 0;
  const auto room = [&] {
    const size_t taken = kIndent + kBytes + caller + (columns.blocks ? kBlocks : 0) + (columns.shares ? kShare : 0);
    return width > taken ? width - taken : 0;
  };
  const size_t narrow = std::min(module, kLeastModule);
  columns.blocks = room() >= least_name + narrow;
  columns.modules = columns.modules && room() >= least_name + narrow;
  columns.shares = room() >= least_name + (columns.modules ? narrow : 0);
  if (columns.modules)
    columns.module = std::min(module, std::max(narrow, room() - std::max(least_name, room() * 2 / 3)));
  columns.name = std::max(least_name, room() - columns.module);
  if (columns.modules) columns.module -= 2;
  return columns;
}

}  // namespace

std::string_view Name(HeldKind kind) {
  constexpr std::array<std::string_view, 12> kNames = {"frozen_weights", "trained_weights", "weights",    "buffers",
                                                       "gradients",      "optimizer_state", "inputs",     "activations",
                                                       "outputs",        "temporaries",     "workspaces", "untold"};
  return kNames[static_cast<size_t>(kind)];
}

std::vector<HeldPart> PartsOf(const std::vector<HeldRow>& rows) {
  std::map<std::string, HeldPart> parts;
  std::map<std::string, std::map<std::tuple<CodePlace, CodePlace, std::string>, HeldLine>> lines;
  for (const HeldRow& row : rows) {
    const std::string name = TextOf(row.kind, row.phase);
    HeldPart& part = parts[name];
    part.name = name;
    part.kind = row.kind;
    part.blocks += row.blocks;
    part.bytes += row.bytes;
    const std::string module = PatternOf(row.module);
    HeldLine& line = lines[name][{row.place, row.caller, module}];
    line = {row.place, row.caller, module, line.blocks + row.blocks, line.bytes + row.bytes};
  }
  const auto larger = [](const auto& a, const auto& b) { return a.bytes > b.bytes; };
  std::vector<HeldPart> sorted;
  for (auto& [name, part] : parts) {
    for (auto& [key, line] : lines[name]) part.lines.push_back(std::move(line));
    std::ranges::stable_sort(part.lines, larger);
    sorted.push_back(std::move(part));
  }
  std::ranges::stable_sort(sorted, larger);
  return sorted;
}

std::string PrintHeld(const std::string& title, const std::vector<HeldRow>& rows, const Style& style,
                      const std::vector<BreakdownRow>& besides) {
  if (rows.empty()) return "";
  constexpr size_t kMostLines = 5;
  Bytes requested, sum;
  size_t least_name = 0;
  for (const HeldRow& row : rows) requested += row.bytes;
  const std::vector<HeldPart> parts = WithoutCrumbs(PartsOf(rows), requested);
  for (const HeldPart& part : parts) least_name = std::max(least_name, part.name.size());
  for (const BreakdownRow& row : besides) least_name = std::max(least_name, row.name.size());
  const Columns columns = ColumnsFor(rows, least_name, static_cast<size_t>(style.width));
  std::vector<TextTable::Column> heads = {{"held by", kLeft, true}};
  if (columns.callers) heads.push_back({"called at", kLeft, true});
  if (columns.modules) heads.push_back({"module", kLeft, true});
  if (columns.blocks) heads.push_back({"blocks", kRight});
  heads.push_back({"", kRight});
  if (columns.shares) heads.push_back({"", kRight});
  TextTable table(heads);
  const auto add = [&](const std::string& name, const HeldLine& line, const std::string& blocks, Bytes bytes,
                       bool share) {
    std::vector<std::string> cells = {name};
    if (columns.callers) cells.push_back(line.caller.file.empty() ? "" : LineText(line.caller));
    if (columns.modules) cells.push_back(CutInMiddle(line.module, '.', columns.module));
    if (columns.blocks) cells.push_back(blocks);
    cells.push_back(ToString(bytes));
    if (columns.shares) cells.push_back(share ? PartText(bytes, requested) : "");
    table.AddRow(std::move(cells));
  };
  for (const HeldPart& part : parts) {
    sum += part.bytes;
    add(part.name, {}, std::to_string(part.blocks), part.bytes, true);
    int64_t blocks = part.blocks;
    Bytes rest = part.bytes;
    size_t shown = 0;
    for (const HeldLine& line : part.lines) {
      if (shown == kMostLines || 100 * line.bytes.count() < requested.count()) break;
      add("  " + HolderText(line, columns.name - 2), line, std::to_string(line.blocks), line.bytes, true);
      blocks -= line.blocks;
      rest -= line.bytes;
      ++shown;
    }
    const size_t more = part.lines.size() - shown;
    if (shown > 0 && more > 0) {
      add("  " + Counted(static_cast<int64_t>(more), "more line"), {}, std::to_string(blocks), rest, true);
    }
  }
  VRAMPLAN_CHECK(sum == requested);
  table.AddRule();
  add("requested", {}, "", sum, false);
  for (const BreakdownRow& row : besides) {
    if (row.bytes == Bytes()) continue;
    add(row.name, {}, "", row.bytes, false);
    sum += row.bytes;
  }
  if (!besides.empty()) {
    table.AddRule();
    add("on the device", {}, "", sum, false);
  }
  return "\n" + title + ":\n" + table.Print(style.width);
}

}  // namespace vramplan
