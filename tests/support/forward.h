// Forward: a forward by hand, and when Python lets its values go.
//
//   Forward f(R"(
//   a b.f1 conv2d x
//   d b.act relu a)");
//   f.DiesBehind("a")     "d": the name of the layer behind which it is free; "never"
//
// A line is "name path op arguments"; "-" is the root's path, x the caller's value. With the source behind it,
// " | 57 line of the root's forward | 10 line of the next call's forward", the layers have stack traces; there a
// batch_norm is of the node before it, as a folded one.
#pragma once

#include <string>

#include "graph/layers/layers.h"
#include "planner/lifetimes/lifetimes.h"

namespace vramplan::testing {

class Forward {
 public:
  explicit Forward(const std::string& text);
  std::string DiesBehind(const std::string& name, Naming naming = Naming::kLikely) const;

 private:
  void AddFrame(const std::string& frame);
  ModuleId Call(const std::string& path);
  ValueId Value(const std::string& name, Role role);
  ValueId Named(const std::string& name) const;

  Layers layers_;
};

}  // namespace vramplan::testing
