// --loss-on, and what is said of a model with several outputs where it is not given.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/command_line.h"
#include "tests/support/onnx_text.h"

namespace vramplan {
namespace {

using testing::Do;
using testing::Said;
using testing::ScratchFile;

// A short head on the first output, a long one on the second; a third gives numbers of classes.
const char* const kTwoHeads = R"(
    <ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch", producer_version: "2.10.0">
    agraph (float[batch, 256] x) => (float[batch, 8] small, float[batch, 2048] large, int64[batch, 1] best)
    <float[256, 8] w1, float[256, 2048] w2, float[2048, 2048] w3> {
      small = MatMul (x, w1)
      a = MatMul (x, w2)
      b = Sigmoid (a)
      c = MatMul (b, w3)
      large = Tanh (c)
      best = ArgMax <axis = 1, keepdims = 1> (small)
    })";

int64_t Requested(const std::string& words) {
  const Said said = Do("estimate " + words + " --batch 4096 --format json");
  REQUIRE_MESSAGE(said.exit_code == 0, said.err);
  const std::string member = "\"requested\": ";
  const size_t at = said.out.find(member, said.out.find("\"peak\""));
  REQUIRE(at != std::string::npos);
  return std::stoll(said.out.substr(at + member.size()));
}

TEST_CASE("the loss is of the output that is named, by place or name, or of all") {
  const ScratchFile file("two_heads.onnx", OnnxBytes(kTwoHeads));
  const std::string loss = file.path() + " --loss mse";
  const int64_t first = Requested(loss), second = Requested(loss + " --loss-on 2"),
                all = Requested(loss + " --loss-on all");
  CHECK(Requested(loss + " --loss-on 1") == first);
  CHECK(Requested(loss + " --loss-on small") == first);
  CHECK(Requested(loss + " --loss-on large") == second);
  CHECK(second != first);
  // Measured with PyTorch 2.10: 33275900 bytes less than the second alone, although both graphs run backward. mse_loss of
  // the large output lives in a tensor of its size, and the sum of two losses does not (planner/semantics/loss.h).
  CHECK(second - all == 33275900);
}

TEST_CASE("a loss that is asked for is of the first output that it fits") {
  // A quantizer's own loss stands in front of what is reconstructed.
  const ScratchFile file("quantized.onnx", OnnxBytes(R"(
    <ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch", producer_version: "2.10.0">
    agraph (float[batch, 256] x) => (float own, float[batch, 256] image) <float[256, 256] w> {
      h = MatMul (x, w)
      own = ReduceMean <keepdims = 0> (h)
      image = Tanh (h)
    })"));
  const std::string loss = file.path() + " --loss mse";
  CHECK(Requested(loss) == Requested(loss + " --loss-on image"));
  CHECK(Requested(loss) != Requested(loss + " --loss-on own"));
  CHECK(Requested(file.path()) == Requested(file.path() + " --loss none --loss-on own"));
  CHECK(testing::Says(Do("estimate " + loss + " --batch 4096").out,
                      "the loss reads output 2 of the model's 2 outputs alone"));
}

TEST_CASE("which output the loss reads is told, until it is given") {
  const ScratchFile file("two_heads.onnx", OnnxBytes(kTwoHeads));
  const std::string estimate = "estimate " + file.path() + " --batch 4096 --loss mse";
  const Said assumed = Do(estimate), given = Do(estimate + " --loss-on 1");
  CHECK(assumed.out.find("the loss reads the first of the model's 3 outputs alone") != std::string::npos);
  CHECK(given.out.find("the loss reads the first") == std::string::npos);
  CHECK(Do(estimate + " --mode infer").out.find("the loss reads the first") == std::string::npos);
}

TEST_CASE("an output that is none, or has no gradient, is refused") {
  const ScratchFile file("two_heads.onnx", OnnxBytes(kTwoHeads));
  const std::string estimate = "estimate " + file.path() + " --batch 8 --loss mse --loss-on ";
  for (const std::string which : {"4", "0", "x1"}) {
    const Said said = Do(estimate + which);
    CHECK(said.exit_code == 2);
    CHECK(said.err.find("--loss-on: \"" + which +
                        "\" is none of the model's 3 outputs (hint: type a number from 1 to 3, "
                        "or all)") != std::string::npos);
  }
  CHECK(Do(estimate + "3").err.find("which has no gradient") != std::string::npos);
  CHECK(Do(estimate + "4 --mode infer").exit_code == 2);
  CHECK(Do(estimate + "2 --mode infer").exit_code == 0);
  CHECK(Do("estimate MODELS/mlp.onnx --loss-on 2")
            .err.find("\"2\" is not the model's only output (hint: leave it out)") != std::string::npos);
}

}  // namespace
}  // namespace vramplan
