// torch_geometric.
#include "graph/habits/libraries.h"

namespace vramplan {
namespace {

constexpr NameHabit kTorchGeometricNames[] = {
    // nn/conv/message_passing.py: self.aggr_module; utils/_scatter.py: src.new_zeros(size).scatter_add_(dim, index,
    // src)
    {"aggr_module", NameHabit::Of::kFreshSums},
};

}  // namespace

constinit const Library kTorchGeometric = {"torch_geometric.", "2.7", {}, {}, kTorchGeometricNames};

}  // namespace vramplan
