#include "planner/record/played.h"

#include <algorithm>
#include <limits>

namespace vramplan {
namespace {

// An Event counts its steps in one byte, and leaves none out: steps without a row are no steps, and those of a long run
// are one step from there on.
class StepNumbers {
 public:
  int8_t Of(int32_t step) {
    if (step > last_ && number_ < std::numeric_limits<int8_t>::max() && last_ > 0) ++number_;
    last_ = std::max(last_, step);
    return static_cast<int8_t>(number_);
  }

 private:
  int32_t last_ = 0;
  int number_ = 1;
};

}  // namespace

PlayedRecord Played(const Record& record) {
  PlayedRecord played;
  for (const RecordBlock& block : record.blocks) {
    played.timeline.blocks.push_back({.bytes = SizeExpr::Constant(block.bytes), .category = block.category});
  }
  StepNumbers steps;
  for (size_t i = 0; i < record.rows.size(); ++i) {
    const RecordRow& row = record.rows[i];
    if (row.kind == RowKind::kEnter || row.kind == RowKind::kLeave) continue;
    Event event;
    event.phase = LaidOutPhase(row.phase);
    event.step = steps.Of(row.step);
    event.kind = row.kind == RowKind::kAllocate ? EventKind::kAllocate
                 : row.kind == RowKind::kFree   ? EventKind::kFree
                                                : EventKind::kEmptyCache;
    event.block = BlockId{row.block};
    if (row.block >= 0) event.category = record.blocks[static_cast<size_t>(row.block)].category;
    played.timeline.events.push_back(event);
    played.timeline.steps = event.step;
    played.rows.push_back(i);
  }
  return played;
}

Result<Trace> TraceOf(const Record& record, const std::string& name, std::optional<int> step,
                      const AllocatorConfig& config) {
  const PlayedRecord played = Played(record);
  const std::vector<Placement> placements = Placements(played.timeline, 1, config);
  std::vector<std::optional<int64_t>> numbers(record.blocks.size());
  int64_t born = 0;
  Trace trace;
  for (size_t i = 0; i < placements.size(); ++i) {
    const RecordRow& row = record.rows[played.rows[i]];
    if (row.kind == RowKind::kEmptyCache || (step && row.step != *step)) continue;
    if (placements[i].block == Bytes()) continue;
    const RecordBlock& block = record.blocks[static_cast<size_t>(row.block)];
    std::optional<int64_t>& number = numbers[static_cast<size_t>(row.block)];
    TraceEvent event;
    event.birth = row.kind == RowKind::kAllocate;
    if (event.birth) number = born++;
    event.block = number;
    event.bytes = placements[i].block;
    event.asked = block.bytes;
    event.phase = Name(row.phase);
    if (row.module >= 0 && row.phase != Phase::kBackward)
      event.module = record.modules[static_cast<size_t>(row.module)];
    if (event.birth) event.layer = PlaceText(record, row.block);
    event.allocated_after = placements[i].allocated;
    const int64_t above = 2 + (record.cudnn ? 1 : 0) + (record.reserved > Bytes() ? 1 : 0);
    event.line = static_cast<int64_t>(played.rows[i]) + above;
    trace.push_back(std::move(event));
  }
  if (!trace.empty()) return trace;
  const int32_t steps = record.rows.empty() ? 0 : record.rows.back().step;
  return Error{ErrorCode::kUsage, "--step", name + " has " + std::to_string(steps) + (steps == 1 ? " step" : " steps"),
               "type --step 1, or record more with vramplan run --steps K"};
}

std::string PlaceText(const Record& record, int32_t block) {
  const int32_t place = record.blocks[static_cast<size_t>(block)].place;
  if (place < 0) return "";
  const CodePlace& at = record.places[static_cast<size_t>(place)];
  const std::string function = at.function.starts_with("<") ? "" : " " + at.function;
  return at.file.substr(at.file.rfind('/') + 1) + ":" + std::to_string(at.line) + function;
}

}  // namespace vramplan
