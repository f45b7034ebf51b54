#include "planner/solver/time_model.h"

#include <doctest/doctest.h>

#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

// One second for 1000 bytes, for 10 FLOP in fp32, for 80 in halves.
constexpr Rates kSlow{.bandwidth = 1000, .fp32 = 10, .half = 80};

struct Hand : LayersByHand {
  ValueId Parameter(Shape shape) {
    const ValueId id = Input("weight" + std::to_string(layers.parameters.size()), shape);
    layers.values.back().role = Role::kParameter;
    layers.inputs.pop_back();
    layers.parameters.push_back(id);
    return id;
  }
  double Flops(int64_t batch) const { return FlopsOf(layers, layers.layers.back(), batch); }
};

TEST_CASE("products count two FLOP a multiplication, everything else is bound by its bytes") {
  Hand hand;
  const ValueId x = hand.Input("x", {Dim::Batch(), 64, 8, 8});
  hand.Add("conv2d", {x, hand.Parameter({32, 64, 3, 3})}, {Dim::Batch(), 32, 6, 6});
  CHECK_EQ(hand.Flops(2), 2.0 * 2 * 32 * 6 * 6 * 64 * 9);
  hand.Add("conv2d", {x, hand.Parameter({64, 1, 3, 3})}, {Dim::Batch(), 64, 6, 6});  // depthwise
  CHECK_EQ(hand.Flops(1), 2.0 * 64 * 6 * 6 * 9);
  hand.Add("conv_transpose2d", {x, hand.Parameter({64, 16, 2, 2})}, {Dim::Batch(), 16, 16, 16});
  CHECK_EQ(hand.Flops(1), 2.0 * 64 * 8 * 8 * 16 * 4);
  const ValueId t = hand.Input("t", {Dim::Batch(), 10, 48});
  hand.Add("linear", {t, hand.Parameter({96, 48})}, {Dim::Batch(), 10, 96});
  CHECK_EQ(hand.Flops(4), 2.0 * 4 * 10 * 96 * 48);
  const ValueId q = hand.Input("q", {Dim::Batch(), 12, 10, 64}), k = hand.Input("k", {Dim::Batch(), 12, 20, 64});
  hand.Add("scaled_dot_product_attention", {q, k, k}, {Dim::Batch(), 12, 10, 64});
  CHECK_EQ(hand.Flops(3), 3.0 * 12 * (2 * 10 * 20 * 64 + 2 * 10 * 20 * 64));
  hand.Add("relu", {x}, {Dim::Batch(), 64, 8, 8});
  CHECK_EQ(hand.Flops(3), 0);
}

TEST_CASE("a layer takes what is slower: its FLOP or its bytes; views take nothing") {
  Hand hand;
  const ValueId x = hand.Input("x", {Dim::Batch(), 10});
  const ValueId y = hand.Add("linear", {x, hand.Parameter({10, 10})}, {Dim::Batch(), 10});
  const ValueId z = hand.Add("relu", {y}, {Dim::Batch(), 10});
  hand.Add("reshape", {z}, {Dim::Batch(), 2, 5});
  const StepTime time = EstimateTime(hand.layers, TrainingSpec(), kSlow, 1);
  REQUIRE_EQ(time.forward.size(), 3);
  CHECK_EQ(time.forward[0], doctest::Approx(200 / 10.0));
  CHECK_EQ(time.forward[1], doctest::Approx(80 / 1000.0));
  CHECK_EQ(time.forward[2], 0);
  CHECK_EQ(time.forward_total, doctest::Approx(20.08));
  // Backward: two forwards. A recomputation of the relu, in each of two micro-batches.
  CHECK_EQ(time.Step(0.08, 2), doctest::Approx(2 * (3 * 20.08 + 0.08) + time.update));
}

TEST_CASE("mixed precision computes products in halves and hands halves on") {
  Hand hand;
  const ValueId x = hand.Input("x", {Dim::Batch(), 10});
  const ValueId y = hand.Add("linear", {x, hand.Parameter({10, 10})}, {Dim::Batch(), 10});
  hand.Add("relu", {y}, {Dim::Batch(), 10});
  TrainingSpec amp;
  amp.precision = Precision::kAmpFp16;
  const StepTime time = EstimateTime(hand.layers, amp, kSlow, 1);
  CHECK_EQ(time.forward[0], doctest::Approx(200 / 80.0));
  CHECK_EQ(time.forward[1], doctest::Approx(40 / 1000.0));
}

TEST_CASE("the update reads and writes parameters, gradients and state; foreach does so once an operation") {
  Hand hand;
  hand.Parameter({25});  // 100 bytes
  TrainingSpec spec;
  spec.optimizer_impl = OptimizerImpl::kFused;
  CHECK_EQ(EstimateTime(hand.layers, spec, kSlow, 1).update, doctest::Approx(0.7));
  spec.optimizer_impl = OptimizerImpl::kForeach;
  CHECK_EQ(EstimateTime(hand.layers, spec, kSlow, 1).update, doctest::Approx(1.8));
  spec.optimizer = Optimizer::kSgd;
  CHECK_EQ(EstimateTime(hand.layers, spec, kSlow, 1).update, doctest::Approx(0.3));
}

TEST_CASE("a card that the catalogue has no rates of counts as a T4") {
  bool known = true;
  const Rates bare = RatesOf(Card(), &known);
  CHECK_FALSE(known);
  const Result<Card> t4 = FindCard("t4");
  CHECK_EQ(bare, RatesOf(*t4, &known));
  CHECK(known);
}

}  // namespace
}  // namespace vramplan
