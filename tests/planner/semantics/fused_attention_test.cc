#include "planner/semantics/fused_attention.h"

#include <doctest/doctest.h>

#include "tests/support/one_operator.h"

namespace vramplan::testing {
namespace {

using eager::Affine;
using eager::AttentionWeights;
using eager::FusedAttention;
using eager::Tensor;

// PyTorch 2.10 on a pretend card: nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).eval() on [2, 16, WIDTH] and
// nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, batch_first=True).eval() around it, no gradient.
struct Module {
  Trial trial{"infer"};
  int64_t width, heads;

  explicit Module(int64_t w, int64_t h) : width(w), heads(h) {
    for (const char* library : {"cublas/main", "cublaslt/main"}) {  // from earlier calls
      trial.log.CallNext("");
      trial.e.handles[library] = trial.e.Scratch(Bytes::Of(1));
    }
  }
  Tensor Of(const std::string& sizes) { return trial.Given("c:f[" + sizes + "]", "w"); }
  Affine Layer(int64_t in, int64_t out) {
    return {Of(std::to_string(out) + "," + std::to_string(in)), Of(std::to_string(out))};
  }
  FusedAttention Attention() { return {Layer(width, 3 * width), Layer(width, width), heads}; }
};

TEST_CASE("multi-head attention in inference: one operator") {
  for (const auto& [width, heads, events] : {std::tuple{64, 4, "1+24576 2+8192 3+8192 2- 1-"},
                                             // Heads of 10: no kernel of attention takes them.
                                             std::tuple{60, 6, "1+23040 2+23040 1- 3+12288 3- 4+7680 5+7680 4- 2-"}}) {
    Module module(width, heads);
    const FusedAttention call = module.Attention();
    const Tensor x = module.trial.Given("c:f[2,16," + std::to_string(width) + "]", "x");
    module.trial.Events();
    const Tensor out = NativeMultiHeadAttention(module.trial.e, x, call);
    CHECK(module.trial.Events() == events);
  }
}

// MultiheadAttention(96, 4) on [2, 64, 96], need_weights=True; recorded likewise.
TEST_CASE("multi-head attention in inference keeps the weights that are asked for, averaged or by head") {
  for (const auto& [weights, events] :
       {std::pair{AttentionWeights::kAveraged, "1+147456 2+147456 1- 3+131072 4+49152 5+49152 4- 6+32768 3- 2-"},
        std::pair{AttentionWeights::kEach, "1+147456 2+147456 1- 3+131072 4+49152 5+49152 4- 2-"}}) {
    Module module(96, 4);
    FusedAttention call = module.Attention();
    call.weights = weights;
    const Tensor x = module.trial.Given("c:f[2,64,96]", "x");
    module.trial.Events();
    Tensor kept;
    const Tensor out = NativeMultiHeadAttention(module.trial.e, x, call, &kept);
    CHECK(module.trial.Events() == events);
    CHECK(kept->lengths[0] == (weights == AttentionWeights::kAveraged ? 2 : 2 * 4));
  }
}

TEST_CASE("an encoder layer in inference: one operator, sums in place") {
  for (const auto& [norm_first, events] :
       {std::pair{false,
                  "1+24576 2+8192 3+8192 2- 1- 4+8192 5+128 6+128 5- 6- 3- 7+32768 8+8192 7- 9+8192 10+128 11+128 10- "
                  "11- 8- 4-"},
        std::pair{true,
                  "1+8192 2+128 3+128 2- 3- 4+24576 5+8192 6+8192 5- 4- 1- 7+8192 8+128 9+128 8- 9- 10+32768 11+8192 "
                  "10- 7- 6-"}}) {
    Module module(64, 4);
    const FusedAttention attention = module.Attention();
    const Affine norm1{module.Of("64"), module.Of("64")}, norm2{module.Of("64"), module.Of("64")};
    const Affine linear1 = module.Layer(64, 256), linear2 = module.Layer(256, 64);
    const Tensor x = module.trial.Given("c:f[2,16,64]", "x");
    module.trial.Events();
    const Tensor out =
        TransformerEncoderLayer(module.trial.e, x, {attention, norm1, norm2, linear1, linear2, norm_first});
    CHECK(module.trial.Events() == events);
  }
}

}  // namespace
}  // namespace vramplan::testing
