// What a file brings along about its model (docs/facts.md), as the command line answers then.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/command_line.h"
#include "tests/support/onnx_text.h"
#include "tests/support/with_facts.h"

namespace vramplan {
namespace {

using testing::Do;
using testing::Said;
using testing::ScratchFile;

// Two linear layers and an activation, as the dynamo exporter writes them.
const std::string kModel = OnnxBytes(R"(
  # signature: p_a_weight: PARAMETER target='a.weight'
  # signature: p_b_weight: PARAMETER target='b.weight'
  # signature: x: USER_INPUT
  agraph (float[batch, 64] x) => (float[batch, 8] linear_1) <float[64, 64] `a.weight`, float[8, 64] `b.weight`> {
    at = Transpose (`a.weight`)
      # fx_node: %linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%x, %p_a_weight), kwargs = {})
    linear = MatMul (x, at)
      # fx_node: %linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%x, %p_a_weight), kwargs = {})
    relu = Relu (linear)
      # fx_node: %relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%linear,), kwargs = {})
    bt = Transpose (`b.weight`)
      # fx_node: %linear_1 : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%relu, %p_b_weight), kwargs = {})
    linear_1 = MatMul (relu, bt)
      # fx_node: %linear_1 : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%relu, %p_b_weight), kwargs = {})
  })");

Said Ask(const std::string& facts, const std::string& options) {
  const ScratchFile file("facts.onnx", facts.empty() ? kModel : WithFacts(kModel, facts));
  return Do("estimate " + file.path() + " " + options);
}

int64_t Requested(const Said& said) {
  const size_t at = said.out.find("\"requested\": ");
  return at == std::string::npos ? -1 : std::stoll(said.out.substr(at + 13));
}

// Of a forward at batch 1024, where an activation has 256 KiB.
int64_t Inferred(const std::string& facts) {
  return Requested(Ask(facts, "--mode infer --loss none --batch 1024 --format json"));
}

std::string Lives(const std::string& ends, const std::string& writes) {
  return R"({"schema": "vramplan.facts/1", "lives": {"infer": {"calls": ["linear", "relu", "linear_1"], "ends": [)" +
         ends + R"(], "writes": [)" + writes + "]}}}";
}

TEST_CASE("facts: how long tensors live, and what is in place") {
  constexpr int64_t kActivation = 1024 * 64 * 4;
  const int64_t chained = Inferred(Lives(R"(["linear", 1], ["relu", 2], ["linear_1", -1])", ""));
  const int64_t named = Inferred(Lives(R"(["linear", 2], ["relu", 2], ["linear_1", -1])", ""));
  const int64_t written = Inferred(Lives(R"(["linear", 2], ["relu", 2], ["linear_1", -1])", R"("relu")"));
  CHECK(named - chained == kActivation);  // linear is there still when linear_1 has its workspace
  CHECK(named - written == kActivation);
}

TEST_CASE("facts: which parameters are trained, and what else is on the card") {
  const std::string facts = R"({"schema": "vramplan.facts/1",
    "parameters": [{"name": "a.weight", "type": "float32", "shape": [64, 64], "trained": false},
                   {"name": "b.weight", "type": "float32", "shape": [8, 64]}],
    "buffers": [{"name": "table", "type": "float32", "shape": [1000]}]})";
  const Said said = Ask(facts, "--batch 1 --loss mse");
  CHECK(said.out.find("trained what the file says") != std::string::npos);
  const auto peak = [](const Said& answer) { return Requested(answer); };
  const int64_t frozen = peak(Ask("", "--batch 1 --loss mse --frozen a.weight --format json"));
  CHECK(peak(Ask(facts, "--batch 1 --loss mse --format json")) == frozen + 4000);
  CHECK(peak(Ask(facts, "--batch 1 --loss mse --trainable * --format json")) ==
        peak(Ask("", "--batch 1 --loss mse --format json")) + 4000);
}

TEST_CASE("facts: nothing is trained") {
  const std::string facts = R"({"schema": "vramplan.facts/1", "buffers": [],
    "parameters": [{"name": "a.weight", "type": "float32", "shape": [64, 64], "trained": false},
                   {"name": "b.weight", "type": "float32", "shape": [8, 64], "trained": false}]})";
  const Said said = Ask(facts, "--batch 1");
  CHECK(said.exit_code == 1);
  CHECK(said.err.find("its facts say that all 4608 parameters are frozen") != std::string::npos);
}

TEST_CASE("facts: the optimizer is the default of the option") {
  const std::string facts = R"({"schema": "vramplan.facts/1",
    "optimizer": {"name": "sgd-momentum", "momentum": 0.5, "weight_decay": 0.25, "impl": "fused"}})";
  CHECK(Ask(facts, "--batch 1").out.find("optimizer sgd-momentum (as the file says)") != std::string::npos);
  CHECK(Requested(Ask(facts, "--batch 1 --format json")) ==
        Requested(Ask("",
                      "--batch 1 --optimizer sgd --momentum 0.5 --weight-decay 0.25 --optimizer-impl fused "
                      "--format json")));
  CHECK(Requested(Ask(facts, "--batch 1 --optimizer adam --format json")) ==
        Requested(Ask("", "--batch 1 --optimizer adam --format json")));
}

// The calls of the file have its types.
TEST_CASE("facts: a precision that is not that of the parameters") {
  const std::string facts = R"({"schema": "vramplan.facts/1", "buffers": [],
    "parameters": [{"name": "a.weight", "type": "bfloat16", "shape": [64, 64]},
                   {"name": "b.weight", "type": "bfloat16", "shape": [8, 64]}]})";
  for (const char* precision : {"fp32", "tf32", "fp16", "fp64"}) {
    CAPTURE(precision);
    const Said said = Ask(facts, std::string("--batch 1 --precision ") + precision);
    CHECK(said.exit_code == 2);
    CHECK(said.err.find("are in bf16, and in " + std::string(precision) +
                        " it is another model (hint: leave --precision "
                        "out, or write the file of the model in that precision)") != std::string::npos);
  }
  for (const char* precision : {"", "--precision bf16", "--precision amp-bf16"})
    CHECK(Ask(facts, std::string("--batch 1 ") + precision).exit_code == 0);
}

TEST_CASE("facts: an optimizer that nobody knows is told, and the default stays") {
  const Said said = Ask(R"({"schema": "vramplan.facts/1", "optimizer": {"name": "mine"}})", "--batch 1");
  CHECK(said.exit_code == 0);
  CHECK(said.err.find("the file names an optimizer that vramplan does not know, so adam is assumed") !=
        std::string::npos);
}

}  // namespace
}  // namespace vramplan
