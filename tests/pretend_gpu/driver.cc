// The driver's entry points that cuda_probe uses: libcuda.so.1. Signatures are checked against cuda.h, which declares
// them under the very names that are defined here.
#include <cuda.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <deque>
#include <string>

#include "cuda_probe/kernels.h"
#include "tests/pretend_gpu/machine.h"

using pretend::Card;
using pretend::Context;
using pretend::Machine;

namespace kernels = vramplan::kernels;

namespace {

Machine& This() { return Machine::This(); }
CUresult Enter(const char* function) { return static_cast<CUresult>(This().Enter(function)); }

// A call about the machine, which a driver answers from what it knows: a card that is lost does not change that.
CUresult EnterMachine(const char* function) { return static_cast<CUresult>(This().Enter(function, 0)); }

struct Event {
  double time = 0;
};
struct Function {
  std::string name;
};

// The functions of the one module there is.
std::array<Function, 7>& Functions() {
  static std::array<Function, 7> functions = {{{kernels::kTouch},
                                               {kernels::kCopy},
                                               {kernels::kFma},
                                               {kernels::kHalfFma},
                                               {kernels::kHalfTensor},
                                               {kernels::kBf16Tensor},
                                               {kernels::kTf32Tensor}}};
  return functions;
}

Card* CardOf(CUdevice device) {
  const auto cards = This().visible();
  return device >= 0 && static_cast<size_t>(device) < cards.size() ? cards[static_cast<size_t>(device)] : nullptr;
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

extern "C" {

CUresult cuInit(unsigned) {
  if (const CUresult forced = EnterMachine("cuInit"); forced != CUDA_SUCCESS) return forced;
  return This().visible().empty() ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  *version = This().description().cuda;
  return EnterMachine("cuDriverGetVersion");
}
CUresult cuGetErrorName(CUresult error, const char** name) {
  struct Row {
    CUresult code;
    const char* name;
  };
  static const Row rows[] = {{CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
                             {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
                             {CUDA_ERROR_STUB_LIBRARY, "CUDA_ERROR_STUB_LIBRARY"},
                             {CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
                             {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
                             {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE"},
                             {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
                             {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
                             {CUDA_ERROR_ECC_UNCORRECTABLE, "CUDA_ERROR_ECC_UNCORRECTABLE"},
                             {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
                             {CUDA_ERROR_OPERATING_SYSTEM, "CUDA_ERROR_OPERATING_SYSTEM"},
                             {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                             {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED"},
                             {CUDA_ERROR_SYSTEM_NOT_READY, "CUDA_ERROR_SYSTEM_NOT_READY"},
                             {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
                             {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN"}};
  const auto* const row = std::ranges::find(rows, error, &Row::code);
  *name = row == std::end(rows) ? nullptr : row->name;
  return *name == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  *count = static_cast<int>(This().visible().size());
  return EnterMachine("cuDeviceGetCount");
}
CUresult cuDeviceGet(CUdevice* device, int index) {
  *device = index;
  if (CardOf(index) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  return EnterMachine("cuDeviceGet");
}
CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  std::snprintf(name, static_cast<size_t>(length), "%s", CardOf(device)->name.c_str());
  return EnterMachine("cuDeviceGetName");
}
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  std::string digits = CardOf(device)->uuid;
  std::erase(digits, '-');
  for (size_t i = 0; i < sizeof uuid->bytes; ++i) {
    uuid->bytes[i] = static_cast<char>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
  }
  return EnterMachine("cuDeviceGetUuid_v2");
}
CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
  std::snprintf(text, static_cast<size_t>(length), "%s", CardOf(device)->pci.c_str());
  return EnterMachine("cuDeviceGetPCIBusId");
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  const Card& card = *CardOf(device);
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? card.major
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? card.minor
           : attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT     ? card.multiprocessors
                                                                       : 0;
  return EnterMachine("cuDeviceGetAttribute");
}
CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  *bytes = static_cast<size_t>(CardOf(device)->usable);
  return EnterMachine("cuDeviceTotalMem_v2");
}
CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp* kind,
                                       CUmemAllocationGranularity_flags) {
  if (kind->type != CU_MEM_ALLOCATION_TYPE_PINNED || kind->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *bytes = static_cast<size_t>(CardOf(kind->location.id)->granularity);
  return EnterMachine("cuMemGetAllocationGranularity");
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* handle, CUdevice device) {
  if (const CUresult forced = Enter("cuDevicePrimaryCtxRetain"); forced != CUDA_SUCCESS) return forced;
  Context& context = This().ContextOf(CardOf(device));
  if (!context.alive && !This().Take(context, context.card->context)) return CUDA_ERROR_OUT_OF_MEMORY;
  context.alive = true;
  ++context.users;
  *handle = reinterpret_cast<CUcontext>(&context);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  Context& context = This().ContextOf(CardOf(device));
  if (context.users == 0) This().Complain("a context was given back that nobody has");
  if (context.users > 0 && --context.users == 0 && context.alive && !context.held_by_library) This().Close(context);
  return Enter("cuDevicePrimaryCtxRelease_v2");
}
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  if (const CUresult forced = Enter("cuDevicePrimaryCtxReset_v2"); forced != CUDA_SUCCESS) return forced;
  Context& context = This().ContextOf(CardOf(device));
  if (context.alive) This().Close(context);
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  if (const CUresult forced = Enter("cuCtxSetCurrent"); forced != CUDA_SUCCESS) return forced;
  This().current = reinterpret_cast<Context*>(context);
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  if (const CUresult forced = EnterContext("cuMemGetInfo_v2"); forced != CUDA_SUCCESS) return forced;
  *free = static_cast<size_t>(This().Free(This().current->card));
  *total = static_cast<size_t>(This().current->card->usable);
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  if (const CUresult forced = EnterContext("cuMemAlloc_v2"); forced != CUDA_SUCCESS) return forced;
  Context& context = *This().current;
  const Card& card = *context.card;
  const auto grab = card.neighbour.find(++context.allocations);
  if (grab != card.neighbour.end()) context.others += grab->second;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const auto asked = static_cast<int64_t>(bytes);
  const int64_t rounded = (asked + card.granularity - 1) / card.granularity * card.granularity;
  if (card.largest_piece && rounded > *card.largest_piece) return CUDA_ERROR_OUT_OF_MEMORY;
  if (!This().Take(context, rounded)) return CUDA_ERROR_OUT_OF_MEMORY;
  // Behind the last one, with a gap.
  uint64_t next = uint64_t{0x7f} << 40;
  if (!context.blocks.empty()) {
    const auto& [begin, size] = *context.blocks.rbegin();
    next = begin + static_cast<uint64_t>((size + 2 * card.granularity - 1) / card.granularity * card.granularity);
  }
  context.blocks[next] = asked;
  *address = next;
  return CUDA_SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  if (const CUresult forced = EnterContext("cuMemFree_v2"); forced != CUDA_SUCCESS) return forced;
  Context& context = *This().current;
  const auto block = context.blocks.find(address);
  if (block == context.blocks.end()) {
    This().Complain("freed what was not allocated");
    return CUDA_ERROR_INVALID_VALUE;
  }
  const int64_t unit = context.card->granularity;
  context.taken -= (block->second + unit - 1) / unit * unit;
  context.blocks.erase(block);
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  if (const CUresult forced = EnterContext("cuModuleLoadData"); forced != CUDA_SUCCESS) return forced;
  // What a fat binary begins with (fatbinary_section.h, FATBIN_MAGIC).
  unsigned magic = 0;
  std::memcpy(&magic, image, sizeof magic);
  if (magic != 0xba55ed50u) return CUDA_ERROR_INVALID_IMAGE;
  Context& context = *This().current;
  if (!This().Take(context, context.card->kernel)) return CUDA_ERROR_OUT_OF_MEMORY;
  ++context.modules;
  *module = reinterpret_cast<CUmodule>(&Functions());
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule) {
  if (const CUresult forced = EnterContext("cuModuleUnload"); forced != CUDA_SUCCESS) return forced;
  --This().current->modules;
  This().current->taken -= This().current->card->kernel;
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  if (const CUresult forced = EnterContext("cuModuleGetFunction"); forced != CUDA_SUCCESS) return forced;
  const auto found = std::ranges::find(Functions(), name, &Function::name);
  if (found == Functions().end()) return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(&*found);
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid, unsigned, unsigned, unsigned block, unsigned, unsigned,
                        unsigned, CUstream, void** arguments, void**) {
  if (const CUresult forced = EnterContext("cuLaunchKernel"); forced != CUDA_SUCCESS) return forced;
  Context& context = *This().current;
  const Card& card = *context.card;
  const std::string& kernel = reinterpret_cast<Function*>(function)->name;
  if (grid == 0 || block != kernels::kThreads) return CUDA_ERROR_INVALID_VALUE;
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

CUresult cuStreamCreate(CUstream* stream, unsigned) {
  if (const CUresult forced = EnterContext("cuStreamCreate"); forced != CUDA_SUCCESS) return forced;
  *stream = reinterpret_cast<CUstream>(This().current);
  ++This().current->streams;
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy_v2(CUstream) {
  if (const CUresult forced = EnterContext("cuStreamDestroy_v2"); forced != CUDA_SUCCESS) return forced;
  --This().current->streams;
  return CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent* event, unsigned) {
  if (const CUresult forced = EnterContext("cuEventCreate"); forced != CUDA_SUCCESS) return forced;
  static std::deque<Event> events;  // never taken away: a card that is lost leaves them
  *event = reinterpret_cast<CUevent>(&events.emplace_back());
  ++This().current->events;
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy_v2(CUevent) {
  if (const CUresult forced = EnterContext("cuEventDestroy_v2"); forced != CUDA_SUCCESS) return forced;
  --This().current->events;
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream) {
  if (const CUresult forced = EnterContext("cuEventRecord"); forced != CUDA_SUCCESS) return forced;
  reinterpret_cast<Event*>(event)->time = This().current->clock;
  return CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent) { return EnterContext("cuEventSynchronize"); }

// The first version: cuda.h's name means the second in newer toolkits.
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  const double seconds = reinterpret_cast<Event*>(end)->time - reinterpret_cast<Event*>(begin)->time;
  *milliseconds = static_cast<float>(seconds * 1e3);
  return EnterContext("cuEventElapsedTime");
}

}  // extern "C"
