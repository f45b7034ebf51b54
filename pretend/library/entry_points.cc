// Functions that are asked for by name.
#include <dlfcn.h>

#include <string>

#include "pretend/library/abi.h"
#include "pretend/library/uncovered.h"

using pretend::Handle;
using pretend::kSuccess;

namespace {

// This library, whatever it was loaded as.
Handle Self() {
  static Handle const self = [] {
    Dl_info here;
    static char mark;
    dladdr(&mark, &here);
    return dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }();
  return self;
}

// As cuda.h maps names: the version of a name that a program of this CUDA version would call.
Handle Find(const std::string& name, int version) {
  struct Row {
    const char* name;
    int since;
    const char* is;
  };
  // Those whose arguments changed: the newest row that is not newer than the program.
  static constexpr Row kChanged[] = {
      {"cuStreamGetCaptureInfo", 0, "cuStreamGetCaptureInfo"},
      {"cuStreamGetCaptureInfo", 12000, "cuStreamGetCaptureInfo_v2"},
      {"cuStreamGetCaptureInfo", 13000, "cuStreamGetCaptureInfo_v3"},
      {"cuGetProcAddress", 0, "cuGetProcAddress"},
      {"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
      {"cuCtxCreate", 0, "cuCtxCreate_v2"},
      {"cuCtxCreate", 13000, "cuCtxCreate_v4"},
  };
  std::string found;
  for (const Row& row : kChanged) {
    if (name == row.name && version >= row.since) found = row.is;
  }
  if (!found.empty()) return dlsym(Self(), found.c_str());
  if (Handle const second = dlsym(Self(), (name + "_v2").c_str()); second != nullptr) return second;
  return dlsym(Self(), name.c_str());
}

// cudaDriverEntryPointQueryResult and CUdriverProcAddressQueryResult: found 0, not found 1.
int Give(const char* name, Handle* function, int version, int* result) {
  *function = Find(name, version);
  const bool found = *function != nullptr;
  if (result != nullptr) *result = found ? 0 : 1;
  return found ? kSuccess : pretend::kNotFound;
}

}  // namespace

// PyTorch, c10/cuda/driver_api.cpp; NCCL; CUTLASS. A name that is not there is told, not made up.
PRETEND_API int cudaGetDriverEntryPointByVersion(const char* name, Handle* function, unsigned version,
                                                 unsigned long long, int* result) {
  const int code = Give(name, function, static_cast<int>(version), result);
  // The runtime says success where the driver is too old, and tells it by the result.
  return result != nullptr ? kSuccess : code;
}
PRETEND_ALIAS(cudaGetDriverEntryPointByVersion_ptsz, cudaGetDriverEntryPointByVersion);
// CUDA 11 has no fourth argument.
PRETEND_API int cudaGetDriverEntryPoint(const char* name, Handle* function, unsigned long long, int* result) {
  const int version = pretend::CudaVersion();
  return Give(name, function, version, version >= 12000 ? result : nullptr);
}
PRETEND_ALIAS(cudaGetDriverEntryPoint_ptsz, cudaGetDriverEntryPoint);
// The runtime itself, Triton, and cuda-python.
PRETEND_API int cuGetProcAddress_v2(const char* name, Handle* function, int version, unsigned long long, int* result) {
  return Give(name, function, version, result);
}
PRETEND_ALIAS(cuGetProcAddress_v2_ptsz, cuGetProcAddress_v2);
// The runtime of CUDA 11, which knows no symbol status: as the second version.
PRETEND_API int cuGetProcAddress(const char* name, Handle* function, int version, unsigned long long) {
  return Give(name, function, version, nullptr);
}

// What a runtime asks first that is linked into its program: undocumented tables. They are not imitated; who asks is
// told by name, and gets the error of a driver that is too old.
PRETEND_API int cuGetExportTable(const void** table, const void*) {
  *table = nullptr;
  pretend::RefuseStaticRuntime(__builtin_return_address(0));
  return pretend::kNotFound;
}
PRETEND_ALIAS(cudaGetExportTable, cuGetExportTable);
