#include "graph/lift/dynamo/merged_permutation.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

using Dims = std::vector<int64_t>;

// The dims that a call of `own` has afterwards, where its node is `op` with `perm`.
Dims Taken(const char* op, const Dims& perm, const Dims& own, const Shape& from, const Shape& to) {
  Node node;
  node.op = op;
  if (!perm.empty()) node.attributes.Set("perm", perm);
  AtenCall call;
  call.op = "permute";
  call.attributes.Set("dims", own);
  TakeMergedPermutation(node, from, to, &call);
  return *call.attributes.Get<Dims>("dims");
}

TEST_CASE("a node that two permutations were merged into says what the second one is left with") {
  const Shape from{2, 3, 4};
  CHECK(Taken("Transpose", {2, 0, 1}, {0, 2, 1}, from, Shape{4, 2, 3}) == Dims{2, 0, 1});
  CHECK(Taken("Transpose", {0, 2, 1}, {0, 2, 1}, from, Shape{2, 4, 3}) == Dims{0, 2, 1});
  CHECK(Taken("Identity", {}, {0, 2, 1}, from, from) == Dims{0, 1, 2});
  // only its own fits: the node undoes the turn of a write as well
  CHECK(Taken("Transpose", {2, 1, 0}, {0, 2, 1}, from, Shape{2, 4, 3}) == Dims{0, 2, 1});
}

TEST_CASE("a transpose of two axes becomes a permutation") {
  Node node;
  node.op = "Transpose";
  node.attributes.Set("perm", Dims{1, 2, 0});
  AtenCall call;
  call.op = "transpose";
  call.attributes.Set("dim0", int64_t{1});
  call.attributes.Set("dim1", int64_t{2});
  TakeMergedPermutation(node, Shape{2, 3, 4}, Shape{3, 4, 2}, &call);
  CHECK(call.op == "permute");
  CHECK(*call.attributes.Get<Dims>("dims") == Dims{1, 2, 0});
}

}  // namespace
}  // namespace vramplan
