// NCCL: every other rank is like this one. Sizes are what counts; values are zeros like all that is read from a card.
#include <atomic>
#include <optional>
#include <vector>

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
// ncclDataType_t: int8, uint8, int32, uint32, int64, uint64, fp16, fp32, fp64, bf16, fp8 of two kinds.
uint64_t BytesOf(int type) {
  constexpr int kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type >= 0 && type < 12 ? static_cast<uint64_t>(kBytes[type]) : 1;
}
// What is broadcast between ncclGroupStart and ncclGroupEnd.
struct Message {
  const void* from = nullptr;
  Handle to = nullptr;
  uint64_t bytes = 0;
};
struct Group {
  int depth = 0;
  std::optional<Message> own;
  std::vector<Message> others;
};
thread_local Group group;

std::atomic<int> size_of_next_split = 0;

const Communicator& CommunicatorOf(Handle communicator) { return *static_cast<const Communicator*>(communicator); }

}  // namespace

// PyTorch, torch/csrc/distributed/c10d: DDP compares the shapes of parameters and agrees on buckets (reducer.cpp,
// verify_params_across_processes, sync_bucket_indices), and objects are gathered as bytes: all of them are read again.
PRETEND_API int ncclAllGather(const void* from, Handle to, size_t count, int type, Handle communicator, Handle) {
  Process::This().Collect(to, from, count * BytesOf(type), CommunicatorOf(communicator).ranks);
  return kSuccess;
}
// ProcessGroupNCCL::broadcast and allgather: from this rank what it has; from another what this rank would send.
PRETEND_API int ncclBroadcast(const void* from, Handle to, size_t count, int type, int root, Handle communicator,
                              Handle) {
  const uint64_t bytes = count * BytesOf(type);
  if (root == CommunicatorOf(communicator).rank) {
    if (group.depth > 0) group.own = {from, to, bytes};
    Process::This().Collect(to, from, bytes, 1);
  } else {
    // The root says what this rank has in the same place: DDP compares the sizes of parameters so.
    Process::This().Collect(to, from, bytes, 1);
    if (group.depth > 0) group.others.push_back({from, to, bytes});
  }
  return kSuccess;
}
// Older libraries: the same in place.
PRETEND_API int ncclBcast(Handle address, size_t count, int type, int root, Handle communicator, Handle stream) {
  return ncclBroadcast(address, address, count, type, root, communicator, stream);
}
// ProcessGroupNCCL::allgather since PyTorch 2.15: a broadcast of each rank in one group. What the others broadcast is
// what this rank does.
PRETEND_API int ncclGroupStart() {
  ++group.depth;
  return kSuccess;
}
// ProcessGroupNCCL, at the end of every group: what was broadcast in it is handed out.
PRETEND_API int ncclGroupEnd() {
  if (--group.depth > 0) return kSuccess;
  for (const Message& other : group.others) {
    if (group.own && other.bytes == group.own->bytes)
      Process::This().Collect(other.to, group.own->from, other.bytes, 1);
  }
  group = {};
  return kSuccess;
}

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
// NCCLComm::create: a communicator of so many ranks, without waiting for them.
PRETEND_API int ncclCommInitRank(Handle* communicator, int ranks, UniqueId, int rank) {
  return Make(communicator, ranks, rank);
}
// NCCLComm::create with a configuration, since NCCL 2.14: the same.
PRETEND_API int ncclCommInitRankConfig(Handle* communicator, int ranks, UniqueId, int rank, const void*) {
  return Make(communicator, ranks, rank);
}
// NCCLComm::create_scalable, since NCCL 2.23: the same with several ids.
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
// ProcessGroupNCCL::initNCCLComm, for groups of a process group that is bound to its card: the key is the rank in the
// new group. Which ranks have the colour is nothing that one process knows alone, so the hook says the size before.
PRETEND_API int ncclCommSplit(Handle communicator, int colour, int key, Handle* part, const void*) {
  constexpr int kNoColour = -1;  // NCCL_SPLIT_NOCOLOR: this rank is in none of the parts
  *part = nullptr;
  if (colour == kNoColour) return kSuccess;
  const int ranks = size_of_next_split.load();
  return ranks > 0 ? Make(part, ranks, key)
                   : Make(part, CommunicatorOf(communicator).ranks, CommunicatorOf(communicator).rank);
}
// The hook (pretend/hook/alone.py): how many ranks the next group has; 0: unknown.
PRETEND_API void vramplan_pretend_split(int ranks) { size_of_next_split = ranks; }
// The hook, at the end of a step.
PRETEND_API void vramplan_pretend_forget() { Process::This().ForgetTold(); }
// NCCLComm::shrink, since NCCL 2.27: a communicator without those ranks.
PRETEND_API int ncclCommShrink(Handle communicator, const int*, int without, Handle* part, const void*, int) {
  return Make(part, CommunicatorOf(communicator).ranks - without, CommunicatorOf(communicator).rank);
}
// NCCLComm::destroy: the object is gone.
PRETEND_API int ncclCommDestroy(Handle communicator) {
  delete static_cast<Communicator*>(communicator);
  return kSuccess;
}
PRETEND_ALIAS(ncclCommAbort, ncclCommDestroy);
// torch/csrc/cuda/nccl.cpp and DeepSpeed: its size.
PRETEND_API int ncclCommCount(Handle communicator, int* ranks) {
  *ranks = CommunicatorOf(communicator).ranks;
  return kSuccess;
}
// torch/csrc/cuda/nccl.cpp: this rank's number in it.
PRETEND_API int ncclCommUserRank(Handle communicator, int* rank) {
  *rank = CommunicatorOf(communicator).rank;
  return kSuccess;
}
// torch/csrc/cuda/nccl.cpp: the card it was made on.
PRETEND_API int ncclCommCuDevice(Handle communicator, int* device) {
  *device = CommunicatorOf(communicator).device;
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
// ProcessGroupNCCL's allocator for torch.cuda.MemPool: counted no longer.
PRETEND_API int ncclMemFree(Handle address) {
  Process::This().Free(pretend::AddressOf(address));
  return kSuccess;
}
// NCCLComm::registerSegment: a handle.
PRETEND_API int ncclCommRegister(Handle, Handle, size_t, Handle* registration) {
  *registration = pretend::NewHandle();
  return kSuccess;
}
// NCCLComm::registerSegment with windows, since NCCL 2.27: a handle.
PRETEND_API int ncclCommWindowRegister(Handle, Handle, size_t, Handle* window, int) {
  *window = pretend::NewHandle();
  return kSuccess;
}
// ProcessGroupNCCL, ReduceOp.PREMUL_SUM of FSDP2: a number that is none of NCCL's own.
PRETEND_API int ncclRedOpCreatePreMulSum(int* operation, Handle, int, int, Handle) {
  *operation = 5;  // the first that is not built in
  return kSuccess;
}
