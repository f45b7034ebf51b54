#include <doctest/doctest.h>

#include <string>

#include "graph/lift/any_export/passes.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

// neg, `op`, neg in a module of this class, in which the middle one has the source line `line`.
Layers Computed(const std::string& op, const std::string& class_name, const std::string& line = "",
                const std::string& reader = "matmul") {
  LayersByHand hand(class_name);
  const Shape shape{Dim::Batch(), 8, 8};
  const ValueId x = hand.Add("neg", {hand.Input("x", shape)}, shape);
  const ValueId y = hand.Add(op, {x}, shape);
  hand.layers.layers.back().nodes = {NodeId{0}};
  hand.layers.outputs = {hand.Add(reader, {y, x}, shape)};
  if (!line.empty()) hand.layers.source = {{{"net.py", "forward", line, 7}}, {{0}}};
  return hand.layers;
}

TEST_CASE("norms and softmaxes that go back to their operand's type, by what says so") {
  struct Row {
    const char *op, *class_name, *line;
    CastEvidence evidence;
  };
  for (const Row& row : {
           Row{"group_norm", "nn.GroupNorm32", "", CastEvidence::kClass},
           Row{"layer_norm", "open_clip.transformer.LayerNormFp32", "", CastEvidence::kClass},
           Row{"group_norm", "net.MyNorm", "", CastEvidence::kNothing},
           Row{"group_norm", "net.MyNorm", "return super().forward(x.float()).type(x.dtype)", CastEvidence::kLine},
           Row{"group_norm", "net.MyNorm", "return super().forward(x)", CastEvidence::kTellsNot},
           Row{"group_norm", "torch.nn.modules.normalization.GroupNorm", "", CastEvidence::kTellsNot},
           Row{"group_norm", "", "", CastEvidence::kNothing},  // TorchScript names no class: it may be GroupNorm32
           Row{"softmax", "", "", CastEvidence::kNothing},
           Row{"softmax", "net.Attention", "p = F.softmax(s.float(), dim=-1).type_as(q)", CastEvidence::kLine},
           Row{"softmax", "net.Attention", "p = s.softmax(dim=-1)", CastEvidence::kTellsNot},
           Row{"softmax", "transformers.models.bert.modeling_bert.BertSelfAttention", "", CastEvidence::kTellsNot},
       }) {
    CAPTURE(row.op);
    CAPTURE(row.class_name);
    CAPTURE(row.line);
    for (const CastEvidence asked : {CastEvidence::kClass, CastEvidence::kLine, CastEvidence::kNothing}) {
      Layers layers = Computed(row.op, row.class_name, row.line);
      const ValueId given = layers.layers[1].inputs[0], made = layers.layers[1].outputs[0];
      REQUIRE(CastBack(&layers, asked) == (asked == row.evidence));
      if (asked != row.evidence) continue;
      const bool widens = std::string(row.op) == "softmax";  // which else casts inside its kernel
      CHECK(OperatorsOf(layers) == std::string("neg ") + (widens ? "float " : "") + row.op + " type_as matmul");
      const Layer &back = layers.layers[layers.layers.size() - 2], &reader = layers.layers.back();
      CHECK(back.inputs == std::vector<ValueId>{made, given});
      CHECK(reader.inputs[0] == back.outputs[0]);
      CHECK_FALSE(CastBack(&layers, asked));  // once
    }
  }
}

TEST_CASE("a sum that goes back to its first summand's type, by the class whose forward it is") {
  // diffusers/models/embeddings.py 0.42: return (latent + pos_embed).to(latent.dtype)
  for (const std::string name : {"PatchEmbed", "PatchEmbedding"}) {
    Layers layers = Computed("add", "diffusers.models.embeddings." + name);
    layers.layers[1].inputs.push_back(layers.inputs[0]);
    const ValueId latent = layers.layers[1].inputs[0];
    const bool known = name == "PatchEmbed";
    CHECK(CastBack(&layers, CastEvidence::kClass) == known);
    CHECK(OperatorsOf(layers) == (known ? "neg add type_as matmul" : "neg add matmul"));
    if (known) CHECK(layers.layers[2].inputs[1] == latent);
    CHECK_FALSE(CastBack(&layers, CastEvidence::kClass));  // once
  }
}

TEST_CASE("rotary embeddings give their operand's type back, by the class, or perhaps") {
  // transformers/models/ernie4_5/modeling_ernie4_5.py 5.23: return q_embed.to(original_dtype)
  const auto turned = [](const std::string& class_name, const std::string& joined) {
    LayersByHand hand(class_name);
    const Shape shape{Dim::Batch(), 8, 8}, half{Dim::Batch(), 8, 4};
    const ValueId q = hand.Add("linear", {hand.Input("x", shape)}, shape), cos = hand.Input("cos", shape),
                  z = hand.Input("z", shape);
    const ValueId minus = hand.Add("neg", {hand.Add("slice", {joined == "q" ? q : z}, half)}, half);
    const ValueId other = hand.Add("cat", {minus, hand.Add("slice", {q}, half)}, shape);
    const ValueId sum =
        hand.Add("add", {hand.Add("mul", {q, cos}, shape), hand.Add("mul", {other, cos}, shape)}, shape);
    hand.layers.outputs = {hand.Add("matmul", {sum, q}, shape)};
    return hand.layers;
  };
  const std::string before = "linear slice neg slice cat mul mul add ";
  Layers ernie = turned("transformers.models.ernie4_5.modeling_ernie4_5.Ernie4_5Attention", "q");
  CHECK(CastBack(&ernie, CastEvidence::kClass));
  CHECK(OperatorsOf(ernie) == before + "type_as matmul");
  CHECK(ernie.layers[8].inputs[1] == ernie.layers[0].outputs[0]);
  Layers llama = turned("transformers.models.llama.modeling_llama.LlamaAttention", "q");
  CHECK_FALSE(CastBack(&llama, CastEvidence::kClass));
  CHECK_FALSE(CastBack(&llama, CastEvidence::kNothing));
  Layers own = turned("net.Attention", "q");
  CHECK(CastBack(&own, CastEvidence::kNothing));
  Layers no_turn = turned("net.Attention", "z");
  CHECK_FALSE(CastBack(&no_turn, CastEvidence::kNothing));
}

TEST_CASE("a softmax that no product reads is a head's, which nobody casts") {
  Layers layers = Computed("softmax", "net.Head", "", "mul");
  CHECK_FALSE(CastBack(&layers, CastEvidence::kNothing));
}

}  // namespace
}  // namespace vramplan
