#include "planner/record/changes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace vramplan {
namespace {

constexpr size_t kNoCall = static_cast<size_t>(-1);

// A module's forward, from its `enter` to its `leave`.
struct ModuleCall {
  int32_t module = -1;
  size_t first = 0, last = 0;  // rows
  size_t around = kNoCall;
};

bool InForward(const RecordRow& row) { return row.phase == Phase::kForward || row.phase == Phase::kLoss; }

// "model.layers.*" of "model.layers.12", "layers.layer_*" of "layers.layer_3"; empty: it is no part of a list.
std::string ListOf(const std::string& module) {
  size_t digits = module.size();
  while (digits > 0 && module[digits - 1] >= '0' && module[digits - 1] <= '9') --digits;
  const bool apart = digits == 0 || module[digits - 1] == '.' || module[digits - 1] == '_';
  return digits == module.size() || !apart ? "" : module.substr(0, digits) + "*";
}

// Whether a module, or a list of them, is within one of these modules.
bool IsWithin(const std::string& name, const std::set<int32_t>& modules, const Record& record) {
  return std::ranges::any_of(
      modules, [&](int32_t module) { return name.starts_with(record.modules[static_cast<size_t>(module)] + "."); });
}

// What the rows say of calls and blocks.
struct Index {
  std::vector<ModuleCall> calls;                    // in the order of their beginnings
  std::vector<size_t> call_of;                      // by row: the innermost that runs
  std::vector<std::optional<size_t>> birth, death;  // rows, by block

  explicit Index(const Record& record) : birth(record.blocks.size()), death(record.blocks.size()) {
    std::vector<size_t> running;
    for (size_t i = 0; i < record.rows.size(); ++i) {
      const RecordRow& row = record.rows[i];
      if (row.kind == RowKind::kEnter) {
        calls.push_back({row.module, i, i, running.empty() ? kNoCall : running.back()});
        running.push_back(calls.size() - 1);
      }
      call_of.push_back(running.empty() ? kNoCall : running.back());
      if (row.kind == RowKind::kLeave) {
        // One that was left by an exception has no end of its own.
        while (!running.empty()) {
          ModuleCall& call = calls[running.back()];
          call.last = i;
          running.pop_back();
          if (call.module == row.module) break;
        }
      }
      if (row.kind == RowKind::kAllocate) birth[static_cast<size_t>(row.block)] = i;
      if (row.kind == RowKind::kFree) death[static_cast<size_t>(row.block)] = i;
    }
    for (const size_t call : running) calls[call].last = record.rows.size() - 1;
  }
};

bool Gives(const Record& record, const ModuleCall& call, int32_t block) {
  const std::vector<int32_t>& results = record.rows[call.last].results;
  return std::ranges::find(results, block) != results.end();
}

// The blocks that a call of the forward keeps for the backward of its step, without what it gives.
std::vector<int32_t> KeptBy(const Record& record, const Index& index, const ModuleCall& call) {
  std::vector<int32_t> kept;
  for (size_t i = call.first; i <= call.last; ++i) {
    const RecordRow& row = record.rows[i];
    if (row.kind != RowKind::kAllocate || Gives(record, call, row.block)) continue;
    const std::optional<size_t> death = index.death[static_cast<size_t>(row.block)];
    if (!death || *death <= call.last) continue;
    const RecordRow& end = record.rows[*death];
    if (end.phase == Phase::kBackward && end.step == row.step) kept.push_back(row.block);
  }
  return kept;
}

bool IsIn(const std::vector<ModuleList>& lists, const std::string& module) {
  const std::string list = ListOf(module);
  return !list.empty() && std::ranges::any_of(lists, [&](const ModuleList& one) { return one.name == list; });
}

// What becomes of the rows: new ones before a row, and blocks that die elsewhere.
class Checkpointing {
 public:
  Checkpointing(const Record& record, const std::vector<ModuleList>& lists)
      : record_(record), index_(record), into_(record) {
    before_.resize(record.rows.size() + 1);
    renamed_.resize(record.rows.size(), -1);
    for (const ModuleCall& call : index_.calls) {
      const bool chosen = IsIn(lists, record.modules[static_cast<size_t>(call.module)]);
      if (chosen && InForward(record.rows[call.first])) Checkpoint(call);
    }
  }

  Record Take() {
    into_.rows.clear();
    for (size_t i = 0; i < record_.rows.size(); ++i) {
      for (RecordRow& row : before_[i]) into_.rows.push_back(std::move(row));
      RecordRow row = record_.rows[i];
      if (renamed_[i] >= 0) row.block = renamed_[i];
      into_.rows.push_back(std::move(row));
    }
    for (RecordRow& row : before_.back()) into_.rows.push_back(std::move(row));
    return std::move(into_);
  }

 private:
  void Checkpoint(const ModuleCall& call) {
    const std::vector<int32_t> kept = KeptBy(record_, index_, call);
    if (kept.empty()) return;
    size_t first = record_.rows.size();
    for (const int32_t block : kept) {
      first = std::min(first, *index_.death[static_cast<size_t>(block)]);
      FreeEarly(call, block);
    }
    const std::set<int32_t> lives(kept.begin(), kept.end());
    ComputeAgain(call, lives, Backward(first, lives));
  }

  // Where nothing but the call's own frames holds it: the end of the innermost call that does not give it; and of what
  // a submodule gives, the end of the next one, as in x = self.next(x).
  void FreeEarly(const ModuleCall& outermost, int32_t block) {
    size_t at = index_.call_of[*index_.birth[static_cast<size_t>(block)]], giver = kNoCall;
    while (index_.calls[at].first > outermost.first && Gives(record_, index_.calls[at], block)) {
      giver = at;
      at = index_.calls[at].around;
    }
    size_t end = std::min(index_.calls[at].last, outermost.last);
    for (size_t next = giver + 1; giver != kNoCall && next < index_.calls.size(); ++next) {
      if (index_.calls[next].first > end) break;
      if (index_.calls[next].around != at) continue;
      end = std::min(end, index_.calls[next].last);
      break;
    }
    RecordRow row = record_.rows[end];
    row.kind = RowKind::kFree;
    row.block = block;
    row.results.clear();
    before_[end + 1].push_back(std::move(row));
  }

  // Where the backward of a call begins, whose first block dies at `first`: behind the last block of another that dies
  // before, or where the backward itself begins.
  size_t Backward(size_t first, const std::set<int32_t>& kept) const {
    size_t at = first;
    while (at > 0) {
      const RecordRow& row = record_.rows[at - 1];
      if (row.phase != Phase::kBackward || row.step != record_.rows[first].step) break;
      if (row.kind == RowKind::kFree && !kept.contains(row.block)) {
        const RecordRow& birth = record_.rows[*index_.birth[static_cast<size_t>(row.block)]];
        if (InForward(birth) && birth.step == row.step) break;
      }
      --at;
    }
    return at;
  }

  void ComputeAgain(const ModuleCall& call, const std::set<int32_t>& kept, size_t at) {
    std::vector<RecordRow> again;
    std::map<int32_t, int32_t> copies;
    const auto add = [&](RecordRow row) {
      row.phase = Phase::kBackward;
      row.step = record_.rows[at].step;
      row.results.clear();
      again.push_back(std::move(row));
    };
    // It ends where it has computed what the backward wants (torch/utils/checkpoint.py, 2.10: early stopping).
    size_t last = call.first;
    for (size_t i = call.first; i <= call.last; ++i) {
      if (record_.rows[i].kind == RowKind::kAllocate && kept.contains(record_.rows[i].block)) last = i;
    }
    for (size_t i = call.first; i <= last; ++i) {
      RecordRow row = record_.rows[i];
      if (row.kind == RowKind::kAllocate) {
        const std::optional<size_t> death = index_.death[static_cast<size_t>(row.block)];
        const bool inside = death && *death <= call.last;
        if (!inside && !kept.contains(row.block) && !Gives(record_, call, row.block)) continue;
        const auto copy = static_cast<int32_t>(into_.blocks.size());
        into_.blocks.push_back(record_.blocks[static_cast<size_t>(row.block)]);
        copies[row.block] = copy;
        if (kept.contains(row.block)) renamed_[*death] = copy;
        row.block = copy;
      } else if (row.kind == RowKind::kFree) {
        const auto copy = copies.find(row.block);
        if (copy == copies.end()) continue;
        row.block = copy->second;
      } else if (row.kind == RowKind::kEmptyCache) {
        continue;
      }
      add(std::move(row));
    }
    // What it did not come to let go of.
    for (const auto& [block, copy] : copies) {
      const std::optional<size_t> death = index_.death[static_cast<size_t>(block)];
      if (kept.contains(block) || (death && *death <= last)) continue;
      RecordRow row = record_.rows[last];
      row.kind = RowKind::kFree;
      row.block = copy;
      add(std::move(row));
    }
    std::vector<RecordRow>& rows = before_[at];
    rows.insert(rows.end(), again.begin(), again.end());
  }

  const Record& record_;
  const Index index_;
  Record into_;
  std::vector<std::vector<RecordRow>> before_;  // by row
  std::vector<int32_t> renamed_;                // by row: the block that dies instead
};

}  // namespace

std::vector<ModuleList> ModuleListsOf(const Record& record) {
  const Index index(record);
  std::set<std::string> with_parts;  // modules that call others
  std::map<std::string, std::set<int32_t>> lists;
  for (const ModuleCall& call : index.calls) {
    if (call.around == kNoCall) continue;
    with_parts.insert(record.modules[static_cast<size_t>(index.calls[call.around].module)]);
  }
  for (const ModuleCall& call : index.calls) {
    const std::string& module = record.modules[static_cast<size_t>(call.module)];
    const std::string list = ListOf(module);
    if (!list.empty() && InForward(record.rows[call.first]) && with_parts.contains(module))
      lists[list].insert(call.module);
  }
  std::vector<ModuleList> found;
  for (const auto& entry : lists) {
    const std::string& name = entry.first;
    const std::set<int32_t>& modules = entry.second;
    const bool inside = std::ranges::any_of(
        lists, [&](const auto& other) { return other.second.size() > 1 && IsWithin(name, other.second, record); });
    if (modules.size() < 2 || inside) continue;
    ModuleList list{name, static_cast<int64_t>(modules.size()), Bytes()};
    std::map<int32_t, Bytes> by_step;
    for (const ModuleCall& call : index.calls) {
      if (!modules.contains(call.module) || !InForward(record.rows[call.first])) continue;
      for (const int32_t block : KeptBy(record, index, call))
        by_step[record.rows[call.first].step] += record.blocks[static_cast<size_t>(block)].bytes;
    }
    if (by_step.empty()) continue;
    list.saved = by_step.rbegin()->second;
    found.push_back(std::move(list));
  }
  std::ranges::stable_sort(found, [](const ModuleList& a, const ModuleList& b) { return a.saved > b.saved; });
  return found;
}

Record WithCheckpoints(const Record& record, const std::vector<ModuleList>& lists) {
  return Checkpointing(record, lists).Take();
}

Record WithSmallStates(const Record& record) {
  constexpr int64_t kLeastElements = 4096, kElementsOfBlock = 256, kWide = 4;
  constexpr int kMaps = 2;  // of 256 numbers: what the 8 bits of the first and of the second moment stand for
  Record small = record;
  small.rows.clear();
  std::set<int32_t> gone;
  std::map<int32_t, int32_t> scales;  // of a state
  bool has_maps = false;
  const Index index(record);
  for (const RecordRow& row : record.rows) {
    if (row.block < 0) {
      small.rows.push_back(row);
      continue;
    }
    const auto at = static_cast<size_t>(row.block);
    const RecordBlock& block = record.blocks[at];
    if (row.kind == RowKind::kAllocate) {
      const bool dies_there = index.death[at] && record.rows[*index.death[at]].phase == Phase::kUpdate &&
                              record.rows[*index.death[at]].step == row.step;
      if (block.category == Category::kTemporaries && row.phase == Phase::kUpdate && dies_there) gone.insert(row.block);
    }
    if (gone.contains(row.block)) continue;
    small.rows.push_back(row);
    const int64_t elements = block.bytes.count() / kWide;
    const bool shrinks = block.category == Category::kOptimizerState && block.element == kWide;
    if (!shrinks || elements < kLeastElements) continue;
    if (row.kind == RowKind::kAllocate) {
      small.blocks[at].bytes = Bytes::Of(elements);
      small.blocks[at].element = 1;
      scales[row.block] = static_cast<int32_t>(small.blocks.size());
      RecordBlock scale = block;
      scale.bytes = Bytes::Of((elements + kElementsOfBlock - 1) / kElementsOfBlock * kWide);
      small.blocks.push_back(scale);
      for (int map = 0; map < kMaps && !has_maps; ++map) {
        RecordRow of_map = row;
        of_map.block = static_cast<int32_t>(small.blocks.size());
        small.blocks.push_back({Bytes::KiB(1), Category::kOptimizerState, kWide, block.place});
        small.rows.push_back(of_map);
      }
      has_maps = true;
    }
    RecordRow of_scale = row;
    of_scale.block = scales.at(row.block);
    small.rows.push_back(of_scale);
  }
  return small;
}

}  // namespace vramplan
