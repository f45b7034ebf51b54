#include "planner/remat/problem.h"

#include <algorithm>
#include <numeric>

#include "graph/base/bytes.h"
#include "graph/base/check.h"

namespace vramplan {
namespace {

Adjacency Collected(size_t nodes, const std::vector<RematProblem::Edge>& edges, bool by_target) {
  Adjacency list;
  list.begin.assign(nodes + 1, 0);
  for (const auto& [source, target] : edges) ++list.begin[static_cast<size_t>(by_target ? target : source) + 1];
  std::partial_sum(list.begin.begin(), list.begin.end(), list.begin.begin());
  list.links.resize(edges.size());
  std::vector<int32_t> next(list.begin.begin(), list.begin.end() - 1);
  for (const auto& [source, target] : edges) {
    const size_t owner = static_cast<size_t>(by_target ? target : source);
    list.links[static_cast<size_t>(next[owner]++)] = by_target ? source : target;
  }
  return list;
}

Error Unusable(std::string text, std::string hint) {
  return {ErrorCode::kBadInput, "", std::move(text), std::move(hint)};
}

}  // namespace

RematProblem::RematProblem(std::vector<RematNode> nodes, std::vector<Edge> edges) : nodes_(std::move(nodes)) {
  CHECK(nodes_.size() <= static_cast<size_t>(kMostNodes));
  int64_t bytes = 0;
  for (const RematNode& node : nodes_) {
    CHECK(node.cost >= 0 && node.bytes >= 0);
    cost_once_ = SaturatingAdd(cost_once_, node.cost);
    bytes = SaturatingAdd(bytes, node.bytes);
  }
  CHECK(cost_once_ <= kMostInAll && bytes <= kMostInAll);
  std::ranges::sort(edges);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  for (const auto& [source, target] : edges) CHECK(source >= 0 && source < target && target < size());
  reads_ = Collected(nodes_.size(), edges, true);
  users_ = Collected(nodes_.size(), edges, false);
}

Result<RematOutcome> Simulate(const RematProblem& problem, const RematSchedule& schedule) {
  const size_t length = schedule.size();
  std::vector<size_t> last_use(length);                                    // by place in the schedule
  std::vector<size_t> place(static_cast<size_t>(problem.size()), length);  // of the latest computation of each node
  int32_t fresh = 0;
  for (size_t at = 0; at < length; ++at) {
    const int32_t node = schedule[at];
    if (node < 0 || node >= problem.size()) {
      return Unusable("there is no node " + std::to_string(node),
                      "nodes are numbered from 0 to " + std::to_string(problem.size() - 1));
    }
    if (node > fresh) {
      return Unusable("node " + std::to_string(node) + " comes before node " + std::to_string(fresh),
                      "each node comes first in the order of the file");
    }
    fresh += node == fresh ? 1 : 0;
    for (const int32_t read : problem.Reads(node)) last_use[place[static_cast<size_t>(read)]] = at;
    place[static_cast<size_t>(node)] = at;
    last_use[at] = at;
  }
  if (fresh < problem.size()) return Unusable("node " + std::to_string(fresh) + " is left out", "every node must run");

  std::vector<int64_t> freed(length, 0);  // after this place
  RematOutcome outcome;
  for (size_t at = 0; at < length; ++at)
    freed[last_use[at]] = SaturatingAdd(freed[last_use[at]], problem[schedule[at]].bytes);
  int64_t level = 0;
  for (size_t at = 0; at < length; ++at) {
    level += problem[schedule[at]].bytes;
    outcome.peak = std::max(outcome.peak, level);
    outcome.cost = SaturatingAdd(outcome.cost, problem[schedule[at]].cost);
    level -= freed[at];
  }
  return outcome;
}

RematSchedule KeepAll(const RematProblem& problem) {
  RematSchedule schedule(static_cast<size_t>(problem.size()));
  std::iota(schedule.begin(), schedule.end(), 0);
  return schedule;
}

}  // namespace vramplan
