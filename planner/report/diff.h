// Diff: the same question of two models, or two answers that were kept, beside each other ("vramplan.diff/1").
//
//   unet.onnx -> wide.onnx: the peak grows by 12.3 %, from 715.04 MiB to 802.98 MiB requested; the budget is 2 %
//
// The budget is about requested bytes: they move with the model alone, while allocated and reserved ones go in steps of
// the allocator.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "graph/base/note.h"
#include "graph/base/result.h"
#include "planner/report/estimate.h"
#include "planner/report/writing/json.h"
#include "planner/report/writing/style.h"

namespace vramplan {

// How much the peak may grow: a share of the old one, or bytes.
struct GrowthBudget {
  std::optional<double> percent;
  Bytes bytes;
  bool operator==(const GrowthBudget&) const = default;
};

struct NamedBytes {
  std::string name;
  Bytes bytes;
};

// What of an answer is compared.
struct DiffSide {
  std::string file;
  std::string schema;  // vramplan.estimate/1, vramplan.run/1
  Bytes requested, allocated, reserved, device;
  std::string phase, node;             // where the peak is
  std::vector<NamedBytes> categories;  // at the peak; empty: the answer does not have them
  std::vector<NamedBytes> modules;     // by path, as the answer has them
  std::vector<std::string> options;    // "batch 8", as the answer says them
};

struct Diff {
  DiffSide before, after;
  std::optional<GrowthBudget> budget;
  std::vector<SpecRow> spec;  // of a model that was laid out for it
  Notes notes;
  bool within() const;  // true without a budget
};

struct DiffRow {
  std::string name;
  Bytes before, after;
  Bytes change() const { return after - before; }
  Bytes moved() const { return std::max(change(), before - after); }
};
std::string ChangeText(const DiffRow& row);  // "+1.20 GiB"; of no change ""
std::string GrowthText(const DiffRow& row);  // "+12.3 %", "x 52" of much more, "new", "gone"

// requested, allocated, reserved, on the device.
std::vector<DiffRow> PeakRows(const Diff& diff);
// Those that changed, the largest change first. Modules: none of answers of two kinds, which count other bytes for one.
std::vector<DiffRow> CategoryRows(const Diff& diff);
std::vector<DiffRow> ModuleRows(const Diff& diff);

struct OptionChange {
  std::string before, after;  // "batch 8"; empty: only the other has one
};
std::vector<OptionChange> OptionChanges(const Diff& diff);

// Each of the tables: the levels of the peak, its categories, its modules; without rows where the answers have none.
struct DiffTable {
  std::string heading, title;
  std::vector<DiffRow> rows;
};
std::vector<DiffTable> TablesOf(const Diff& diff);
std::string Headline(const Diff& diff);
// Options that differ, and where the peak went: a line each.
std::vector<std::string> ChangesOf(const Diff& diff);

// Reads an answer of estimate or run. Error: it is another JSON, or a member is missing.
Result<DiffSide> SideOf(const std::string& file, const Json& answer);

std::string PrintDiff(const Diff& diff, const Style& style);
std::string PrintDiffMarkdown(const Diff& diff);
Json ToJson(const Diff& diff);

}  // namespace vramplan
