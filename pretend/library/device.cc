// Devices, as the runtime sees them.
#include <cstdio>
#include <cstring>

#include "pretend/library/abi.h"
#include "pretend/library/device_properties.h"

using pretend::CudaVersion;
using pretend::Handle;
using pretend::Process;
using pretend::Thread;
using pretend::Told;

// PyTorch, c10/cuda/CUDAFunctions.cpp: 0 devices is an error, not a count.
PRETEND_API int cudaGetDeviceCount(int* count) {
  *count = Process::This().cards();
  return *count > 0 ? pretend::kSuccess : Told(pretend::kNoDevice);
}
// PyTorch, c10/cuda/CUDAFunctions.cpp: what cudaSetDevice set in this thread.
PRETEND_API int cudaGetDevice(int* device) {
  *device = Thread().device;
  return pretend::kSuccess;
}
// PyTorch, c10/cuda/CUDAFunctions.cpp (SetDevice, MaybeSetDevice): an ordinal that is not there is refused.
PRETEND_API int cudaSetDevice(int device) {
  if (!Process::This().Has(device)) return Told(pretend::kInvalidDevice);
  Thread().device = device;
  return pretend::kSuccess;
}
// PyTorch, aten/src/ATen/cuda/CUDAContext.cpp, built for CUDA 11 and 13: the structure of that version.
PRETEND_API int cudaGetDeviceProperties(void* properties, int device) {
  if (!Process::This().Has(device)) return Told(pretend::kInvalidDevice);
  pretend::WriteProperties(Process::This().card(device), CudaVersion(), properties);
  return pretend::kSuccess;
}
// The same, built for CUDA 12, which alone has the second name.
PRETEND_API int cudaGetDeviceProperties_v2(void* properties, int device) {
  if (!Process::This().Has(device)) return Told(pretend::kInvalidDevice);
  pretend::WriteProperties(Process::This().card(device), 12000, properties);
  return pretend::kSuccess;
}
// CUB and PyTorch's kernels, for their launch shapes.
PRETEND_API int cudaDeviceGetAttribute(int* value, int attribute, int device) {
  if (!Process::This().Has(device)) return Told(pretend::kInvalidDevice);
  *value = pretend::AttributeOf(Process::This().card(device), attribute);
  return pretend::kSuccess;
}
// Nobody needs another than the first.
PRETEND_API int cudaChooseDevice(int* device, const void*) {
  *device = 0;
  return pretend::kSuccess;
}
// PyTorch, aten/src/ATen/cuda/detail/CUDAHooks.cpp, and torch.version: the wheel's own version. Never newer, or a
// program would ask for functions of a structure that it does not know.
PRETEND_API int cudaRuntimeGetVersion(int* version) {
  *version = CudaVersion();
  return pretend::kSuccess;
}
// PyTorch, torch._C._cuda_getDriverVersion: the same, so that no driver seems too old.
PRETEND_API int cudaDriverGetVersion(int* version) {
  *version = pretend::DriverVersion();
  return pretend::kSuccess;
}
// PyTorch, c10/cuda/CUDAAllocatorConfig and CUDACachingAllocator.cpp (the out-of-memory message asks NVML by it).
PRETEND_API int cudaDeviceGetPCIBusId(char* text, int length, int device) {
  if (!Process::This().Has(device)) return Told(pretend::kInvalidDevice);
  std::snprintf(text, static_cast<size_t>(length), "%s", Process::This().card(device).pci.c_str());
  return pretend::kSuccess;
}
// NCCL and accelerators' own tools: the reverse.
PRETEND_API int cudaDeviceGetByPCIBusId(int* device, const char* text) {
  for (int i = 0; i < Process::This().cards(); ++i) {
    if (Process::This().card(i).pci != text) continue;
    *device = i;
    return pretend::kSuccess;
  }
  return Told(pretend::kInvalidDevice);
}
// PyTorch, c10/cuda/CUDAStream.cpp: its pools have a priority each, at most four of them.
PRETEND_API int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return pretend::kSuccess;
}
// Triton and Numba: stack 1 KiB a thread, heap and others 8 MiB, as a driver's defaults.
PRETEND_API int cudaDeviceGetLimit(size_t* value, int limit) {
  *value = limit == 0 ? size_t{1} << 10 : size_t{8} << 20;
  return pretend::kSuccess;
}
// CUTLASS's profiler: no preference.
PRETEND_API int cudaDeviceGetCacheConfig(int* config) {
  *config = 0;
  return pretend::kSuccess;
}
// Kernels of older libraries: banks of four bytes.
PRETEND_API int cudaDeviceGetSharedMemConfig(int* config) {
  *config = 1;
  return pretend::kSuccess;
}
// OpenMPI and cuDF: none is set.
PRETEND_API int cudaGetDeviceFlags(unsigned* flags) {
  *flags = 0;
  return pretend::kSuccess;
}
// PyTorch, aten/src/ATen/cuda/PeerToPeerAccess.cpp: no card reaches into another; copies then go by the driver.
PRETEND_API int cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return pretend::kSuccess;
}
// NCCL's topology: no link.
PRETEND_API int cudaDeviceGetP2PAttribute(int* value, int, int, int) {
  *value = 0;
  return pretend::kSuccess;
}

// Every call of PyTorch, c10/cuda/CUDAException.h: the error of this thread, and it is forgotten then.
PRETEND_API int cudaGetLastError() {
  const int error = Thread().last_error;
  Thread().last_error = pretend::kSuccess;
  return error;
}
// C10_CUDA_KERNEL_LAUNCH_CHECK and CUB: the error of this thread, which stays.
PRETEND_API int cudaPeekAtLastError() { return Thread().last_error; }
// PyTorch prints it in its own exceptions.
PRETEND_API const char* cudaGetErrorString(int error) {
  switch (error) {
    case pretend::kSuccess:
      return "no error";
    case pretend::kInvalidValue:
      return "invalid argument";
    case pretend::kOutOfMemory:
      return "out of memory";
    case pretend::kNoDevice:
      return "no CUDA-capable device is detected";
    case pretend::kInvalidDevice:
      return "invalid device ordinal";
    case pretend::kNotFound:
      return "named symbol not found";
    case pretend::kNotSupported:
      return "operation not supported";
    default:
      return "unknown error";
  }
}
// CUTLASS and NCCL, in their messages: the name of CUDA's header.
PRETEND_API const char* cudaGetErrorName(int error) {
  switch (error) {
    case pretend::kSuccess:
      return "cudaSuccess";
    case pretend::kInvalidValue:
      return "cudaErrorInvalidValue";
    case pretend::kOutOfMemory:
      return "cudaErrorMemoryAllocation";
    case pretend::kNoDevice:
      return "cudaErrorNoDevice";
    case pretend::kInvalidDevice:
      return "cudaErrorInvalidDevice";
    case pretend::kNotFound:
      return "cudaErrorSymbolNotFound";
    case pretend::kNotSupported:
      return "cudaErrorNotSupported";
    default:
      return "cudaErrorUnknown";
  }
}
