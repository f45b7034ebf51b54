#include <doctest/doctest.h>

#include "graph/lift/any_export/known_mask.h"
#include "graph/lift/any_export/passes.h"
#include "tests/support/layers_by_hand.h"
#include "tests/support/layers_text.h"

namespace vramplan {
namespace {

constexpr int64_t kTokens = 6;

// Layers of one attention, with its mask.
struct Hand : LayersByHand {
  using LayersByHand::LayersByHand;

  // key <= query, and with a window key > query - window; [B, 1, tokens, tokens]
  ValueId Mask(std::optional<double> window = std::nullopt) {
    const ValueId positions = Add("arange", {}, {kTokens}, DType::kInt64);
    const ValueId query = Add("unsqueeze", {positions}, {kTokens, 1}, DType::kInt64);
    const ValueId key = Add("unsqueeze", {positions}, {1, kTokens}, DType::kInt64);
    ValueId mask = Add("le", {key, query}, {kTokens, kTokens}, DType::kBool);
    if (window) {
      const ValueId oldest = Add("sub", {query, ValueId()}, {kTokens, 1}, DType::kInt64);
      attributes().Set("scalar", *window);
      const ValueId recent = Add("gt", {key, oldest}, {kTokens, kTokens}, DType::kBool);
      mask = Add("bitwise_and", {mask, recent}, {kTokens, kTokens}, DType::kBool);
    }
    const ValueId wide = Add("reshape", {mask}, {1, 1, kTokens, kTokens}, DType::kBool);
    return Add("expand", {wide}, {Dim::Batch(), 1, kTokens, kTokens}, DType::kBool);
  }
};

const char* const kLlama = "transformers.models.llama.modeling_llama.LlamaAttention";

TEST_CASE("what a mask of positions says") {
  struct Case {
    std::optional<double> window;
    KnownMask expected;
  };
  for (const Case& c :
       {Case{std::nullopt, KnownMask::kCausal}, Case{kTokens, KnownMask::kCausal}, Case{2, KnownMask::kOther}}) {
    Hand hand(kLlama);
    const ValueId mask = hand.Mask(c.window);
    CHECK(ReadMask(Uses(hand.layers), mask) == c.expected);
  }
  Hand hand(kLlama);
  const ValueId positions = hand.Add("arange", {}, {kTokens, 1}, DType::kInt64);
  const ValueId always = hand.Add("ge", {positions, ValueId()}, {kTokens, 1}, DType::kBool);
  hand.attributes().Set("scalar", 0.0);
  const ValueId wide = hand.Add("expand", {always}, {kTokens, kTokens}, DType::kBool);
  CHECK(ReadMask(Uses(hand.layers), wide) == KnownMask::kAllTrue);
  const ValueId given = hand.Input("mask", {kTokens, kTokens});
  const ValueId both = hand.Add("bitwise_and", {wide, given}, {kTokens, kTokens}, DType::kBool);
  CHECK(ReadMask(Uses(hand.layers), both) == KnownMask::kUnknown);
}

TEST_CASE("transformers passes is_causal instead of a causal mask, and grouped heads as they are") {
  struct Case {
    const char* class_name;
    std::optional<double> window;
    const char* operators;
  };
  const char* const kept =
      "arange unsqueeze unsqueeze le reshape expand unsqueeze expand contiguous reshape scaled_dot_product_attention";
  for (const Case& c :
       {Case{kLlama, std::nullopt, "scaled_dot_product_attention"}, Case{"mine.Attention", std::nullopt, kept},
        Case{kLlama, 2,
             "arange unsqueeze unsqueeze le sub gt bitwise_and reshape expand unsqueeze expand "
             "contiguous reshape scaled_dot_product_attention"}}) {
    Hand hand(c.class_name);
    const Dim b = Dim::Batch();
    const ValueId query = hand.Input("q", {b, 4, kTokens, 8}), key = hand.Input("k", {b, 2, kTokens, 8});
    const ValueId mask = hand.Mask(c.window);
    const ValueId five = hand.Add("unsqueeze", {key}, {b, 2, 1, kTokens, 8});
    const ValueId wide = hand.Add("expand", {five}, {b, 2, 2, kTokens, 8});
    const ValueId copy = hand.Add("contiguous", {wide}, {b, 2, 2, kTokens, 8});
    const ValueId repeated = hand.Add("reshape", {copy}, {b, 4, kTokens, 8});
    const ValueId out = hand.Add("scaled_dot_product_attention", {query, repeated, repeated, mask}, {b, 4, kTokens, 8});
    hand.layers.outputs = {out};
    SkipKnownMasks(&hand.layers);
    CHECK(OperatorsOf(hand.layers) == c.operators);
    const Layer& call = hand.layers.layers.back();
    const bool skipped = hand.layers.layers.size() == 1;
    CHECK(call.inputs ==
          (skipped ? std::vector<ValueId>{query, key, key} : std::vector<ValueId>{query, repeated, repeated, mask}));
    CHECK(call.attributes.Int("is_causal", 0) == (skipped ? 1 : 0));
  }
}

TEST_CASE("a bias under a causal mask is compared anew in each call") {
  Hand hand("transformers.models.t5.modeling_t5.T5Attention");
  const ValueId query = hand.Input("q", {Dim::Batch(), 2, kTokens, 8});
  const ValueId bias = hand.Input("bias", {1, 2, kTokens, kTokens});
  const ValueId mask = hand.Mask();
  const ValueId where = hand.Add("where", {mask, bias, ValueId()}, {Dim::Batch(), 2, kTokens, kTokens});
  hand.layers.outputs = {
      hand.Add("scaled_dot_product_attention", {query, query, query, where}, hand.layers[query].shape)};
  SkipKnownMasks(&hand.layers);
  CHECK(OperatorsOf(hand.layers) == "arange unsqueeze arange unsqueeze ge reshape where scaled_dot_product_attention");
  CHECK(hand.layers[hand.layers.layers.back().inputs[3]].shape == Shape{1, 2, kTokens, kTokens});
}

TEST_CASE("a bias under a mask that is given is masked anew in each call that the exporter merged") {
  const auto of = [](const char* class_name, int calls) {
    Hand hand(class_name);
    const ValueId query = hand.Input("q", {Dim::Batch(), 2, kTokens, 8});
    const ValueId bias = hand.Input("bias", {1, 2, kTokens, kTokens});
    const ValueId mask = hand.Input("mask", {Dim::Batch(), 1, kTokens, kTokens});
    const ValueId where = hand.Add("where", {mask, bias, ValueId()}, {Dim::Batch(), 2, kTokens, kTokens});
    for (int i = 0; i < calls; ++i) {
      hand.layers.outputs.push_back(
          hand.Add("scaled_dot_product_attention", {query, query, query, where}, hand.layers[query].shape));
    }
    SkipKnownMasks(&hand.layers);
    return OperatorsOf(hand.layers);
  };
  const char* const kT5 = "transformers.models.t5.modeling_t5.T5Attention";
  CHECK(of(kT5, 2) == "where scaled_dot_product_attention where scaled_dot_product_attention");
  CHECK(of(kT5, 1) == "where scaled_dot_product_attention");
  CHECK(of("mine.Attention", 2) == "where scaled_dot_product_attention scaled_dot_product_attention");
}

TEST_CASE("a mask is permuted where its bias is, and neither operand has its size") {
  Hand hand("mine.Attention");
  const ValueId query = hand.Input("q", {Dim::Batch(), 2, kTokens, 8});
  const ValueId given = hand.Input("given", {Dim::Batch(), 1, kTokens, kTokens});
  const ValueId table = hand.Input("table", {kTokens, kTokens, 2});
  ValueId bias = hand.Add("permute", {table}, {2, kTokens, kTokens});
  hand.attributes().Set("dims", std::vector<int64_t>{2, 0, 1});
  bias = hand.Add("unsqueeze", {bias}, {1, 2, kTokens, kTokens});
  const ValueId where = hand.Add("where", {given, bias, ValueId()}, {Dim::Batch(), 2, kTokens, kTokens});
  hand.Add("scaled_dot_product_attention", {query, query, query, where}, hand.layers[query].shape);
  MakeMasksContiguous(&hand.layers);
  CHECK(OperatorsOf(hand.layers) == "permute unsqueeze where contiguous scaled_dot_product_attention");
}

TEST_CASE("a permuted mask is made contiguous in front of attention") {
  Hand hand("mine.Attention");
  const ValueId query = hand.Input("q", {Dim::Batch(), 2, kTokens, 8});
  const ValueId table = hand.Input("table", {kTokens, kTokens, 2});
  ValueId mask = hand.Add("permute", {table}, {2, kTokens, kTokens});
  hand.attributes().Set("dims", std::vector<int64_t>{2, 0, 1});
  mask = hand.Add("unsqueeze", {mask}, {1, 2, kTokens, kTokens});
  hand.Add("scaled_dot_product_attention", {query, query, query, mask}, hand.layers[query].shape);
  const ValueId dense = hand.Add("relu", {mask}, {1, 2, kTokens, kTokens});
  hand.Add("scaled_dot_product_attention", {query, query, query, dense}, hand.layers[query].shape);
  MakeMasksContiguous(&hand.layers);
  CHECK(OperatorsOf(hand.layers) ==
        "permute unsqueeze contiguous scaled_dot_product_attention relu scaled_dot_product_attention");
}

TEST_CASE("grouped heads whose last reshape a file of fixed lengths has merged into attention's own") {
  Hand hand(kLlama);
  const Dim b = Dim::Batch();
  const ValueId query = hand.Input("q", {b, 4, kTokens, 8}), key = hand.Input("k", {b, 2, kTokens, 8});
  const ValueId mask = hand.Mask(std::nullopt);
  const ValueId five = hand.Add("unsqueeze", {key}, {b, 2, 1, kTokens, 8});
  const ValueId wide = hand.Add("expand", {five}, {b, 2, 2, kTokens, 8});
  hand.layers.outputs = {hand.Add("scaled_dot_product_attention", {query, wide, wide, mask}, {b, 4, kTokens, 8})};
  SkipKnownMasks(&hand.layers);
  CHECK(OperatorsOf(hand.layers) == "scaled_dot_product_attention");
  CHECK(hand.layers.layers.back().inputs == std::vector<ValueId>{query, key, key});
}

}  // namespace
}  // namespace vramplan
