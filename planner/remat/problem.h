// RematProblem: what rematerialisation is about, with everything else taken away: values computed in a given order,
// what each costs and holds, and which others it is computed from.
//
//   node  cost bytes  reads        the order as it is holds 0, 1 and 2 at once while 2 runs (peak 9); with node 0
//   0     5    4                   computed again before 3 it is let go after 1 runs (peak 8, cost 5 more)
//   1     1    2      0
//   2     1    3      1
//   3     1    1      2, 0
//
// Invariants: a node reads only nodes before it, each once; sums of costs and of bytes stay below kMostInAll.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "graph/base/result.h"

namespace vramplan {

// Reads and users of all nodes, in one piece: node i has links[begin[i]] .. links[begin[i + 1] - 1].
struct Adjacency {
  std::vector<int32_t> begin, links;
  std::span<const int32_t> operator[](int32_t node) const {
    const size_t from = static_cast<size_t>(begin[static_cast<size_t>(node)]);
    const size_t to = static_cast<size_t>(begin[static_cast<size_t>(node) + 1]);
    return {links.data() + from, to - from};
  }
};

struct RematNode {
  int64_t cost = 0;   // of computing it once
  int64_t bytes = 0;  // of its value
  bool operator==(const RematNode&) const = default;
};

class RematProblem {
 public:
  using Edge = std::pair<int32_t, int32_t>;  // source, target
  static constexpr int64_t kMostInAll = int64_t{1} << 62;
  static constexpr int32_t kMostNodes = 1 << 20;

  RematProblem() : RematProblem({}, {}) {}
  // Edges may come in any order and more than once. CHECKs the invariants: readers of files look first.
  RematProblem(std::vector<RematNode> nodes, std::vector<Edge> edges);

  int32_t size() const { return static_cast<int32_t>(nodes_.size()); }
  const RematNode& operator[](int32_t node) const { return nodes_[static_cast<size_t>(node)]; }
  std::span<const int32_t> Reads(int32_t node) const { return reads_[node]; }
  std::span<const int32_t> Users(int32_t node) const { return users_[node]; }
  size_t edges() const { return reads_.links.size(); }
  int64_t cost_once() const { return cost_once_; }  // of every node once: what no schedule saves

 private:
  std::vector<RematNode> nodes_;
  Adjacency reads_, users_;
  int64_t cost_once_ = 0;
};

// Node numbers in the order in which they run: first occurrences in order of number, every node at least once.
using RematSchedule = std::vector<int32_t>;

struct RematOutcome {
  int64_t cost = 0;
  int64_t peak = 0;
  bool operator==(const RematOutcome&) const = default;
};

// What a schedule costs and holds. A value is there from the moment it is computed to its last use before it is
// computed again (one that is never used, while it is computed); the peak is the largest sum at once, the node that
// runs included. Errors: a node that does not exist, first occurrences out of order, a node left out.
Result<RematOutcome> Simulate(const RematProblem& problem, const RematSchedule& schedule);

// Every node once.
RematSchedule KeepAll(const RematProblem& problem);

}  // namespace vramplan
