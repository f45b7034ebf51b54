#include "planner/lifetimes/holds.h"

namespace vramplan {

void Holds::Lengthen(ValueId value, Release until) {
  if (!value.valid()) return;
  Release& last = until_[value.index()];
  const bool longer = until.after > last.after || (until.after == last.after && until.holder < last.holder);
  if (last.after < 0 || !longer) return;
  last = until;
  rules_[value.index()] = rule_;
}

void Holds::Set(size_t value, Release until, const char* rule) {
  until_[value] = until;
  rules_[value] = rule;
}

}  // namespace vramplan
