#include "graph/lift/dynamo/merged_permutation.h"

#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace vramplan {
namespace {

using Dims = std::vector<int64_t>;

// The permutation that the program writes; nothing: its axes are not of this rank.
std::optional<Dims> OwnOf(const AtenCall& call, size_t rank) {
  if (const auto* dims = call.attributes.Get<Dims>("dims")) return *dims;
  Dims own(rank);
  std::iota(own.begin(), own.end(), 0);
  const int64_t a = call.attributes.Int("dim0", 0), b = call.attributes.Int("dim1", 0);
  const int64_t axes = static_cast<int64_t>(rank);
  if (a < 0 || b < 0 || a >= axes || b >= axes) return std::nullopt;
  std::swap(own[static_cast<size_t>(a)], own[static_cast<size_t>(b)]);
  return own;
}

bool Fits(const Shape& from, const Dims& dims, const Shape& to) {
  if (from.rank() != to.rank() || static_cast<int>(dims.size()) != from.rank()) return false;
  for (int axis = 0; axis < to.rank(); ++axis) {
    const int64_t dim = dims[static_cast<size_t>(axis)];
    if (dim < 0 || dim >= from.rank() || !(from[static_cast<int>(dim)] == to[axis])) return false;
  }
  return true;
}

// What the node does: of two permutations that cancel an Identity is left.
std::optional<Dims> MergedOf(const Node& node, const Shape& from) {
  if (node.op == "Identity") {
    Dims same(static_cast<size_t>(from.rank()));
    std::iota(same.begin(), same.end(), 0);
    return same;
  }
  const auto* merged = node.attributes.Get<Dims>("perm");
  if (node.op != "Transpose" || merged == nullptr) return std::nullopt;
  return *merged;
}

}  // namespace

void TakeMergedPermutation(const Node& node, const Shape& from, const Shape& to, AtenCall* call) {
  if (call->op != "transpose" && call->op != "permute") return;
  const std::optional<Dims> merged = MergedOf(node, from);
  if (!merged) return;
  const std::optional<Dims> own = OwnOf(*call, merged->size());
  if (!own || *own == *merged || (Fits(from, *own, to) && !Fits(from, *merged, to))) return;
  call->op = "permute";
  call->attributes = Named({{"dims", *merged}});
}

}  // namespace vramplan
