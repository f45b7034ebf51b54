// The part of cuBLAS that cuda_probe uses. A product takes 2 x m x n x k FLOP at the card's rate.
#include <cstdint>
#include <map>
#include <string>

#include "tests/pretend/strict/strict.h"

using strict::Context;
using strict::Machine;
using strict::Product;

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

struct Handle {
  Context* context = nullptr;
  uint64_t taken = 0;
};
std::map<void*, Handle>& Handles() {
  static std::map<void*, Handle> handles;
  return handles;
}

}  // namespace

extern "C" {

int cublasCreate_v2(void** handle) {
  if (const int forced = Enter("cublasCreate_v2"); forced != kSuccess) return forced;
  Context* const context = Machine::This().current;
  if (context == nullptr) return kNotInitialized;
  context->held_by_library = true;
  Product<int(void*)>("cudaFree")(nullptr);  // the runtime inside it starts
  const uint64_t taken = strict::TakeBytes(context->device, context->card->cublas);
  if (taken == 0) return kAllocFailed;
  const int made = Product<int(void**)>("cublasCreate_v2")(handle);
  Handles()[*handle] = {context, taken};
  return made;
}
int cublasDestroy_v2(void* handle) {
  strict::GiveBytes(Handles()[handle].taken);
  Handles().erase(handle);
  Product<int(void*)>("cublasDestroy_v2")(handle);
  return Enter("cublasDestroy_v2");
}
int cublasSetStream_v2(void* handle, void* stream) {
  if (Handles()[handle].context != strict::Streams()[stream]) {
    Machine::This().Complain("cuBLAS was given a stream of another context");
  }
  Product<int(void*, void*)>("cublasSetStream_v2")(handle, stream);
  return Enter("cublasSetStream_v2");
}
int cublasGemmEx(void* handle, int, int, int m, int n, int k, const void* alpha, const void* a, int a_type, int,
                 const void* b, int b_type, int, const void* beta, void* c, int c_type, int, int compute, int) {
  if (const int forced = Enter("cublasGemmEx"); forced != kSuccess) return forced;
  auto& context = *Handles()[handle].context;
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
