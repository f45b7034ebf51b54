// The CUDA driver's functions that cuda_probe calls, found in libcuda.so.1 while the program runs.
//
// The names are those of the library, versions included (cuMemAlloc_v2); cuda.h renames them from toolkit to toolkit,
// but the library keeps them. Signatures are cuda.h's. Reference: CUDA Driver API, modules Initialization, Device,
// Primary Context, Module, Memory, Virtual Memory, Stream, Event, Execution.
#pragma once

#include <cuda.h>

#include <string>

#include "graph/base/result.h"

namespace vramplan {

struct DriverApi {
  template <auto* F>
  using Same = decltype(F);

  Same<&::cuInit> init;
  Same<&::cuDriverGetVersion> driver_get_version;
  Same<&::cuGetErrorName> get_error_name;
  Same<&::cuDeviceGetCount> device_get_count;
  Same<&::cuDeviceGet> device_get;
  Same<&::cuDeviceGetName> device_get_name;
  Same<&::cuDeviceGetUuid> device_get_uuid;
  Same<&::cuDeviceGetPCIBusId> device_get_pci_bus_id;
  Same<&::cuDeviceGetAttribute> device_get_attribute;
  Same<&::cuDeviceTotalMem> device_total_mem;
  Same<&::cuMemGetAllocationGranularity> mem_get_allocation_granularity;  // null: a driver older than 10.2
  Same<&::cuDevicePrimaryCtxRetain> device_primary_ctx_retain;
  Same<&::cuDevicePrimaryCtxRelease> device_primary_ctx_release;
  Same<&::cuDevicePrimaryCtxReset> device_primary_ctx_reset;
  Same<&::cuCtxSetCurrent> ctx_set_current;
  Same<&::cuMemGetInfo> mem_get_info;
  Same<&::cuMemAlloc> mem_alloc;
  Same<&::cuMemFree> mem_free;
  Same<&::cuModuleLoadData> module_load_data;
  Same<&::cuModuleUnload> module_unload;
  Same<&::cuModuleGetFunction> module_get_function;
  Same<&::cuLaunchKernel> launch_kernel;
  Same<&::cuStreamCreate> stream_create;
  Same<&::cuStreamDestroy> stream_destroy;
  Same<&::cuEventCreate> event_create;
  Same<&::cuEventDestroy> event_destroy;
  Same<&::cuEventRecord> event_record;
  Same<&::cuEventSynchronize> event_synchronize;
  Same<&::cuEventElapsedTime> event_elapsed_time;

  // "CUDA_ERROR_NO_DEVICE"; "CUDA error 9999" if the driver does not know the number.
  std::string NameOf(CUresult result) const;
};

// The functions, loaded once and initialised (cuInit). Errors: no driver, a stub, a driver that is too old, no card, no
// permission to use it.
Result<const DriverApi*> LoadDriver();

// One line for a call that failed; `subject` is "card 0" or "driver".
Error DriverError(const DriverApi& api, CUresult result, const std::string& subject, const std::string& doing);

}  // namespace vramplan
