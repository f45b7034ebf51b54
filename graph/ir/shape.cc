#include "graph/ir/shape.h"

#include <algorithm>

namespace vramplan {

void Shape::Insert(int axis, Dim dim) {
  CHECK(axis >= 0 && axis <= rank_ && rank_ < kMaxRank);
  for (int i = rank_; i > axis; --i) dims_[i] = dims_[i - 1];
  dims_[axis] = dim;
  ++rank_;
}

void Shape::Remove(int axis) {
  CHECK(axis >= 0 && axis < rank_);
  for (int i = axis; i + 1 < rank_; ++i) dims_[i] = dims_[i + 1];
  dims_[--rank_] = Dim();
}

Dim Shape::Elements() const {
  Dim product(1);
  for (const Dim& d : *this) product = product * d;
  return product;
}

bool Shape::known() const {
  return std::all_of(begin(), end(), [](const Dim& d) { return d.known(); });
}

bool Shape::operator==(const Shape& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

std::string ToString(const Shape& shape, const std::string& batch) {
  std::string text = "[";
  for (int i = 0; i < shape.rank(); ++i) text += (i > 0 ? ", " : "") + ToString(shape[i], batch);
  return text + "]";
}

}  // namespace vramplan
