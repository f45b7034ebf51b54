#include <doctest/doctest.h>

#include "tests/support/one_node.h"

namespace vramplan::testing {
namespace {

TEST_CASE("recurrent layers") {
  CheckNodes({
      {"LSTM", "hidden_size=64", "f[50,B,32] f[1,256,32] f[1,256,64]", "f[50,1,B,64] f[1,B,64] f[1,B,64]"},
      {"LSTM", "hidden_size=64 direction=bidirectional", "f[50,B,32] f[2,256,32] f[2,256,64]",
       "f[50,2,B,64] f[2,B,64] f[2,B,64]"},
      {"GRU", "hidden_size=64 layout=1", "f[B,50,32] f[1,192,32] f[1,192,64]", "f[B,50,1,64] f[B,1,64]"},
      {"RNN", "", "f[50,B,32] f[1,64,32] f[1,64,64]", "f[50,1,B,64] f[1,B,64]"},
      {"LSTM", "hidden_size=64", "f[50,B,32] f[1,256,32] f[1,256,65]",
       "error: hidden_size is 64, but R is in2 [1, 256, 65]"},
      {"LSTM", "hidden_size=64", "f[50,B] f f", "error: in0 [50, B] is not a batch of sequences of vectors"},
  });
}

TEST_CASE("attention of the standard domain") {
  CheckNodes({
      {"Attention", "", "f[B,12,128,64] f[B,12,77,64] f[B,12,77,32]", "f[B,12,128,32]"},
      {"Attention", "q_num_heads=12 kv_num_heads=4", "f[B,128,768] f[B,77,256] f[B,77,256]",
       "f[B,128,768] f[B,4,77,64] f[B,4,77,64] f[B,12,128,77]"},
      {"Attention", "", "f[B,12,1,64] f[B,12,1,64] f[B,12,1,64] - f[B,12,99,64] f[B,12,99,64]",
       "f[B,12,1,64] f[B,12,100,64] f[B,12,100,64] f[B,12,1,100]"},
      {"Attention", "", "f[B,128,768] f[B,77,256] f[B,77,256]", "error: it has no q_num_heads and kv_num_heads"},
      {"RotaryEmbedding", "", "f[B,12,128,64] f[128,32] f[128,32]", "f[B,12,128,64]"},
  });
}

TEST_CASE("com.microsoft") {
  CheckNodes({
      {"com.microsoft:FusedMatMul", "transB=1", "f[B,12,128,64] f[B,12,77,64]", "f[B,12,128,77]"},
      {"com.microsoft:FusedConv", "", "f[B,3,32,32] f[8,3,3,3]", "f[B,8,30,30]"},
      {"com.microsoft:BiasGelu", "", "f[B,128,3072] f[3072]", "f[B,128,3072]"},
      {"com.microsoft:SkipLayerNormalization", "", "f[B,128,768] f[B,128,768] f[768]",
       "f[B,128,768] f[B,128,1] f[B,128,1] f[B,128,768]"},
      {"com.microsoft:EmbedLayerNormalization", "", "j[B,128] j[B,128] f[30522,768] f[512,768]", "f[B,128,768] j[B]"},
      {"com.microsoft:Attention", "num_heads=12", "f[B,128,768] f[768,2304] f[2304]", "f[B,128,768] f[2,B,12,128,64]"},
      {"com.microsoft:MultiHeadAttention", "num_heads=12", "f[B,128,768] f[B,77,768] f[B,77,768]",
       "f[B,128,768] f[B,12,77,64] f[B,12,77,64]"},
      {"com.microsoft:GroupQueryAttention", "num_heads=32 kv_num_heads=8",
       "f[B,1,4096] f[B,1,1024] f[B,1,1024] f[B,8,99,128] f[B,8,99,128]", "f[B,1,4096] f[B,8,100,128] f[B,8,100,128]"},
      {"com.microsoft:MatMulNBits", "K=768 N=3072 bits=4", "f[B,128,768] u[3072,24,16] f[3072]", "f[B,128,3072]"},
      {"com.microsoft:QLinearAdd", "", "u[B,8] f[] u[] u[1,8] f[] u[] f[] u[]", "u[B,8]"},
      {"com.microsoft:DequantizeLinear", "", "u[B,8] f[] u[]", "f[B,8]"},
      {"ai.onnx:Relu", "", "f[B,8]", "f[B,8]"},
      {"com.example:Relu", "", "f[B,8]", "!"},
  });
}

TEST_CASE("linear attention, convolutions with a state, flex attention, SwiGLU") {
  CheckNodes({
      {"LinearAttention", "q_num_heads=4 kv_num_heads=2", "f[B,6,32] f[B,6,16] f[B,6,20]", "f[B,6,40] f[B,2,8,10]"},
      {"LinearAttention", "q_num_heads=4 kv_num_heads=2", "h[B,6,32] h[B,6,16] h[B,6,20] f[B,2,8,10]",
       "h[B,6,40] f[B,2,8,10]"},
      {"CausalConvWithState", "", "f[B,12,100] f[12,1,4]", "f[B,12,100] f[B,12,3]"},
      {"ai.onnx.preview:FlexAttention", "", "f[B,8,6,16] f[B,2,9,16] f[B,2,9,20]", "f[B,8,6,20]"},
      {"SwiGLU", "", "f[B,64] f[B,64]", "f[B,64]"},
  });
}

}  // namespace
}  // namespace vramplan::testing
