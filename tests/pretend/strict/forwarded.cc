// What the strict driver only counts, lets fail where the description says so, and hands on: questions about the machine
// and everything of NVML. Arguments are whole numbers or pointers, which a caller passes alike whatever their types.
#include "tests/pretend/strict/strict.h"

namespace {

constexpr int kGpuIsLost = 15;  // nvmlReturn_t

using Four = long(long, long, long, long);

}  // namespace

#define HANDED_ON(name, lost)                                               \
  extern "C" long name(long a, long b, long c, long d) {                    \
    const int forced = strict::Machine::This().Enter(#name, lost);          \
    return forced != 0 ? forced : strict::Product<Four>(#name)(a, b, c, d); \
  }

// A driver answers these from what it knows: a card that is lost does not change that.
HANDED_ON(cuInit, 0)
HANDED_ON(cuDriverGetVersion, 0)
HANDED_ON(cuDeviceGetCount, 0)
HANDED_ON(cuDeviceGet, 0)
HANDED_ON(cuDeviceGetName, 0)
HANDED_ON(cuDeviceGetUuid_v2, 0)
HANDED_ON(cuDeviceGetPCIBusId, 0)
HANDED_ON(cuDeviceGetAttribute, 0)
HANDED_ON(cuDeviceTotalMem_v2, 0)
HANDED_ON(cuMemGetAllocationGranularity, 0)

// NVML looks at the card.
HANDED_ON(nvmlInit_v2, kGpuIsLost)
HANDED_ON(nvmlSystemGetDriverVersion, kGpuIsLost)
HANDED_ON(nvmlSystemGetProcessName, kGpuIsLost)
HANDED_ON(nvmlDeviceGetHandleByUUID, kGpuIsLost)
HANDED_ON(nvmlDeviceGetHandleByPciBusId_v2, kGpuIsLost)
HANDED_ON(nvmlDeviceIsMigDeviceHandle, kGpuIsLost)
HANDED_ON(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, kGpuIsLost)
HANDED_ON(nvmlDeviceGetMemoryInfo, kGpuIsLost)
HANDED_ON(nvmlDeviceGetMemoryInfo_v2, kGpuIsLost)
HANDED_ON(nvmlDeviceGetEccMode, kGpuIsLost)
HANDED_ON(nvmlDeviceGetDisplayMode, kGpuIsLost)
HANDED_ON(nvmlDeviceGetDisplayActive, kGpuIsLost)
HANDED_ON(nvmlDeviceGetComputeRunningProcesses_v2, kGpuIsLost)
HANDED_ON(nvmlDeviceGetComputeRunningProcesses_v3, kGpuIsLost)
HANDED_ON(nvmlDeviceGetGraphicsRunningProcesses_v2, kGpuIsLost)

// What a code means, and the end, cannot fail.
#define NEVER_FAILS(name) \
  extern "C" long name(long a, long b, long c, long d) { return strict::Product<Four>(#name)(a, b, c, d); }
NEVER_FAILS(cuGetErrorName)
NEVER_FAILS(nvmlErrorString)
NEVER_FAILS(nvmlShutdown)
