// Shape: the axis lengths of a tensor. Ranks up to 8 live inside the object (no heap).
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "graph/base/check.h"
#include "graph/ir/dim.h"

namespace vramplan {

class Shape {
 public:
  static constexpr int kMaxRank = 8;  // PyTorch allows 64, ONNX any; no operator of either field uses more than 8

  Shape() {}
  Shape(std::initializer_list<Dim> dims) {
    for (const Dim& d : dims) Append(d);
  }
  explicit Shape(const std::vector<Dim>& dims) {
    for (const Dim& d : dims) Append(d);
  }

  // Copies what there is, and leaves the rest unwritten: most tensors have half as many axes, and a step has thousands of
  // tensors.
  Shape(const Shape& other) : rank_(other.rank_) { std::copy_n(other.dims_, rank_, dims_); }
  Shape& operator=(const Shape& other) {
    rank_ = other.rank_;
    std::copy_n(other.dims_, rank_, dims_);
    return *this;
  }
  ~Shape() = default;

  int rank() const { return rank_; }
  const Dim& operator[](int axis) const {
    VRAMPLAN_CHECK(axis >= 0 && axis < rank_);
    return dims_[axis];
  }
  Dim& operator[](int axis) {
    VRAMPLAN_CHECK(axis >= 0 && axis < rank_);
    return dims_[axis];
  }
  // Counts from the end when negative: FromEnd(1) is the last axis.
  const Dim& FromEnd(int n) const { return (*this)[rank_ - n]; }
  const Dim* begin() const { return dims_; }
  const Dim* end() const { return dims_ + rank_; }
  void Append(Dim dim) {
    VRAMPLAN_CHECK(rank_ < kMaxRank);
    dims_[rank_++] = dim;
  }
  void Insert(int axis, Dim dim);
  void Remove(int axis);

  // Product of all lengths; 1 for a scalar.
  Dim Elements() const;
  bool known() const;
  bool operator==(const Shape& other) const;

 private:
  int rank_ = 0;
  union {
    Dim dims_[kMaxRank];
  };
};

// "[B, 3, 224, 224]"
std::string ToString(const Shape& shape, const std::string& batch = "B");

}  // namespace vramplan
