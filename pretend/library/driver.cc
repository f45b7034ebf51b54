// The driver: devices and contexts. A device has one context, whose bytes are gone from what is free as soon as somebody
// wants it.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "pretend/library/abi.h"
#include "pretend/library/device_properties.h"

using pretend::AddressOf;
using pretend::Handle;
using pretend::kSuccess;
using pretend::PointerTo;
using pretend::Process;
using pretend::Thread;

namespace {

// Contexts have a handle that says whose they are.
constexpr uint64_t kContexts = 0x770000;
Handle ContextOf(int device) { return PointerTo(kContexts + static_cast<uint64_t>(device)); }
void Enter(Handle context) {
  if (context != nullptr) Thread().device = static_cast<int>(AddressOf(context) - kContexts);
}

}  // namespace

// PyTorch's driver API, Triton, Numba: an error when there is no card.
PRETEND_API int cuInit(unsigned) { return Process::This().cards() > 0 ? kSuccess : pretend::kNoDevice; }
// Triton and Numba: the wheel's own version, as the runtime says it.
PRETEND_API int cuDriverGetVersion(int* version) {
  *version = pretend::DriverVersion();
  return kSuccess;
}
// PyTorch, Triton, Numba, NCCL: the devices.
PRETEND_API int cuDeviceGetCount(int* count) {
  *count = Process::This().cards();
  return kSuccess;
}
// Triton, NCCL: a device is its number; one that is not there is refused.
PRETEND_API int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return Process::This().Has(ordinal) ? kSuccess : pretend::kInvalidDevice;
}
// Numba and llama.cpp: the card's name.
PRETEND_API int cuDeviceGetName(char* name, int length, int device) {
  std::snprintf(name, static_cast<size_t>(length), "%s", Process::This().card(device).name.c_str());
  return kSuccess;
}
// Numba and llama.cpp: what the catalogue calls usable.
PRETEND_API int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  *bytes = Process::This().Total(device);
  return kSuccess;
}
PRETEND_ALIAS(cuDeviceTotalMem, cuDeviceTotalMem_v2);
// vLLM and Numba: 16 bytes, another one for each card, as cudaDeviceProp and NVML have it.
PRETEND_API int cuDeviceGetUuid(char* uuid, int device) {
  const std::array<char, 16> bytes = pretend::UuidOf(Process::This().card(device));
  std::memcpy(uuid, bytes.data(), bytes.size());
  return kSuccess;
}
PRETEND_ALIAS(cuDeviceGetUuid_v2, cuDeviceGetUuid);
// Older libraries, instead of two attributes: the card's capability.
PRETEND_API int cuDeviceComputeCapability(int* major, int* minor, int device) {
  *major = Process::This().card(device).major;
  *minor = Process::This().card(device).minor;
  return kSuccess;
}
// Triton (shared memory, multiprocessors), NCCL: as cudaDeviceGetAttribute.
PRETEND_API int cuDeviceGetAttribute(int* value, int attribute, int device) {
  if (!Process::This().Has(device)) return pretend::kInvalidDevice;
  *value = pretend::AttributeOf(Process::This().card(device), attribute);
  return kSuccess;
}
// NCCL: the address by which NVML knows the card.
PRETEND_API int cuDeviceGetPCIBusId(char* text, int length, int device) {
  std::snprintf(text, static_cast<size_t>(length), "%s", Process::This().card(device).pci.c_str());
  return kSuccess;
}
// NCCL: no card reaches into another.
PRETEND_API int cuDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return kSuccess;
}

// PyTorch, CUDAHooks::hasPrimaryContext and c10's device guards: it is always active, so that a device's context is
// never made by asking for it.
PRETEND_API int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) {
  *flags = 0;
  *active = 1;
  return kSuccess;
}
// Triton, Numba, UCX, cuda_probe: the device's only context; 2 when the card has no room for it.
PRETEND_API int cuDevicePrimaryCtxRetain(Handle* context, int device) {
  if (!Process::This().Has(device)) return pretend::kInvalidDevice;
  *context = ContextOf(device);
  return Process::This().Retain(device) ? kSuccess : pretend::kOutOfMemory;
}
// Numba and cuda_probe: the last one who has it ends it, where the runtime has not begun.
PRETEND_API int cuDevicePrimaryCtxRelease_v2(int device) {
  return Process::This().Release(device) ? kSuccess : pretend::kInvalidContext;
}
PRETEND_ALIAS(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2);
// cuda_probe and Numba: what was allocated is gone with it.
PRETEND_API int cuDevicePrimaryCtxReset_v2(int device) {
  Process::This().Reset(device);
  return kSuccess;
}
PRETEND_ALIAS(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2);
// Programs with a context of their own: the device's only one, which is current then.
PRETEND_API int cuCtxCreate_v2(Handle* context, unsigned, int device) {
  *context = ContextOf(device);
  Thread().device = device;
  return kSuccess;
}
PRETEND_ALIAS(cuCtxCreate, cuCtxCreate_v2);
// The same, built for CUDA 11.4 and later.
PRETEND_API int cuCtxCreate_v3(Handle* context, void*, int, unsigned flags, int device) {
  return cuCtxCreate_v2(context, flags, device);
}
// The same, built for CUDA 12.5 and later.
PRETEND_API int cuCtxCreate_v4(Handle* context, void*, unsigned flags, int device) {
  return cuCtxCreate_v2(context, flags, device);
}
// PyTorch, CUDAHooks and Triton: that of the thread's device, never null.
PRETEND_API int cuCtxGetCurrent(Handle* context) {
  *context = ContextOf(Thread().device);
  return kSuccess;
}
// Triton and Numba: the thread's device changes with it.
PRETEND_API int cuCtxSetCurrent(Handle context) {
  Enter(context);
  return kSuccess;
}
PRETEND_ALIAS(cuCtxPushCurrent_v2, cuCtxSetCurrent);
PRETEND_ALIAS(cuCtxPushCurrent, cuCtxSetCurrent);
// Numba: the one that was current; nothing is above it.
PRETEND_API int cuCtxPopCurrent_v2(Handle* context) { return context == nullptr ? kSuccess : cuCtxGetCurrent(context); }
PRETEND_ALIAS(cuCtxPopCurrent, cuCtxPopCurrent_v2);
// PyTorch, c10/cuda/driver_api and Triton: the thread's device.
PRETEND_API int cuCtxGetDevice(int* device) {
  *device = Thread().device;
  return kSuccess;
}
// Triton's and NCCL's checks.
PRETEND_API int cuCtxGetId(Handle context, unsigned long long* id) {
  *id = AddressOf(context == nullptr ? ContextOf(Thread().device) : context);
  return kSuccess;
}
// Numba: the version of cuCtxCreate_v2 and of nothing newer.
PRETEND_API int cuCtxGetApiVersion(Handle, unsigned* version) {
  *version = 3020;
  return kSuccess;
}
// UCX: none is set.
PRETEND_API int cuCtxGetFlags(unsigned* flags) {
  *flags = 0;
  return kSuccess;
}
// Numba and NVSHMEM: a stack of 1 KiB a thread, 8 MiB of all else, as a driver's defaults.
PRETEND_API int cuCtxGetLimit(size_t* value, int limit) {
  *value = limit == 0 ? size_t{1} << 10 : size_t{8} << 20;
  return kSuccess;
}
// Older libraries: banks of four bytes.
PRETEND_API int cuCtxGetSharedMemConfig(int* config) {
  *config = 1;
  return kSuccess;
}
// Libraries with streams of their own: that of cudaDeviceGetStreamPriorityRange.
PRETEND_API int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return kSuccess;
}
// NVSHMEM and cuDNN's frontend: there is one context a device.
PRETEND_API int cuStreamGetCtx(Handle, Handle* context) { return cuCtxGetCurrent(context); }

PRETEND_API const char* cudaGetErrorString(int error);
// PyTorch, C10_CUDA_DRIVER_CHECK: the runtime's words.
PRETEND_API int cuGetErrorString(int error, const char** text) {
  *text = cudaGetErrorString(error);
  return kSuccess;
}
// Triton, Numba and cuda_probe, in their messages: the driver's name of the code (cuda.h, CUresult); none is an error.
PRETEND_API int cuGetErrorName(int error, const char** text) {
  struct Row {
    int code;
    const char* name;
  };
  static constexpr Row kRows[] = {{0, "CUDA_SUCCESS"},
                                  {1, "CUDA_ERROR_INVALID_VALUE"},
                                  {2, "CUDA_ERROR_OUT_OF_MEMORY"},
                                  {34, "CUDA_ERROR_STUB_LIBRARY"},
                                  {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
                                  {100, "CUDA_ERROR_NO_DEVICE"},
                                  {101, "CUDA_ERROR_INVALID_DEVICE"},
                                  {200, "CUDA_ERROR_INVALID_IMAGE"},
                                  {201, "CUDA_ERROR_INVALID_CONTEXT"},
                                  {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
                                  {214, "CUDA_ERROR_ECC_UNCORRECTABLE"},
                                  {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
                                  {304, "CUDA_ERROR_OPERATING_SYSTEM"},
                                  {500, "CUDA_ERROR_NOT_FOUND"},
                                  {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                  {801, "CUDA_ERROR_NOT_SUPPORTED"},
                                  {802, "CUDA_ERROR_SYSTEM_NOT_READY"},
                                  {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
                                  {999, "CUDA_ERROR_UNKNOWN"}};
  const auto* const row = std::ranges::find(kRows, error, &Row::code);
  *text = row == std::end(kRows) ? nullptr : row->name;
  return *text == nullptr ? pretend::kInvalidValue : kSuccess;
}
