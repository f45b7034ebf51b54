#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "cuda_probe/libraries.h"
#include "cuda_probe/library_types.h"
#include "cuda_probe/shared_library.h"

namespace vramplan {
namespace {

struct CudnnFunctions {
  SharedLibrary library{"libcudnn.so.9", "libcudnn.so.8"};
  abi::CudnnCreate *create, *create_tensor, *create_filter, *create_convolution;
  abi::CudnnDestroy *destroy, *destroy_tensor, *destroy_filter, *destroy_convolution;
  abi::CudnnSetStream* set_stream;
  abi::SetTensor* set_tensor;
  abi::SetFilter* set_filter;
  abi::SetConvolution* set_convolution;
  abi::SetNumber *set_groups, *set_math;
  abi::GetAlgorithm *forward, *input_gradient, *weight_gradient;
  abi::ConvolutionForward* run;
  CudnnFunctions() {
    library.Need("cudnnCreate", create);
    library.Need("cudnnDestroy", destroy);
    library.Need("cudnnSetStream", set_stream);
    library.Need("cudnnCreateTensorDescriptor", create_tensor);
    library.Need("cudnnDestroyTensorDescriptor", destroy_tensor);
    library.Need("cudnnSetTensorNdDescriptor", set_tensor);
    library.Need("cudnnCreateFilterDescriptor", create_filter);
    library.Need("cudnnDestroyFilterDescriptor", destroy_filter);
    library.Need("cudnnSetFilterNdDescriptor", set_filter);
    library.Need("cudnnCreateConvolutionDescriptor", create_convolution);
    library.Need("cudnnDestroyConvolutionDescriptor", destroy_convolution);
    library.Need("cudnnSetConvolutionNdDescriptor", set_convolution);
    library.Need("cudnnSetConvolutionGroupCount", set_groups);
    library.Need("cudnnSetConvolutionMathType", set_math);
    library.Need("cudnnGetConvolutionForwardAlgorithm_v7", forward);
    library.Need("cudnnGetConvolutionBackwardDataAlgorithm_v7", input_gradient);
    library.Need("cudnnGetConvolutionBackwardFilterAlgorithm_v7", weight_gradient);
    library.Need("cudnnConvolutionForward", run);
  }
};
const CudnnFunctions& LoadedCudnn() {
  static const CudnnFunctions functions;
  return functions;
}

class Descriptor {
 public:
  Descriptor(abi::CudnnCreate* create, abi::CudnnDestroy* destroy) : destroy_(destroy) {
    if (create(&handle_) != abi::kCudnnSuccess) handle_ = nullptr;
  }
  ~Descriptor() {
    if (handle_ != nullptr) destroy_(handle_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  void* get() const { return handle_; }

 private:
  abi::CudnnDestroy* destroy_;
  void* handle_ = nullptr;
};

// As cuDNN takes them: ints, with at least two spatial axes; a single axis gets one of size 1 before it, as in PyTorch
// (aten/src/ATen/native/Convolution.cpp, view1d_as_2d). Empty: a number does not fit an int.
std::vector<int> Axes(const std::vector<int64_t>& numbers, size_t spatial_from, int filler) {
  std::vector<int> axes;
  for (const int64_t number : numbers) {
    if (number < 0 || number > std::numeric_limits<int>::max()) return {};
    axes.push_back(static_cast<int>(number));
  }
  if (axes.size() == spatial_from + 1) axes.insert(axes.end() - 1, filler);
  return axes;
}

// The stride of each axis, in elements: the last axis is dense, or the channel axis with channels last.
std::vector<int> Strides(const std::vector<int>& dims, bool channels_last) {
  std::vector<int> strides(dims.size());
  int64_t stride = 1;
  const auto lay = [&](size_t axis) {
    strides[axis] = static_cast<int>(std::min<int64_t>(stride, std::numeric_limits<int>::max()));
    stride *= dims[axis];
  };
  if (channels_last) lay(1);
  for (size_t axis = dims.size(); axis-- > 2;) lay(axis);
  if (!channels_last) lay(1);
  lay(0);
  return strides;
}

// A call in cuDNN's terms: four descriptors, none of them null if ok().
struct Described {
  const CudnnFunctions& cudnn = LoadedCudnn();
  Descriptor input{cudnn.create_tensor, cudnn.destroy_tensor}, output{cudnn.create_tensor, cudnn.destroy_tensor};
  Descriptor filter{cudnn.create_filter, cudnn.destroy_filter};
  Descriptor convolution{cudnn.create_convolution, cudnn.destroy_convolution};
  bool ok = false;

  explicit Described(const ConvolutionCall& call) {
    const int type = call.type == Arithmetic::kFp16   ? abi::kDataHalf
                     : call.type == Arithmetic::kBf16 ? abi::kDataBf16
                                                      : abi::kDataFloat;
    // aten/src/ATen/cudnn/Descriptors.h, ConvolutionDescriptor::set.
    const int math = call.type == Arithmetic::kFp16   ? abi::kTensorMath
                     : call.type == Arithmetic::kFp32 ? abi::kFmaMath
                                                      : abi::kDefaultMath;
    const std::vector<int> in = Axes(call.input, 2, 1), out = Axes(call.output, 2, 1), weight = Axes(call.filter, 2, 1);
    const std::vector<int> padding = Axes(call.padding, 0, 0), stride = Axes(call.stride, 0, 1),
                           dilation = Axes(call.dilation, 0, 1);
    const size_t axes = padding.size();
    if (axes < 2 || stride.size() != axes || dilation.size() != axes) return;
    if (in.size() != axes + 2 || out.size() != axes + 2 || weight.size() != axes + 2) return;
    if (input.get() == nullptr || output.get() == nullptr || filter.get() == nullptr || convolution.get() == nullptr) {
      return;
    }
    const auto set_tensor = [&](const Descriptor& tensor, const std::vector<int>& dims) {
      return cudnn.set_tensor(tensor.get(), type, static_cast<int>(dims.size()), dims.data(),
                              Strides(dims, call.channels_last).data()) == abi::kCudnnSuccess;
    };
    ok = set_tensor(input, in) && set_tensor(output, out) &&
         cudnn.set_filter(filter.get(), type, call.channels_last ? abi::kFormatNhwc : abi::kFormatNchw,
                          static_cast<int>(weight.size()), weight.data()) == abi::kCudnnSuccess &&
         // Halves are summed in fp32.
         cudnn.set_convolution(convolution.get(), static_cast<int>(axes), padding.data(), stride.data(),
                               dilation.data(), abi::kCrossCorrelation, abi::kDataFloat) == abi::kCudnnSuccess &&
         cudnn.set_groups(convolution.get(), static_cast<int>(call.groups)) == abi::kCudnnSuccess &&
         cudnn.set_math(convolution.get(), math) == abi::kCudnnSuccess;
  }
};

}  // namespace

Result<std::unique_ptr<Cudnn>> Cudnn::Open(CUstream stream) {
  const CudnnFunctions& cudnn = LoadedCudnn();
  if (!cudnn.library || !cudnn.library.missing().empty()) return std::unique_ptr<Cudnn>();
  void* handle = nullptr;
  int status = cudnn.create(&handle);
  std::unique_ptr<Cudnn> opened(status == abi::kCudnnSuccess ? new Cudnn(handle) : nullptr);
  if (status == abi::kCudnnSuccess) status = cudnn.set_stream(handle, stream);
  if (status != abi::kCudnnSuccess) {
    return Error{ErrorCode::kNoCard, "cuDNN", "it does not start: status " + std::to_string(status),
                 "memory may be short, or it is newer than the driver: see vramplan probe"};
  }
  return opened;
}
Cudnn::~Cudnn() {
  if (handle_ != nullptr) LoadedCudnn().destroy(handle_);
}

std::optional<Bytes> Cudnn::Workspace(const ConvolutionCall& call) const {
  const Described as(call);
  if (!as.ok) return std::nullopt;
  // More than there are algorithms of any pass (8, 6 and 7).
  std::array<abi::AlgorithmPerformance, 10> found{};
  int count = 0, status = 0;
  const auto ask = [&](abi::GetAlgorithm* get, const Descriptor& a, const Descriptor& b, const Descriptor& c) {
    status = get(handle_, a.get(), b.get(), as.convolution.get(), c.get(), static_cast<int>(found.size()), &count,
                 found.data());
  };
  switch (call.pass) {
    case ConvolutionCall::Pass::kForward:
      ask(as.cudnn.forward, as.input, as.filter, as.output);
      break;
    case ConvolutionCall::Pass::kInputGradient:
      ask(as.cudnn.input_gradient, as.filter, as.output, as.input);
      break;
    case ConvolutionCall::Pass::kWeightGradient:
      ask(as.cudnn.weight_gradient, as.input, as.output, as.filter);
      break;
  }
  if (status != abi::kCudnnSuccess) return std::nullopt;
  for (int i = 0; i < std::min<int>(count, found.size()); ++i) {
    const abi::AlgorithmPerformance& algorithm = found[static_cast<size_t>(i)];
    if (algorithm.status == abi::kCudnnSuccess) return Bytes::Of(static_cast<int64_t>(algorithm.memory));
  }
  return std::nullopt;
}

void Cudnn::FirstCall(CUdeviceptr input, CUdeviceptr filter, CUdeviceptr output) const {
  const Described as({.input = {1, 8, 8, 8},
                      .filter = {8, 8, 1, 1},
                      .output = {1, 8, 8, 8},
                      .padding = {0, 0},
                      .stride = {1, 1},
                      .dilation = {1, 1}});
  if (!as.ok) return;
  const float one = 1, zero = 0;
  const auto pointer = [](CUdeviceptr address) { return reinterpret_cast<void*>(address); };
  as.cudnn.run(handle_, &one, as.input.get(), pointer(input), as.filter.get(), pointer(filter), as.convolution.get(),
               abi::kImplicitGemm, nullptr, 0, &zero, as.output.get(), pointer(output));
}

}  // namespace vramplan
