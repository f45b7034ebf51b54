#include "planner/remat/min_cut.h"

#include <algorithm>
#include <cmath>

namespace vramplan {

int32_t MinCut::Connect(int32_t from, int32_t to, double capacity) {
  const int32_t arc = static_cast<int32_t>(arcs_.size());
  arcs_.push_back({to, first_[static_cast<size_t>(from)]});
  first_[static_cast<size_t>(from)] = arc;
  arcs_.push_back({from, first_[static_cast<size_t>(to)]});
  first_[static_cast<size_t>(to)] = arc + 1;
  wanted_.push_back(capacity);
  wanted_.push_back(0);
  return arc;
}

// Breadth first from the source over arcs with room left; true when the sink is reached.
bool MinCut::Layer() {
  level_.assign(first_.size(), -1);
  queue_.clear();
  queue_.push_back(source());
  level_[static_cast<size_t>(source())] = 0;
  for (size_t at = 0; at < queue_.size(); ++at) {
    const size_t node = static_cast<size_t>(queue_[at]);
    for (int32_t arc = first_[node]; arc >= 0; arc = arcs_[static_cast<size_t>(arc)].next) {
      ++steps_;
      const size_t to = static_cast<size_t>(arcs_[static_cast<size_t>(arc)].to);
      if (level_[to] >= 0 || left_[static_cast<size_t>(arc)] <= least_) continue;
      level_[to] = level_[node] + 1;
      queue_.push_back(static_cast<int32_t>(to));
    }
  }
  return level_[static_cast<size_t>(sink())] >= 0;
}

// One blocking flow, path by path; arcs that led nowhere are not tried again.
double MinCut::Push() {
  double pushed = 0;
  current_ = first_;
  path_.clear();
  int32_t node = source();
  while (steps_ < limit_) {
    if (node == sink()) {
      double room = left_[static_cast<size_t>(path_[0])];
      for (const int32_t arc : path_) room = std::min(room, left_[static_cast<size_t>(arc)]);
      size_t full = path_.size();
      for (size_t at = path_.size(); at-- > 0;) {
        const size_t arc = static_cast<size_t>(path_[at]);
        left_[arc] -= room;
        left_[arc ^ 1U] += room;
        if (left_[arc] <= least_) full = at;
      }
      steps_ += static_cast<int64_t>(path_.size());
      pushed += room;
      node = arcs_[static_cast<size_t>(path_[full]) ^ 1U].to;
      path_.resize(full);
      continue;
    }
    int32_t& arc = current_[static_cast<size_t>(node)];
    while (arc >= 0) {
      ++steps_;
      const int32_t to = arcs_[static_cast<size_t>(arc)].to;
      if (left_[static_cast<size_t>(arc)] > least_ &&
          level_[static_cast<size_t>(to)] == level_[static_cast<size_t>(node)] + 1)
        break;
      arc = arcs_[static_cast<size_t>(arc)].next;
    }
    if (arc >= 0) {
      path_.push_back(arc);
      node = arcs_[static_cast<size_t>(arc)].to;
    } else if (node == source()) {
      return pushed;
    } else {
      level_[static_cast<size_t>(node)] = -1;
      node = arcs_[static_cast<size_t>(path_.back()) ^ 1U].to;
      path_.pop_back();
    }
  }
  return pushed;
}

double MinCut::Run() {
  left_ = wanted_;
  double largest = 0;
  for (const double capacity : wanted_) {
    if (std::isfinite(capacity)) largest = std::max(largest, capacity);
  }
  least_ = largest * 1e-13;
  double flow = 0;
  complete_ = false;
  while (steps_ < limit_ && !complete_) {
    complete_ = !Layer();
    if (!complete_) flow += Push();
  }
  return flow;
}

}  // namespace vramplan
