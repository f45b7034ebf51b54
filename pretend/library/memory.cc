// Memory, as the runtime sees it.
#include <algorithm>
#include <cstring>

#include "pretend/library/abi.h"

using pretend::AddressOf;
using pretend::Handle;
using pretend::Place;
using pretend::PointerTo;
using pretend::Process;
using pretend::Thread;
using pretend::Told;

// PyTorch, c10/cuda/CUDACachingAllocator.cpp, for every segment: 2 when the card is full, and the allocator frees its
// cache, asks again, and raises torch.OutOfMemoryError.
PRETEND_API int cudaMalloc(Handle* address, size_t bytes) {
  *address = nullptr;
  Process::This().StartRuntime(Thread().device);
  if (bytes == 0) return pretend::kSuccess;
  *address = PointerTo(Process::This().Allocate(Thread().device, bytes));
  return *address == nullptr ? Told(pretend::kOutOfMemory) : pretend::kSuccess;
}
// PyTorch with backend:cudaMallocAsync: pools give and take like cudaMalloc.
PRETEND_API int cudaMallocAsync(Handle* address, size_t bytes, Handle) { return cudaMalloc(address, bytes); }
PRETEND_ALIAS(cudaMallocAsync_ptsz, cudaMallocAsync);
// PyTorch, torch.cuda.MemPool with cudaMallocAsync, and RMM: counted like cudaMalloc.
PRETEND_API int cudaMallocFromPoolAsync(Handle* address, size_t bytes, Handle, Handle) {
  return cudaMalloc(address, bytes);
}
PRETEND_ALIAS(cudaMallocFromPoolAsync_ptsz, cudaMallocFromPoolAsync);
// bitsandbytes' paged optimizers: memory that the host reads and writes too.
PRETEND_API int cudaMallocManaged(Handle* address, size_t bytes, unsigned) {
  *address = Process::This().AllocateHost(bytes, Place::Kind::kManaged);
  return *address == nullptr ? Told(pretend::kOutOfMemory) : pretend::kSuccess;
}
// Rows padded to 512 bytes, as textures want them.
PRETEND_API int cudaMallocPitch(Handle* address, size_t* pitch, size_t width, size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return cudaMalloc(address, *pitch * height);
}
// PyTorch, aten/src/ATen/cuda/CachingHostAllocator.cpp: pinned memory, lazily touched.
PRETEND_API int cudaHostAlloc(Handle* address, size_t bytes, unsigned) {
  *address = Process::This().AllocateHost(bytes, Place::Kind::kPinned);
  return *address == nullptr ? Told(pretend::kOutOfMemory) : pretend::kSuccess;
}
// NCCL and FAISS: pinned memory.
PRETEND_API int cudaMallocHost(Handle* address, size_t bytes) { return cudaHostAlloc(address, bytes, 0); }
// Frees null, and what was freed already when the program ends, without an error. cudaFree(0) is how programs make the
// runtime start.
PRETEND_API int cudaFree(Handle address) {
  if (address == nullptr) Process::This().StartRuntime(Thread().device);
  Process::This().Free(AddressOf(address));
  return pretend::kSuccess;
}
// CUDAMallocAsyncAllocator.cpp: freed at once, because streams do nothing.
PRETEND_API int cudaFreeAsync(Handle address, Handle) { return cudaFree(address); }
PRETEND_ALIAS(cudaFreeAsync_ptsz, cudaFreeAsync);
PRETEND_ALIAS(cudaFreeHost, cudaFree);
// PyTorch with pinned_use_cuda_host_register, and torch.cuda.cudart().cudaHostRegister of DeepSpeed and llama.cpp.
PRETEND_API int cudaHostRegister(Handle address, size_t bytes, unsigned) {
  Process::This().Register(address, bytes);
  return pretend::kSuccess;
}
// CachingHostAllocator.cpp and DeepSpeed: the host's memory is its own again.
PRETEND_API int cudaHostUnregister(Handle address) {
  Process::This().Unregister(address);
  return pretend::kSuccess;
}
// DeepSpeed's offload: with unified addressing it is the same address.
PRETEND_API int cudaHostGetDevicePointer(Handle* device, Handle host, unsigned) {
  *device = host;
  return pretend::kSuccess;
}
// UCX: none is set.
PRETEND_API int cudaHostGetFlags(unsigned* flags, Handle) {
  *flags = 0;
  return pretend::kSuccess;
}
// PyTorch, torch.cuda.mem_get_info and set_per_process_memory_fraction: the total is what the card's catalogue row
// calls usable, and the context is gone from what is free.
PRETEND_API int cudaMemGetInfo(size_t* free, size_t* total) {
  const int device = Thread().device;
  if (!Process::This().Has(device)) return Told(pretend::kInvalidDevice);
  Process::This().StartRuntime(device);
  *free = Process::This().FreeBytes(device);
  *total = Process::This().Total(device);
  return pretend::kSuccess;
}

namespace {

// cudaPointerAttributes: 24 bytes, and 64 reserved ones more since CUDA 13.
struct PointerAttributes {
  int type, device;
  Handle device_pointer, host_pointer;
};
constexpr size_t kReservedSinceThirteen = 64;
enum MemoryType : int { kUnregistered = 0, kHost = 1, kDevice = 2, kManaged = 3 };

}  // namespace

// PyTorch, CUDAHooks::isPinnedPtr and from_blob: whose memory it is. What CUDA does not know is no error since 11.0.
PRETEND_API int cudaPointerGetAttributes(PointerAttributes* attributes, const void* pointer) {
  const Place place = Process::This().PlaceOf(pointer);
  Handle const address = const_cast<Handle>(pointer);
  switch (place.kind) {
    case Place::Kind::kHost:
      *attributes = {kUnregistered, -2, nullptr, address};
      break;
    case Place::Kind::kPinned:
      *attributes = {kHost, Thread().device, address, address};
      break;
    case Place::Kind::kManaged:
      *attributes = {kManaged, Thread().device, address, address};
      break;
    case Place::Kind::kDevice:
      *attributes = {kDevice, place.card, address, nullptr};
      break;
  }
  if (pretend::CudaVersion() >= 13000) std::memset(attributes + 1, 0, kReservedSinceThirteen);
  return pretend::kSuccess;
}

// PyTorch, aten/src/ATen/native/cuda/Copy.cu and item(): what comes from a card is 0.
PRETEND_API int cudaMemcpy(Handle to, const void* from, size_t bytes, int) {
  Process::This().Copy(to, from, bytes);
  return pretend::kSuccess;
}
PRETEND_ALIAS(cudaMemcpy_ptds, cudaMemcpy);
// The hook (pretend/hook/endless.py): how often the program has read from a card.
PRETEND_API unsigned long long vramplan_pretend_reads() { return Process::This().reads(); }
// Copy.cu, for every .to(), and item(): copied at once, zeros from a card.
PRETEND_API int cudaMemcpyAsync(Handle to, const void* from, size_t bytes, int, Handle) {
  Process::This().Copy(to, from, bytes);
  return pretend::kSuccess;
}
PRETEND_ALIAS(cudaMemcpyAsync_ptsz, cudaMemcpyAsync);
// Older libraries, between cards: zeros stay zeros.
PRETEND_API int cudaMemcpyPeer(Handle to, int, const void* from, int, size_t bytes) {
  Process::This().Copy(to, from, bytes);
  return pretend::kSuccess;
}
// Copy.cu, between cards without peer access: the same.
PRETEND_API int cudaMemcpyPeerAsync(Handle to, int, const void* from, int, size_t bytes, Handle) {
  Process::This().Copy(to, from, bytes);
  return pretend::kSuccess;
}
// PyTorch, Copy.cu, for strided copies: row by row, for the padding of the host must stay.
PRETEND_API int cudaMemcpy2D(Handle to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                             size_t height, int) {
  for (size_t row = 0; row < height; ++row) {
    Process::This().Copy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch,
                         width);
  }
  return pretend::kSuccess;
}
PRETEND_ALIAS(cudaMemcpy2D_ptds, cudaMemcpy2D);
// Copy.cu: the same at once.
PRETEND_API int cudaMemcpy2DAsync(Handle to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                  size_t height, int kind, Handle) {
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}
PRETEND_ALIAS(cudaMemcpy2DAsync_ptsz, cudaMemcpy2DAsync);
// Of a variable of a kernel's module: read as 0 (PyTorch's kernels with device-side assertions ask so).
PRETEND_API int cudaMemcpyFromSymbol(Handle to, const void*, size_t bytes, size_t, int) {
  std::memset(to, 0, bytes);
  return pretend::kSuccess;
}
PRETEND_ALIAS(cudaMemcpyFromSymbol_ptds, cudaMemcpyFromSymbol);
// NCCL and cuFFT: as cudaMemsetAsync.
PRETEND_API int cudaMemset(Handle address, int byte, size_t bytes) {
  Process::This().Fill(address, byte, bytes);
  return pretend::kSuccess;
}
PRETEND_ALIAS(cudaMemset_ptds, cudaMemset);
// PyTorch, aten/src/ATen/native/cuda/Fill and zero_(): pinned and managed memory really become this.
PRETEND_API int cudaMemsetAsync(Handle address, int byte, size_t bytes, Handle) {
  return cudaMemset(address, byte, bytes);
}
PRETEND_ALIAS(cudaMemsetAsync_ptsz, cudaMemsetAsync);

namespace {

// Variables of kernels' modules lie on the card beside everything else; the context's band has them.
alignas(256) char g_symbols[1 << 20];

}  // namespace

// PyTorch, MAGMA and CUTLASS: an address that nobody reads on the host.
PRETEND_API int cudaGetSymbolAddress(Handle* address, const void*) {
  *address = g_symbols;
  return pretend::kSuccess;
}
// CUTLASS: a word.
PRETEND_API int cudaGetSymbolSize(size_t* bytes, const void*) {
  *bytes = 8;
  return pretend::kSuccess;
}

// PyTorch, torch/csrc/CudaIPCTypes.cpp: tensors handed to another process. The other side gets an address of its own,
// because nothing of this one can be shown there; it counts there too.
PRETEND_API int cudaIpcGetMemHandle(void* handle, Handle address) {
  std::memset(handle, 0, 64);
  std::memcpy(handle, &address, sizeof address);
  const uint64_t bytes = std::max<uint64_t>(Process::This().PlaceOf(address).bytes, 1);
  std::memcpy(static_cast<char*>(handle) + 8, &bytes, sizeof bytes);
  return pretend::kSuccess;
}
namespace {
struct IpcHandle {
  char bytes[64];
};
}  // namespace
// CudaIPCTypes.cpp, in the other process: an address of its own, counted there.
PRETEND_API int cudaIpcOpenMemHandle(Handle* address, IpcHandle handle, unsigned) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, handle.bytes + 8, sizeof bytes);
  return cudaMalloc(address, bytes);
}
PRETEND_ALIAS(cudaIpcCloseMemHandle, cudaFree);

// PyTorch with backend:cudaMallocAsync (c10/cuda/CUDAMallocAsyncAllocator.cpp): one pool a card; its statistics are 0,
// what is used is told by cudaMemGetInfo.
PRETEND_API int cudaDeviceGetDefaultMemPool(Handle* pool, int device) {
  *pool = PointerTo(0x1000 + static_cast<uint64_t>(device));
  return pretend::kSuccess;
}
PRETEND_ALIAS(cudaDeviceGetMemPool, cudaDeviceGetDefaultMemPool);
// RMM and JAX: a handle of its own.
PRETEND_API int cudaMemPoolCreate(Handle* pool, const void*) {
  *pool = pretend::NewHandle();
  return pretend::kSuccess;
}
// CUDAMallocAsyncAllocator.cpp, for its statistics: 0.
PRETEND_API int cudaMemPoolGetAttribute(Handle, int attribute, void* value) {
  std::memset(value, 0, attribute >= 4 ? 8 : 4);  // from cudaMemPoolAttrReleaseThreshold on they are 64 bits wide
  return pretend::kSuccess;
}
// CUDAMallocAsyncAllocator.cpp, getMemoryFraction and peers: may be read and written.
PRETEND_API int cudaMemPoolGetAccess(int* flags, Handle, const void*) {
  *flags = 3;  // read and write
  return pretend::kSuccess;
}
