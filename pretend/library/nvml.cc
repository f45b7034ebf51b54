// NVML: what PyTorch, pynvml, accelerate and cuda_probe ask about cards from outside. A name that is not here is not found,
// which pynvml tells as a driver too old for it.
//
// NVML knows all cards of the machine, whatever CUDA_VISIBLE_DEVICES shows.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "pretend/card/others.h"
#include "pretend/library/abi.h"

using pretend::AddressOf;
using pretend::Card;
using pretend::Handle;
using pretend::Holder;
using pretend::kSuccess;
using pretend::PointerTo;
using pretend::Process;

namespace {

// nvmlReturn_t
constexpr int kNotSupported = 3, kNoPermission = 4, kNotFound = 6, kInsufficientSize = 7, kGpuIsLost = 15,
              kVersionMismatch = 25;

// The handle of a card is its number and one; of a card that is a slice of another there is also that of the whole one.
constexpr uint64_t kWhole = 0x10000;
int IndexOf(Handle device) { return static_cast<int>(AddressOf(device) % kWhole) - 1; }
const std::vector<Card>& Cards() { return Process::This().description().cards; }
const Card& CardOf(Handle device) { return Cards()[static_cast<size_t>(IndexOf(device))]; }
bool IsSlice(Handle device) { return CardOf(device).mig && AddressOf(device) < kWhole; }
Handle HandleOf(size_t index) { return PointerTo(uint64_t{index} + 1); }
Handle WholeOf(Handle device) { return PointerTo(AddressOf(device) | kWhole); }
std::string UuidOf(const Card& card) { return (card.mig ? "MIG-" : "GPU-") + card.uuid; }

uint64_t TotalOf(Handle device) { return static_cast<uint64_t>(CardOf(device).total); }
uint64_t FreeOf(Handle device) {
  Process::This().LookAt(Process::Asked::kMemory);
  return Process::This().SeenOf(IndexOf(device)).free;
}

struct Memory {
  unsigned long long total, free, used;
};
struct MemoryTwo {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
// Of the second and third version of the lists.
struct Listed {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};
struct Pci {
  char short_id[16];
  unsigned domain, bus, device, ids, subsystem;
  char id[32];
};

// Who is on the card: others, and this process where it has a context.
std::vector<Listed> ListOf(Handle device, bool compute) {
  const Card& card = CardOf(device);
  const Process::Seen seen = Process::This().SeenOf(IndexOf(device));
  std::vector<Listed> list;
  const auto add = [&](int64_t pid, uint64_t bytes, bool told) {
    // NVML_VALUE_NOT_AVAILABLE; Windows never says.
    const bool says = told && !Process::This().description().wsl;
    list.push_back({static_cast<unsigned>(pid), says ? bytes : ~0ULL, card.mig ? 1 : ~0U, card.mig ? 0 : ~0U});
  };
  for (const Holder& holder : card.holders) {
    // Asked once: a child may end in between.
    const int64_t bytes = BytesOf(holder, seen.look), pid = PidOf(holder);
    if (!(compute ? holder.compute : holder.graphics) || bytes == 0 || pid == 0) continue;
    add(pid, static_cast<uint64_t>(bytes), holder.told);
  }
  if (compute && seen.has_context) add(getpid(), seen.held, true);
  return list;
}

// With no place to write the list to, the caller asks how long it is.
int List(Handle device, bool compute, unsigned* count, Listed* into) {
  if (into == nullptr && compute) Process::This().LookAt(Process::Asked::kProcesses);
  const std::vector<Listed> list = ListOf(device, compute);
  const unsigned room = *count;
  *count = static_cast<unsigned>(list.size());
  if (list.empty()) return kSuccess;
  if (into == nullptr || room < list.size()) return kInsufficientSize;
  std::ranges::copy(list, into);
  return kSuccess;
}

int OnOff(Handle device, const std::optional<bool>& state, int* value) {
  if (IsSlice(device)) return kNotSupported;
  *value = state.value_or(false) ? 1 : 0;
  return state ? kSuccess : kNotSupported;
}

}  // namespace

// PyTorch, c10/cuda/CUDACachingAllocator (its message), pynvml: success.
PRETEND_API int nvmlInit_v2() { return kSuccess; }
PRETEND_ALIAS(nvmlInit, nvmlInit_v2);
// NCCL and DCGM: success.
PRETEND_API int nvmlInitWithFlags(unsigned) { return kSuccess; }
// pynvml: success.
PRETEND_API int nvmlShutdown() { return kSuccess; }
// pynvml and cuda_probe, in their messages: what the code means.
PRETEND_API const char* nvmlErrorString(int result) {
  switch (result) {
    case kSuccess:
      return "Success";
    case kNotSupported:
      return "Not Supported";
    case kNoPermission:
      return "Insufficient Permissions";
    case kNotFound:
      return "Not Found";
    case kGpuIsLost:
      return "GPU is lost";
    default:
      return "Unknown Error";
  }
}
// pynvml, wandb, torch.utils.collect_env: a driver that is new enough for the wheel.
PRETEND_API int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  std::snprintf(text, length, "%s", Process::This().description().driver.c_str());
  return kSuccess;
}
// pynvml and wandb: the same.
PRETEND_API int nvmlSystemGetNVMLVersion(char* text, unsigned length) {
  std::snprintf(text, length, "13.%s", Process::This().description().driver.c_str());
  return kSuccess;
}
// PyTorch, c10/cuda/driver_api.cpp.
PRETEND_API int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = pretend::DriverVersion();
  return kSuccess;
}
PRETEND_ALIAS(nvmlSystemGetCudaDriverVersion, nvmlSystemGetCudaDriverVersion_v2);
// torch.cuda.device_count() with PYTORCH_NVML_BASED_CUDA_CHECK.
PRETEND_API int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(pretend::CardsSeen(Cards(), std::getenv("CUDA_VISIBLE_DEVICES")));
  return kSuccess;
}
PRETEND_ALIAS(nvmlDeviceGetCount, nvmlDeviceGetCount_v2);
// pynvml, wandb, torch.cuda.utilization: a handle of the card.
PRETEND_API int nvmlDeviceGetHandleByIndex_v2(unsigned index, Handle* device) {
  *device = WholeOf(HandleOf(index));
  return index < Cards().size() ? kSuccess : kNotFound;
}
PRETEND_ALIAS(nvmlDeviceGetHandleByIndex, nvmlDeviceGetHandleByIndex_v2);
// PyTorch, CUDACachingAllocator.cpp, reportProcessMemoryInfo: for the out-of-memory message. Bus ids differ in the
// length of their domain only.
PRETEND_API int nvmlDeviceGetHandleByPciBusId_v2(const char* text, Handle* device) {
  const char* const colon = std::strchr(text, ':');
  const auto card = std::ranges::find_if(
      Cards(), [&](const Card& each) { return colon != nullptr && each.pci.substr(each.pci.find(':')) == colon; });
  if (card == Cards().end()) return kNotFound;
  *device = WholeOf(HandleOf(static_cast<size_t>(card - Cards().begin())));
  return kSuccess;
}
PRETEND_ALIAS(nvmlDeviceGetHandleByPciBusId, nvmlDeviceGetHandleByPciBusId_v2);
// torch.cuda, where CUDA_VISIBLE_DEVICES names cards by UUID, and cuda_probe: the card of that name.
PRETEND_API int nvmlDeviceGetHandleByUUID(const char* text, Handle* device) {
  const auto card = std::ranges::find(Cards(), text, UuidOf);
  if (card == Cards().end()) return kNotFound;
  *device = HandleOf(static_cast<size_t>(card - Cards().begin()));
  return kSuccess;
}
// cuda_probe: whether the card is a slice of another one, and that one.
PRETEND_API int nvmlDeviceIsMigDeviceHandle(Handle device, unsigned* slice) {
  *slice = IsSlice(device) ? 1 : 0;
  return kSuccess;
}
// cuda_probe: the card itself, where it is no slice.
PRETEND_API int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Handle slice, Handle* device) {
  *device = WholeOf(slice);
  return kSuccess;
}
// pynvml and NCCL: its number.
PRETEND_API int nvmlDeviceGetIndex(Handle device, unsigned* index) {
  *index = static_cast<unsigned>(IndexOf(device));
  return kSuccess;
}
// pynvml, wandb, accelerate: the card's name.
PRETEND_API int nvmlDeviceGetName(Handle device, char* text, unsigned length) {
  std::snprintf(text, length, "%s", CardOf(device).name.c_str());
  return kSuccess;
}
// torch.cuda, for CUDA_VISIBLE_DEVICES: as cuDeviceGetUuid has it.
PRETEND_API int nvmlDeviceGetUUID(Handle device, char* text, unsigned length) {
  std::snprintf(text, length, "%s", UuidOf(CardOf(device)).c_str());
  return kSuccess;
}
// NCCL and PyTorch's allocator, which look the card up by its bus: where it is.
PRETEND_API int nvmlDeviceGetPciInfo_v3(Handle device, Pci* pci) {
  *pci = {};
  std::snprintf(pci->short_id, sizeof pci->short_id, "%s", CardOf(device).pci.c_str());
  std::snprintf(pci->id, sizeof pci->id, "0000%s", CardOf(device).pci.c_str());
  return kSuccess;
}
PRETEND_ALIAS(nvmlDeviceGetPciInfo_v2, nvmlDeviceGetPciInfo_v3);
PRETEND_ALIAS(nvmlDeviceGetPciInfo, nvmlDeviceGetPciInfo_v3);
// vLLM and NCCL: the card's capability.
PRETEND_API int nvmlDeviceGetCudaComputeCapability(Handle device, int* major, int* minor) {
  *major = CardOf(device).major;
  *minor = CardOf(device).minor;
  return kSuccess;
}
// Lightning's and wandb's monitors; torch.cuda.memory_usage and utilization: what is not free is used, and what the
// driver keeps is neither free.
PRETEND_API int nvmlDeviceGetMemoryInfo(Handle device, Memory* memory) {
  const uint64_t free = FreeOf(device);
  *memory = {TotalOf(device), free, TotalOf(device) - free};
  return kSuccess;
}
// torch.cuda.device_memory_used, nvidia-smi and cuda_probe: with what the driver keeps for itself as a part of its own.
PRETEND_API int nvmlDeviceGetMemoryInfo_v2(Handle device, MemoryTwo* memory) {
  if (memory->version != (sizeof(MemoryTwo) | (2U << 24))) return kVersionMismatch;
  const auto usable = static_cast<uint64_t>(CardOf(device).usable);
  const uint64_t free = FreeOf(device);
  *memory = {memory->version, TotalOf(device), TotalOf(device) - usable, free, usable - free};
  return kSuccess;
}
// cuda_probe and nvidia-smi: errors of memory are corrected, now and after a restart.
PRETEND_API int nvmlDeviceGetEccMode(Handle device, int* now, int* later) {
  return OnOff(device, CardOf(device).ecc, now) | OnOff(device, CardOf(device).ecc, later);
}
// cuda_probe: a screen is connected.
PRETEND_API int nvmlDeviceGetDisplayMode(Handle device, int* connected) {
  return OnOff(device, CardOf(device).display, connected);
}
// cuda_probe: something is drawn on it.
PRETEND_API int nvmlDeviceGetDisplayActive(Handle device, int* active) {
  return OnOff(device, CardOf(device).display, active);
}
// torch.cuda.utilization, wandb: idle.
PRETEND_API int nvmlDeviceGetUtilizationRates(Handle, unsigned* rates) {
  rates[0] = rates[1] = 0;
  return kSuccess;
}
// torch.cuda.temperature, wandb: a number that no monitor warns of.
PRETEND_API int nvmlDeviceGetTemperature(Handle, int, unsigned* celsius) {
  *celsius = 40;
  return kSuccess;
}
// torch.cuda.power_draw, wandb, codecarbon: a number of milliwatts.
PRETEND_API int nvmlDeviceGetPowerUsage(Handle, unsigned* milliwatts) {
  *milliwatts = 50000;
  return kSuccess;
}
// wandb and codecarbon: a number of milliwatts.
PRETEND_API int nvmlDeviceGetEnforcedPowerLimit(Handle, unsigned* milliwatts) {
  *milliwatts = 300000;
  return kSuccess;
}
// PyTorch's out-of-memory message (CUDACachingAllocator.cpp), by the list of the first version: nobody, so that the
// message leaves out what each process holds.
PRETEND_API int nvmlDeviceGetComputeRunningProcesses(Handle, unsigned* count, void*) {
  *count = 0;
  return kSuccess;
}
// cuda_probe and pynvml: who computes on the card.
PRETEND_API int nvmlDeviceGetComputeRunningProcesses_v2(Handle device, unsigned* count, Listed* list) {
  return List(device, true, count, list);
}
PRETEND_ALIAS(nvmlDeviceGetComputeRunningProcesses_v3, nvmlDeviceGetComputeRunningProcesses_v2);
// The same: who draws on it.
PRETEND_API int nvmlDeviceGetGraphicsRunningProcesses_v2(Handle device, unsigned* count, Listed* list) {
  return List(device, false, count, list);
}
PRETEND_ALIAS(nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlDeviceGetGraphicsRunningProcesses_v2);
// cuda_probe and pynvml: the program of a process that is on a card.
PRETEND_API int nvmlSystemGetProcessName(unsigned pid, char* text, unsigned length) {
  for (const Card& card : Cards()) {
    for (const Holder& holder : card.holders) {
      if (PidOf(holder) != pid) continue;
      std::snprintf(text, length, "%s", holder.name.c_str());
      return holder.name.empty() ? kNotFound : kSuccess;
    }
  }
  if (pid != static_cast<unsigned>(getpid())) return kNotFound;
  std::snprintf(text, length, "%s", program_invocation_name);
  return kSuccess;
}
// PyTorch, torch/csrc/distributed/c10d: no links between cards.
PRETEND_API int nvmlDeviceGetNvLinkState(Handle, unsigned, int* active) {
  *active = 0;
  return kNotSupported;
}
// PyTorch, intra-node topology (DMAConnectivity): no link.
PRETEND_API int nvmlDeviceGetNvLinkRemoteDeviceType(Handle, unsigned, int* type) {
  *type = 0xFF;  // unknown
  return kNotSupported;
}
// The same: nothing at its end.
PRETEND_API int nvmlDeviceGetNvLinkRemotePciInfo_v2(Handle, unsigned, Pci* pci) {
  *pci = {};
  return kNotSupported;
}
