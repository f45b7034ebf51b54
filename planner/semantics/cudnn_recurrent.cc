#include "planner/semantics/cudnn_recurrent.h"

namespace vramplan::eager {
namespace {

// Matrices of all layers and directions: to the gates from the input and from what comes back, and the projection.
int64_t Matrices(const RecurrentNetwork& n) {
  int64_t sum = 0;
  for (int64_t layer = 0; layer < n.layers; ++layer) {
    const int64_t input = layer == 0 ? n.input : n.projected * n.directions;
    sum += GatesOf(n.cell) * n.hidden * (input + n.projected);
    if (n.projected != n.hidden) sum += n.projected * n.hidden;
  }
  return sum * n.directions;
}

}  // namespace

int64_t WeightSpace(const RecurrentNetwork& n) {
  return Matrices(n) + 2 * GatesOf(n.cell) * n.hidden * n.layers * n.directions;
}

int64_t WorkspaceOf(const RecurrentNetwork& n, int64_t samples) {
  return Matrices(n) + (3 * GatesOf(n.cell) - 1) * n.layers * n.directions * samples * n.hidden;
}

}  // namespace vramplan::eager
