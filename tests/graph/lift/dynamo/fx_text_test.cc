#include "graph/lift/dynamo/fx_text.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

namespace vramplan {
namespace {

// A literal written once more, in one way.
std::string Written(const FxLiteral& literal) {
  using Kind = FxLiteral::Kind;
  std::string text;
  switch (literal.kind) {
    case Kind::kNone:
      return "None";
    case Kind::kBool:
      return literal.integer != 0 ? "True" : "False";
    case Kind::kInt:
      return "i" + std::to_string(literal.integer);
    case Kind::kReal:
      return "r" + std::to_string(literal.real);
    case Kind::kString:
      return "'" + literal.text + "'";
    case Kind::kRef:
      return "%" + literal.text;
    case Kind::kSymbol:
      return "$" + literal.text;
    case Kind::kList:
    case Kind::kDict:
      break;
  }
  for (const FxLiteral& item : literal.items) text += (text.empty() ? "" : " ") + Written(item);
  return literal.kind == Kind::kList ? "[" + text + "]" : "{" + text + "}";
}

TEST_CASE("an einsum's equation has commas and no quotes") {
  const auto node = ParseFxNode(
      "%einsum : [num_users=1] = call_function[target=torch.ops.aten.einsum.default]"
      "(args = (B G H I D, B G H J D -> B G H I J, [%q, %k]), kwargs = {})");
  REQUIRE(node.has_value());
  REQUIRE(node->arguments.size() == 2);
  CHECK(Written(node->arguments[0]) == "'B G H I D, B G H J D -> B G H I J'");
  CHECK(Written(node->arguments[1]) == "[%q %k]");
  CHECK(
      !ParseFxNode("%e : [num_users=1] = call_function[target=torch.ops.aten.einsum.default](args = (ij->ji, %x), "
                   "kwargs = {})"));
}

TEST_CASE("literals of fx nodes") {
  struct Case {
    const char* text;
    const char* read;  // "": not understood
  };
  const Case cases[] = {
      {"3", "i3"},
      {"-1", "i-1"},
      {"9223372036854775807", "i9223372036854775807"},
      {"1.0", "r1.000000"},
      {"1e-05", "r0.000010"},
      {"-3.4028234663852886e+38", "r-340282346638528859811704183484516925440.000000"},
      {"inf", "rinf"},
      {"-inf", "r-inf"},
      {"None", "None"},
      {"True", "True"},
      {"False", "False"},
      {"'reflect'", "'reflect'"},
      {"'it\\'s'", "'it's'"},
      {"%relu_1", "%relu_1"},
      {"torch.float32", "$torch.float32"},
      {"cpu", "$cpu"},
      {"cuda:0", "$cuda:0"},
      {"device(type='cpu')", "$device(type='cpu')"},
      {"slice(None, 3, None)", "$slice(None, 3, None)"},
      {"[]", "[]"},
      {"()", "[]"},
      {"(%x,)", "[%x]"},
      {"[1, 2,3]", "[i1 i2 i3]"},
      {"([%a, %b], 1)", "[[%a %b] i1]"},
      {"{}", "{}"},
      {"{scale: 0.125, dtype: torch.bool}", "{$scale r0.125000 $dtype $torch.bool}"},
      {"", ""},
      {"[1, 2", ""},
      {"[1 2]", ""},
      {"'open", ""},
      {"{a 1}", ""},
      {"-", ""},
      {"1, 2", ""},
      {"f(", ""},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const auto literal = ParseFxLiteral(c.text);
    CHECK((literal.has_value() ? Written(*literal) : "") == c.read);
  }
  CHECK_FALSE(ParseFxLiteral(std::string(100000, '[')).has_value());
  CHECK(std::isnan(ParseFxLiteral("nan")->real));
}

TEST_CASE("fx nodes") {
  const auto node = ParseFxNode(
      "%sdpa : [num_users=1] = call_function[target=torch.ops.aten.scaled_dot_product_attention.default](args = (%q, "
      "%k, "
      "%v, None, 0.1), kwargs = {scale: 0.125})");
  REQUIRE(node.has_value());
  CHECK(node->name == "sdpa");
  CHECK(node->target == "aten.scaled_dot_product_attention.default");
  REQUIRE(node->arguments.size() == 5);
  CHECK(Written(node->arguments[0]) == "%q");
  CHECK(Written(node->arguments[4]) == "r0.100000");
  REQUIRE(node->keywords.size() == 1);
  CHECK(node->keywords[0].first == "scale");
  CHECK(Written(node->keywords[0].second) == "r0.125000");

  const auto host = ParseFxNode(
      "%mul_14 : [num_users=9] = call_function[target=operator.mul](args = (%sym_size_int_6, 64), kwargs = {})");
  REQUIRE(host.has_value());
  CHECK(host->target == "operator.mul");

  for (const char* wrong :
       {"", "%", "relu", "%x : [num_users=1] = placeholder[target=x]", "%x : [num_users=1] = call_function[target=f",
        "%x : [num_users=1] = call_function[target=f](args = (1, kwargs = {})",
        "%x : [num_users=1] = call_function[target=f](args = (1,))"}) {
    CAPTURE(wrong);
    CHECK_FALSE(ParseFxNode(wrong).has_value());
  }
}

TEST_CASE("lists of names") {
  CHECK(*ParseNameList("['', 'layer1', \"layer1.0\"]") == std::vector<std::string>{"", "layer1", "layer1.0"});
  CHECK(ParseNameList("[]")->empty());
  CHECK_FALSE(ParseNameList("['a', 1]").has_value());
  CHECK_FALSE(ParseNameList("").has_value());
}

TEST_CASE("the graph signature") {
  const auto entries = ParseSignature(
      "\n# inputs\n"
      "p_bn1_weight: PARAMETER target='bn1.weight'\n"
      "b_bn1_running_mean: BUFFER target='bn1.running_mean' persistent=True\n"
      "c_lifted_tensor_0: CONSTANT_TENSOR target='lifted_tensor_0'\n"
      "token: TOKEN\n"
      "x: USER_INPUT\r\n"
      "\n# outputs\n"
      "getitem_3: BUFFER_MUTATION target='bn1.running_mean'\n"
      "linear: USER_OUTPUT\n");
  REQUIRE(entries.size() == 4);
  CHECK(entries[0].placeholder == "p_bn1_weight");
  CHECK(entries[0].kind == SignatureEntry::Kind::kParameter);
  CHECK(entries[0].target == "bn1.weight");
  CHECK(entries[1].kind == SignatureEntry::Kind::kBuffer);
  CHECK(entries[1].target == "bn1.running_mean");
  CHECK(entries[2].kind == SignatureEntry::Kind::kConstant);
  CHECK(entries[3].kind == SignatureEntry::Kind::kInput);
  CHECK(entries[3].placeholder == "x");
  CHECK(entries[3].target.empty());
}

TEST_CASE("the signature as PyTorch 2.6 writes it") {
  const auto entries = ParseSignature(
      "ExportGraphSignature(input_specs=[InputSpec(kind=<InputKind.PARAMETER: 2>, "
      "arg=TensorArgument(name='p_head_weight'), target='head.weight', persistent=None), "
      "InputSpec(kind=<InputKind.BUFFER: 3>, arg=TensorArgument(name='b_mean'), target='bn.mean', persistent=True), "
      "InputSpec(kind=<InputKind.CUSTOM_OBJ: 5>, arg=CustomObjArgument(name='c', class_fqn='C', fake_val=None), "
      "target='c', persistent=None), InputSpec(kind=<InputKind.USER_INPUT: 1>, arg=TensorArgument(name='x'), "
      "target=None, persistent=None)], output_specs=[OutputSpec(kind=<OutputKind.BUFFER_MUTATION: 3>, "
      "arg=TensorArgument(name='add'), target='bn.mean'), OutputSpec(kind=<OutputKind.USER_OUTPUT: 1>, "
      "arg=TensorArgument(name='y'), target=None)])");
  REQUIRE(entries.size() == 3);
  CHECK(entries[0].placeholder == "p_head_weight");
  CHECK(entries[0].kind == SignatureEntry::Kind::kParameter);
  CHECK(entries[0].target == "head.weight");
  CHECK(entries[1].kind == SignatureEntry::Kind::kBuffer);
  CHECK(entries[1].target == "bn.mean");
  CHECK(entries[2].placeholder == "x");
  CHECK(entries[2].kind == SignatureEntry::Kind::kInput);
  CHECK(entries[2].target.empty());
}

}  // namespace
}  // namespace vramplan
