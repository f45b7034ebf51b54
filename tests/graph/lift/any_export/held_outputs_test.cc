#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "graph/lift/any_export/passes.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

// The outputs of a model with its encoder's state held: a norm in `encoder`, a linear in `attention`. `norm`: of a
// module beside them.
std::vector<ValueId> HeldOf(const char* encoder, const std::string& attention, const char* norm, ValueId* logits,
                            ValueId* state) {
  LayersByHand hand;
  for (const std::string& path : {std::string(encoder), attention, std::string(norm)})
    hand.layers.modules.push_back({.path = path, .class_name = "", .parent = ModuleId{1}});
  const ValueId x = hand.Input("x", {Dim::Batch(), 8});
  *state = hand.Add("layer_norm", {x}, {Dim::Batch(), 8});
  hand.layers.layers.back().module = ModuleId{2};
  *logits = hand.Add("linear", {*state}, {Dim::Batch(), 4});
  hand.layers.layers.back().module = ModuleId{3};
  hand.layers.outputs = {*logits};
  HoldEncoderState(&hand.layers);
  return hand.layers.outputs;
}

TEST_CASE("an encoder-decoder model of transformers returns its encoder's last hidden state as well") {
  // t5_small: 524'288 B more alive after the backward than the logits explain.
  for (const char* attention : {"m.decoder.block.0.EncDecAttention", "m.decoder.block.0.SelfAttention"}) {
    ValueId logits, state;
    const std::vector<ValueId> held = HeldOf("m.encoder", attention, "m.norm", &logits, &state);
    const bool crosses = std::string(attention).find("EncDec") != std::string::npos;
    CHECK(held == (crosses ? std::vector<ValueId>{logits, state} : std::vector<ValueId>{logits}));
  }
}

TEST_CASE("a decoder of text has an encoder of text, in models with SeamlessM4T's layers") {
  for (const char* norm : {"m.text_decoder.layers.0.cross_attention_layer_norm", "m.text_decoder.layers.0.norm"}) {
    ValueId logits, state;
    const std::vector<ValueId> held =
        HeldOf("m.text_encoder", "m.text_decoder.layers.0.cross_attention", norm, &logits, &state);
    CHECK(held.size() == (std::string(norm).ends_with("cross_attention_layer_norm") ? 2 : 1));
  }
}

TEST_CASE("the products of torch.nn.utils.prune live until the next forward, and the file says so") {
  for (const char* mask : {"fc.weight_mask", "fc.mask"}) {
    LayersByHand hand;
    const Shape shape{4, 8};
    const ValueId x = hand.Input("x", {Dim::Batch(), 8});
    const ValueId factor = hand.Input(mask, shape), weight = hand.Input("fc.weight_orig", shape);
    const ValueId product = hand.Add("mul", {factor, weight}, shape);
    const ValueId y = hand.Add("linear", {x, product}, {Dim::Batch(), 4});
    hand.layers.outputs = {y};
    Notes notes;
    HoldComputedWeights(&hand.layers, &notes);
    const bool pruned = mask == std::string("fc.weight_mask");
    CHECK(hand.layers.kept_by_modules == (pruned ? std::vector<ValueId>{product} : std::vector<ValueId>{}));
    CHECK(hand.layers.outputs == std::vector<ValueId>{y});
    CHECK(notes.all().size() == (pruned ? 1 : 0));
  }
}

TEST_CASE("a weight with one norm for all, weight_norm(dim=None), lives until the next forward") {
  const auto kept = [](const char* v, const char* g) {
    LayersByHand hand;
    const Shape shape{4, 8};
    const ValueId x = hand.Input("x", {Dim::Batch(), 8});
    const ValueId direction = hand.Parameter(v, shape), length = hand.Parameter(g, {});
    const ValueId scale = hand.Add("div", {length, hand.Add("norm", {direction}, {})}, {});
    const ValueId weight = hand.Add("mul", {direction, scale}, shape);
    hand.layers.outputs = {hand.Add("linear", {x, weight}, {Dim::Batch(), 4})};
    Notes notes;
    HoldComputedWeights(&hand.layers, &notes);
    CHECK(notes.all().size() == hand.layers.kept_by_modules.size());
    CHECK(notes.Has("scaled-weights") == !hand.layers.kept_by_modules.empty());
    return hand.layers.kept_by_modules.size();
  };
  CHECK(kept("fc.weight_v", "fc.weight_g") == 1);
  CHECK(kept("weight_v", "weight_g") == 1);
  CHECK(kept("fc.weight_v", "other.weight_g") == 0);
  CHECK(kept("fc.parametrizations.weight.original1", "fc.parametrizations.weight.original0") ==
        0);  // made for the call
}

}  // namespace
}  // namespace vramplan
