// The part of cuDNN that cuda_probe uses. Its heuristics name one algorithm that does not work and one
// that does, with the workspace of the description; shapes that do not belong together are refused.
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "tests/pretend/strict/strict.h"

using strict::Context;
using strict::Machine;
using strict::Product;

namespace {

constexpr int kSuccess = 0, kNotInitialized = 1001, kBadParam = 2000, kNotSupported = 3000, kAllocFailed = 4004,
              kExecutionFailed = 5000;

int Enter(const char* function) { return Machine::This().Enter(function, kExecutionFailed); }

// A tensor (dims with strides), a filter, or a convolution.
struct Descriptor {
  std::vector<int> dims, strides, padding, stride, dilation;
  int type = -1, groups = 1, math = 0;
};
struct Performance {
  int algorithm, status;
  float time;
  size_t memory;
  int determinism, math, reserved[3];
};

struct Handle {
  Context* context = nullptr;
  uint64_t taken = 0;
};
std::map<const void*, Handle>& Handles() {
  static std::map<const void*, Handle> handles;
  return handles;
}

Descriptor& At(const void* descriptor) {
  static std::map<const void*, Descriptor> descriptors;
  return descriptors[descriptor];
}
int Create(const char* function, void** descriptor) {
  Product<int(void**)>(function)(descriptor);
  At(*descriptor) = {};
  return Enter(function);
}
int Destroy(const char* function, void* descriptor) { return Product<int(void*)>(function)(descriptor); }

bool BelongTogether(const Descriptor& in, const Descriptor& filter, const Descriptor& convolution,
                    const Descriptor& out) {
  const size_t rank = in.dims.size();
  if (rank < 4 || filter.dims.size() != rank || out.dims.size() != rank || convolution.padding.size() + 2 != rank) {
    return false;
  }
  if (in.type != filter.type || in.type != out.type || in.dims[0] != out.dims[0]) return false;
  if (filter.dims[1] * convolution.groups != in.dims[1] || filter.dims[0] != out.dims[1]) return false;
  for (size_t axis = 2; axis < rank; ++axis) {
    const size_t i = axis - 2;
    const int covered = convolution.dilation[i] * (filter.dims[axis] - 1) + 1;
    const int size = (in.dims[axis] + 2 * convolution.padding[i] - covered) / convolution.stride[i] + 1;
    if (size != out.dims[axis]) return false;
  }
  return true;
}

int Heuristics(const char* function, const char* pass, void* handle, const void* in, const void* filter,
               const void* convolution, const void* out, int requested, int* returned, Performance* results) {
  if (const int forced = Enter(function); forced != kSuccess) return forced;
  if (!BelongTogether(At(in), At(filter), At(convolution), At(out)) || requested < 2) return kBadParam;
  *returned = 2;
  results[0] = {.algorithm = 6,
                .status = kNotSupported,
                .time = -1,
                .memory = size_t{1} << 40,
                .determinism = 1,
                .math = 0,
                .reserved = {}};
  results[1] = {.algorithm = 1,
                .status = kSuccess,
                .time = 1,
                .memory = static_cast<size_t>(Handles()[handle].context->card->workspaces.at(pass)),
                .determinism = 1,
                .math = 0,
                .reserved = {}};
  return kSuccess;
}

}  // namespace

extern "C" {

int cudnnCreate(void** handle) {
  if (const int forced = Enter("cudnnCreate"); forced != kSuccess) return forced;
  Context* const context = Machine::This().current;
  if (context == nullptr) return kNotInitialized;
  context->held_by_library = true;
  Product<int(void*)>("cudaFree")(nullptr);  // the runtime inside it starts
  const uint64_t taken = strict::TakeBytes(context->device, context->card->cudnn);
  if (taken == 0) return kAllocFailed;
  const int made = Product<int(void**)>("cudnnCreate")(handle);
  Handles()[*handle] = {context, taken};
  return made;
}
int cudnnDestroy(void* handle) {
  strict::GiveBytes(Handles()[handle].taken);
  Handles().erase(handle);
  Product<int(void*)>("cudnnDestroy")(handle);
  return Enter("cudnnDestroy");
}
int cudnnSetStream(void* handle, void* stream) {
  if (Handles()[handle].context != strict::Streams()[stream]) {
    Machine::This().Complain("cuDNN was given a stream of another context");
  }
  Product<int(void*, void*)>("cudnnSetStream")(handle, stream);
  return Enter("cudnnSetStream");
}

int cudnnCreateTensorDescriptor(void** tensor) { return Create("cudnnCreateTensorDescriptor", tensor); }
int cudnnDestroyTensorDescriptor(void* descriptor) { return Destroy("cudnnDestroyTensorDescriptor", descriptor); }
int cudnnCreateFilterDescriptor(void** filter) { return Create("cudnnCreateFilterDescriptor", filter); }
int cudnnDestroyFilterDescriptor(void* descriptor) { return Destroy("cudnnDestroyFilterDescriptor", descriptor); }
int cudnnCreateConvolutionDescriptor(void** convolution) {
  return Create("cudnnCreateConvolutionDescriptor", convolution);
}
int cudnnDestroyConvolutionDescriptor(void* descriptor) {
  return Destroy("cudnnDestroyConvolutionDescriptor", descriptor);
}

int cudnnSetTensorNdDescriptor(void* tensor, int type, int rank, const int* dims, const int* strides) {
  At(tensor) = {.dims = {dims, dims + rank}, .strides = {strides, strides + rank}, .type = type};
  return Enter("cudnnSetTensorNdDescriptor");
}
int cudnnSetFilterNdDescriptor(void* filter, int type, int, int rank, const int* dims) {
  At(filter) = {.dims = {dims, dims + rank}, .type = type};
  return Enter("cudnnSetFilterNdDescriptor");
}
int cudnnSetConvolutionNdDescriptor(void* convolution, int axes, const int* padding, const int* stride,
                                    const int* dilation, int mode, int) {
  At(convolution) = {
      .padding = {padding, padding + axes}, .stride = {stride, stride + axes}, .dilation = {dilation, dilation + axes}};
  // Frameworks correlate.
  return mode == 1 ? Enter("cudnnSetConvolutionNdDescriptor") : kBadParam;
}
int cudnnSetConvolutionGroupCount(void* convolution, int groups) {
  At(convolution).groups = groups;
  return Enter("cudnnSetConvolutionGroupCount");
}
int cudnnSetConvolutionMathType(void* convolution, int math) {
  At(convolution).math = math;
  return Enter("cudnnSetConvolutionMathType");
}

int cudnnGetConvolutionForwardAlgorithm_v7(void* handle, const void* in, const void* filter, const void* convolution,
                                           const void* out, int requested, int* returned, Performance* results) {
  return Heuristics("cudnnGetConvolutionForwardAlgorithm_v7", "forward", handle, in, filter, convolution, out,
                    requested, returned, results);
}
int cudnnGetConvolutionBackwardDataAlgorithm_v7(void* handle, const void* filter, const void* out,
                                                const void* convolution, const void* in, int requested, int* returned,
                                                Performance* results) {
  return Heuristics("cudnnGetConvolutionBackwardDataAlgorithm_v7", "input-gradient", handle, in, filter, convolution,
                    out, requested, returned, results);
}
int cudnnGetConvolutionBackwardFilterAlgorithm_v7(void* handle, const void* in, const void* out,
                                                  const void* convolution, const void* filter, int requested,
                                                  int* returned, Performance* results) {
  return Heuristics("cudnnGetConvolutionBackwardFilterAlgorithm_v7", "weight-gradient", handle, in, filter, convolution,
                    out, requested, returned, results);
}
int cudnnConvolutionForward(void* handle, const void*, const void* in, const void* x, const void* filter, const void* w,
                            const void* convolution, int, void*, size_t, const void*, const void* out, void* y) {
  if (const int forced = Enter("cudnnConvolutionForward"); forced != kSuccess) return forced;
  if (!BelongTogether(At(in), At(filter), At(convolution), At(out))) return kBadParam;
  auto& context = *Handles()[handle].context;
  const auto inside = [&](const void* pointer, const Descriptor& tensor, const char* doing) {
    int64_t bytes = tensor.type == 0 ? 4 : 2;
    for (const int dim : tensor.dims) bytes *= dim;
    return Machine::This().Inside(context, reinterpret_cast<uint64_t>(pointer), bytes, doing);
  };
  const bool all = inside(x, At(in), "a convolution's read") && inside(w, At(filter), "a convolution's read") &&
                   inside(y, At(out), "a convolution's write");
  context.clock += context.card->launch;
  return all ? kSuccess : kExecutionFailed;
}

}  // extern "C"
