#include "cuda_probe/card_session.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "cuda_probe/kernels.h"
#include "cuda_probe/kernels_image.h"
#include "cuda_probe/libraries.h"

namespace vramplan {
namespace {

// Whether the context is unusable after a call that returned this. Other errors concern only the call itself.
bool LosesCard(CUresult result) {
  switch (result) {
    case CUDA_SUCCESS:
    case CUDA_ERROR_OUT_OF_MEMORY:
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
    case CUDA_ERROR_NOT_FOUND:
    case CUDA_ERROR_NOT_SUPPORTED:
      return false;
    default:
      return true;
  }
}

// The kernel for this arithmetic on cards of this capability (major * 10 + minor), and the work of one of its threads
// in one iteration. Capabilities: CUDA C++ Programming Guide, "Compute Capabilities".
struct ComputeKernel {
  const char* name = nullptr;  // null: there is none
  double flop = 0;
};
ComputeKernel KernelFor(Arithmetic arithmetic, int capability) {
  switch (arithmetic) {
    case Arithmetic::kFp32:
      return {kernels::kFma, kernels::kFmaFlop};
    case Arithmetic::kFp16:
      if (capability >= 70) return {kernels::kHalfTensor, kernels::kTensorFlop};
      if (capability >= 53) return {kernels::kHalfFma, kernels::kHalfFmaFlop};
      return {};
    case Arithmetic::kBf16:
      return capability >= 80 ? ComputeKernel{kernels::kBf16Tensor, kernels::kTensorFlop} : ComputeKernel{};
    case Arithmetic::kTf32:
      return capability >= 80 ? ComputeKernel{kernels::kTf32Tensor, kernels::kTf32TensorFlop} : ComputeKernel{};
  }
  return {};
}

class DriverSession final : public CardSession {
 public:
  DriverSession(const DriverApi& api, CUdevice device, std::string subject)
      : api_(api), device_(device), subject_(std::move(subject)) {}
  ~DriverSession() override;
  Status Start();

  Result<Memory> Free() override;
  Result<std::optional<uint64_t>> Allocate(Bytes bytes) override;
  Status Release(uint64_t address) override;
  Result<TimedWork> Touch(uint64_t address, Bytes bytes) override;
  Result<TimedWork> Copy(uint64_t to, uint64_t from, Bytes bytes) override;
  Result<std::optional<TimedWork>> Compute(Arithmetic arithmetic, double flop) override;
  Result<bool> Load(CardLibrary library) override;
  Result<std::optional<Bytes>> Workspace(const ConvolutionCall& call) override;

 private:
  // The error of a call that failed; remembered if the card is lost.
  Error Fail(CUresult result, const std::string& doing) {
    Error error = DriverError(api_, result, subject_, doing);
    if (LosesCard(result) && !lost_) lost_ = error;
    return error;
  }
  Status Check(CUresult result, const std::string& doing) {
    if (result == CUDA_SUCCESS) return Done();
    return Fail(result, doing);
  }
  // Before every call: checks that the card is not lost, and makes its context current on this thread.
  Status Enter() {
    if (lost_) return *lost_;
    return Check(api_.ctx_set_current(context_), "to make its context current");
  }
  bool Holds(uint64_t address, Bytes bytes) const;
  Result<CUfunction> Kernel(const char* name);
  Status LoadKernels();
  Status LoadCublas();
  Status LoadCudnn();
  // As many blocks as the multiprocessors can hold, or fewer for little work.
  unsigned Blocks(double threads) const {
    return static_cast<unsigned>(std::clamp(threads / kernels::kThreads, 1.0, 8.0 * multiprocessors_));
  }
  CUresult Launch(CUfunction kernel, unsigned blocks, void** arguments) const {
    return api_.launch_kernel(kernel, blocks, 1, 1, kernels::kThreads, 1, 1, 0, stream_, arguments, nullptr);
  }
  // Runs what `enqueue` puts on the stream, and returns the time that the card took.
  Result<TimedWork> Timed(double work, const std::string& doing, const std::function<Status()>& enqueue);
  Result<std::optional<TimedWork>> Multiply(Arithmetic arithmetic, double flop);
  // Our own scratch memory; nothing: no memory is left.
  std::optional<CUdeviceptr> Scratch(size_t bytes) {
    CUdeviceptr address = 0;
    return api_.mem_alloc(&address, bytes) == CUDA_SUCCESS ? std::optional(address) : std::nullopt;
  }

  const DriverApi& api_;
  CUdevice device_;
  std::string subject_;
  std::optional<Error> lost_;
  bool retained_ = false;
  bool libraries_ = false;  // whether one was started
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  CUevent begin_ = nullptr, end_ = nullptr;
  CUmodule module_ = nullptr;
  int multiprocessors_ = 1, capability_ = 0;
  unsigned touches_ = 0;
  std::map<uint64_t, Bytes> blocks_;
  std::unique_ptr<Cublas> cublas_;
  std::unique_ptr<Cudnn> cudnn_;
};

DriverSession::~DriverSession() {
  if (!retained_) return;
  if (!Enter().ok()) {
    if (cublas_ != nullptr) cublas_->Forget();
    if (cudnn_ != nullptr) cudnn_->Forget();
  } else {
    cublas_.reset();
    cudnn_.reset();
    for (const auto& [address, bytes] : blocks_) api_.mem_free(address);
    if (module_ != nullptr) api_.module_unload(module_);
    if (begin_ != nullptr) api_.event_destroy(begin_);
    if (end_ != nullptr) api_.event_destroy(end_);
    if (stream_ != nullptr) api_.stream_destroy(stream_);
    api_.ctx_set_current(nullptr);
    // The runtime inside cuBLAS and cuDNN holds the context too, and releases it only when the program ends.
    if (libraries_) api_.device_primary_ctx_reset(device_);
  }
  api_.device_primary_ctx_release(device_);
}

Status DriverSession::Start() {
  const std::string doing = "to make a context";
  const CUresult made = api_.device_primary_ctx_retain(&context_, device_);
  if (made == CUDA_ERROR_DEVICE_UNAVAILABLE) {
    return Error{ErrorCode::kNoCard, subject_,
                 "another process has the card for itself, or it no longer answers (" + api_.NameOf(made) + ')',
                 "nvidia-smi -c DEFAULT lets others in; else see dmesg"};
  }
  if (const Status checked = Check(made, doing); !checked) return checked;
  retained_ = true;
  int major = 0, minor = 0;
  for (const auto& [value, attribute] : {std::pair(&multiprocessors_, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
                                         std::pair(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                                         std::pair(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)}) {
    if (const Status told = Check(api_.device_get_attribute(value, attribute, device_), doing); !told) return told;
  }
  capability_ = major * 10 + minor;
  if (const Status entered = Enter(); !entered) return entered;
  if (const Status ready = Check(api_.stream_create(&stream_, CU_STREAM_NON_BLOCKING), doing); !ready) return ready;
  if (const Status ready = Check(api_.event_create(&begin_, CU_EVENT_DEFAULT), doing); !ready) return ready;
  return Check(api_.event_create(&end_, CU_EVENT_DEFAULT), doing);
}

Result<CardSession::Memory> DriverSession::Free() {
  if (const Status entered = Enter(); !entered) return entered.error();
  size_t free = 0, total = 0;
  if (const Status told = Check(api_.mem_get_info(&free, &total), "to say what is free"); !told) return told.error();
  return Memory{Bytes::Of(static_cast<int64_t>(free)), Bytes::Of(static_cast<int64_t>(total))};
}

Result<std::optional<uint64_t>> DriverSession::Allocate(Bytes bytes) {
  if (const Status entered = Enter(); !entered) return entered.error();
  CUdeviceptr address = 0;
  const CUresult result = api_.mem_alloc(&address, static_cast<size_t>(bytes.count()));
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return std::optional<uint64_t>();
  if (result != CUDA_SUCCESS) return Fail(result, "to allocate " + ToString(bytes));
  blocks_[address] = bytes;
  return std::optional<uint64_t>(address);
}

Status DriverSession::Release(uint64_t address) {
  if (const Status entered = Enter(); !entered) return entered;
  const auto block = blocks_.find(address);
  if (block == blocks_.end()) return Error{ErrorCode::kNoCard, subject_, "released what was not allocated", ""};
  blocks_.erase(block);
  return Check(api_.mem_free(address), "to free memory");
}

bool DriverSession::Holds(uint64_t address, Bytes bytes) const {
  const auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return false;
  const auto& [begin, size] = *std::prev(after);
  return Bytes::Of(static_cast<int64_t>(address - begin)) + bytes <= size;
}

Result<TimedWork> DriverSession::Timed(double work, const std::string& doing, const std::function<Status()>& enqueue) {
  if (const Status begun = Check(api_.event_record(begin_, stream_), doing); !begun) return begun.error();
  if (const Status queued = enqueue(); !queued) return queued.error();
  if (const Status ended = Check(api_.event_record(end_, stream_), doing); !ended) return ended.error();
  if (const Status waited = Check(api_.event_synchronize(end_), doing); !waited) return waited.error();
  float milliseconds = 0;
  const Status told = Check(api_.event_elapsed_time(&milliseconds, begin_, end_), doing);
  if (!told) return told.error();
  return TimedWork{work, milliseconds * 1e-3};
}

Result<TimedWork> DriverSession::Touch(uint64_t address, Bytes bytes) {
  if (const Status entered = Enter(); !entered) return entered.error();
  if (!Holds(address, bytes)) return Error{ErrorCode::kNoCard, subject_, "touched what was not allocated", ""};
  const Result<CUfunction> kernel = Kernel(kernels::kTouch);
  if (!kernel) return kernel.error();
  const auto count = static_cast<double>(bytes.count());
  unsigned long long to = address, size = static_cast<unsigned long long>(bytes.count());
  unsigned value = ++touches_;
  std::array<void*, 3> arguments = {&to, &size, &value};
  const std::string doing = "to write " + ToString(bytes);
  return Timed(count, doing, [&] { return Check(Launch(*kernel, Blocks(count / 16), arguments.data()), doing); });
}

Result<TimedWork> DriverSession::Copy(uint64_t to, uint64_t from, Bytes bytes) {
  if (const Status entered = Enter(); !entered) return entered.error();
  if (!Holds(to, bytes) || !Holds(from, bytes)) {
    return Error{ErrorCode::kNoCard, subject_, "copied what was not allocated", ""};
  }
  const Result<CUfunction> kernel = Kernel(kernels::kCopy);
  if (!kernel) return kernel.error();
  const auto count = static_cast<double>(bytes.count());
  unsigned long long target = to, source = from, size = static_cast<unsigned long long>(bytes.count());
  std::array<void*, 3> arguments = {&target, &source, &size};
  const std::string doing = "to copy " + ToString(bytes);
  return Timed(2 * count, doing, [&] { return Check(Launch(*kernel, Blocks(count / 16), arguments.data()), doing); });
}

Result<std::optional<TimedWork>> DriverSession::Compute(Arithmetic arithmetic, double flop) {
  if (const Status entered = Enter(); !entered) return entered.error();
  Result<std::optional<TimedWork>> product = Multiply(arithmetic, flop);
  if (!product || *product) return product;
  const ComputeKernel work = KernelFor(arithmetic, capability_);
  if (work.name == nullptr) return std::optional<TimedWork>();
  const Result<CUfunction> kernel = Kernel(work.name);
  if (!kernel) return kernel.error();
  const unsigned blocks = Blocks(1e9);
  const double one = work.flop * kernels::kThreads * blocks;  // iteration of all threads
  unsigned iterations = static_cast<unsigned>(std::clamp(std::round(flop / one), 1.0, 2e9));
  unsigned long long to = 0;
  std::array<void*, 2> arguments = {&to, &iterations};
  const std::string doing = "to compute in " + std::string(Name(arithmetic));
  const Result<TimedWork> timed =
      Timed(one * iterations, doing, [&] { return Check(Launch(*kernel, blocks, arguments.data()), doing); });
  if (!timed) return timed.error();
  return std::optional(*timed);
}

// Products of square matrices up to the side that pays off (4096), several of them if that is too little work. Nothing:
// no cuBLAS, no memory even for side 1024, or the card lacks this arithmetic.
Result<std::optional<TimedWork>> DriverSession::Multiply(Arithmetic arithmetic, double flop) {
  const auto none = std::optional<TimedWork>();
  if (const Status loaded = LoadCublas(); !loaded || cublas_ == nullptr) {
    if (lost_) return *lost_;
    return none;
  }
  int side = static_cast<int>(std::clamp(std::cbrt(flop / 2), 256.0, 4096.0)) / 256 * 256;
  const auto bytes = [&] { return static_cast<size_t>(side) * static_cast<size_t>(side) * SizeOf(arithmetic); };
  std::optional<CUdeviceptr> matrices = Scratch(3 * bytes());
  for (; !matrices && side > 1024; matrices = Scratch(3 * bytes())) side /= 2;
  if (!matrices) return none;
  const double one = 2.0 * side * side * side;
  const int products = static_cast<int>(std::clamp(std::round(flop / one), 1.0, 1e6));
  bool able = true;
  const std::string doing = "to compute in " + std::string(Name(arithmetic));
  const auto multiply = [&](int times) -> Status {
    for (int i = 0; i < times && able; ++i) {
      const Result<bool> done =
          cublas_->Multiply(arithmetic, side, *matrices, *matrices + bytes(), *matrices + 2 * bytes());
      if (!done) return done.error();
      able = *done;
    }
    return Done();
  };
  // The first product loads the kernel and is not timed.
  Result<TimedWork> timed = Timed(one, doing, [&] { return multiply(1); });
  if (timed.ok() && able) timed = Timed(one * products, doing, [&] { return multiply(products); });
  const Status freed = Check(api_.mem_free(*matrices), "to free memory");
  if (!timed) return timed.error();
  if (!freed) return freed.error();
  return able ? std::optional(*timed) : none;
}

Status DriverSession::LoadKernels() {
  if (module_ != nullptr) return Done();
  return Check(api_.module_load_data(&module_, KernelsImage()), "to load a kernel");
}

Result<CUfunction> DriverSession::Kernel(const char* name) {
  if (const Status loaded = LoadKernels(); !loaded) return loaded.error();
  CUfunction function = nullptr;
  const Status found = Check(api_.module_get_function(&function, module_, name), "to find a kernel");
  if (!found) return found.error();
  return function;
}

Status DriverSession::LoadCublas() {
  if (cublas_ != nullptr) return Done();
  libraries_ = true;
  Result<std::unique_ptr<Cublas>> opened = Cublas::Open(stream_);
  if (!opened) return opened.error();
  cublas_ = std::move(*opened);
  return Done();
}
Status DriverSession::LoadCudnn() {
  if (cudnn_ != nullptr) return Done();
  libraries_ = true;
  Result<std::unique_ptr<Cudnn>> opened = Cudnn::Open(stream_);
  if (!opened) return opened.error();
  cudnn_ = std::move(*opened);
  return Done();
}

Result<bool> DriverSession::Load(CardLibrary library) {
  if (const Status entered = Enter(); !entered) return entered.error();
  const std::string doing = "to load " + std::string(Name(library));
  if (library == CardLibrary::kKernel) {
    const Result<CUfunction> kernel = Kernel(kernels::kFma);
    if (!kernel) return kernel.error();
    unsigned long long to = 0;
    unsigned iterations = 1;
    std::array<void*, 2> arguments = {&to, &iterations};
    const Result<TimedWork> run = Timed(0, doing, [&] { return Check(Launch(*kernel, 1, arguments.data()), doing); });
    if (!run) return run.error();
    return true;
  }
  const bool cublas = library == CardLibrary::kCublas;
  if (const Status loaded = cublas ? LoadCublas() : LoadCudnn(); !loaded) return loaded.error();
  if (cublas ? cublas_ == nullptr : cudnn_ == nullptr) return false;
  // The first call works on matrices of 64 x 64 floats, or on a convolution smaller than that.
  constexpr int kSide = 64;
  constexpr size_t kMatrix = size_t{kSide} * kSide * 4;
  static_assert(Cudnn::kFirstInput <= kMatrix && Cudnn::kFirstFilter <= kMatrix);
  const std::optional<CUdeviceptr> scratch = Scratch(3 * kMatrix);
  if (!scratch) return Fail(CUDA_ERROR_OUT_OF_MEMORY, doing);
  const Result<TimedWork> run = Timed(0, doing, [&]() -> Status {
    if (!cublas) {
      cudnn_->FirstCall(*scratch, *scratch + kMatrix, *scratch + 2 * kMatrix);
      return Done();
    }
    const Result<bool> done =
        cublas_->Multiply(Arithmetic::kFp32, kSide, *scratch, *scratch + kMatrix, *scratch + 2 * kMatrix);
    if (!done) return done.error();
    return Done();
  });
  const Status freed = Check(api_.mem_free(*scratch), "to free memory");
  if (!run) return run.error();
  if (!freed) return freed.error();
  return true;
}

Result<std::optional<Bytes>> DriverSession::Workspace(const ConvolutionCall& call) {
  if (const Status entered = Enter(); !entered) return entered.error();
  if (const Status loaded = LoadCudnn(); !loaded) return loaded.error();
  return cudnn_ == nullptr ? std::nullopt : cudnn_->Workspace(call);
}

}  // namespace

Result<std::unique_ptr<CardSession>> OpenSession(const DriverApi& api, CUdevice device, const std::string& subject) {
  auto session = std::make_unique<DriverSession>(api, device, subject);
  if (const Status started = session->Start(); !started) return started.error();
  return std::unique_ptr<CardSession>(std::move(session));
}

}  // namespace vramplan
