#include "cuda_probe/driver_api.h"

#include <cstdlib>

#include "cuda_probe/shared_library.h"

namespace vramplan {
namespace {

constexpr const char* kNameOne = "or name a card instead: vramplan fit FILE.onnx --gpu t4";

struct Loaded {
  // Under WSL the driver is in a folder of its own, which not every distribution's loader knows.
  SharedLibrary library{"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"};
  DriverApi api{};

  Loaded() {
    library.Need("cuInit", api.init);
    library.Need("cuDriverGetVersion", api.driver_get_version);
    library.Need("cuGetErrorName", api.get_error_name);
    library.Need("cuDeviceGetCount", api.device_get_count);
    library.Need("cuDeviceGet", api.device_get);
    library.Need("cuDeviceGetName", api.device_get_name);
    // The second version, since CUDA 11.4, names the slice of a card; the first names the card.
    if (!library.Find("cuDeviceGetUuid_v2", api.device_get_uuid)) library.Need("cuDeviceGetUuid", api.device_get_uuid);
    library.Need("cuDeviceGetPCIBusId", api.device_get_pci_bus_id);
    library.Need("cuDeviceGetAttribute", api.device_get_attribute);
    library.Need("cuDeviceTotalMem_v2", api.device_total_mem);
    library.Find("cuMemGetAllocationGranularity", api.mem_get_allocation_granularity);
    library.Need("cuDevicePrimaryCtxRetain", api.device_primary_ctx_retain);
    library.Need("cuDevicePrimaryCtxRelease_v2", api.device_primary_ctx_release);
    library.Need("cuDevicePrimaryCtxReset_v2", api.device_primary_ctx_reset);
    library.Need("cuCtxSetCurrent", api.ctx_set_current);
    library.Need("cuMemGetInfo_v2", api.mem_get_info);
    library.Need("cuMemAlloc_v2", api.mem_alloc);
    library.Need("cuMemFree_v2", api.mem_free);
    library.Need("cuModuleLoadData", api.module_load_data);
    library.Need("cuModuleUnload", api.module_unload);
    library.Need("cuModuleGetFunction", api.module_get_function);
    library.Need("cuLaunchKernel", api.launch_kernel);
    library.Need("cuStreamCreate", api.stream_create);
    library.Need("cuStreamDestroy_v2", api.stream_destroy);
    library.Need("cuEventCreate", api.event_create);
    library.Need("cuEventDestroy_v2", api.event_destroy);
    library.Need("cuEventRecord", api.event_record);
    library.Need("cuEventSynchronize", api.event_synchronize);
    // The first version, which every driver has; 12.8 added a second of the same signature.
    library.Need("cuEventElapsedTime", api.event_elapsed_time);
  }
};

// The errors of cuInit, and what to do about each (CUDA Driver API, "enum CUresult").
Error InitError(const DriverApi& api, CUresult result) {
  const std::string name = " (" + api.NameOf(result) + ")";
  const auto line = [&](const std::string& text, const std::string& hint) {
    return Error{ErrorCode::kNoCard, "driver", text + name, hint + "; " + kNameOne};
  };
  switch (result) {
    case CUDA_ERROR_NO_DEVICE: {
      const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
      if (visible != nullptr) {
        return line("the driver shows this program no card",
                    "unset CUDA_VISIBLE_DEVICES, which is \"" + std::string(visible) + '"');
      }
      return line("the driver finds no card", "check whether nvidia-smi does; a container needs --gpus all");
    }
    case CUDA_ERROR_STUB_LIBRARY:
      return line("libcuda.so.1 is the toolkit's stub, not a driver",
                  "take the toolkit's folder stubs out of LD_LIBRARY_PATH");
    case CUDA_ERROR_OPERATING_SYSTEM:
    case CUDA_ERROR_NOT_PERMITTED:
      return line("this user has no permission to open the card", "check the permissions of /dev/nvidia*");
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
      return line("libcuda.so.1 and the kernel's driver are of different versions",
                  "restart the machine after a driver update");
    case CUDA_ERROR_SYSTEM_NOT_READY:
      return line("the machine's cards are not ready", "start nvidia-fabricmanager");
    default:
      return line("the driver does not start", "see nvidia-smi and dmesg");
  }
}

}  // namespace

std::string DriverApi::NameOf(CUresult result) const {
  const char* name = nullptr;
  if (get_error_name != nullptr && get_error_name(result, &name) == CUDA_SUCCESS && name != nullptr) return name;
  return "CUDA error " + std::to_string(static_cast<int>(result));
}

Result<const DriverApi*> LoadDriver() {
  static const Loaded loaded;
  if (!loaded.library) {
    return Error{ErrorCode::kNoCard, "libcuda.so.1", "no NVIDIA driver is found on this machine",
                 std::string("install it, start the container with --gpus all, ") + kNameOne};
  }
  if (!loaded.library.missing().empty()) {
    return Error{ErrorCode::kNoCard, "driver", "the driver is too old: it has no " + loaded.library.missing(),
                 std::string("install one of CUDA 11 or newer, ") + kNameOne};
  }
  static bool initialised = false;
  if (!initialised) {
    if (const CUresult result = loaded.api.init(0); result != CUDA_SUCCESS) return InitError(loaded.api, result);
    initialised = true;
  }
  return &loaded.api;
}

Error DriverError(const DriverApi& api, CUresult result, const std::string& subject, const std::string& doing) {
  const std::string name = " (" + api.NameOf(result) + ")";
  switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return {ErrorCode::kNoCard, subject, "no memory is left on the card " + doing + name,
              "see who holds it: vramplan probe"};
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
      return {ErrorCode::kNoCard, subject, "the card no longer answers: it failed " + doing + name,
              "see dmesg for an Xid line; it may need a restart"};
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
      return {ErrorCode::kNoCard, subject,
              "the driver cannot run kernels of CUDA " + std::to_string(CUDA_VERSION / 1000) + '.' +
                  std::to_string(CUDA_VERSION % 1000 / 10) + name,
              "update the driver, or build with an older toolkit"};
    default:
      return {ErrorCode::kNoCard, subject, "the card failed " + doing + name, "see dmesg for an Xid line"};
  }
}

}  // namespace vramplan
