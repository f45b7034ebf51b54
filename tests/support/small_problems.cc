#include "tests/support/small_problems.h"

#include <map>
#include <queue>
#include <tuple>
#include <vector>

#include "planner/remat/random.h"

namespace vramplan::testing {

RematProblem SmallProblem(uint64_t seed, int32_t nodes) {
  Random random(seed);
  std::vector<RematNode> made;
  std::vector<RematProblem::Edge> edges;
  for (int32_t node = 0; node < nodes; ++node) {
    made.push_back({random.Below(10), random.Below(10)});
    if (node > 0 && random.Chance(0.9)) edges.emplace_back(node - 1, node);
    for (int32_t before = 0; before < node; ++before) {
      if (random.Chance(0.25)) edges.emplace_back(before, node);
    }
  }
  return RematProblem(std::move(made), std::move(edges));
}

RematProblem TrainingChain(uint64_t seed, int32_t layers) {
  Random random(seed);
  std::vector<RematNode> made;
  std::vector<RematProblem::Edge> edges;
  for (int32_t node = 0; node < 2 * layers; ++node) {
    made.push_back({1 + random.Below(9), 1 + random.Below(node < layers ? 9 : 3)});
    if (node > 0) edges.emplace_back(node - 1, node);
    if (node > layers) edges.emplace_back(2 * layers - 1 - node, node);
  }
  return RematProblem(std::move(made), std::move(edges));
}

std::optional<int64_t> LeastCost(const RematProblem& problem, int64_t budget) {
  struct State {
    int64_t cost;
    int32_t frontier;  // the next node that never ran
    uint32_t held;
    bool operator<(const State& other) const { return cost > other.cost; }
  };
  const auto bytes = [&](uint32_t held) {
    int64_t sum = 0;
    for (int32_t node = 0; node < problem.size(); ++node) sum += (held >> node & 1U) != 0 ? problem[node].bytes : 0;
    return sum;
  };
  std::priority_queue<State> open;
  std::map<std::pair<int32_t, uint32_t>, int64_t> least;
  const auto reach = [&](State state) {
    const auto [found, fresh] = least.emplace(std::pair(state.frontier, state.held), state.cost);
    if (!fresh && found->second <= state.cost) return;
    found->second = state.cost;
    open.push(state);
  };
  reach({0, 0, 0});
  while (!open.empty()) {
    const State state = open.top();
    open.pop();
    if (least[{state.frontier, state.held}] < state.cost) continue;
    if (state.frontier == problem.size()) return state.cost;
    for (int32_t node = 0; node < state.frontier; ++node) {
      if ((state.held >> node & 1U) != 0) reach({state.cost, state.frontier, state.held & ~(1U << node)});
    }
    for (int32_t node = 0; node <= state.frontier; ++node) {
      if ((state.held >> node & 1U) != 0) continue;
      bool ready = true;
      for (const int32_t read : problem.Reads(node)) ready = ready && (state.held >> read & 1U) != 0;
      const uint32_t held = state.held | 1U << node;
      if (!ready || bytes(held) > budget) continue;
      reach({state.cost + problem[node].cost, state.frontier + (node == state.frontier ? 1 : 0), held});
    }
  }
  return std::nullopt;
}

}  // namespace vramplan::testing
