// Matrix products and the workspaces of their libraries.
//
//   linear on [8, 197, 768] with a bias, weight [3072, 768]
//     forward   view x as [1576, 768]; addmm makes 1576*3072*4 B and needs a workspace; x and the weight are saved
//     backward  mm makes the gradient of x, another mm that of the weight, a sum that of the bias
#pragma once

#include "planner/semantics/eager.h"

namespace vramplan::eager {

Tensor Mm(Eager& e, const Tensor& a, const Tensor& b);
Tensor Addmm(Eager& e, const Tensor& bias, const Tensor& a, const Tensor& b);
Tensor Bmm(Eager& e, const Tensor& a, const Tensor& b);
Tensor Linear(Eager& e, const Tensor& input, const Tensor& weight, const Tensor& bias);
Tensor Matmul(Eager& e, const Tensor& a, const Tensor& b);

// The workspace that a product needs while it runs, by library and version; blocks that stay are kept in
// Eager::handles. Products that allocate one around a kernel call take it through these.
//   cuBLAS    PyTorch 2.0-2.14: one block per thread at its first product, 8'519'680 B (33'554'432 B on
//   capability 9.0), kept for ever
//             2.15: the same size around each call (pull request 194311; truth/pytorch.csv)
//   cuBLASLt  1 MiB: around each call in 2.6, kept from 2.10 on, around each call in 2.15 (truth/pytorch.csv)
Storage CublasWorkspace(Eager& e);
Storage CublasLtWorkspace(Eager& e);

}  // namespace vramplan::eager
