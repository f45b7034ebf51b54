#include "tests/support/timelines.h"

#include <sstream>

#include "graph/base/check.h"

namespace vramplan {
namespace {

template <typename Enum>
Enum ByName(const std::string& name, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (Name(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
  }
  FailCheck(__FILE__, __LINE__, name);
}

SizeExpr Size(const std::string& text) {
  const bool scales = text.size() > 2 && text.compare(text.size() - 2, 2, "*B") == 0;
  const int64_t bytes = std::stoll(text);
  return scales ? SizeExpr::Of(DType::kUint8, Dim::Polynomial(0, bytes, 0)) : SizeExpr::Constant(Bytes::Of(bytes));
}

}  // namespace

Timeline TimelineText(const std::string& text) {
  Timeline timeline;
  std::istringstream lines(text);
  Phase last = Phase::kSetup;
  int step = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string phase, kind, id, category, bytes, layer;
    words >> phase >> kind >> id >> category;
    Event event;
    event.phase = ByName<Phase>(phase, kPhases);
    if (event.phase == Phase::kForward && (last == Phase::kSetup || last == Phase::kUpdate)) ++step;
    last = event.phase;
    event.step = static_cast<int8_t>(step);
    if (kind == "|") {
      event.kind = event.phase == Phase::kForward    ? EventKind::kAfterForward
                   : event.phase == Phase::kBackward ? EventKind::kAfterBackward
                                                     : EventKind::kStepEnd;
      timeline.events.push_back(event);
      continue;
    }
    event.block = BlockId{std::stoi(id)};
    if (kind == "-") event.kind = EventKind::kFree;
    if (kind != "-") event.category = ByName<Category>(category, kCategories);
    if (kind == ">") event.kind = EventKind::kRetag;
    if (kind == "+") {
      words >> bytes >> layer;
      CHECK(static_cast<size_t>(event.block.value) == timeline.blocks.size());
      Origin origin;
      origin.op = "aten::test";
      if (!layer.empty()) origin.layer = std::stoi(layer.substr(1));
      timeline.blocks.push_back({.bytes = Size(bytes), .category = event.category, .origin = origin});
    }
    timeline.events.push_back(event);
  }
  timeline.steps = step;
  return timeline;
}

}  // namespace vramplan
