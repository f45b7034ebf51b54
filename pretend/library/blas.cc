// cuBLASLt and cuBLAS: what is more than a name.
#include <cstdint>
#include <cstring>

#include "pretend/library/abi.h"

using pretend::Handle;
using pretend::kSuccess;

// PyTorch, torch.backends and Transformer Engine: the version of the wheel's CUDA, in its five or six digits.
PRETEND_API size_t cublasLtGetVersion() { return static_cast<size_t>(pretend::CudaVersion()) * 10; }
// Transformer Engine: the version of CUDA that the library was built for.
PRETEND_API size_t cublasLtGetCudartVersion() { return static_cast<size_t>(pretend::CudaVersion()); }

namespace {

// cublasLtMatmulHeuristicResult_t: 96 bytes.
struct Found {
  uint64_t algorithm[8];
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};
static_assert(sizeof(Found) == 96);

}  // namespace

// PyTorch, aten/src/ATen/cuda/CUDABlas.cpp: one algorithm, which fits into no workspace. PyTorch has then allocated the
// whole workspace that it allows (CUBLASLT_WORKSPACE_SIZE), so its size does not depend on this answer.
PRETEND_API int cublasLtMatmulAlgoGetHeuristic(Handle, Handle, Handle, Handle, Handle, Handle, Handle, int,
                                               Found* found, int* count) {
  *found = {};
  *count = 1;
  return kSuccess;
}
