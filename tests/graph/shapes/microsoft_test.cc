#include <doctest/doctest.h>

#include "tests/support/one_node.h"

namespace vramplan::testing {
namespace {

// Rows that ONNX Runtime 1.31 can run were run by it: the shapes are those of its outputs.
TEST_CASE("com.microsoft: products, norms and the rest") {
  CheckNodes({
      {"com.microsoft:BiasAdd", "", "f[B,6,32] f[32] f[B,6,32]", "f[B,6,32]"},
      {"com.microsoft:BiasDropout", "", "f[B,50] f[50]", "f[B,50] b[B,50]"},
      {"com.microsoft:BiasGelu", "", "f[B,6,32] f[32]", "f[B,6,32]"},
      {"com.microsoft:BiasSoftmax", "", "f[B,4,6,6] f[B,1,1,6]", "f[B,4,6,6]"},
      {"com.microsoft:BiasSplitGelu", "", "f[B,6,64] f[64]", "f[B,6,32]"},
      {"com.microsoft:BitmaskBiasDropout", "", "f[4,50] f[50]", "f[4,50] w[7]"},
      {"com.microsoft:BitmaskDropout", "", "f[B,64]", "f[B,64] w[2*B]"},
      {"com.microsoft:ComplexMul", "", "f[B,4,2] f[B,4,2]", "f[B,4,2]"},
      {"com.microsoft:ComplexMulConj", "", "f[B,4,2] f[B,4,2]", "f[B,4,2]"},
      {"com.microsoft:CropAndResize", "", "f[B,3,20,20] f[5,4] j[5] j[2]=7,9", "f[5,3,7,9]"},
      {"com.microsoft:EmbedLayerNormalization", "", "j[B,6] - f[100,32] f[64,32] - f[32] f[32]",
       "f[B,6,32] j[B] f[B,6,32]"},
      {"com.microsoft:FastGelu", "", "h[B,6,32] h[32]", "h[B,6,32]"},
      {"com.microsoft:FusedConv", "strides=[2,2] pads=[1,1,1,1]", "f[B,3,20,20] f[8,3,3,3] f[8]", "f[B,8,10,10]"},
      {"com.microsoft:FusedGemm", "", "f[B,16] f[16,8] f[8]", "f[B,8]"},
      {"com.microsoft:FusedMatMul", "transB=1", "f[B,4,6,8] f[B,4,9,8]", "f[B,4,6,9]"},
      {"com.microsoft:FusedMatMul", "transBatchA=1", "f[6,B,4,8] f[B,4,8,9]", "f[B,4,6,9]"},
      {"com.microsoft:FusedMatMul", "", "f[6,8] f[9,8]", "error: in0 [6, 8] and in1 [9, 8] do not multiply"},
      {"com.microsoft:FusedMatMulActivation", "activation=Relu", "f[B,8] f[8,9]", "f[B,9]"},
      {"com.microsoft:GatherBlockQuantized", "bits=4 gather_axis=0", "u[100,16] i[B,6] f[100,1]", "f[B,6,32]"},
      {"com.microsoft:GatherBlockQuantized", "bits=8 gather_axis=0", "u[100,16] i[B,6] h[100,1]", "h[B,6,16]"},
      {"com.microsoft:Gelu", "", "f[B,6]", "f[B,6]"},
      {"com.microsoft:GemmFastGelu", "", "f[B,6] f[6,9]", "f[B,9]"},
      {"com.microsoft:GroupNorm", "", "f[B,8,8,32] f[32] f[32]", "f[B,8,8,32]"},
      {"com.microsoft:Inverse", "", "f[B,4,4]", "f[B,4,4]"},
      {"com.microsoft:Irfft", "onesided=1", "f[B,5,2]", "f[B,8]"},
      {"com.microsoft:IsAllFinite", "", "f[B,4] f[3]", "b[]"},
      {"com.microsoft:LayerNormalization", "", "f[B,6,32] f[32]", "f[B,6,32]"},
      {"com.microsoft:MatMulBnb4", "K=32 N=48", "f[B,6,32] u[768] f[24]", "f[B,6,48]"},
      {"com.microsoft:MatMulFpQ4", "", "f[B,6,32] u[800] i[2]=32,48", "f[B,6,48]"},
      {"com.microsoft:MatMulInteger16", "", "j[B,6] j[6,9]", "j[B,9]"},
      {"com.microsoft:MatMulNBits", "K=32 N=48", "h[B,6,32] u[48,1,16] h[48]", "h[B,6,48]"},
      {"com.microsoft:MatMulNBitsMlp", "K=32 N=64", "h[B,6,32] - - u[64,1,16] h[64]", "h[B,6,64] h[B,6,32]"},
      {"com.microsoft:MatMulNBitsQkv", "K=32 Nq=64 Nkv=16", "h[B,6,32] - h[32]",
       "h[B,6,64] h[B,6,16] h[B,6,16] h[B,6,32]"},
      {"com.microsoft:MoE", "", "f[B,32] f[B,4] f[4,64,32] - f[4,32,64]", "f[B,32]"},
      {"com.microsoft:NGramRepeatBlock", "ngram_size=3", "i[B,6] f[B,100]", "f[B,100]"},
      {"com.microsoft:NhwcConv", "", "h[B,9,9,4] h[8,4,3,3]", "h[B,7,7,8]"},
      {"com.microsoft:NhwcFusedConv", "strides=[2,2]", "h[B,9,9,4] h[8,4,3,3]", "h[B,4,4,8]"},
      {"com.microsoft:NhwcMaxPool", "kernel_shape=[3,3] strides=[2,2]", "u[B,9,9,8]", "u[B,4,4,8]"},
      {"com.microsoft:QMoE", "", "h[B,6,32] h[6,4]", "h[B,6,32]"},
      {"com.microsoft:QuickGelu", "", "f[B,6]", "f[B,6]"},
      {"com.microsoft:Rfft", "onesided=1", "f[B,8]", "f[B,5,2]"},
      {"com.microsoft:ScaledSiLU", "", "f[B,6]", "f[B,6]"},
      {"com.microsoft:SimplifiedLayerNormalization", "", "f[B,6,32] f[32]", "f[B,6,32]"},
      {"com.microsoft:SkipGroupNorm", "", "f[B,8,8,32] f[32] f[32] f[B,8,8,32]", "f[B,8,8,32] f[B,8,8,32]"},
      {"com.microsoft:SkipLayerNormalization", "", "f[B,6,32] f[B,6,32] f[32] f[32]", "f[B,6,32] f[B,6,1] - f[B,6,32]"},
      {"com.microsoft:SkipSimplifiedLayerNormalization", "", "f[B,6,32] f[B,6,32] f[32]", "f[B,6,32] - - f[B,6,32]"},
      {"com.microsoft:TorchEmbedding", "", "f[100,32] i[B,6]", "f[B,6,32]"},
      {"com.microsoft:TransposeMatMul", "transA=1", "f[8,B] f[8,9]", "f[B,9]"},
      {"com.microsoft:Trilu", "", "f[B,4,5]", "f[B,4,5]"},
  });
}

TEST_CASE("com.microsoft: attention") {
  CheckNodes({
      {"com.microsoft:Attention", "num_heads=4", "f[B,6,32] f[32,96] f[96] - f[2,B,4,5,8]", "f[B,6,32] f[2,B,4,11,8]"},
      {"com.microsoft:Attention", "num_heads=4 past_present_share_buffer=1", "f[B,6,32] f[32,96] f[96] - f[2,B,4,50,8]",
       "f[B,6,32] f[2,B,4,50,8]"},
      {"com.microsoft:DecoderMaskedMultiHeadAttention", "num_heads=4",
       "f[B,1,32] f[B,1,32] f[B,1,32] - - f[B,4,5,8] f[B,4,5,8]", "f[B,1,32] f[B,4,6,8] f[B,4,6,8]"},
      {"com.microsoft:DecoderMaskedMultiHeadAttention", "num_heads=4", "f[B,1,32] f[B,4,7,8] f[B,4,7,8]", "f[B,1,32]"},
      {"com.microsoft:DecoderMaskedSelfAttention", "num_heads=4", "f[B,1,32] f[32,96] f[96] - f[2,B,4,5,8]",
       "f[B,1,32] f[2,B,4,6,8]"},
      {"com.microsoft:GatedRelativePositionBias", "num_heads=4", "f[B,6,32] f[32] f[1,4,6,6] f[8,8] f[8] f[1,4,1,1]",
       "f[B,4,6,6]"},
      {"com.microsoft:GemmaRotaryEmbedding", "", "f[B,6,8] h[B,4,6,8] h[B,4,6,8] h[B,2,6,8] h[B,2,6,8]",
       "h[B,4,6,8] h[B,2,6,8]"},
      {"com.microsoft:GroupQueryAttention", "num_heads=4 kv_num_heads=2",
       "f[B,1,32] f[B,1,16] f[B,1,16] f[B,2,9,8] f[B,2,9,8] j[B] j[]", "f[B,1,32] f[B,2,10,8] f[B,2,10,8]"},
      {"com.microsoft:LongformerAttention", "num_heads=4", "f[B,64,32] f[32,96]", "f[B,64,32]"},
      {"com.microsoft:MultiHeadAttention", "num_heads=4", "f[B,6,32] f[B,4,7,8] f[B,4,7,8]", "f[B,6,32]"},
      {"com.microsoft:PackedAttention", "num_heads=4", "f[11,32] f[32,96] f[96] j[2,6] j[3]", "f[11,32]"},
      {"com.microsoft:PackedMultiHeadAttention", "num_heads=4", "f[11,4,3,8] - - - j[2,6] j[3]", "f[11,32]"},
      {"com.microsoft:PagedAttention", "num_heads=4 kv_num_heads=2", "f[11,64] - - f[9,16,2,8] f[9,16,2,8] j[3]",
       "f[11,32] f[9,16,2,8] f[9,16,2,8]"},
      {"com.microsoft:QAttention", "num_heads=4", "u[B,6,32] u[32,96] f[96] f[] f[]", "f[B,6,32]"},
      {"com.microsoft:RelativePositionBias", "max_distance=128", "f[32,4] i[1]=6 i[1]=7", "f[1,4,6,7]"},
      {"com.microsoft:RemovePadding", "", "f[B,6,32] j[B]", "f[?,32] j[B,6] j[B+1] j[1]"},
      {"com.microsoft:RemovePadding", "bounds=1", "f[B,6,32] j[B]", "f[6*B,32] j[B,6] j[B+1] j[1]"},
      {"com.microsoft:RestorePadding", "", "f[11,32] j[B,6]", "f[B,6,32]"},
      {"com.microsoft:RotaryEmbedding", "", "f[B,6,32] i[B,6] f[20,4] f[20,4]", "f[B,6,32]"},
      {"com.microsoft:SparseAttention", "num_heads=4 kv_num_heads=2",
       "f[B,6,32] f[B,6,16] f[B,6,16] f[B,2,64,8] f[B,2,64,8]", "f[B,6,32] f[B,2,64,8] f[B,2,64,8]"},
  });
}

TEST_CASE("com.microsoft: quantized") {
  CheckNodes({
      {"com.microsoft:DequantizeLinear", "", "u[B,8] f[] u[]", "f[B,8]"},
      {"com.microsoft:DynamicQuantizeLSTM", "hidden_size=16", "f[6,B,8] u[1,8,64] u[1,16,64]",
       "f[6,1,B,16] f[1,B,16] f[1,B,16]"},
      {"com.microsoft:DynamicQuantizeMatMul", "", "f[B,6,32] u[32,9] f[]", "f[B,6,9]"},
      {"com.microsoft:MatMulIntegerToFloat", "", "u[B,6,32] u[32,9] f[] f[]", "f[B,6,9]"},
      {"com.microsoft:QEmbedLayerNormalization", "", "j[B,6] j[B,6] u[100,32] u[64,32] u[2,32] u[32] u[32] - f[] f[]",
       "f[B,6,32] j[B]"},
      {"com.microsoft:QGemm", "", "u[B,16] f[] u[] u[16,8] f[] u[] - f[] u[]", "u[B,8]"},
      {"com.microsoft:QGemm", "transB=1", "u[B,16] f[] u[] u[8,16] f[] u[]", "f[B,8]"},
      {"com.microsoft:QLinearAdd", "", "u[B,8] f[] u[] u[8] f[] u[] f[] u[]", "u[B,8]"},
      {"com.microsoft:QLinearAveragePool", "kernel_shape=[3,3] strides=[2,2] channels_last=1", "u[B,9,9,8] f[] u[]",
       "u[B,4,4,8]"},
      {"com.microsoft:QLinearConcat", "axis=1", "f[] u[] u[B,3] f[] u[] u[B,5] f[] u[]", "u[B,8]"},
      {"com.microsoft:QLinearConv", "channels_last=1", "u[B,9,9,4] f[] u[] u[8,4,3,3] f[] u[] f[] u[]", "u[B,7,7,8]"},
      {"com.microsoft:QLinearGlobalAveragePool", "channels_last=1", "u[B,5,5,8] f[] u[]", "u[B,1,1,8]"},
      {"com.microsoft:QLinearGlobalAveragePool", "", "u[B,8,5,5] f[] u[]", "u[B,8,1,1]"},
      {"com.microsoft:QLinearLeakyRelu", "", "c[B,8] f[] c[] f[] c[]", "c[B,8]"},
      {"com.microsoft:QLinearMul", "", "u[B,8] f[] u[] u[1,8] f[] u[]", "u[B,8]"},
      {"com.microsoft:QLinearReduceMean", "axes=[2,3] keepdims=0", "u[B,8,5,5] f[] u[]", "u[B,8]"},
      {"com.microsoft:QLinearSigmoid", "", "u[B,8] f[] u[]", "u[B,8]"},
      {"com.microsoft:QLinearSoftmax", "", "u[B,8] f[] u[]", "u[B,8]"},
      {"com.microsoft:QLinearWhere", "", "b[B,1] u[1,8] f[] u[] u[B,8] f[] u[] f[] u[]", "u[B,8]"},
      {"com.microsoft:QuantizeLinear", "", "f[B,8] f[] c[]", "c[B,8]"},
  });
}

TEST_CASE("com.microsoft.nchwc") {
  CheckNodes({
      {"com.microsoft.nchwc:ReorderInput", "", "f[B,16,9,9]", "f[B,16,9,9]"},
      {"com.microsoft.nchwc:Conv", "strides=[2,2] pads=[1,1,1,1]", "f[B,3,9,9] f[16,3,3,3] f[16]", "f[B,16,5,5]"},
      {"com.microsoft.nchwc:MaxPool", "kernel_shape=[3,3]", "f[B,16,9,9]", "f[B,16,7,7]"},
      {"com.microsoft.nchwc:AveragePool", "kernel_shape=[3,3]", "f[B,16,9,9]", "f[B,16,7,7]"},
      {"com.microsoft.nchwc:GlobalAveragePool", "", "f[B,16,9,9]", "f[B,16,1,1]"},
      {"com.microsoft.nchwc:GlobalMaxPool", "", "f[B,16,9,9]", "f[B,16,1,1]"},
      {"com.microsoft.nchwc:Upsample", "scales=[1,1,2,2]", "f[B,16,9,9]", "f[B,16,18,18]"},
      {"com.microsoft.nchwc:ReorderOutput", "channels=12", "f[B,16,9,9]", "f[B,12,9,9]"},
      {"com.microsoft.nchwc:ReorderOutput", "channels=12 channels_last=1", "f[B,16,9,9]", "f[B,9,9,12]"},
  });
}

}  // namespace
}  // namespace vramplan::testing
