#include "planner/semantics/autocast.h"

#include <doctest/doctest.h>

#include "tests/support/one_operator.h"

namespace vramplan::testing {
namespace {

using eager::Autocast;
using eager::Cast;
using eager::Tensor;

// What Apply makes of these arguments, and what it leaves alive when the arguments are gone: the cache.
std::string Casts(const char* spec, Cast cast, std::initializer_list<const char*> inputs) {
  Trial trial(spec);
  Autocast autocast(trial.e);
  std::vector<Tensor> given;
  std::string name = "a";
  for (const char* input : inputs) {
    given.push_back(trial.Given(input, name));
    ++name[0];
  }
  std::vector<Tensor> arguments = given;
  autocast.Apply(cast, arguments);
  std::string text = trial.Events() + " ->";
  for (const Tensor& t : arguments) text += " " + (t ? std::string(Name(t->dtype)) : "-");
  arguments.clear();
  return text;
}

TEST_CASE("casts of arguments, the last first (aten/src/ATen/autocast_mode.h)") {
  CHECK(Casts("amp-fp16", Cast::kLower, {"x:f[8,16]", "p:f[4,16]", "p:f[4]"}) ==
        "1+8 2+128 3+256 -> float16 float16 float16");
  CHECK(Casts("amp-bf16", Cast::kLower, {"x:f[8,16]", "p:f[4,16]", "-"}) == "1+128 2+256 -> bfloat16 bfloat16 -");
  CHECK(Casts("amp-fp16", Cast::kLower, {"x:h[8,16]", "p:f[4,16]"}) == "1+128 -> float16 float16");
  CHECK(Casts("amp-fp16", Cast::kFloat32, {"x:h[8,16]", "p:f[16]"}) == "1+512 -> float32 float32");
  CHECK(Casts("amp-fp16", Cast::kPromote, {"x:h[8,16]", "x:f[8,16]"}) == "1+512 -> float32 float32");
  CHECK(Casts("amp-fp16", Cast::kPromote, {"x:h[8,16]", "x:h[8,16]"}) == " -> float16 float16");
  CHECK(Casts("amp-fp16", Cast::kNone, {"x:f[8,16]"}) == " -> float32");
  // Indices and doubles are not eligible.
  CHECK(Casts("amp-fp16", Cast::kLower, {"c:i[8,16]", "c:d[8,16]"}) == " -> int64 float64");
  // Outside mixed precision nothing happens.
  CHECK(Casts("fp32", Cast::kLower, {"x:f[8,16]", "p:f[4,16]"}) == " -> float32 float32");
  CHECK(Casts("fp16", Cast::kLower, {"x:f[8,16]"}) == " -> float32");
}

TEST_CASE("a model of fp16: operands of products agree, fp32 ones are converted") {
  CHECK(Casts("fp16", Cast::kLower, {"x:f[8,16]", "p:h[4,16]", "p:h[4]"}) == "1+256 -> float16 float16 float16");
  CHECK(Casts("bf16", Cast::kLower, {"x:y[8,16]", "p:f[4,16]", "-"}) == "1+128 -> bfloat16 bfloat16 -");
  CHECK(Casts("fp16", Cast::kLower, {"x:f[8,16]", "x:f[16,4]"}) == " -> float32 float32");  // a product in fp32
  CHECK(Casts("fp16", Cast::kNone, {"x:f[8,16]", "p:h[8,16]"}) == " -> float32 float16");
  CHECK(Casts("fp32", Cast::kLower, {"x:h[8,16]", "p:f[4,16]"}) == " -> float16 float32");
}

TEST_CASE("weights are cast once; the cache lives until the region ends") {
  Trial trial("amp-fp16");
  Autocast autocast(trial.e);
  const Tensor w = trial.Given("p:f[4,16]", "w"), x = trial.Given("x:f[8,16]", "x");
  for (const char* expected : {"1+128 2+256 2-", "3+256 3-"}) {  // the second call casts the activation alone
    std::vector<Tensor> arguments = {x, w};
    autocast.Apply(Cast::kLower, arguments);
    arguments.clear();
    CHECK(trial.Events() == expected);
  }
  autocast.Leave();
  CHECK(trial.Events() == "1-");
}

TEST_CASE("a shared cast sums the gradients of its uses in the lower type, then converts once") {
  Trial trial("amp-fp16");
  Autocast autocast(trial.e);
  const Tensor w = trial.Given("p:f[16,16]", "w"), b = trial.Given("c:h[8,16]", "b");
  std::vector<Tensor> first = {b, w}, second = {b, w};
  autocast.Apply(Cast::kLower, first);
  autocast.Apply(Cast::kLower, second);
  CHECK(trial.Events() == "1+512");
  Tensor y = trial.Run1("mm", "", first, "h[8,16]"), z = trial.Run1("mm", "", second, "h[8,16]");
  CHECK(trial.Events() == "2+256 3+8519680 4+256");
  Tensor loss = trial.LossOf({y, z});
  first.clear();
  second.clear();
  y = z = Tensor();
  autocast.Leave();
  // No gradient for b, so the weight's copy is not saved and dies with the region; w's gradients (5, 7) meet in place
  // in fp16, then fp32 (8).
  CHECK(trial.Events() == "2- 4- 1-");
  CHECK(trial.Backward(loss) == "5+512 6+8519680 g2- 7+512 g- 7- 8+1024 5- 8=.grad");
}

}  // namespace
}  // namespace vramplan::testing
