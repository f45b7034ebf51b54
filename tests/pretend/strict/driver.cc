// The driver's entry points of which the strict one has something to say. Signatures are checked against cuda.h, which
// declares them under the very names that are defined here.
#include <cuda.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "cuda_probe/kernels.h"
#include "tests/pretend/strict/strict.h"

using pretend::Card;
using strict::Context;
using strict::Machine;

namespace kernels = vramplan::kernels;

namespace {

Machine& This() { return Machine::This(); }
CUresult Enter(const char* function) { return static_cast<CUresult>(This().Enter(function)); }

// Hands the call on.
#define HAND_ON(function, ...) strict::Product<decltype(function)>(#function)(__VA_ARGS__)

// The functions of the one module there is.
constexpr std::array<std::string_view, 7> kFunctions = {kernels::kTouch,     kernels::kCopy,       kernels::kFma,
                                                        kernels::kHalfFma,   kernels::kHalfTensor, kernels::kBf16Tensor,
                                                        kernels::kTf32Tensor};

// What the product's handles stand for. Where a card is lost its objects stay, known to the end of the program.
std::map<CUcontext, Context*>& Contexts() {
  static std::map<CUcontext, Context*> contexts;
  return contexts;
}
std::map<CUmodule, uint64_t>& Modules() {
  static std::map<CUmodule, uint64_t> taken;
  return taken;
}
std::map<CUfunction, std::string>& Names() {
  static std::map<CUfunction, std::string> names;
  return names;
}
std::map<CUevent, double>& Times() {
  static auto* const times = new std::map<CUevent, double>();
  return *times;
}

// A call that must be made in a context.
CUresult EnterContext(const char* function) {
  if (const CUresult forced = Enter(function); forced != CUDA_SUCCESS) return forced;
  if (This().current != nullptr) return CUDA_SUCCESS;
  This().Complain(std::string(function) + " without a current context");
  return CUDA_ERROR_INVALID_CONTEXT;
}

// The arithmetic of a kernel that computes, and what a thread does in one iteration.
std::pair<const char*, double> RateOf(const std::string& kernel) {
  if (kernel == kernels::kFma) return {"fp32", kernels::kFmaFlop};
  if (kernel == kernels::kHalfFma) return {"fp16", kernels::kHalfFmaFlop};
  if (kernel == kernels::kHalfTensor) return {"fp16", kernels::kTensorFlop};
  if (kernel == kernels::kBf16Tensor) return {"bf16", kernels::kTensorFlop};
  return {"tf32", kernels::kTf32TensorFlop};
}

template <typename T>
T Argument(void** arguments, int index) {
  return *static_cast<T*>(arguments[index]);
}

}  // namespace

std::map<const void*, strict::Context*>& strict::Streams() {
  static auto* const streams = new std::map<const void*, Context*>();
  return *streams;
}

extern "C" {

CUresult cuDevicePrimaryCtxRetain(CUcontext* handle, CUdevice device) {
  if (const CUresult forced = Enter("cuDevicePrimaryCtxRetain"); forced != CUDA_SUCCESS) return forced;
  if (const CUresult made = HAND_ON(cuDevicePrimaryCtxRetain, handle, device); made != CUDA_SUCCESS) return made;
  Context& context = This().ContextOf(device);
  context.card = This().CardOf(device);
  context.device = device;
  context.alive = true;
  ++context.users;
  Contexts()[*handle] = &context;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  Context& context = This().ContextOf(device);
  if (context.users == 0) This().Complain("a context was given back that nobody has");
  if (context.users > 0 && --context.users == 0 && context.alive && !context.held_by_library) This().Close(context);
  const CUresult released = HAND_ON(cuDevicePrimaryCtxRelease_v2, device);
  const CUresult forced = Enter("cuDevicePrimaryCtxRelease_v2");
  return forced != CUDA_SUCCESS ? forced : released;
}
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  if (const CUresult forced = Enter("cuDevicePrimaryCtxReset_v2"); forced != CUDA_SUCCESS) return forced;
  Context& context = This().ContextOf(device);
  if (context.alive) This().Close(context);
  return HAND_ON(cuDevicePrimaryCtxReset_v2, device);
}
CUresult cuCtxSetCurrent(CUcontext context) {
  if (const CUresult forced = Enter("cuCtxSetCurrent"); forced != CUDA_SUCCESS) return forced;
  This().current = context == nullptr ? nullptr : Contexts().at(context);
  return HAND_ON(cuCtxSetCurrent, context);
}

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  if (const CUresult forced = EnterContext("cuMemGetInfo_v2"); forced != CUDA_SUCCESS) return forced;
  return HAND_ON(cuMemGetInfo_v2, free, total);
}
CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  if (const CUresult forced = EnterContext("cuMemAlloc_v2"); forced != CUDA_SUCCESS) return forced;
  const CUresult given = HAND_ON(cuMemAlloc_v2, address, bytes);
  if (given == CUDA_SUCCESS) This().current->blocks[*address] = static_cast<int64_t>(bytes);
  return given;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  if (const CUresult forced = EnterContext("cuMemFree_v2"); forced != CUDA_SUCCESS) return forced;
  if (This().current->blocks.erase(address) == 0) This().Complain("freed what was not allocated");
  return HAND_ON(cuMemFree_v2, address);
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  if (const CUresult forced = EnterContext("cuModuleLoadData"); forced != CUDA_SUCCESS) return forced;
  // What a fat binary begins with (fatbinary_section.h, FATBIN_MAGIC).
  unsigned magic = 0;
  std::memcpy(&magic, image, sizeof magic);
  if (magic != 0xba55ed50u) return CUDA_ERROR_INVALID_IMAGE;
  Context& context = *This().current;
  const uint64_t taken = strict::TakeBytes(context.device, context.card->kernel);
  if (taken == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  ++context.modules;
  const CUresult loaded = HAND_ON(cuModuleLoadData, module, image);
  Modules()[*module] = taken;
  return loaded;
}
CUresult cuModuleUnload(CUmodule module) {
  if (const CUresult forced = EnterContext("cuModuleUnload"); forced != CUDA_SUCCESS) return forced;
  --This().current->modules;
  strict::GiveBytes(Modules()[module]);
  return HAND_ON(cuModuleUnload, module);
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  if (const CUresult forced = EnterContext("cuModuleGetFunction"); forced != CUDA_SUCCESS) return forced;
  if (std::ranges::find(kFunctions, name) == kFunctions.end()) return CUDA_ERROR_NOT_FOUND;
  const CUresult told = HAND_ON(cuModuleGetFunction, function, module, name);
  Names()[*function] = name;
  return told;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid, unsigned grid_y, unsigned grid_z, unsigned block,
                        unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void** arguments,
                        void** more) {
  if (const CUresult forced = EnterContext("cuLaunchKernel"); forced != CUDA_SUCCESS) return forced;
  Context& context = *This().current;
  const Card& card = *context.card;
  const std::string& kernel = Names()[function];
  if (grid == 0 || block != kernels::kThreads) return CUDA_ERROR_INVALID_VALUE;
  const CUresult launched =
      HAND_ON(cuLaunchKernel, function, grid, grid_y, grid_z, block, block_y, block_z, shared, stream, arguments, more);
  if (launched != CUDA_SUCCESS) return launched;
  context.clock += card.launch;
  const bool copies = kernel == kernels::kCopy;
  if (copies || kernel == kernels::kTouch) {
    const auto bytes = static_cast<int64_t>(Argument<unsigned long long>(arguments, copies ? 2 : 1));
    const auto to = Argument<unsigned long long>(arguments, 0);
    bool inside = This().Inside(context, to, bytes, "a write");
    if (copies) {
      const auto from = Argument<unsigned long long>(arguments, 1);
      inside = This().Inside(context, from, bytes, "a read") && inside;
      if (from < to + static_cast<uint64_t>(bytes) && to < from + static_cast<uint64_t>(bytes)) {
        This().Complain("a copy onto itself");
      }
    }
    if (!inside) This().Lose(CUDA_ERROR_ILLEGAL_ADDRESS);
    context.clock += static_cast<double>(bytes) * (copies ? 2 : 1) / card.bandwidth;
    return CUDA_SUCCESS;
  }
  const auto [arithmetic, flop] = RateOf(kernel);
  const auto rate = card.rates.find(arithmetic);
  const double threads = static_cast<double>(grid) * block;
  context.clock += threads * Argument<unsigned>(arguments, 1) * flop /
                   (rate == card.rates.end() ? card.rates.at("fp32") : rate->second);
  return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  if (const CUresult forced = EnterContext("cuStreamCreate"); forced != CUDA_SUCCESS) return forced;
  ++This().current->streams;
  const CUresult made = HAND_ON(cuStreamCreate, stream, flags);
  strict::Streams()[*stream] = This().current;
  return made;
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  if (const CUresult forced = EnterContext("cuStreamDestroy_v2"); forced != CUDA_SUCCESS) return forced;
  --This().current->streams;
  strict::Streams().erase(stream);
  return HAND_ON(cuStreamDestroy_v2, stream);
}
CUresult cuEventCreate(CUevent* event, unsigned flags) {
  if (const CUresult forced = EnterContext("cuEventCreate"); forced != CUDA_SUCCESS) return forced;
  ++This().current->events;
  const CUresult made = HAND_ON(cuEventCreate, event, flags);
  Times()[*event] = 0;
  return made;
}
CUresult cuEventDestroy_v2(CUevent event) {
  if (const CUresult forced = EnterContext("cuEventDestroy_v2"); forced != CUDA_SUCCESS) return forced;
  --This().current->events;
  Times().erase(event);
  return HAND_ON(cuEventDestroy_v2, event);
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  if (const CUresult forced = EnterContext("cuEventRecord"); forced != CUDA_SUCCESS) return forced;
  Times()[event] = This().current->clock;
  return HAND_ON(cuEventRecord, event, stream);
}
CUresult cuEventSynchronize(CUevent event) {
  if (const CUresult forced = EnterContext("cuEventSynchronize"); forced != CUDA_SUCCESS) return forced;
  return HAND_ON(cuEventSynchronize, event);
}

// The first version: cuda.h's name means the second in newer toolkits. The product's is the time of the host.
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  *milliseconds = static_cast<float>((Times()[end] - Times()[begin]) * 1e3);
  return EnterContext("cuEventElapsedTime");
}

}  // extern "C"
