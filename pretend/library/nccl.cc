// NCCL: every other rank is like this one. Sizes are what counts; values are zeros like all that is read from a card.
#include "pretend/library/abi.h"

using pretend::Handle;
using pretend::kSuccess;
using pretend::PointerTo;
using pretend::Process;
using pretend::Thread;

namespace {

struct Communicator {
  int ranks = 1, rank = 0, device = 0;
};
struct UniqueId {
  char bytes[128];
};

int Make(Handle* communicator, int ranks, int rank) {
  *communicator = new Communicator{ranks, rank, Thread().device};
  return kSuccess;
}
const Communicator& Of(Handle communicator) { return *static_cast<const Communicator*>(communicator); }

}  // namespace

// PyTorch, torch/csrc/distributed/c10d/NCCLUtils.cpp: features are chosen by it: 2.27.5, what torch 2.10 was built
// with; 2.20.5 of CUDA 11 wheels (torch.cuda.nccl.version()).
PRETEND_API int ncclGetVersion(int* version) {
  *version = pretend::CudaVersion() < 12000 ? 22005 : 22705;
  return kSuccess;
}
// ProcessGroupNCCL.cpp: carried to the other ranks by the store, never looked into.
PRETEND_API int ncclGetUniqueId(UniqueId* id) {
  *id = {};
  return kSuccess;
}
PRETEND_API int ncclCommInitRank(Handle* communicator, int ranks, UniqueId, int rank) {
  return Make(communicator, ranks, rank);
}
PRETEND_API int ncclCommInitRankConfig(Handle* communicator, int ranks, UniqueId, int rank, const void*) {
  return Make(communicator, ranks, rank);
}
PRETEND_API int ncclCommInitRankScalable(Handle* communicator, int ranks, int rank, int, const void*, const void*) {
  return Make(communicator, ranks, rank);
}
// torch.nn.DataParallel.
PRETEND_API int ncclCommInitAll(Handle* communicators, int count, const int* devices) {
  for (int i = 0; i < count; ++i) {
    communicators[i] = new Communicator{count, i, devices == nullptr ? i : devices[i]};
  }
  return kSuccess;
}
// Which ranks have this colour is nothing that one process knows alone: a group of the same size. (A smaller one is
// asked for by its size where the framework gives it, which ncclCommInitRankConfig gets.)
PRETEND_API int ncclCommSplit(Handle communicator, int, int, Handle* part, const void*) {
  return Make(part, Of(communicator).ranks, Of(communicator).rank);
}
PRETEND_API int ncclCommShrink(Handle communicator, const int*, int without, Handle* part, const void*, int) {
  return Make(part, Of(communicator).ranks - without, Of(communicator).rank);
}
PRETEND_API int ncclCommDestroy(Handle communicator) {
  delete static_cast<Communicator*>(communicator);
  return kSuccess;
}
PRETEND_ALIAS(ncclCommAbort, ncclCommDestroy);
PRETEND_API int ncclCommCount(Handle communicator, int* ranks) {
  *ranks = Of(communicator).ranks;
  return kSuccess;
}
PRETEND_API int ncclCommUserRank(Handle communicator, int* rank) {
  *rank = Of(communicator).rank;
  return kSuccess;
}
PRETEND_API int ncclCommCuDevice(Handle communicator, int* device) {
  *device = Of(communicator).device;
  return kSuccess;
}
// ProcessGroupNCCL's watchdog: nothing ever fails.
PRETEND_API int ncclCommGetAsyncError(Handle, int* error) {
  *error = kSuccess;
  return kSuccess;
}
// torch.cuda.MemPool with NCCL's allocator, symmetric memory: memory of the card.
PRETEND_API int ncclMemAlloc(Handle* address, size_t bytes) {
  *address = PointerTo(Process::This().Allocate(Thread().device, bytes));
  return *address == nullptr ? 1 : kSuccess;  // ncclUnhandledCudaError
}
PRETEND_API int ncclMemFree(Handle address) {
  Process::This().Free(pretend::AddressOf(address));
  return kSuccess;
}
PRETEND_API int ncclCommRegister(Handle, Handle, size_t, Handle* registration) {
  *registration = pretend::NewHandle();
  return kSuccess;
}
PRETEND_API int ncclCommWindowRegister(Handle, Handle, size_t, Handle* window, int) {
  *window = pretend::NewHandle();
  return kSuccess;
}
PRETEND_API int ncclRedOpCreatePreMulSum(int* operation, Handle, int, int, Handle) {
  *operation = 5;  // the first that is not built in
  return kSuccess;
}
