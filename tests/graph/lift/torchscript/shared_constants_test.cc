#include <doctest/doctest.h>

#include <string>

#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

using testing::Lifted;

// Two modules that add the same constant of `length` rows.
std::string Blocks(int length, const char* first, const char* second) {
  std::string numbers = "1.0";
  for (int i = 1; i < length; ++i) numbers += ", 2.0";
  const std::string n = std::to_string(length);
  return "agraph (float[batch, " + n + "] x) => (float[batch, " + n +
         "] y) { `onnx::Mul_7` = Constant <value = float[" + n + "] {" + numbers +
         "}> ()\nh = Mul (x, `onnx::Mul_7`)\n # name: /" + first + "/Mul\ny = Mul (h, `onnx::Mul_7`)\n # name: /" +
         second + "/Mul\n}";
}

int TablesOf(const Layers& layers) {
  int tables = 0;
  for (const Value& value : layers.values) tables += value.name.starts_with("onnx::Mul_7") ? 1 : 0;
  return tables;
}

TEST_CASE("a buffer outside the state dict is each module's own") {
  // TorchScript's export of transformers' GPT-Neo: attention.bias, persistent=False, one Constant node for all layers.
  CHECK(TablesOf(Lifted(Blocks(100, "h.0/attn", "h.1/attn"))) == 2);
  CHECK(TablesOf(Lifted(Blocks(100, "h.0/attn", "h.0/attn_1"))) == 1);  // one module, called twice
  CHECK(TablesOf(Lifted(Blocks(100, "h.0/attn", "head"))) == 1);        // no copies of each other
  CHECK(TablesOf(Lifted(Blocks(8, "h.0/attn", "h.1/attn"))) == 1);      // numbers of the code
}

}  // namespace
}  // namespace vramplan
