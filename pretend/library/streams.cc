// Streams and events. Work is over when it is asked for, so waiting is nothing; events know the host's time, so that
// what a program times is the time that it took on the host.
#include <algorithm>
#include <chrono>

#include "pretend/library/abi.h"

using pretend::AddressOf;
using pretend::Handle;
using pretend::kSuccess;
using pretend::Process;
using pretend::Thread;

namespace {

// cudaStreamLegacy and cudaStreamPerThread are 1 and 2, the default stream is null.
constexpr uint64_t kLastSpecial = 2;

struct Stream {
  int device = 0, priority = 0;
  unsigned flags = 0;
};

struct Event {
  int64_t nanoseconds = 0;
};

int64_t Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Stream StreamOf(Handle stream) {
  return AddressOf(stream) <= kLastSpecial ? Stream{Thread().device, 0, 0} : *static_cast<Stream*>(stream);
}

int Create(Handle* stream, unsigned flags, int priority) {
  // Priorities outside of the range are taken for its nearest end.
  *stream = new Stream{Thread().device, std::clamp(priority, -5, 0), flags};
  return kSuccess;
}

}  // namespace

// PyTorch, c10/cuda/CUDAStream.cpp: 32 a pool and priority, made once.
PRETEND_API int cudaStreamCreateWithPriority(Handle* stream, unsigned flags, int priority) {
  return Create(stream, flags, priority);
}
// NCCL, cuDNN and DataLoader's pinning: a stream of no priority.
PRETEND_API int cudaStreamCreateWithFlags(Handle* stream, unsigned flags) { return Create(stream, flags, 0); }
// Older libraries: the same.
PRETEND_API int cudaStreamCreate(Handle* stream) { return Create(stream, 0, 0); }
// Triton and NCCL ask the driver for the same.
PRETEND_ALIAS(cuStreamCreateWithPriority, cudaStreamCreateWithPriority);
PRETEND_ALIAS(cuStreamCreate, cudaStreamCreateWithFlags);
// NCCL and cuDNN: the object is gone; the default streams stay.
PRETEND_API int cudaStreamDestroy(Handle stream) {
  if (AddressOf(stream) > kLastSpecial) delete static_cast<Stream*>(stream);
  return kSuccess;
}
PRETEND_ALIAS(cuStreamDestroy, cudaStreamDestroy);
PRETEND_ALIAS(cuStreamDestroy_v2, cudaStreamDestroy);
// PyTorch, torch.cuda.Stream.priority.
PRETEND_API int cudaStreamGetPriority(Handle stream, int* priority) {
  *priority = StreamOf(stream).priority;
  return kSuccess;
}
PRETEND_ALIAS(cudaStreamGetPriority_ptsz, cudaStreamGetPriority);
PRETEND_ALIAS(cuStreamGetPriority, cudaStreamGetPriority);
// JAX and UCX: what it was created with.
PRETEND_API int cudaStreamGetFlags(Handle stream, unsigned* flags) {
  *flags = StreamOf(stream).flags;
  return kSuccess;
}
PRETEND_ALIAS(cudaStreamGetFlags_ptsz, cudaStreamGetFlags);
PRETEND_ALIAS(cuStreamGetFlags, cudaStreamGetFlags);
// PyTorch, torch.cuda.ExternalStream; Transformer Engine.
PRETEND_API int cudaStreamGetDevice(Handle stream, int* device) {
  *device = StreamOf(stream).device;
  return kSuccess;
}
PRETEND_ALIAS(cudaStreamGetDevice_ptsz, cudaStreamGetDevice);
PRETEND_ALIAS(cuStreamGetDevice, cudaStreamGetDevice);
// PyTorch's profiler: a number that no other stream has.
PRETEND_API int cudaStreamGetId(Handle stream, unsigned long long* id) {
  *id = AddressOf(stream);
  return kSuccess;
}
PRETEND_ALIAS(cudaStreamGetId_ptsz, cudaStreamGetId);
PRETEND_ALIAS(cuStreamGetId, cudaStreamGetId);

// PyTorch, ATen/cuda/CUDAEvent.h: the caching allocator holds a block back until its events are over, which they are.
PRETEND_API int cudaEventCreateWithFlags(Handle* event, unsigned) {
  *event = new Event();
  return kSuccess;
}
PRETEND_ALIAS(cuEventCreate, cudaEventCreateWithFlags);
// NCCL and older libraries: an event that takes times.
PRETEND_API int cudaEventCreate(Handle* event) { return cudaEventCreateWithFlags(event, 0); }
// c10/cuda/CUDAEvent.h, at its end: the object is gone.
PRETEND_API int cudaEventDestroy(Handle event) {
  delete static_cast<Event*>(event);
  return kSuccess;
}
PRETEND_ALIAS(cuEventDestroy, cudaEventDestroy);
PRETEND_ALIAS(cuEventDestroy_v2, cudaEventDestroy);
// c10/cuda/CUDAEvent.h: over at once.
PRETEND_API int cudaEventRecord(Handle event, Handle) {
  if (event != nullptr) static_cast<Event*>(event)->nanoseconds = Now();
  return kSuccess;
}
PRETEND_ALIAS(cudaEventRecord_ptsz, cudaEventRecord);
PRETEND_ALIAS(cuEventRecord, cudaEventRecord);
// c10/cuda/CUDAEvent.h, external events of graphs: the same.
PRETEND_API int cudaEventRecordWithFlags(Handle event, Handle stream, unsigned) {
  return cudaEventRecord(event, stream);
}
PRETEND_ALIAS(cudaEventRecordWithFlags_ptsz, cudaEventRecordWithFlags);
PRETEND_ALIAS(cuEventRecordWithFlags, cudaEventRecordWithFlags);
// torch.cuda.Event.elapsed_time, Triton's and Inductor's benchmarks: never 0, for they divide by it.
PRETEND_API int cudaEventElapsedTime(float* milliseconds, Handle begin, Handle end) {
  const int64_t passed = static_cast<Event*>(end)->nanoseconds - static_cast<Event*>(begin)->nanoseconds;
  *milliseconds = static_cast<float>(std::max<int64_t>(passed, 1000)) * 1e-6F;
  return kSuccess;
}
PRETEND_ALIAS(cudaEventElapsedTime_v2, cudaEventElapsedTime);
PRETEND_ALIAS(cuEventElapsedTime, cudaEventElapsedTime);
PRETEND_ALIAS(cuEventElapsedTime_v2, cudaEventElapsedTime);
// PyTorch, CudaIPCTypes.cpp: an event of another process is over too.
namespace {
struct IpcEventHandle {
  char bytes[64];
};
}  // namespace
// CudaIPCTypes.cpp, with a tensor that is sent: 64 bytes.
PRETEND_API int cudaIpcGetEventHandle(IpcEventHandle* handle, Handle) {
  *handle = {};
  return kSuccess;
}
PRETEND_ALIAS(cuIpcGetEventHandle, cudaIpcGetEventHandle);
// CudaIPCTypes.cpp, in the other process: an event that is over.
PRETEND_API int cudaIpcOpenEventHandle(Handle* event, IpcEventHandle) { return cudaEventCreate(event); }
PRETEND_ALIAS(cuIpcOpenEventHandle, cudaIpcOpenEventHandle);

// PyTorch's host allocator and NCCL: what the stream does before is done, so the function runs now.
PRETEND_API int cudaLaunchHostFunc(Handle stream, void (*function)(void*), void* with) {
  // Recorded into a graph it would run when the graph does.
  if (!Process::This().CaptureOf(stream)) function(with);
  return kSuccess;
}
PRETEND_ALIAS(cudaLaunchHostFunc_ptsz, cudaLaunchHostFunc);
PRETEND_ALIAS(cuLaunchHostFunc, cudaLaunchHostFunc);
// Older libraries: called at once, in this thread.
PRETEND_API int cudaStreamAddCallback(Handle stream, void (*function)(Handle, int, void*), void* with, unsigned) {
  function(stream, kSuccess, with);
  return kSuccess;
}
PRETEND_ALIAS(cudaStreamAddCallback_ptsz, cudaStreamAddCallback);
PRETEND_ALIAS(cuStreamAddCallback, cudaStreamAddCallback);
