#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/layers_text.h"

namespace vramplan {
namespace {

// One user of the constant; `signature` lists what nothing names.
Layers Of(const std::string& shape, const std::string& signature, const std::string& reader, const std::string& args,
          const std::string& scopes = "['', 'n', 'user']") {
  const std::string classes = scopes.size() > 20 ? "['mine.Net', 'mine.Graph', 'mine.Conv', '" + reader + "']"
                                                 : "['mine.Net', 'mine.Graph', '" + reader + "']";
  return LayersFromText("g (float[batch, 4, 4] x) => (float[batch, 4, 4] y) <float[" + shape +
                        "] val_7> {\n    # signature: " + signature +
                        "\n    # signature: x: USER_INPUT\n    y = MatMul (x, val_7)\n      # fx_node: %user : "
                        "[num_users=1] = call_function[target=torch.ops." +
                        reader + "](args = (" + args + ",), kwargs = {})\n      # name_scopes: " + scopes +
                        "\n      # class_hierarchy: " + classes + "\n  }");
}

const std::string kTwo = "p_a: PARAMETER target='n.w_l'\n    # signature: p_b: PARAMETER target='n.w_u'";
const std::string kOuter = "p_a: PARAMETER target='nodes1'\n    # signature: p_b: PARAMETER target='nodes2'";

TEST_CASE("a matrix that was computed from several parameters of its module is their product") {
  CHECK(ToText(Of("4, 4", kTwo, "aten.matmul.default", "%x, %softmax")) == R"(
mm softmax.mm @n (n.w_l, n.w_u) -> softmax.mm [4, 4]
softmax softmax @n (softmax.mm) -> softmax [4, 4] {dim=-1}
matmul user @n (x, softmax) -> y [B, 4, 4]
)");
  CHECK(ToText(Of("4, 4", kTwo, "aten.matmul.default", "%x, %mm_3")) == R"(
mm mm_3 @n (n.w_l, n.w_u) -> mm_3 [4, 4]
matmul user @n (x, mm_3) -> y [B, 4, 4]
)");
  // A module's own weight that was standardised is no product, nor is one parameter.
  for (const std::string& signature :
       {std::string("p_a: PARAMETER target='n.weight'\n    # signature: p_b: PARAMETER target='n.gain'"),
        std::string("p_a: PARAMETER target='n.w_l'")}) {
    CAPTURE(signature);
    const Layers layers = Of("4, 4", signature, "aten.matmul.default", "%x, %mm_3");
    CHECK(layers.layers.size() == 2);  // the constant is made, by nothing that is known, and read
    CHECK(layers.layers[0].inputs.empty());
  }
}

TEST_CASE("parameters of a module around make the constant in front of the call that reads it") {
  const std::string inside = "['', 'n', 'n.c', 'user']";
  CHECK(ToText(Of("4, 4", kOuter, "aten.matmul.default", "%x, %softmax", inside)) == R"(
mm softmax.mm (nodes1, nodes2) -> softmax.mm [4, 4]
softmax softmax (softmax.mm) -> softmax [4, 4] {dim=-1}
matmul user @n.c (x, softmax) -> y [B, 4, 4]
)");
  // ST-GCN: adjacency * importance, of an nn.ParameterList
  CHECK(ToText(Of("4, 4", "p_a: PARAMETER target='importance.0'", "aten.matmul.default", "%x, %mul_9", inside)) == R"(
mul mul_9 (importance.0) -> mul_9 [4, 4] {scalar=1.0}
matmul user @n.c (x, mul_9) -> y [B, 4, 4]
)");
  // Angles of positions meet only numbers.
  CHECK(Of("4, 4", "p_a: PARAMETER target='latents'", "aten.sin.default", "%mul_9", inside).layers.size() == 1);
}

}  // namespace
}  // namespace vramplan
