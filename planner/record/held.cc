#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "planner/record/record.h"

namespace vramplan {
namespace {

// What a run has told by its end: an optimizer that died before it had stepped told nothing.
struct Told {
  bool gradients = false, update = false;
};
Told ToldBy(const Record& record) {
  Told told{.update = !record.rows.empty() && record.rows.back().step > 1};
  for (const RecordBlock& block : record.blocks) {
    told.gradients = told.gradients || block.category == Category::kGradients;
    told.update = told.update || block.category == Category::kOptimizerState;
  }
  return told;
}

HeldKind KindOf(const RecordBlock& block, Phase birth, const Told& told) {
  switch (block.category) {
    case Category::kParameters:
      return block.frozen ? HeldKind::kFrozenWeights : told.update ? HeldKind::kTrainedWeights : HeldKind::kWeights;
    case Category::kBuffers:
      return HeldKind::kBuffers;
    case Category::kGradients:
      return HeldKind::kGradients;
    case Category::kOptimizerState:
      return HeldKind::kOptimizerState;
    case Category::kInputs:
      return block.element > 0 ? HeldKind::kInputs : HeldKind::kUntold;
    case Category::kActivations:
      return block.outputs ? HeldKind::kOutputs : HeldKind::kActivations;
    case Category::kWorkspace:
      return HeldKind::kWorkspaces;
    case Category::kTemporaries: {
      const bool untold = birth == Phase::kBackward ? !told.gradients : birth == Phase::kUpdate && !told.update;
      return untold ? HeldKind::kUntold : HeldKind::kTemporaries;
    }
  }
  return HeldKind::kUntold;
}

}  // namespace

std::vector<HeldKind> KindsOf(const Record& record) {
  const Told told = ToldBy(record);
  std::vector<HeldKind> kinds(record.blocks.size());
  for (const RecordRow& row : record.rows) {
    if (row.kind != RowKind::kAllocate) continue;
    const auto block = static_cast<size_t>(row.block);
    kinds[block] = KindOf(record.blocks[block], LaidOutPhase(row.phase), told);
  }
  return kinds;
}

std::vector<HeldRow> HeldAt(const Record& record, size_t rows) {
  const std::vector<HeldKind> kinds = KindsOf(record);
  std::map<int32_t, const RecordRow*> live;  // by block: the row of its birth
  for (const RecordRow& row : std::span(record.rows).first(rows)) {
    if (row.kind == RowKind::kAllocate) live[row.block] = &row;
    if (row.kind == RowKind::kFree) live.erase(row.block);
  }
  const auto place_at = [&](int32_t place) {
    return place < 0 ? CodePlace() : record.places[static_cast<size_t>(place)];
  };
  std::map<std::tuple<int32_t, int32_t, int32_t, Phase, HeldKind>, HeldRow> held;
  for (const auto& [id, birth] : live) {
    const RecordBlock& block = record.blocks[static_cast<size_t>(id)];
    const HeldKind kind = kinds[static_cast<size_t>(id)];
    const Phase phase = LaidOutPhase(birth->phase);
    HeldRow& row = held[{block.place, block.caller, birth->module, phase, kind}];
    row = {.place = place_at(block.place),
           .caller = place_at(block.caller),
           .module = birth->module < 0 ? "" : record.modules[static_cast<size_t>(birth->module)],
           .kind = kind,
           .phase = phase,
           .blocks = row.blocks + 1,
           .bytes = row.bytes + block.bytes};
  }
  std::vector<HeldRow> sorted;
  for (auto& [key, row] : held) sorted.push_back(std::move(row));
  std::ranges::stable_sort(sorted, [](const HeldRow& a, const HeldRow& b) { return a.bytes > b.bytes; });
  return sorted;
}

}  // namespace vramplan
