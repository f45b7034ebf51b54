#include <doctest/doctest.h>

#include "tests/support/one_node.h"

namespace vramplan::testing {
namespace {

TEST_CASE("MatMul, Gemm") {
  CheckNodes({
      {"MatMul", "", "f[B,128,768] f[768,3072]", "f[B,128,3072]"},
      {"MatMul", "", "f[B,12,128,64] f[B,12,64,128]", "f[B,12,128,128]"},
      {"MatMul", "", "f[B,12,128,64] f[1,1,64,9]", "f[B,12,128,9]"},
      {"MatMul", "", "f[4] f[B,4,5]", "f[B,5]"},
      {"MatMul", "", "f[B,4] f[4]", "f[B]"},
      {"MatMul", "", "f[4] f[4]", "f[]"},
      {"MatMul", "", "f[B,?] f[4,5]", "f[B,5]"},
      {"MatMul", "", "f[B,3] f[4,5]", "error: in0 [B, 3] and in1 [4, 5] do not multiply: the inner lengths differ"},
      {"MatMul", "", "f[] f[4,5]", "error: it multiplies a scalar"},
      {"MatMulInteger", "", "u[B,3] u[3,5]", "j[B,5]"},
      {"QLinearMatMul", "", "u[B,3] f[] u[] u[3,5] f[] u[] f[] u[]", "u[B,5]"},
      {"Gemm", "transB=1", "f[B,512] f[10,512] f[10]", "f[B,10]"},
      {"Gemm", "transA=1", "f[512,B] f[512,10]", "f[B,10]"},
      {"Gemm", "", "f[B,512] f[10,512]", "error: in0 [B, 512] and in1 [10, 512] do not multiply"},
      {"Gemm", "", "f[B,5,12] f[12,1]",
       "error: it multiplies in0 [B, 5, 12] by in1 [12, 1], which are not both matrices"},
  });
}

TEST_CASE("Einsum, Det") {
  CheckNodes({
      {"Einsum", "equation=bhqd,bhkd->bhqk", "f[B,12,128,64] f[B,12,77,64]", "f[B,12,128,77]"},
      {"Einsum", "equation=...ij,jk->...ik", "f[B,5,3,4] f[4,9]", "f[B,5,3,9]"},
      {"Einsum", "equation=ij,jk", "f[B,4] f[4,9]", "f[B,9]"},
      {"Einsum", "equation=ii->", "f[4,4]", "f[]"},
      {"Einsum", "equation=ij->ji", "f[B,4]", "f[4,B]"},
      {"Einsum", "equation=ij,jk->ik", "f[B,4] f[5,9]", "error: its equation \"ij,jk->ik\" does not fit its inputs"},
      {"Einsum", "equation=ij->ijz", "f[B,4]", "error: its equation \"ij->ijz\" does not fit its inputs"},
      {"Einsum", "equation=ijk->i", "f[B,4]", "error: its equation \"ijk->i\" does not fit its inputs"},
      {"Det", "", "f[B,4,4]", "f[B]"},
  });
}

}  // namespace
}  // namespace vramplan::testing
