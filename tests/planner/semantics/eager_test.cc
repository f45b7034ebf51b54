#include "planner/semantics/eager.h"

#include <doctest/doctest.h>

#include "tests/support/one_operator.h"

namespace vramplan::testing {
namespace {

using eager::GradNode;
using eager::Tensor;

std::string Strides(const Tensor& t) {
  std::string text;
  for (int i = 0; i < t->dim(); ++i) text += (i > 0 ? "," : "") + std::to_string(t->strides[i]);
  return text;
}

TEST_CASE("empty tensors have no block; unknown sizes saturate") {
  Trial trial;
  trial.e.Empty(Shape{Dim(0), Dim(4)}, DType::kFloat32);
  CHECK(trial.Events() == "");
  trial.e.Scratch(Bytes());
  CHECK(trial.Events() == "");
  trial.e.Scratch(Bytes::Of(100));
  CHECK(trial.Events() == "1+100 1-");
  trial.e.Empty(Shape{Dim::Unknown()}, DType::kFloat32);
  CHECK(trial.Events() == "2+" + std::to_string(Bytes::Max().count()) + " 2-");
}

TEST_CASE("sizes are polynomials in the batch, decisions are taken at one") {
  MemoryLog log(64);
  const TrainingSpec spec = SpecFromWords("");
  eager::Eager e(log, spec, 64, nullptr);
  const Tensor t = e.Empty(Shape{Dim::Batch(), Dim(10)}, DType::kFloat32);
  CHECK(log.Take() == "1+2560");
  CHECK(t->lengths[0] == 64);
  CHECK(t->storage->bytes == SizeExpr::Of(DType::kFloat32, Dim::Batch() * Dim(10)));
}

TEST_CASE("outputs of pointwise operators lie like their operands (TensorIterator.cpp)") {
  Trial trial;
  const Tensor plain = trial.Given("x:f[2,3,4]", "a"), permuted = trial.Given("x:f[2,3,4]@0,2,1", "b"),
               row = trial.Given("x:f[4]", "c"), column = trial.Given("x:f[2,3,1]", "d"),
               wide = trial.Given("x:f[1,3,4]", "e");
  CHECK(Strides(trial.e.EmptyLike(permuted)) == "12,1,3");
  CHECK(Strides(trial.e.EmptyIterator({&plain, &permuted}, DType::kFloat32)) == "12,4,1");  // the first decides
  CHECK(Strides(trial.e.EmptyIterator({&permuted, &plain}, DType::kFloat32)) == "12,1,3");
  CHECK(Strides(trial.e.EmptyIterator({&permuted, &row}, DType::kFloat32)) == "12,1,3");
  CHECK(Strides(trial.e.EmptyIterator({&row, &column}, DType::kFloat32)) == "12,4,1");
  CHECK(Strides(trial.e.EmptyIterator({&wide, &plain}, DType::kFloat16)) == "12,4,1");
  // A slice of a larger tensor: its layout is kept, its gaps are not.
  const Tensor half = trial.Run1("slice", "dim=2 start=0 end=2", {plain}, "f[2,3,2]");
  CHECK(Strides(half) == "12,4,1");
  CHECK(Strides(trial.e.EmptyLike(half)) == "6,2,1");
  // Expanded: like contiguous.
  const Tensor expanded = trial.Run1("expand", "", {wide}, "f[2,3,4]");
  CHECK(Strides(expanded) == "0,4,1");
  CHECK(Strides(trial.e.EmptyLike(expanded)) == "12,4,1");
}

TEST_CASE("the tape: an entry when an input is tracked and gradients are on") {
  Trial trial;
  const Tensor w = trial.Given("p:f[4]", "w"), c = trial.Given("c:f[4]", "c"), out = trial.Given("c:f[4]", "out");
  CHECK(trial.e.Record("None", {c}, {out}) == nullptr);
  CHECK_FALSE(out->tracked());
  trial.e.grad_mode = false;
  CHECK(trial.e.Record("Off", {w}, {out}) == nullptr);
  trial.e.grad_mode = true;
  const GradNode* node = trial.e.Record("Add", {w, c, Tensor()}, {out});
  REQUIRE(node != nullptr);
  CHECK(out->grad_fn.get() == node);
  REQUIRE(node->edges.size() == 3);  // one per input, also those without a gradient
  CHECK(node->edges[0].leaf == w);
  CHECK_FALSE(node->edges[1].valid());
  CHECK_FALSE(node->edges[2].valid());
}

TEST_CASE("the model's precision replaces fp32 of the file") {
  const struct {
    const char* spec;
    DType expected;
  } rows[] = {{"fp32", DType::kFloat32}, {"tf32", DType::kFloat32},  {"amp-fp16", DType::kFloat32},
              {"fp16", DType::kFloat16}, {"bf16", DType::kBFloat16}, {"fp64", DType::kFloat64}};
  for (const auto& row : rows) {
    Trial trial(row.spec);
    CHECK(trial.e.ModelType(DType::kFloat32) == row.expected);
    CHECK(trial.e.ModelType(DType::kInt64) == DType::kInt64);
    CHECK(trial.e.ModelType(DType::kFloat64) == DType::kFloat64);  // the file says so
  }
}

}  // namespace
}  // namespace vramplan::testing
