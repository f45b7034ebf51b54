// PyTorch itself: torch.nn.utils and torch.utils.
#include "graph/habits/libraries.h"

namespace vramplan {
namespace {

constexpr NameHabit kTorchNames[] = {
    {"checkpoint(", NameHabit::Of::kCheckpoint},  // torch/utils/checkpoint.py
    {"checkpoint_sequential(", NameHabit::Of::kCheckpoint},
    // nn/utils/prune.py: BasePruningMethod.__call__ sets the product as the attribute in front of each forward
    {"_orig", NameHabit::Of::kProductOf, "_mask"},
};

}  // namespace

constinit const Library kTorch = {"torch.", "2.10", {}, {}, kTorchNames};

}  // namespace vramplan
