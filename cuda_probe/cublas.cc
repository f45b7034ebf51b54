#include <array>

#include "cuda_probe/libraries.h"
#include "cuda_probe/library_types.h"
#include "cuda_probe/shared_library.h"

namespace vramplan {
namespace {

struct CublasFunctions {
  SharedLibrary library{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"};
  abi::CublasCreate* create;
  abi::CublasDestroy* destroy;
  abi::CublasSetStream* set_stream;
  abi::CublasGemmEx* gemm;
  CublasFunctions() {
    library.Need("cublasCreate_v2", create);
    library.Need("cublasDestroy_v2", destroy);
    library.Need("cublasSetStream_v2", set_stream);
    library.Need("cublasGemmEx", gemm);
  }
};
const CublasFunctions& LoadedCublas() {
  static const CublasFunctions functions;
  return functions;
}

Error Failed(int status) {
  if (status == abi::kCublasAllocFailed) {
    return {ErrorCode::kNoCard, "cuBLAS", "no memory is left on the card to load it",
            "see who holds it: vramplan probe"};
  }
  return {ErrorCode::kNoCard, "cuBLAS", "it failed with status " + std::to_string(status),
          "it may be newer than the driver: see vramplan probe"};
}

}  // namespace

int SizeOf(Arithmetic arithmetic) { return arithmetic == Arithmetic::kFp32 || arithmetic == Arithmetic::kTf32 ? 4 : 2; }

Result<std::unique_ptr<Cublas>> Cublas::Open(CUstream stream) {
  const CublasFunctions& cublas = LoadedCublas();
  if (!cublas.library || !cublas.library.missing().empty()) return std::unique_ptr<Cublas>();
  void* handle = nullptr;
  if (const int status = cublas.create(&handle); status != abi::kCublasSuccess) return Failed(status);
  std::unique_ptr<Cublas> opened(new Cublas(handle));
  if (const int status = cublas.set_stream(handle, stream); status != abi::kCublasSuccess) return Failed(status);
  return opened;
}
Cublas::~Cublas() {
  if (handle_ != nullptr) LoadedCublas().destroy(handle_);
}

Result<bool> Cublas::Multiply(Arithmetic arithmetic, int side, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c) {
  const int type = SizeOf(arithmetic) == 4           ? abi::kReal32
                   : arithmetic == Arithmetic::kFp16 ? abi::kReal16
                                                     : abi::kRealB16;
  // Pedantic: true fp32, whatever NVIDIA_TF32_OVERRIDE says.
  const int compute = arithmetic == Arithmetic::kFp32   ? abi::kComputePedantic32
                      : arithmetic == Arithmetic::kTf32 ? abi::kComputeTf32
                                                        : abi::kCompute32;
  const float one = 1, zero = 0;
  const auto pointer = [](CUdeviceptr address) { return reinterpret_cast<void*>(address); };
  const int status =
      LoadedCublas().gemm(handle_, abi::kTransposed, abi::kNotTransposed, side, side, side, &one, pointer(a), type,
                          side, pointer(b), type, side, &zero, pointer(c), type, side, compute, abi::kGemmDefault);
  if (status == abi::kCublasNotSupported || status == abi::kCublasArchMismatch) return false;
  if (status != abi::kCublasSuccess) return Failed(status);
  return true;
}

}  // namespace vramplan
