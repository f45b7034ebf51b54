// Programs that somebody broke: whatever is changed in one, Load gives an error of one line or a graph that holds its
// invariants, and the stages behind it do not fail on that.
#include <doctest/doctest.h>

#include <cctype>
#include <random>
#include <string>
#include <vector>

#include "graph/lift/lift.h"
#include "graph/onnx/load.h"
#include "graph/shapes/infer.h"
#include "tests/support/graph_invariants.h"
#include "tests/support/program_text.h"

namespace vramplan {
namespace {

using namespace testing;

// A call of every kind that the reader and Lift treat in a way of its own.
std::string Whole() {
  ProgramText body;
  body.Input("y", "s0, 8");
  body.Call("torch.ops.aten.sin.default", {Operand("self", "y")}, "sin", "s0, 8");
  body.Returns("sin");
  ProgramText program;
  program.Parameter("p_w", "w", "8, 8");
  program.Buffer("b_n", "n", "", 5);
  program.Constant("c_k", "k", "");
  program.Input("x", "s0, 8");
  program.Call("torch.ops.aten.add_.Tensor", {Operand("self", "b_n"), Int("other", 1)}, "add_", "");
  program.Call("torch.ops.aten.linear.default", {Operand("input", "x"), Operand("weight", "p_w"), Absent("bias")},
               "linear", "s0, 8", "L__self__,,N;L__self___fc,fc,torch.nn.Linear");
  program.Call("torch.ops.aten.relu_.default", {Operand("self", "linear")}, "relu_", "s0, 8");
  program.Wrapped("torch.ops.higher_order.wrap_with_set_grad_enabled", {Flag("", false)}, body, {"relu_"}, {"g"});
  program.CallOfSeveral("torch.ops.aten.chunk.default", {Operand("self", "g"), Int("chunks", 2), Int("dim", 1)},
                        {{"c0", "s0, 4"}, {"c1", "s0, 4"}});
  program.Call("torch.ops.aten.cat.default", {Operands("tensors", {"c0", "c1"}), Int("dim", -1)}, "cat", "s0, 8");
  program.Call("torch.ops.aten.slice.Tensor", {Operand("self", "cat"), Int("dim", 1), Int("start", 2), Int("end", 4)},
               "slice", "s0, 2");
  program.Call("torch.ops.aten.copy_.default", {Operand("self", "slice"), Operand("src", "c0")}, "copy_", "s0, 2");
  program.Call("torch.ops.aten.to.dtype", {Operand("self", "cat"), Int("dtype", 7)}, "to", "s0, 8", "", "float");
  program.Call("torch.ops.aten.index.Tensor", {Operand("self", "to"), Operands("indices", {"", "x"})}, "index",
               "Mul(Integer(2), Symbol('s0', integer=True)), 8");
  program.Call("torch.ops.aten.outer.default", {Operand("self", "index"), Operand("vec2", "x")}, "outer", "8, 8");
  program.Call("torch.ops.aten.mul.Tensor", {Operand("self", "outer"), Operand("other", "c_k")}, "mul", "8, 8");
  program.Call("torch.ops.aten.permute.default", {Operand("self", "mul"), Ints("dims", {1, 0})}, "permute", "8, 8");
  program.Call("torch.ops.aten.scaled_dot_product_attention.default",
               {Operand("query", "to"), Operand("key", "to"), Operand("value", "to")}, "attention", "s0, 8");
  program.Returns("permute");
  program.Returns("attention");
  return program.Json();
}

void RunEveryStage(const std::string& json) {
  const std::string bytes = ZipOf({{"net/models/model.json", json}});
  Notes notes;
  const Result<Graph> graph = LoadFromBytes("net.pt2", bytes.data(), bytes.size(), &notes);
  if (!graph.ok()) {
    CHECK_EQ(ToString(graph.error()).find('\n'), std::string::npos);
    return;
  }
  CHECK_EQ(BrokenInvariant(*graph), "");
  const Result<Binding> binding = Bind(*graph, {}, &notes);
  if (!binding.ok()) return;
  const Result<Shapes> shapes = Infer(*graph, *binding, &notes);
  if (shapes.ok()) CHECK(Lift(*graph, *shapes, &notes).ok());
}

TEST_CASE("pt2: programs with anything changed in them") {
  const std::string whole = Whole();
  RunEveryStage(whole);
  std::mt19937 random(20261123);
  const auto any = [&](size_t below) { return static_cast<size_t>(random() % below); };
  std::vector<std::string> words;  // names, numbers and keys of the program
  for (size_t at = 0; at < whole.size();) {
    size_t end = at;
    while (end < whole.size() &&
           (std::isalnum(static_cast<unsigned char>(whole[end])) != 0 || whole[end] == '_' || whole[end] == '.'))
      ++end;
    if (end > at) words.push_back(whole.substr(at, end - at));
    at = end + 1;
  }
  const std::vector<std::string> numbers = {
      "-1", "0", "1", "9", "-9223372036854775808", "9223372036854775807", "1e300", "null", "\"\"", "[]", "{}"};
  for (int round = 0; round < 4000; ++round) {
    std::string json = whole;
    for (size_t change = 0; change <= any(3); ++change) {
      const size_t at = any(json.size());
      const std::string& word = words[any(words.size())];
      const size_t found = json.find(word, at);
      switch (any(4)) {
        case 0:  // one name, key or number for another
          if (found != json.npos) json.replace(found, word.size(), words[any(words.size())]);
          break;
        case 1:  // a number that cannot be
          if (const size_t digit = json.find_first_of("0123456789", at); digit != json.npos)
            json.replace(digit, 1, numbers[any(numbers.size())]);
          break;
        case 2:  // a part is gone
          json.erase(at, any(40));
          break;
        default:
          json[at] = static_cast<char>(random());
      }
    }
    RunEveryStage(json);
  }
}

}  // namespace
}  // namespace vramplan
