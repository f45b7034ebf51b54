// Kernels: found, asked about, launched; never run. Launches themselves are names without a body (names/runtime.txt,
// names/driver.txt).
#include <algorithm>
#include <cstring>
#include <vector>

#include "pretend/card/architecture.h"
#include "pretend/library/abi.h"

using pretend::Handle;
using pretend::kSuccess;
using pretend::NewHandle;
using pretend::Process;
using pretend::Thread;

namespace {

struct Extent {
  unsigned x, y, z;
};
struct Configuration {
  Extent grid, block;
  size_t shared = 0;
  Handle stream = nullptr;
};
std::vector<Configuration>& Configurations() {
  static thread_local std::vector<Configuration> configurations;
  return configurations;
}

constexpr int kBlockThreads = 1024, kRegisters = 32, kShared = 48 << 10;

const pretend::Card& CardHere() { return Process::This().card(Thread().device); }
int Capability() { return CardHere().major * 10 + CardHere().minor; }
int BlocksOf(int threads) {
  const pretend::Architecture architecture = pretend::ArchitectureOf(CardHere().major, CardHere().minor);
  return std::clamp(architecture.threads / std::max(threads, 1), 1, architecture.blocks);
}
int Multiprocessors() { return CardHere().multiprocessors; }

}  // namespace

// What nvcc puts around every kernel: modules register themselves when their library is loaded, and <<<>>> pushes what
// the launch then pops.
PRETEND_API void** __cudaRegisterFatBinary(void*) {
  static void* handle[4];
  return handle;
}
// Of nvcc's own code, since CUDA 10: done.
PRETEND_API char __cudaInitModule(void**) { return 1; }
// Of every <<<>>>: kept for the launch.
PRETEND_API unsigned __cudaPushCallConfiguration(Extent grid, Extent block, size_t shared, Handle stream) {
  Configurations().push_back({grid, block, shared, stream});
  return kSuccess;
}
// Of the stub that launches: what was pushed.
PRETEND_API int __cudaPopCallConfiguration(Extent* grid, Extent* block, size_t* shared, Handle* stream) {
  if (Configurations().empty()) return pretend::kInvalidValue;
  Process::This().Launched();
  const Configuration last = Configurations().back();
  Configurations().pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *stream = last.stream;
  return kSuccess;
}
// Of nvcc's own code, since CUDA 12: a handle of the kernel.
PRETEND_API int __cudaGetKernel(Handle* kernel, const void*) {
  *kernel = NewHandle();
  return kSuccess;
}
PRETEND_ALIAS(cudaGetKernel, __cudaGetKernel);
PRETEND_ALIAS(cudaGetFuncBySymbol, __cudaGetKernel);
// cuBLAS and cuDNN of CUDA 12 and 13: a handle of the kernel.
PRETEND_API int cudaLibraryGetKernel(Handle* kernel, Handle, const char*) {
  *kernel = NewHandle();
  return kSuccess;
}
PRETEND_ALIAS(cuLibraryGetKernel, cudaLibraryGetKernel);
// Triton, Inductor and PyTorch's NVRTC kernels (aten/src/ATen/native/cuda/jit_utils.cpp): modules and their functions.
PRETEND_ALIAS(cuModuleGetFunction, cudaLibraryGetKernel);
// Numba and Triton's ahead-of-time kernels (Inductor's AOTI): a handle.
PRETEND_API int cuModuleLoad(Handle* module, const char*) {
  *module = NewHandle();
  return kSuccess;
}
// PyTorch, jit_utils.cpp, and Triton: a handle, whatever the image is.
PRETEND_API int cuModuleLoadData(Handle* module, const void*) {
  *module = NewHandle();
  return kSuccess;
}
PRETEND_ALIAS(cuModuleLoadFatBinary, cuModuleLoadData);
// Numba and CuPy: the same with options.
PRETEND_API int cuModuleLoadDataEx(Handle* module, const void*, unsigned, void*, void*) {
  *module = NewHandle();
  return kSuccess;
}
// cuDNN and Numba: a handle.
PRETEND_API int cuLibraryLoadData(Handle* library, const void*, void*, void**, unsigned, void*, void**, unsigned) {
  *library = NewHandle();
  return kSuccess;
}
PRETEND_ALIAS(cudaLibraryLoadData, cuLibraryLoadData);
// cuDNN: a handle.
PRETEND_API int cuLibraryGetModule(Handle* module, Handle) {
  *module = NewHandle();
  return kSuccess;
}
PRETEND_ALIAS(cuKernelGetFunction, cuLibraryGetModule);
PRETEND_ALIAS(cuFuncGetModule, cuLibraryGetModule);
// Numba, and PyTorch's NVRTC kernels: an address that nobody reads on the host.
PRETEND_API int cuModuleGetGlobal_v2(Handle* address, size_t* bytes, Handle, const char*) {
  static char variable[64 << 10];
  if (address != nullptr) *address = variable;
  if (bytes != nullptr) *bytes = 8;
  return kSuccess;
}
PRETEND_ALIAS(cuModuleGetGlobal, cuModuleGetGlobal_v2);
// PyTorch, c10/cuda/CUDAMiscFunctions: kernels are loaded when they are first used (2, lazy).
PRETEND_API int cuModuleGetLoadingMode(int* mode) {
  *mode = 2;
  return kSuccess;
}
// CUPTI and profilers: a name.
PRETEND_API int cuFuncGetName(const char** name, Handle) {
  *name = "kernel";
  return kSuccess;
}

// PyTorch, aten/src/ATen/cuda/detail and CUTLASS: the first 56 bytes, which are the same in 11, 12 and 13. Nothing is
// spilled: local memory is 0.
PRETEND_API int cudaFuncGetAttributes(char* attributes, const void*) {
  std::memset(attributes, 0, 56);
  const auto number = [&](size_t place, int value) { std::memcpy(attributes + place, &value, sizeof value); };
  number(24, kBlockThreads);
  number(28, kRegisters);
  number(32, Capability());
  number(36, Capability());
  number(44, kShared);
  return kSuccess;
}
// Triton: CUfunction_attribute 0 threads of a block, 4 registers, 5 and 6 versions, 8 shared memory; shared and local
// memory of its own are 0.
PRETEND_API int cuFuncGetAttribute(int* value, int attribute, Handle) {
  switch (attribute) {
    case 0:
      *value = kBlockThreads;
      break;
    case 4:
      *value = kRegisters;
      break;
    case 5:
    case 6:
      *value = Capability();
      break;
    case 8:
      *value = pretend::ArchitectureOf(CardHere().major, CardHere().minor).shared_block;
      break;
    default:
      *value = 0;
  }
  return kSuccess;
}
// Triton 3.4 and later: as of a function.
PRETEND_API int cuKernelGetAttribute(int* value, int attribute, Handle kernel, int) {
  return cuFuncGetAttribute(value, attribute, kernel);
}

// PyTorch's reductions and CUB: as many blocks as there are threads for.
PRETEND_API int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads, size_t) {
  *blocks = BlocksOf(threads);
  return kSuccess;
}
PRETEND_ALIAS(cuOccupancyMaxActiveBlocksPerMultiprocessor, cudaOccupancyMaxActiveBlocksPerMultiprocessor);
// CUB and CUTLASS: the same.
PRETEND_API int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* kernel, int threads,
                                                                       size_t shared, unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, shared);
}
PRETEND_ALIAS(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
              cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags);
// Numba and CuPy: blocks of 256 threads, and a grid that fills the card.
PRETEND_API int cuOccupancyMaxPotentialBlockSize(int* grid, int* block, Handle, void*, size_t, int) {
  *block = 256;
  *grid = Multiprocessors() * BlocksOf(*block);
  return kSuccess;
}
// CUTLASS for Hopper, and Triton: a cluster for two multiprocessors.
PRETEND_API int cudaOccupancyMaxActiveClusters(int* clusters, const void*, const void*) {
  *clusters = std::max(Multiprocessors() / 2, 1);
  return kSuccess;
}
PRETEND_ALIAS(cuOccupancyMaxActiveClusters, cudaOccupancyMaxActiveClusters);
// CUTLASS: 48 KiB, which a block has on every card.
PRETEND_API int cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void*, int, int) {
  *bytes = kShared;
  return kSuccess;
}
PRETEND_ALIAS(cuOccupancyAvailableDynamicSMemPerBlock, cudaOccupancyAvailableDynamicSMemPerBlock);
// FlashAttention 3 and CUTLASS for Hopper: a descriptor of a tensor, which only a kernel reads (128 bytes).
PRETEND_API int cuTensorMapEncodeTiled(void* map) {
  std::memset(map, 0, 128);
  return kSuccess;
}
PRETEND_ALIAS(cuTensorMapEncodeIm2col, cuTensorMapEncodeTiled);
// PyTorch's NVRTC and nvJitLink stay real; what they made is linked by the driver into nothing.
PRETEND_API int cuLinkCreate_v2(unsigned, void*, void**, Handle* state) {
  *state = NewHandle();
  return kSuccess;
}
// jit_utils.cpp and Numba: an image that nobody reads.
PRETEND_API int cuLinkComplete(Handle, void** image, size_t* bytes) {
  static char nothing[64];
  *image = nothing;
  *bytes = sizeof nothing;
  return kSuccess;
}
