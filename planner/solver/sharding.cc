#include "planner/solver/sharding.h"

#include <algorithm>

namespace vramplan {
namespace {

// The fewest cards for which kept + sharded / cards stays within the capacity.
std::optional<int64_t> Cards(Bytes kept, Bytes sharded, Bytes capacity) {
  const int64_t room = (capacity - kept).count();
  if (room <= 0) return std::nullopt;
  return std::max<int64_t>(1, (sharded.count() + room - 1) / room);
}

}  // namespace

StepParts PartsOf(const Timeline& timeline, int64_t batch) {
  std::array<Bytes, kCategories> level{};
  std::vector<Category> category(timeline.blocks.size());
  StepParts highest;
  const auto of = [&](Category c) -> Bytes& { return level[static_cast<size_t>(c)]; };
  for (const Event& event : timeline.events) {
    if (!event.block.valid()) continue;
    const size_t block = static_cast<size_t>(event.block.value);
    const Bytes bytes = timeline.blocks[block].bytes.At(batch);
    if (event.kind == EventKind::kFree || event.kind == EventKind::kRetag) of(category[block]) -= bytes;
    if (event.kind == EventKind::kAllocate || event.kind == EventKind::kRetag) {
      category[block] = event.category;
      of(event.category) += bytes;
    }
    Bytes rest;
    for (const Bytes each : level) rest += each;
    rest -= of(Category::kParameters) + of(Category::kGradients) + of(Category::kOptimizerState);
    highest.parameters = std::max(highest.parameters, of(Category::kParameters));
    highest.gradients = std::max(highest.gradients, of(Category::kGradients));
    highest.optimizer_state = std::max(highest.optimizer_state, of(Category::kOptimizerState));
    // Temporaries of the update are shards, too.
    if (event.phase != Phase::kUpdate) highest.rest = std::max(highest.rest, rest);
  }
  return highest;
}

std::array<std::optional<int64_t>, 3> CardsUnderZero(const StepParts& parts, Bytes capacity) {
  const Bytes p = parts.parameters, g = parts.gradients, o = parts.optimizer_state, rest = parts.rest;
  return {Cards(rest + p + g, o, capacity), Cards(rest + p, g + o, capacity), Cards(rest, p + g + o, capacity)};
}

std::string ZeroInWords(const StepParts& parts, Bytes capacity) {
  const auto cards = CardsUnderZero(parts, capacity);
  if (parts.rest >= capacity) return "no number of cards helps: " + ExceedsAlone(parts, capacity);
  std::string fits, never;
  int without = 0;
  for (size_t stage = 0; stage < cards.size(); ++stage) {
    const std::string number = std::to_string(stage + 1);
    if (!cards[stage]) {
      never += (without++ == 0 ? "; stage " : " and ") + number;
      continue;
    }
    const std::string count = std::to_string(*cards[stage]);
    fits += (fits.empty() ? count + (*cards[stage] == 1 ? " card" : " cards") : ", " + count) + " at stage " + number;
  }
  if (without > 0) never += without == 1 ? " does not fit on any number" : " do not fit on any number";
  return "with ZeRO and this batch on each card it takes " + fits + never;
}

std::string ExceedsAlone(const StepParts& parts, Bytes capacity) {
  const struct {
    const char* name;
    Bytes bytes;
  } terms[] = {{"activations and temporaries", parts.rest},
               {"parameters", parts.parameters},
               {"gradients", parts.gradients},
               {"optimizer states", parts.optimizer_state}};
  for (const auto& [name, bytes] : terms) {
    if (bytes >= capacity) return std::string(name) + " alone need " + ToString(bytes);
  }
  return "";
}

}  // namespace vramplan
