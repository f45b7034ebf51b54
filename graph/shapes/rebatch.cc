#include "graph/shapes/rebatch.h"

#include <algorithm>

#include "graph/base/bytes.h"
#include "graph/shapes/arithmetic.h"

namespace vramplan {

std::optional<std::vector<Dim>> Rebatched(const Shape& input, const std::vector<int64_t>& target, int64_t batch) {
  std::vector<Dim> result(target.begin(), target.end());
  const int from_rank = input.rank();
  const size_t to_rank = target.size();
  int i = 0;
  size_t j = 0;
  while (i < from_rank || j < to_rank) {
    // One group: the shortest runs of axes on both sides with the same number of elements.
    const size_t first = j;
    Dim group(1);
    int64_t from = 1, to = 1;
    const auto take_from = [&] {
      group = group * input[i];
      from = SaturatingMultiply(from, input[i].At(batch));
      ++i;
    };
    const auto take_to = [&] { to = SaturatingMultiply(to, target[j++]); };
    if (i < from_rank) take_from();
    if (j < to_rank) take_to();
    while (from != to) {
      if (from < to && i < from_rank) {
        take_from();
      } else if (j < to_rank) {
        take_to();
      } else {
        return std::nullopt;
      }
    }
    if (!group.known() || from <= 0) return std::nullopt;
    if (group.IsConstant()) continue;
    // With batch 1 a group may be a lone "B" against nothing: let it take the next axis, if there is one.
    while (first == j && j < to_rank && i < from_rank) {
      take_from();
      take_to();
      if (from != to) return std::nullopt;
    }
    bool placed = false;
    for (size_t axis = first; axis < j && !placed; ++axis) {
      if (target[axis] % batch != 0) continue;
      Dim product = Dim(target[axis] / batch) * Dim::Batch();
      const Dim replacement = product;
      for (size_t other = first; other < j; ++other) {
        if (other != axis) product = product * Dim(target[other]);
      }
      if (product == group) {
        result[axis] = replacement;
        placed = true;
      }
    }
    if (!placed) return std::nullopt;
  }
  return result;
}

std::vector<Dim> WithLeadingBatch(NodeInference& n, std::vector<Dim> dims) {
  if (!n.reopened() || dims.size() < 2) return dims;
  const int64_t batch = *n.baked_batch();
  if (batch < 2 || std::count(dims.begin(), dims.end(), Dim(batch)) != 1 || !dims[0].Is(batch)) return dims;
  dims[0] = Dim::Batch();
  n.NoteRebatched("axis 0 of the shape it makes, " + std::to_string(batch) + ", is taken as the batch");
  return dims;
}

}  // namespace vramplan
