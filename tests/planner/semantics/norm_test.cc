#include <doctest/doctest.h>

#include "tests/support/one_operator.h"

namespace vramplan::testing {
namespace {

TEST_CASE("normalisations") {
  CheckOperators({
      // dcgan_generator main.1, "+524288 +2048 +2048"; backward "+input +weight +bias -gradient -saved -statistics".
      {"batch_norm", "training=1", "x:f[2,4,8,8] p:f[4] p:f[4] c:f[4] c:f[4]", "f[2,4,8,8]", "1+2048 2+16 3+16",
       "x 2 3", "4+2048 5+16 6+16 g- x- 2- 3- 5=.grad 6=.grad 4-"},
      {"batch_norm", "training=1", "x:f[2,4,8,8] p:f[4] p:f[4] c:f[4] c:f[4]", "f[2,4,8,8]", "1+2048", "", "", "infer"},
      // A frozen norm (training=0 in a training file): no statistics are made.
      {"batch_norm", "training=0", "x:f[2,4,8,8] p:f[4] p:f[4] c:f[4] c:f[4]", "f[2,4,8,8]", "1+2048", "x",
       "2+2048 3+16 4+16 g- x- 3=.grad 4=.grad 2-"},
      // fp16 activations: statistics stay fp32.
      {"batch_norm", "training=1", "x:h[2,4,8,8] p:f[4] p:f[4] c:f[4] c:f[4]", "h[2,4,8,8]", "1+1024 2+16 3+16",
       "x 2 3", "4+1024 5+16 6+16 g- x- 2- 3- 5=.grad 6=.grad 4-"},
      // bert_base LayerNorm, "+2097152 +2048 +2048"; backward "+input +weight +bias -gradient -saved -mean -rstd".
      {"layer_norm", "", "x:f[2,8,16] p:f[16] p:f[16]", "f[2,8,16]", "1+1024 2+64 3+64", "x 2 3",
       "4+1024 5+64 6+64 g- x- 2- 3- 5=.grad 6=.grad 4-"},
      // convnext_tiny features.0.1 "+4816896 +4816896 +50176 +50176": a permuted input is copied for the kernel, and
      // again in the backward,
      // where "+4816896 +4915200 +512 +512": copy, input gradient.
      {"layer_norm", "", "x:f[2,8,16]@0,2,1 p:f[16] p:f[16]", "f[2,8,16]", "1+1024 2+1024 3+64 4+64 1-", "x 3 4",
       "5+1024 6+1024 7+64 8+64 5- g- x- 3- 4- 7=.grad 8=.grad 6-"},
      // Rows by the ten thousands and few columns: parts of the scale's and shift's gradients, then their sums. swin_t
      // at batch 270, PyTorch 2.10: "+162570240 +768 +768 +4194304 +4194304 +768 +8454144 -8454144 -768 ...".
      {"layer_norm", "", "x:f[65568,64] p:f[64] p:f[64]", "f[65568,64]", "1+16785408 2+262272 3+262272", "x 2 3",
       "4+16785408 5+256 6+256 7+524544 8+524544 9+256 10+278528 11+4 11- 10- 5- 12+256 13+278528 14+4 14- 13- 6- 8- "
       "7- g- x- 2- 3- 9=.grad 12=.grad 4-"},
      // autoencoder enc.5, "+524288 +512 +512 +2048 +2048" (mean, rstd, then a and b, which die).
      {"group_norm", "num_groups=2", "x:f[2,4,8,8] p:f[4] p:f[4]", "f[2,4,8,8]", "1+2048 2+16 3+16 4+32 5+32 5- 4-",
       "x 2 3", "6+2048 7+16 8+16 9+32 10+32 11+16 12+16 13+32 12- 11- 13- 10- 9- g- x- 2- 3- 7=.grad 8=.grad 6-"},
      // autoencoder dec.5, "+512 +512 +2097152 +512 +512": scale and shift repeated, then a batch norm; RepeatBackward0
      // sums them.
      {"instance_norm", "", "x:f[2,4,8,8] p:f[4] p:f[4]", "f[2,4,8,8]", "1+32 2+32 3+2048 4+32 5+32 2-", "x 1 4 5",
       "6+2048 7+32 8+32 g- x- 1- 4- 5- 9+16 8- 9=.grad 10+16 7- 10=.grad 6-"},
      // monai_unet_3d: without scale and shift, NativeBatchNormBackward0 "+input -gradient -saved -mean -rstd".
      {"instance_norm", "", "x:f[2,4,8,8] - -", "f[2,4,8,8]", "1+2048 2+32 3+32", "x 2 3", "4+2048 g- x- 2- 3- 4-"},
      // torch._weight_norm over [8, 4, 16] with a magnitude of [8, 1, 1], PyTorch 2.10: "+2048 +32"; backward
      // "+2048 +32 -gradient -norms".
      {"weight_norm", "", "p:f[8,4,16] p:f[8,1,1]", "f[8,4,16]", "1+2048 2+32", "2",
       "3+2048 4+32 g- 2- 3=.grad 4=.grad"},
      // aten/src/ATen/native/layer_norm.cpp _fused_rms_norm
      {"rms_norm", "", "x:f[2,8,16] p:f[16]", "f[2,8,16]", "1+1024 2+64", "x 2", "3+1024 4+64 g- x- 2- 4=.grad 3-"},
  });
}

}  // namespace
}  // namespace vramplan::testing
