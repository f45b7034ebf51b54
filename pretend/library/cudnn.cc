// cuDNN: descriptors that carry an answer, and workspaces, of which there are none: what cuDNN may take is a band that
// the report adds (planner/report/parts/device_band.h). All else are names (names/cudnn.txt).
#include <atomic>
#include <cstring>

#include "planner/semantics/cudnn_recurrent.h"
#include "pretend/card/architecture.h"
#include "pretend/library/abi.h"
#include "pretend/library/cudnn_version.h"

using pretend::CudnnVersion;
using pretend::Handle;
using pretend::kSuccess;

// PyTorch, aten/src/ATen/cuda/detail/CUDAHooks.cpp and torch/backends/cudnn: refuses one older than it was built with.
PRETEND_API size_t cudnnGetVersion() { return static_cast<size_t>(CudnnVersion()); }
// cudnn_frontend: the newest device that it knows; none is newer.
PRETEND_API size_t cudnnGetMaxDeviceVersion() { return static_cast<size_t>(CudnnVersion()); }
// cudnn_frontend: the version of CUDA that it was built for.
PRETEND_API size_t cudnnGetCudartVersion() { return static_cast<size_t>(pretend::CudaVersion()); }
// PyTorch, CUDAHooks.cpp, in what torch.__config__ prints: major, minor and patch one by one.
PRETEND_API int cudnnGetProperty(int which, int* value) {
  const int unit = CudnnVersion() >= 90000 ? 10000 : 1000;  // since version 9: 9 10 02
  const int rest = CudnnVersion() % unit;
  *value = which == 0 ? CudnnVersion() / unit : which == 1 ? rest / 100 : rest % 100;
  return kSuccess;
}
// cudnn_frontend, in its exceptions: there is no error.
PRETEND_API void cudnnGetLastErrorString(char* text, size_t length) {
  if (length > 0) text[0] = '\0';
}

namespace {

std::atomic<bool> g_used{false};

int Use() {
  g_used = true;
  return kSuccess;
}

}  // namespace

bool pretend::CudnnWasUsed() { return g_used; }

// PyTorch, Conv_v8.cpp, Conv_v7.cpp and RNN.cpp: nothing is computed; that they were called is why a report has a band
// for workspaces.
PRETEND_API int cudnnBackendExecute(Handle, Handle, Handle) { return Use(); }
// Conv_v7.cpp: success.
PRETEND_API int cudnnConvolutionForward() { return Use(); }
// Conv_v7.cpp: success.
PRETEND_API int cudnnConvolutionBackwardData() { return Use(); }
// Conv_v7.cpp: success.
PRETEND_API int cudnnConvolutionBackwardFilter() { return Use(); }
// RNN.cpp, of torch 2.4 and later: success.
PRETEND_API int cudnnRNNForward() { return Use(); }
// RNN.cpp, of torch 2.0 to 2.3: success.
PRETEND_API int cudnnRNNForwardTraining() { return Use(); }
// The same without gradients: success.
PRETEND_API int cudnnRNNForwardInference() { return Use(); }

// PyTorch, cudnn_frontend: descriptors of any kind.
PRETEND_API int cudnnBackendCreateDescriptor(int, Handle* descriptor) {
  *descriptor = pretend::NewHandle();
  return kSuccess;
}

// PyTorch, aten/src/ATen/native/cudnn/Conv_v8.cpp through cudnn_frontend. Every search finds one engine, which wants no
// workspace: a list has one element, of which the descriptors that the caller brought stay as they are; a number is 0.
PRETEND_API int cudnnBackendGetAttribute(Handle, int attribute, int type, int64_t wanted, int64_t* count, void* array) {
  constexpr int kHeuristicResults = 202, kEngine = 300, kEngineConfiguration = 401, kWorkspace = 402;
  constexpr int kHandle = 0, kDescriptor = 15;
  const bool one = attribute == kHeuristicResults || attribute == kEngine || attribute == kEngineConfiguration ||
                   attribute == kWorkspace;
  if (count != nullptr) *count = one ? 1 : 0;
  if (array != nullptr && wanted > 0 && type != kHandle && type != kDescriptor) std::memset(array, 0, 8);
  return kSuccess;
}

namespace {

// cudnnConvolutionFwdAlgoPerf_t and its two sisters: 48 bytes.
struct Performance {
  int algorithm, status;
  float milliseconds;
  size_t workspace;
  int deterministic, math, reserved[3];
};
static_assert(sizeof(Performance) == 48);

// Algorithm 1 (implicit GEMM, precomputed indices) for all three: works for every shape, here without a workspace.
int OneAlgorithm(int* count, Performance* results) {
  *results = {1, kSuccess, 1, 0, 1, 0, {}};
  *count = 1;
  return kSuccess;
}

}  // namespace

// PyTorch, aten/src/ATen/native/cudnn/Conv_v7.cpp, which old wheels use (before 2.0) and TORCH_CUDNN_V8_API_DISABLED.
PRETEND_API int cudnnGetConvolutionForwardAlgorithm_v7(Handle, Handle, Handle, Handle, Handle, int, int* count,
                                                       Performance* results) {
  return OneAlgorithm(count, results);
}
PRETEND_ALIAS(cudnnGetConvolutionBackwardDataAlgorithm_v7, cudnnGetConvolutionForwardAlgorithm_v7);
PRETEND_ALIAS(cudnnGetConvolutionBackwardFilterAlgorithm_v7, cudnnGetConvolutionForwardAlgorithm_v7);
// The same with cudnn.benchmark.
PRETEND_API int cudnnFindConvolutionForwardAlgorithmEx(Handle, Handle, Handle, Handle, Handle, Handle, Handle, Handle,
                                                       int, int* count, Performance* results) {
  return OneAlgorithm(count, results);
}
PRETEND_ALIAS(cudnnFindConvolutionBackwardDataAlgorithmEx, cudnnFindConvolutionForwardAlgorithmEx);
PRETEND_ALIAS(cudnnFindConvolutionBackwardFilterAlgorithmEx, cudnnFindConvolutionForwardAlgorithmEx);

// PyTorch, RNN.cpp (DropoutDescriptor): random states for all threads of the card, a tensor of its own.
PRETEND_API int cudnnDropoutGetStatesSize(Handle, size_t* bytes) {
  const auto& card = pretend::Process::This().card(pretend::Thread().device);
  *bytes = static_cast<size_t>(vramplan::eager::DropoutStateBytes(
      card.multiprocessors, pretend::ArchitectureOf(card.major, card.minor).threads));
  return kSuccess;
}
