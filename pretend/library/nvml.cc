// NVML: what PyTorch, pynvml and accelerate ask about cards from outside. A name that is not here is not found, which
// pynvml tells as a driver too old for it.
#include <cstdio>
#include <cstring>

#include "pretend/library/abi.h"

using pretend::AddressOf;
using pretend::Card;
using pretend::Handle;
using pretend::kSuccess;
using pretend::PointerTo;
using pretend::Process;

namespace {

constexpr int kNotSupported = 3, kNotFound = 6;  // nvmlReturn_t

// The handle of a card is its number and one.
int IndexOf(Handle device) { return static_cast<int>(AddressOf(device)) - 1; }
const Card& CardOf(Handle device) { return Process::This().card(IndexOf(device)); }
uint64_t TotalOf(Handle device) { return Process::This().Total(IndexOf(device)); }
uint64_t FreeOf(Handle device) { return Process::This().FreeBytes(IndexOf(device)); }

struct Memory {
  unsigned long long total, free, used;
};
struct MemoryTwo {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct Pci {
  char short_id[16];
  unsigned domain, bus, device, ids, subsystem;
  char id[32];
};

}  // namespace

// PyTorch, c10/cuda/CUDACachingAllocator (its message), pynvml: success.
PRETEND_API int nvmlInit_v2() { return kSuccess; }
PRETEND_ALIAS(nvmlInit, nvmlInit_v2);
// NCCL and DCGM: success.
PRETEND_API int nvmlInitWithFlags(unsigned) { return kSuccess; }
// pynvml: success.
PRETEND_API int nvmlShutdown() { return kSuccess; }
// pynvml, in its exceptions: what the code means.
PRETEND_API const char* nvmlErrorString(int result) {
  return result == kSuccess ? "Success" : result == kNotSupported ? "Not Supported" : "Not Found";
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
  *version = pretend::CudaVersion();
  return kSuccess;
}
PRETEND_ALIAS(nvmlSystemGetCudaDriverVersion, nvmlSystemGetCudaDriverVersion_v2);
// torch.cuda.device_count() with PYTORCH_NVML_BASED_CUDA_CHECK.
PRETEND_API int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(Process::This().cards());
  return kSuccess;
}
PRETEND_ALIAS(nvmlDeviceGetCount, nvmlDeviceGetCount_v2);
// pynvml, wandb, torch.cuda.utilization: a handle of the card.
PRETEND_API int nvmlDeviceGetHandleByIndex_v2(unsigned index, Handle* device) {
  *device = PointerTo(uint64_t{index} + 1);
  return Process::This().Has(static_cast<int>(index)) ? kSuccess : kNotFound;
}
PRETEND_ALIAS(nvmlDeviceGetHandleByIndex, nvmlDeviceGetHandleByIndex_v2);
// PyTorch, CUDACachingAllocator.cpp, reportProcessMemoryInfo: for the out-of-memory message. Bus ids differ in the
// length of their domain only.
PRETEND_API int nvmlDeviceGetHandleByPciBusId_v2(const char* text, Handle* device) {
  for (int i = 0; i < Process::This().cards(); ++i) {
    const char* const colon = std::strchr(text, ':');
    const size_t own = Process::This().card(i).pci.find(':');
    if (colon == nullptr || Process::This().card(i).pci.substr(own) != colon) continue;
    return nvmlDeviceGetHandleByIndex_v2(static_cast<unsigned>(i), device);
  }
  return kNotFound;
}
PRETEND_ALIAS(nvmlDeviceGetHandleByPciBusId, nvmlDeviceGetHandleByPciBusId_v2);
// torch.cuda, where CUDA_VISIBLE_DEVICES names cards by UUID: the card of that name.
PRETEND_API int nvmlDeviceGetHandleByUUID(const char* text, Handle* device) {
  for (int i = 0; i < Process::This().cards(); ++i) {
    if ("GPU-" + Process::This().card(i).uuid == text) {
      return nvmlDeviceGetHandleByIndex_v2(static_cast<unsigned>(i), device);
    }
  }
  return kNotFound;
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
  std::snprintf(text, length, "GPU-%s", CardOf(device).uuid.c_str());
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
// Lightning's and wandb's monitors; torch.cuda.memory_usage and utilization.
PRETEND_API int nvmlDeviceGetMemoryInfo(Handle device, Memory* memory) {
  *memory = {TotalOf(device), FreeOf(device), TotalOf(device) - FreeOf(device)};
  return kSuccess;
}
// torch.cuda.device_memory_used and nvidia-smi: as the first version, with a part that is reserved.
PRETEND_API int nvmlDeviceGetMemoryInfo_v2(Handle device, MemoryTwo* memory) {
  *memory = {memory->version, TotalOf(device), 0, FreeOf(device), TotalOf(device) - FreeOf(device)};
  return kSuccess;
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
// Nobody else is on the card. (PyTorch's message then leaves out what each process holds.)
PRETEND_API int nvmlDeviceGetComputeRunningProcesses_v3(Handle, unsigned* count, void*) {
  *count = 0;
  return kSuccess;
}
PRETEND_ALIAS(nvmlDeviceGetComputeRunningProcesses_v2, nvmlDeviceGetComputeRunningProcesses_v3);
PRETEND_ALIAS(nvmlDeviceGetComputeRunningProcesses, nvmlDeviceGetComputeRunningProcesses_v3);
PRETEND_ALIAS(nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlDeviceGetComputeRunningProcesses_v3);
PRETEND_ALIAS(nvmlDeviceGetGraphicsRunningProcesses_v2, nvmlDeviceGetComputeRunningProcesses_v3);
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
