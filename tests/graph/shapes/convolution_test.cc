#include <doctest/doctest.h>

#include "tests/support/one_node.h"

namespace vramplan::testing {
namespace {

TEST_CASE("Conv") {
  CheckNodes({
      {"Conv", "kernel_shape=[7,7] strides=[2,2] pads=[3,3,3,3]", "f[B,3,224,224] f[64,3,7,7]", "f[B,64,112,112]"},
      {"Conv", "", "f[B,3,32,32] f[8,3,3,3]", "f[B,8,30,30]"},
      {"Conv", "group=32 pads=[1,1,1,1]", "f[B,32,56,56] f[32,1,3,3]", "f[B,32,56,56]"},
      {"Conv", "dilations=[2,2]", "f[B,3,32,32] f[8,3,3,3]", "f[B,8,28,28]"},
      {"Conv", "auto_pad=SAME_UPPER strides=[2,2]", "f[B,3,33,32] f[8,3,3,3]", "f[B,8,17,16]"},
      {"Conv", "auto_pad=VALID pads=[9,9]", "f[B,3,32] f[8,3,3]", "f[B,8,30]"},
      {"Conv", "pads=[1,2,3,1,2,3]", "f[B,1,64,64,64] f[16,1,3,3,3]", "f[B,16,64,66,68]"},
      {"Conv", "", "f[B,3,?,32] f[8,3,3,3]", "f[B,8,?,30]"},
      {"Conv", "", "f[B,3,32,32] f[8,4,3,3]",
       "error: in0 [B, 3, 32, 32] does not have the channels of in1 [8, 4, 3, 3] in 1 groups"},
      {"Conv", "", "f[B,3,2,2] f[8,3,3,3]", "error: its kernel is larger than its input in0 [B, 3, 2, 2]"},
      {"Conv", "strides=[0,1]", "f[B,3,2,2] f[8,3,1,1]", "error: strides has the number 0"},
      {"Conv", "pads=[1,1]", "f[B,3,2,2] f[8,3,1,1]", "error: pads has 2 numbers for 2 spatial axes"},
      {"Conv", "dilations=[4611686018427387904,1]", "f[B,3,9,9] f[8,3,3,3]",
       "error: tensor out0: its shape [B, 8, overflow, 7] is overflowing"},
      {"ConvInteger", "", "u[B,3,32,32] u[8,3,3,3]", "j[B,8,30,30]"},
      {"QLinearConv", "", "u[B,3,9] f[] u[] u[8,3,3] f[] u[] f[] u[]", "u[B,8,7]"},
  });
}

TEST_CASE("ConvTranspose, Col2Im") {
  CheckNodes({
      {"ConvTranspose", "strides=[2,2]", "f[B,64,16,16] f[64,32,2,2]", "f[B,32,32,32]"},
      {"ConvTranspose", "strides=[2,2] pads=[1,1,1,1] output_padding=[1,1]", "f[B,64,16,16] f[64,32,3,3]",
       "f[B,32,32,32]"},
      {"ConvTranspose", "group=2", "f[B,64,4] f[64,16,3]", "f[B,32,6]"},
      {"ConvTranspose", "strides=[2] auto_pad=SAME_UPPER", "f[B,64,4] f[64,16,3]", "f[B,16,8]"},
      {"ConvTranspose", "strides=[3] output_shape=[10]", "f[B,64,4] f[64,16,3]", "f[B,16,10]"},
      {"Col2Im", "", "f[B,12,9] i[2]=6,6 i[2]=2,2", "f[B,3,6,6]"},
  });
}

TEST_CASE("pooling") {
  CheckNodes({
      {"MaxPool", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]", "f[B,64,112,112]", "f[B,64,56,56] i[B,64,56,56]"},
      {"MaxPool", "kernel_shape=[3,3] strides=[2,2] ceil_mode=1", "f[B,64,112,112]", "f[B,64,56,56]"},
      // The window that would start in the padding behind the input is left out: torch.nn.MaxPool2d(2, 2, padding=1,
      // ceil_mode=True) of 3 is 2.
      {"MaxPool", "kernel_shape=[2] strides=[2] pads=[1,1] ceil_mode=1", "f[B,64,3]", "f[B,64,2]"},
      {"MaxPool", "kernel_shape=[2] dilations=[3]", "f[B,64,9]", "f[B,64,6]"},
      {"AveragePool", "kernel_shape=[7,7]", "f[B,512,7,7]", "f[B,512,1,1]"},
      {"AveragePool", "kernel_shape=[9,9]", "f[B,512,7,7]",
       "error: its kernel is larger than its input in0 [B, 512, 7, 7]"},
      {"GlobalAveragePool", "", "f[B,512,7,7]", "f[B,512,1,1]"},
      {"MaxUnpool", "kernel_shape=[2,2] strides=[2,2]", "f[B,1,2,2] i[B,1,2,2]", "f[B,1,4,4]"},
      {"RoiAlign", "output_height=7 output_width=5", "f[B,256,50,50] f[100,4] i[100]", "f[100,256,7,5]"},
  });
}

}  // namespace
}  // namespace vramplan::testing
