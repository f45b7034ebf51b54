// The driver: memory. Allocation and copies as the runtime has them (memory.cc); here are the segments that grow by
// pages, and what an address says of itself.
#include <cstring>

#include "pretend/library/abi.h"

using pretend::AddressOf;
using pretend::Handle;
using pretend::kSuccess;
using pretend::Place;
using pretend::PointerTo;
using pretend::Process;
using pretend::Thread;

namespace {

constexpr uint64_t kPage = uint64_t{2} << 20;
constexpr int kOnDevice = 1;  // CU_MEM_LOCATION_TYPE_DEVICE

// CUmemAllocationProp up to its place: the same in 11, 12 and 13.
struct PagesWanted {
  int type, handle_types;
  int location_type, location;
};

}  // namespace

// Numba and llama.cpp: counted like cudaMalloc, and refused like it.
PRETEND_API int cuMemAlloc_v2(Handle* address, size_t bytes) {
  if (bytes == 0) return pretend::kInvalidValue;
  *address = PointerTo(Process::This().Allocate(Thread().device, bytes));
  return *address == nullptr ? pretend::kOutOfMemory : kSuccess;
}
PRETEND_ALIAS(cuMemAlloc, cuMemAlloc_v2);
// RMM: from the pool of the device.
PRETEND_API int cuMemAllocAsync(Handle* address, size_t bytes, Handle) { return cuMemAlloc_v2(address, bytes); }
// RMM: from the pool that it made.
PRETEND_API int cuMemAllocFromPoolAsync(Handle* address, size_t bytes, Handle, Handle) {
  return cuMemAlloc_v2(address, bytes);
}
// Numba: memory that the host reads and writes too; it never fills a card.
PRETEND_API int cuMemAllocManaged(Handle* address, size_t bytes, unsigned) {
  *address = Process::This().AllocateHost(bytes, Place::Kind::kManaged);
  return *address == nullptr ? pretend::kOutOfMemory : kSuccess;
}
// Numba: pinned memory.
PRETEND_API int cuMemAllocHost_v2(Handle* address, size_t bytes) {
  *address = Process::This().AllocateHost(bytes, Place::Kind::kPinned);
  return *address == nullptr ? pretend::kOutOfMemory : kSuccess;
}
// Numba and UCX: the same with flags.
PRETEND_API int cuMemHostAlloc(Handle* address, size_t bytes, unsigned) { return cuMemAllocHost_v2(address, bytes); }
// Numba: frees null without an error.
PRETEND_API int cuMemFree_v2(Handle address) {
  return Process::This().Free(AddressOf(address)) ? kSuccess : pretend::kInvalidValue;
}
PRETEND_ALIAS(cuMemFree, cuMemFree_v2);
PRETEND_ALIAS(cuMemFreeHost, cuMemFree_v2);
// RMM: freed at once, because streams do nothing.
PRETEND_API int cuMemFreeAsync(Handle address, Handle) { return cuMemFree_v2(address); }
// UCX and NCCL: the host's memory is known as pinned from then on.
PRETEND_API int cuMemHostRegister_v2(Handle address, size_t bytes, unsigned) {
  Process::This().Register(address, bytes);
  return kSuccess;
}
// UCX and NCCL: and no longer.
PRETEND_API int cuMemHostUnregister(Handle address) {
  Process::This().Unregister(address);
  return kSuccess;
}
// NCCL: the same address, as unified addressing has it.
PRETEND_API int cuMemHostGetDevicePointer_v2(Handle* device, Handle host, unsigned) {
  *device = host;
  return kSuccess;
}
// Numba and llama.cpp: what cudaMemGetInfo says.
PRETEND_API int cuMemGetInfo_v2(size_t* free, size_t* total) {
  *free = Process::This().FreeBytes(Thread().device);
  *total = Process::This().Total(Thread().device);
  return kSuccess;
}
PRETEND_ALIAS(cuMemGetInfo, cuMemGetInfo_v2);

// PyTorch, c10/cuda/CUDACachingAllocator.cpp, ExpandableSegment: addresses for more than the card, then pages under
// them one by one. A page counts from its creation to its release; mapping moves nothing.
PRETEND_API int cuMemGetAllocationGranularity(size_t* bytes, const PagesWanted* wanted, int) {
  const bool on_device = wanted->location_type == kOnDevice && Process::This().Has(wanted->location);
  *bytes = on_device ? static_cast<size_t>(Process::This().card(wanted->location).granularity) : kPage;
  return kSuccess;
}
// PyTorch, CUDASymmetricMemory: the driver's unit.
PRETEND_API int cuMulticastGetGranularity(size_t* bytes, const void*, int) {
  *bytes = kPage;
  return kSuccess;
}
// ExpandableSegment's constructor: addresses for 1.125 times the card, which count nothing.
PRETEND_API int cuMemAddressReserve(Handle* address, size_t bytes, size_t, Handle, unsigned long long) {
  *address = PointerTo(Process::This().Reserve(Thread().device, bytes));
  return *address == nullptr ? pretend::kOutOfMemory : kSuccess;
}
// ExpandableSegment's destructor: addresses are not used again soon.
PRETEND_API int cuMemAddressFree(Handle address, size_t) {
  return Process::This().Unreserve(AddressOf(address)) ? kSuccess : pretend::kInvalidValue;
}
// ExpandableSegment::map: pages, counted; 2 (CUDA_ERROR_OUT_OF_MEMORY) when the card is full.
PRETEND_API int cuMemCreate(uint64_t* pages, size_t bytes, const PagesWanted* wanted, unsigned long long) {
  const bool on_device = wanted->location_type == kOnDevice;
  // Pages of the host (CU_MEM_LOCATION_TYPE_HOST) are none of a card's.
  *pages = Process::This().CreatePages(on_device ? wanted->location : Thread().device, on_device ? bytes : 0);
  return *pages == 0 ? pretend::kOutOfMemory : kSuccess;
}
// ExpandableSegment::unmapHandles: they no longer count.
PRETEND_API int cuMemRelease(uint64_t pages) {
  return Process::This().ReleasePages(pages) ? kSuccess : pretend::kInvalidValue;
}
// Another process maps them: they count where they were created.
PRETEND_API int cuMemExportToShareableHandle(void* handle, uint64_t, int, unsigned long long) {
  std::memset(handle, 0, 8);
  return kSuccess;
}
// ExpandableSegment::fromShared: pages that count nothing here.
PRETEND_API int cuMemImportFromShareableHandle(uint64_t* pages, void*, int) {
  *pages = Process::This().CreatePages(Thread().device, 0);
  return kSuccess;
}

// Numba and UCX: what comes from a card is 0.
PRETEND_API int cuMemcpy(Handle to, Handle from, size_t bytes) {
  Process::This().Copy(to, from, bytes);
  return kSuccess;
}
PRETEND_ALIAS(cuMemcpyHtoD, cuMemcpy);
PRETEND_ALIAS(cuMemcpyHtoD_v2, cuMemcpy);
PRETEND_ALIAS(cuMemcpyDtoH, cuMemcpy);
PRETEND_ALIAS(cuMemcpyDtoH_v2, cuMemcpy);
PRETEND_ALIAS(cuMemcpyDtoD, cuMemcpy);
PRETEND_ALIAS(cuMemcpyDtoD_v2, cuMemcpy);
// Numba and Triton: copied at once, because streams do nothing.
PRETEND_API int cuMemcpyAsync(Handle to, Handle from, size_t bytes, Handle) { return cuMemcpy(to, from, bytes); }
PRETEND_ALIAS(cuMemcpyHtoDAsync, cuMemcpyAsync);
PRETEND_ALIAS(cuMemcpyHtoDAsync_v2, cuMemcpyAsync);
PRETEND_ALIAS(cuMemcpyDtoHAsync, cuMemcpyAsync);
PRETEND_ALIAS(cuMemcpyDtoHAsync_v2, cuMemcpyAsync);
PRETEND_ALIAS(cuMemcpyDtoDAsync, cuMemcpyAsync);
PRETEND_ALIAS(cuMemcpyDtoDAsync_v2, cuMemcpyAsync);
// Triton and Inductor's benchmarks clear caches with it.
PRETEND_API int cuMemsetD8_v2(Handle address, unsigned char byte, size_t count) {
  Process::This().Fill(address, byte, count);
  return kSuccess;
}
PRETEND_ALIAS(cuMemsetD8, cuMemsetD8_v2);
// Numba: done at once.
PRETEND_API int cuMemsetD8Async(Handle address, unsigned char byte, size_t count, Handle) {
  return cuMemsetD8_v2(address, byte, count);
}
// Numba and JAX: the word again and again.
PRETEND_API int cuMemsetD32_v2(Handle address, unsigned value, size_t count) {
  // Of pinned and managed memory word by word; the card's vanishes.
  if (Process::This().PlaceOf(address).kind == Place::Kind::kDevice) return kSuccess;
  for (size_t i = 0; i < count; ++i) static_cast<unsigned*>(address)[i] = value;
  return kSuccess;
}
PRETEND_ALIAS(cuMemsetD32, cuMemsetD32_v2);
// PyTorch, SymmetricMemory: done at once.
PRETEND_API int cuMemsetD32Async(Handle address, unsigned value, size_t count, Handle) {
  return cuMemsetD32_v2(address, value, count);
}

// Triton, for every tensor argument: the address as the card has it; of pageable memory it is an error, by which Triton
// tells a tensor on the CPU. PyTorch, isPinnedPtr; NCCL.
PRETEND_API int cuPointerGetAttribute(void* value, int attribute, Handle address) {
  const Place place = Process::This().PlaceOf(address);
  if (place.kind == Place::Kind::kHost) return pretend::kInvalidValue;
  const bool host = place.kind == Place::Kind::kPinned;
  const auto write = [&](auto what) { std::memcpy(value, &what, sizeof what); };
  switch (attribute) {  // cuda.h, CUpointer_attribute
    case 1:             // context
      write(uint64_t{0x770000} + static_cast<uint64_t>(place.card));
      break;
    case 2:  // memory type: host 1, device 2
      write(host ? 1U : 2U);
      break;
    case 3:  // as the device has it
      write(AddressOf(address));
      break;
    case 4:  // as the host has it
      if (place.kind == Place::Kind::kDevice) return pretend::kInvalidValue;
      write(AddressOf(address));
      break;
    case 7:  // a number of the buffer
    case 11:
      write(place.begin);
      break;
    case 8:
      write(place.kind == Place::Kind::kManaged ? 1U : 0U);
      break;
    case 9:
      write(place.card);
      break;
    case 12:
      write(place.bytes);
      break;
    case 13:  // mapped
      write(1U);
      break;
    default:
      write(0U);
  }
  return kSuccess;
}
// Of what CUDA does not know every value is 0, and it is no error.
PRETEND_API int cuPointerGetAttributes(unsigned count, const int* attributes, void** values, Handle address) {
  for (unsigned i = 0; i < count; ++i) {
    const bool narrow = attributes[i] == 2 || attributes[i] == 8 || attributes[i] == 9 || attributes[i] == 13;
    if (cuPointerGetAttribute(values[i], attributes[i], address) != kSuccess) {
      std::memset(values[i], 0, narrow ? 4 : 8);
    }
  }
  return kSuccess;
}
// PyTorch, CUDASymmetricMemory, and UCX: where the block around an address begins, and its bytes.
PRETEND_API int cuMemGetAddressRange_v2(Handle* begin, size_t* bytes, Handle address) {
  const Place place = Process::This().PlaceOf(address);
  if (place.bytes == 0) return pretend::kInvalidValue;
  if (begin != nullptr) *begin = PointerTo(place.begin);
  if (bytes != nullptr) *bytes = place.bytes;
  return kSuccess;
}
PRETEND_ALIAS(cuMemGetAddressRange, cuMemGetAddressRange_v2);
// Memory pools: as memory.cc has them.
PRETEND_API int cuDeviceGetDefaultMemPool(Handle* pool, int device) {
  *pool = PointerTo(0x1000 + static_cast<uint64_t>(device));
  return kSuccess;
}
PRETEND_ALIAS(cuDeviceGetMemPool, cuDeviceGetDefaultMemPool);
// RMM: a handle of its own.
PRETEND_API int cuMemPoolCreate(Handle* pool, const void*) {
  *pool = pretend::NewHandle();
  return kSuccess;
}
// RMM: all of them 0, in the width of each.
PRETEND_API int cuMemPoolGetAttribute(Handle, int attribute, void* value) {
  std::memset(value, 0, attribute >= 4 ? 8 : 4);
  return kSuccess;
}
