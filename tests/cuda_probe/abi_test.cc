// Our declarations of the libraries that are opened at run time, against their headers where those are installed. The
// compiler runs this test.
#include <cstddef>
#include <type_traits>

#include "cuda_probe/library_types.h"
#include "cuda_probe/nvml_types.h"

#if __has_include(<cublas_v2.h>)
#include <cublas_v2.h>
#endif
#if __has_include(<cudnn.h>)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // cuDNN 9 calls its older functions so
#include <cudnn.h>
#endif
#if __has_include(<nvml.h>)
#include <nvml.h>
#endif

namespace abi = vramplan::abi;
namespace nvml = vramplan::nvml;

namespace {

// Whether a function of a header can be called through a type of ours: as many arguments, each passed alike: integers
// and enums of one size, or pointers.
template <typename A, typename B>
constexpr bool kAlike = (std::is_pointer_v<A> && std::is_pointer_v<B>) ||
                        (!std::is_pointer_v<A> && !std::is_pointer_v<B> && sizeof(A) == sizeof(B) &&
                         std::is_floating_point_v<A> == std::is_floating_point_v<B>);
template <typename Ours, typename Theirs>
struct Callable : std::false_type {};
template <typename R, typename... A, typename S, typename... B>
requires(sizeof...(A) == sizeof...(B)) struct Callable<R(A...), S (*)(B...)>
    : std::bool_constant<kAlike<R, S> && (kAlike<A, B> && ...)> {
};
template <typename Ours, typename Theirs>
constexpr bool kCallable = Callable<Ours, Theirs>::value;

static_assert(kCallable<int(void*, int), int (*)(char*, unsigned)>);
static_assert(!kCallable<int(void*, int), int (*)(char*, long)> && !kCallable<int(void*), int (*)(char*, int)>);

// What the ABI of a 64-bit machine makes of the structures, whether there are headers or not.
static_assert(sizeof(nvml::MemoryInfoOne) == 24 && sizeof(nvml::MemoryInfoTwo) == 40);
static_assert(offsetof(nvml::MemoryInfoTwo, total) == 8 && nvml::kMemoryInfoTwo == 0x2000028);
static_assert(sizeof(nvml::ProcessOne) == 16 && sizeof(nvml::ProcessTwo) == 24);
static_assert(sizeof(abi::AlgorithmPerformance) == 48 && offsetof(abi::AlgorithmPerformance, memory) == 16);

#if __has_include(<cublas_v2.h>)
static_assert(kCallable<abi::CublasCreate, decltype(&cublasCreate_v2)>);
static_assert(kCallable<abi::CublasDestroy, decltype(&cublasDestroy_v2)>);
static_assert(kCallable<abi::CublasSetStream, decltype(&cublasSetStream_v2)>);
using CublasGemm = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                                      const void*, cudaDataType, int, const void*, cudaDataType, int, const void*,
                                      void*, cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t);
static_assert(kCallable<abi::CublasGemmEx, decltype(static_cast<CublasGemm>(&cublasGemmEx))>);
static_assert(abi::kCublasSuccess == CUBLAS_STATUS_SUCCESS && abi::kCublasAllocFailed == CUBLAS_STATUS_ALLOC_FAILED);
static_assert(abi::kCublasNotInitialized == CUBLAS_STATUS_NOT_INITIALIZED);
static_assert(abi::kCublasInvalidValue == CUBLAS_STATUS_INVALID_VALUE);
static_assert(abi::kCublasArchMismatch == CUBLAS_STATUS_ARCH_MISMATCH);
static_assert(abi::kCublasNotSupported == CUBLAS_STATUS_NOT_SUPPORTED);
static_assert(abi::kNotTransposed == CUBLAS_OP_N && abi::kTransposed == CUBLAS_OP_T);
static_assert(abi::kReal32 == CUDA_R_32F && abi::kReal16 == CUDA_R_16F && abi::kRealB16 == CUDA_R_16BF);
static_assert(abi::kCompute32 == CUBLAS_COMPUTE_32F && abi::kComputePedantic32 == CUBLAS_COMPUTE_32F_PEDANTIC);
static_assert(abi::kComputeTf32 == CUBLAS_COMPUTE_32F_FAST_TF32 && abi::kGemmDefault == CUBLAS_GEMM_DEFAULT);
#endif

#if __has_include(<cudnn.h>)
static_assert(kCallable<abi::CudnnCreate, decltype(&cudnnCreate)>);
static_assert(kCallable<abi::CudnnDestroy, decltype(&cudnnDestroy)>);
static_assert(kCallable<abi::CudnnSetStream, decltype(&cudnnSetStream)>);
static_assert(kCallable<abi::CudnnCreate, decltype(&cudnnCreateTensorDescriptor)>);
static_assert(kCallable<abi::CudnnDestroy, decltype(&cudnnDestroyTensorDescriptor)>);
static_assert(kCallable<abi::CudnnCreate, decltype(&cudnnCreateFilterDescriptor)>);
static_assert(kCallable<abi::CudnnDestroy, decltype(&cudnnDestroyFilterDescriptor)>);
static_assert(kCallable<abi::CudnnCreate, decltype(&cudnnCreateConvolutionDescriptor)>);
static_assert(kCallable<abi::CudnnDestroy, decltype(&cudnnDestroyConvolutionDescriptor)>);
static_assert(kCallable<abi::SetTensor, decltype(&cudnnSetTensorNdDescriptor)>);
static_assert(kCallable<abi::SetFilter, decltype(&cudnnSetFilterNdDescriptor)>);
static_assert(kCallable<abi::SetConvolution, decltype(&cudnnSetConvolutionNdDescriptor)>);
static_assert(kCallable<abi::SetNumber, decltype(&cudnnSetConvolutionGroupCount)>);
static_assert(kCallable<abi::SetNumber, decltype(&cudnnSetConvolutionMathType)>);
static_assert(kCallable<abi::GetAlgorithm, decltype(&cudnnGetConvolutionForwardAlgorithm_v7)>);
static_assert(kCallable<abi::GetAlgorithm, decltype(&cudnnGetConvolutionBackwardDataAlgorithm_v7)>);
static_assert(kCallable<abi::GetAlgorithm, decltype(&cudnnGetConvolutionBackwardFilterAlgorithm_v7)>);
static_assert(kCallable<abi::ConvolutionForward, decltype(&cudnnConvolutionForward)>);
static_assert(abi::kCudnnSuccess == CUDNN_STATUS_SUCCESS && abi::kDataFloat == CUDNN_DATA_FLOAT);
static_assert(abi::kDataHalf == CUDNN_DATA_HALF && abi::kDataBf16 == CUDNN_DATA_BFLOAT16);
static_assert(abi::kFormatNchw == CUDNN_TENSOR_NCHW && abi::kFormatNhwc == CUDNN_TENSOR_NHWC);
static_assert(abi::kCrossCorrelation == CUDNN_CROSS_CORRELATION && abi::kDefaultMath == CUDNN_DEFAULT_MATH);
static_assert(abi::kTensorMath == CUDNN_TENSOR_OP_MATH && abi::kFmaMath == CUDNN_FMA_MATH);
static_assert(abi::kImplicitGemm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM);
template <typename Theirs>
constexpr bool kSamePerformance = sizeof(Theirs) == sizeof(abi::AlgorithmPerformance) &&
                                  offsetof(Theirs, algo) == offsetof(abi::AlgorithmPerformance, algorithm) &&
                                  offsetof(Theirs, status) == offsetof(abi::AlgorithmPerformance, status) &&
                                  offsetof(Theirs, memory) == offsetof(abi::AlgorithmPerformance, memory);
static_assert(kSamePerformance<cudnnConvolutionFwdAlgoPerf_t>);
static_assert(kSamePerformance<cudnnConvolutionBwdDataAlgoPerf_t>);
static_assert(kSamePerformance<cudnnConvolutionBwdFilterAlgoPerf_t>);
#endif

#if __has_include(<nvml.h>)
static_assert(sizeof(nvml::MemoryInfoOne) == sizeof(nvmlMemory_t) &&
              sizeof(nvml::MemoryInfoTwo) == sizeof(nvmlMemory_v2_t));
static_assert(nvml::kMemoryInfoTwo == nvmlMemory_v2);
static_assert(offsetof(nvml::MemoryInfoTwo, reserved) == offsetof(nvmlMemory_v2_t, reserved));
static_assert(offsetof(nvml::MemoryInfoTwo, free) == offsetof(nvmlMemory_v2_t, free));
static_assert(sizeof(nvml::ProcessTwo) == sizeof(nvmlProcessInfo_t));
static_assert(offsetof(nvml::ProcessTwo, used) == offsetof(nvmlProcessInfo_t, usedGpuMemory));
static_assert(nvml::kSuccess == NVML_SUCCESS && nvml::kNotSupported == NVML_ERROR_NOT_SUPPORTED);
static_assert(nvml::kInsufficientSize == NVML_ERROR_INSUFFICIENT_SIZE);
static_assert(nvml::kFunctionNotFound == NVML_ERROR_FUNCTION_NOT_FOUND);
static_assert(kCallable<nvml::ProcessesTwo, decltype(&nvmlDeviceGetComputeRunningProcesses_v3)>);
static_assert(kCallable<nvml::MemoryTwo, decltype(&nvmlDeviceGetMemoryInfo_v2)>);
static_assert(kCallable<nvml::TwoStates, decltype(&nvmlDeviceGetEccMode)>);
static_assert(kCallable<nvml::OneState, decltype(&nvmlDeviceGetDisplayActive)>);
static_assert(kCallable<nvml::ByText, decltype(&nvmlDeviceGetHandleByUUID)>);
static_assert(kCallable<nvml::ProcessName, decltype(&nvmlSystemGetProcessName)>);
static_assert(kCallable<nvml::SystemText, decltype(&nvmlSystemGetDriverVersion)>);
static_assert(kCallable<nvml::IsMig, decltype(&nvmlDeviceIsMigDeviceHandle)>);
static_assert(kCallable<nvml::Parent, decltype(&nvmlDeviceGetDeviceHandleFromMigDeviceHandle)>);
#endif

}  // namespace
