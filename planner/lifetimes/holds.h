// Holds: until when each value of the forward is held, and by which rule.
#pragma once

#include <vector>

#include "graph/layers/layers.h"

namespace vramplan {

// When Python frees a value: after this layer, and among the values freed there in the order of `holder`, the largest
// first. Temporaries of a statement are freed before the variables of its frame, and those before the arguments of the
// call, which the caller's stack frees when the call has returned.
struct Release {
  int after = -1;  // layer; -1: nothing to let go
  int holder = 0;
};
inline int Temporary(int depth) { return 3 * depth + 2; }
inline int NameOf(int depth) { return 3 * depth + 1; }
inline int ArgumentOf(int depth) { return 3 * depth; }

// By value: when it goes, and the rule that keeps it so long. Rules only lengthen lives: their order does not matter.
class Holds {
 public:
  explicit Holds(size_t values) : until_(values), rules_(values, "") {}
  size_t size() const { return until_.size(); }
  const Release& operator[](size_t value) const { return until_[value]; }
  const char* RuleOf(size_t value) const { return rules_[value]; }
  // Whose name stands behind what is held from now on: a literal.
  void Under(const char* rule) { rule_ = rule; }
  // Lets a value live to this layer at least. Values that no layer makes are not held here.
  void Lengthen(ValueId value, Release until) {
    if (!value.valid() || until_[value.index()].after < 0) return;
    const Release& last = until_[value.index()];
    const bool longer = until.after > last.after || (until.after == last.after && until.holder < last.holder);
    if (longer) Set(value.index(), until);
  }
  // What is known of a value, whatever was held before.
  void Set(size_t value, Release until, const char* rule) {
    until_[value] = until;
    rules_[value] = rule;
  }
  void Set(size_t value, Release until) { Set(value, until, rule_); }

 private:
  std::vector<Release> until_;
  std::vector<const char*> rules_;
  const char* rule_ = "";
};

}  // namespace vramplan
