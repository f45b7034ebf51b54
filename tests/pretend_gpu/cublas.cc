// The part of cuBLAS that cuda_probe uses: libcublas.so.13. A product takes 2 x m x n x k FLOP at the card's rate.
#include <cstdint>
#include <string>

#include "tests/pretend_gpu/machine.h"

using pretend::Context;
using pretend::Machine;

namespace {

constexpr int kSuccess = 0, kNotInitialized = 1, kAllocFailed = 3, kInvalidValue = 7, kExecutionFailed = 13,
              kNotSupported = 15;

int Enter(const char* function) { return Machine::This().Enter(function, kExecutionFailed); }

// As cublasGemmEx's table of types: cudaDataType 0 fp32, 2 fp16, 14 bf16; cublasComputeType_t 68 and 69 fp32, 77 tf32.
const char* ArithmeticOf(int type, int compute) {
  if (type == 2 && compute == 68) return "fp16";
  if (type == 14 && compute == 68) return "bf16";
  if (type == 0 && compute == 77) return "tf32";
  return type == 0 && (compute == 68 || compute == 69) ? "fp32" : "";
}

}  // namespace

extern "C" {

int cublasCreate_v2(void** handle) {
  if (const int forced = Enter("cublasCreate_v2"); forced != kSuccess) return forced;
  Context* const context = Machine::This().current;
  if (context == nullptr) return kNotInitialized;
  context->held_by_library = true;
  if (!Machine::This().Take(*context, context->card->cublas)) return kAllocFailed;
  *handle = context;
  return kSuccess;
}
int cublasDestroy_v2(void* handle) {
  auto* const context = static_cast<Context*>(handle);
  context->taken -= context->card->cublas;
  return Enter("cublasDestroy_v2");
}
int cublasSetStream_v2(void* handle, void* stream) {
  if (handle != stream) Machine::This().Complain("cuBLAS was given a stream of another context");
  return Enter("cublasSetStream_v2");
}
int cublasGemmEx(void* handle, int, int, int m, int n, int k, const void* alpha, const void* a, int a_type, int,
                 const void* b, int b_type, int, const void* beta, void* c, int c_type, int, int compute, int) {
  if (const int forced = Enter("cublasGemmEx"); forced != kSuccess) return forced;
  auto& context = *static_cast<Context*>(handle);
  if (alpha == nullptr || beta == nullptr || a_type != b_type || a_type != c_type) return kInvalidValue;
  const auto rate = context.card->rates.find(ArithmeticOf(a_type, compute));
  if (rate == context.card->rates.end()) return kNotSupported;
  const int64_t size = a_type == 0 ? 4 : 2;
  const auto address = [](const void* pointer) { return reinterpret_cast<uint64_t>(pointer); };
  const bool inside = Machine::This().Inside(context, address(a), size * m * k, "a product's read") &&
                      Machine::This().Inside(context, address(b), size * k * n, "a product's read") &&
                      Machine::This().Inside(context, address(c), size * m * n, "a product's write");
  if (!inside) return kExecutionFailed;
  context.clock += context.card->launch + 2.0 * m * n * k / rate->second;
  return kSuccess;
}

}  // extern "C"
