// NVML's entry points that cuda_probe uses: libnvidia-ml.so.1. Structures as in the NVML API Reference, declared here
// once more: cuda_probe's own are what is tested.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "tests/pretend_gpu/machine.h"

using pretend::Card;
using pretend::Holder;
using pretend::Machine;

namespace {

constexpr int kSuccess = 0, kNotSupported = 3, kNoPermission = 4, kNotFound = 6, kInsufficientSize = 7, kGpuIsLost = 15,
              kVersionMismatch = 25;

struct Memory {
  unsigned long long total, free, used;
};
struct MemoryTwo {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct Process {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};

Machine& This() { return Machine::This(); }
int Enter(const char* function) { return This().Enter(function, kGpuIsLost); }

// A card, or the card of which a card of the description is a slice.
struct Device {
  Card* card = nullptr;
  bool whole = false;
};
Device& DeviceOf(Card* card, bool whole) {
  static std::map<std::pair<Card*, bool>, Device> devices;
  return devices[{card, whole}] = Device{card, whole};
}
Card& CardOf(void* device) { return *static_cast<Device*>(device)->card; }
bool IsSlice(void* device) { return CardOf(device).mig && !static_cast<Device*>(device)->whole; }

std::vector<Process> List(Card& card, bool compute) {
  std::vector<Process> list;
  const auto add = [&](int64_t pid, int64_t bytes, bool told) {
    // NVML_VALUE_NOT_AVAILABLE; Windows never says.
    const bool says = told && !This().description().wsl;
    list.push_back({static_cast<unsigned>(pid), says ? static_cast<unsigned long long>(bytes) : ~0ULL,
                    card.mig ? 1 : ~0U, card.mig ? 0 : ~0U});
  };
  for (const Holder& holder : card.holders) {
    // Asked once: a child may end in between.
    const int64_t bytes = This().BytesOf(holder), pid = This().PidOf(holder);
    if (!(compute ? holder.compute : holder.graphics) || bytes == 0 || pid == 0) continue;
    add(pid, bytes, holder.told);
  }
  const pretend::Context& ours = This().ContextOf(&card);
  if (compute && ours.alive) add(getpid(), ours.taken, true);
  return list;
}

int Processes(const char* function, void* device, bool compute, unsigned* count, Process* into) {
  if (into == nullptr && compute) This().Look(true);
  if (const int forced = Enter(function); forced != kSuccess) return forced;
  const std::vector<Process> list = List(CardOf(device), compute);
  const unsigned room = *count;
  *count = static_cast<unsigned>(list.size());
  if (list.empty()) return kSuccess;
  if (into == nullptr || room < list.size()) return kInsufficientSize;
  std::ranges::copy(list, into);
  return kSuccess;
}

int OnOff(const std::optional<bool>& state, int* value) {
  *value = state.value_or(false) ? 1 : 0;
  return state ? kSuccess : kNotSupported;
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return Enter("nvmlInit_v2"); }
int nvmlShutdown() { return kSuccess; }
const char* nvmlErrorString(int result) {
  switch (result) {
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
int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  std::snprintf(text, length, "%s", This().description().driver.c_str());
  return Enter("nvmlSystemGetDriverVersion");
}
int nvmlSystemGetProcessName(unsigned pid, char* text, unsigned length) {
  if (const int forced = Enter("nvmlSystemGetProcessName"); forced != kSuccess) return forced;
  for (const Card& card : This().all()) {
    for (const Holder& holder : card.holders) {
      if (This().PidOf(holder) != pid) continue;
      std::snprintf(text, length, "%s", holder.name.c_str());
      return holder.name.empty() ? kNotFound : kSuccess;
    }
  }
  if (pid != static_cast<unsigned>(getpid())) return kNotFound;
  std::snprintf(text, length, "%s", program_invocation_name);
  return kSuccess;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  if (const int forced = Enter("nvmlDeviceGetHandleByUUID"); forced != kSuccess) return forced;
  for (Card& card : This().all()) {
    if ((card.mig ? "MIG-" : "GPU-") + card.uuid != uuid) continue;
    *device = &DeviceOf(&card, false);
    return kSuccess;
  }
  return kNotFound;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* pci, void** device) {
  if (const int forced = Enter("nvmlDeviceGetHandleByPciBusId_v2"); forced != kSuccess) return forced;
  for (Card& card : This().all()) {
    if (card.pci != pci) continue;
    *device = &DeviceOf(&card, true);
    return kSuccess;
  }
  return kNotFound;
}
int nvmlDeviceIsMigDeviceHandle(void* device, unsigned* slice) {
  *slice = IsSlice(device) ? 1 : 0;
  return Enter("nvmlDeviceIsMigDeviceHandle");
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void* slice, void** device) {
  *device = &DeviceOf(&CardOf(slice), true);
  return Enter("nvmlDeviceGetDeviceHandleFromMigDeviceHandle");
}

int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  if (const int forced = Enter("nvmlDeviceGetMemoryInfo"); forced != kSuccess) return forced;
  This().Look(false);
  Card& card = CardOf(device);
  const auto free = static_cast<unsigned long long>(This().Free(&card));
  const auto total = static_cast<unsigned long long>(card.total);
  *memory = {total, free, total - free};
  return kSuccess;
}
int nvmlDeviceGetMemoryInfo_v2(void* device, MemoryTwo* memory) {
  if (const int forced = Enter("nvmlDeviceGetMemoryInfo_v2"); forced != kSuccess) return forced;
  if (memory->version != (sizeof(MemoryTwo) | (2U << 24))) return kVersionMismatch;
  This().Look(false);
  Card& card = CardOf(device);
  memory->total = static_cast<unsigned long long>(card.total);
  memory->reserved = static_cast<unsigned long long>(card.total - card.usable);
  memory->free = static_cast<unsigned long long>(This().Free(&card));
  memory->used = memory->total - memory->reserved - memory->free;
  return kSuccess;
}

int nvmlDeviceGetEccMode(void* device, int* now, int* later) {
  if (const int forced = Enter("nvmlDeviceGetEccMode"); forced != kSuccess) return forced;
  if (IsSlice(device)) return kNotSupported;
  return OnOff(CardOf(device).ecc, now) | OnOff(CardOf(device).ecc, later);
}
int nvmlDeviceGetDisplayMode(void* device, int* connected) {
  if (const int forced = Enter("nvmlDeviceGetDisplayMode"); forced != kSuccess) return forced;
  return IsSlice(device) ? kNotSupported : OnOff(CardOf(device).display, connected);
}
int nvmlDeviceGetDisplayActive(void* device, int* active) {
  if (const int forced = Enter("nvmlDeviceGetDisplayActive"); forced != kSuccess) return forced;
  return IsSlice(device) ? kNotSupported : OnOff(CardOf(device).display, active);
}

int nvmlDeviceGetComputeRunningProcesses_v2(void* device, unsigned* count, Process* list) {
  return Processes("nvmlDeviceGetComputeRunningProcesses_v2", device, true, count, list);
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, Process* list) {
  return Processes("nvmlDeviceGetComputeRunningProcesses_v3", device, true, count, list);
}
int nvmlDeviceGetGraphicsRunningProcesses_v2(void* device, unsigned* count, Process* list) {
  return Processes("nvmlDeviceGetGraphicsRunningProcesses_v2", device, false, count, list);
}

}  // extern "C"
