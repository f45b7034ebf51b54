#include "planner/spec/wheels.h"

#include <algorithm>

namespace vramplan {
namespace {

// TORCH_CUDA_ARCH_LIST of the builds that a release published, of all its CUDA versions together.
struct WheelRow {
  Framework last;  // holds up to it
  Capability lowest;
  const char* source;
};
constexpr WheelRow kWheels[] = {
    {{2, 7}, {3, 7}, "CUDA 11.7 and 11.8: 3.7;5.0;... (pytorch/builder manywheel/build_cuda.sh); 2.7.1 lists sm_37"},
    {{2, 14}, {5, 0}, "CUDA 12.6: 5.0;6.0;7.0;... (pytorch .ci/manywheel/build_cuda.sh, RELEASE.md; pytorch#190355)"},
    {{2, 15}, {7, 5}, "CUDA 13.0 and 13.2 alone, which know nothing below 7.5 (pytorch#190385)"},
};

}  // namespace

Capability LowestCapability(Framework framework) {
  // Other runtimes carry PyTorch's newest version, and which cards they run on is not known here.
  if (framework.runtime != Runtime::kPyTorch) return {0, 0};
  for (const WheelRow& row : kWheels) {
    if (framework <= row.last) return row.lowest;
  }
  return kWheels[std::size(kWheels) - 1].lowest;
}

std::optional<Framework> LastFor(Capability capability) {
  std::optional<Framework> last;
  for (const WheelRow& row : kWheels) {
    if (row.lowest <= capability) last = row.last;
  }
  return last;
}

bool Runs(const Card& card, Framework framework) {
  return !card.nvidia || card.capability >= LowestCapability(framework);
}

std::vector<const Card*> CardsFor(Framework framework) {
  std::vector<const Card*> cards;
  for (const Card& card : Cards()) {
    if (card.nvidia && Runs(card, framework)) cards.push_back(&card);
  }
  std::ranges::stable_sort(cards, [](const Card* a, const Card* b) { return a->usable < b->usable; });
  return cards;
}

}  // namespace vramplan
