// MinCut: the cheapest way to part a source from a sink (Dinic, Soviet Math. Doklady 11, 1970). Capacities are doubles:
// they are costs and prices times bytes.
//
//   MinCut cut(2);                   // nodes 0 and 1 beside the two ends
//   cut.Connect(cut.source(), 0, 3); cut.Connect(0, 1, 1); cut.Connect(1, cut.sink(), 2);
//   cut.Run()                        == 1, with node 0 on the source's side
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace vramplan {

class MinCut {
 public:
  explicit MinCut(int32_t nodes) : first_(static_cast<size_t>(nodes) + 2, -1), nodes_(nodes) {}
  int32_t source() const { return nodes_; }
  int32_t sink() const { return nodes_ + 1; }
  // The arc's number, for SetCapacity.
  int32_t Connect(int32_t from, int32_t to, double capacity);
  void SetCapacity(int32_t arc, double capacity) { wanted_[static_cast<size_t>(arc)] = capacity; }
  // The value of the cut; from no flow at all. One that the limit stops gives a flow, which is less than any cut.
  double Run();
  // No Run goes on when steps() has come to this.
  void SetLimit(int64_t steps) { limit_ = steps; }
  // Of the latest Run: whether it came to its end; only then there are sides.
  bool complete() const { return complete_; }
  bool OnSourceSide(int32_t node) const { return level_[static_cast<size_t>(node)] >= 0; }
  // Steps of all Runs together: a clock that is the same on every machine.
  int64_t steps() const { return steps_; }

 private:
  struct Arc {
    int32_t to, next;
  };
  bool Layer();
  double Push();

  std::vector<Arc> arcs_;  // an arc and its reverse lie beside each other
  std::vector<double> wanted_, left_;
  std::vector<int32_t> first_, current_, level_, queue_, path_;
  int32_t nodes_;
  double least_ = 0;  // what counts as empty
  int64_t steps_ = 0;
  int64_t limit_ = std::numeric_limits<int64_t>::max();
  bool complete_ = false;
};

}  // namespace vramplan
