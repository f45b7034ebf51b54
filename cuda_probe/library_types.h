// The part of the ABI of cuBLAS and cuDNN that we use; not every toolkit has their headers. References: cuBLAS
// Library, "cuBLAS datatypes reference", "cublasGemmEx"; cuDNN Backend API, cudnn_graph, cudnn_ops and cudnn_cnn.
// Tests compare this with the headers where they are installed.
#pragma once

#include <cstddef>

namespace vramplan::abi {

using Stream = struct CUstream_st*;

// --- cuBLAS 11 to 13
inline constexpr int kCublasSuccess = 0, kCublasNotInitialized = 1, kCublasAllocFailed = 3, kCublasInvalidValue = 7,
                     kCublasArchMismatch = 8, kCublasNotSupported = 15;
inline constexpr int kNotTransposed = 0, kTransposed = 1;                          // CUBLAS_OP_N, CUBLAS_OP_T
inline constexpr int kReal32 = 0, kReal16 = 2, kRealB16 = 14;                      // cudaDataType
inline constexpr int kCompute32 = 68, kComputePedantic32 = 69, kComputeTf32 = 77;  // cublasComputeType_t
inline constexpr int kGemmDefault = -1;                                            // cublasGemmAlgo_t
using CublasCreate = int(void**);
using CublasDestroy = int(void*);
using CublasSetStream = int(void*, Stream);
using CublasGemmEx = int(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int,
                         const void*, void*, int, int, int, int);

// --- cuDNN 8 and 9
inline constexpr int kCudnnSuccess = 0;
inline constexpr int kDataFloat = 0, kDataHalf = 2, kDataBf16 = 9;     // cudnnDataType_t
inline constexpr int kFormatNchw = 0, kFormatNhwc = 1;                 // cudnnTensorFormat_t
inline constexpr int kCrossCorrelation = 1;                            // cudnnConvolutionMode_t
inline constexpr int kDefaultMath = 0, kTensorMath = 1, kFmaMath = 3;  // cudnnMathType_t
inline constexpr int kImplicitGemm = 0;                                // cudnnConvolutionFwdAlgo_t
// cudnnConvolution{Fwd,BwdData,BwdFilter}AlgoPerf_t: alike, each with the enum of its own algorithms.
struct AlgorithmPerformance {
  int algorithm, status;
  float time;
  size_t memory;
  int determinism, math_type, reserved[3];
};
using CudnnCreate = int(void**);
using CudnnDestroy = int(void*);
using CudnnSetStream = int(void*, Stream);
using SetTensor = int(void*, int type, int dims, const int* dim, const int* stride);
using SetFilter = int(void*, int type, int format, int dims, const int* dim);
using SetConvolution = int(void*, int dims, const int* padding, const int* stride, const int* dilation, int mode,
                           int type);
using SetNumber = int(void*, int);
// (handle, descriptors..., requested, returned, results): forward takes input, filter, convolution, output; the input's
// gradient filter, output, convolution, input; the filter's gradient input, output, convolution, filter.
using GetAlgorithm = int(void*, void*, void*, void*, void*, int, int*, AlgorithmPerformance*);
using ConvolutionForward = int(void*, const void*, void*, const void*, void*, const void*, void*, int, void*, size_t,
                               const void*, void*, void*);

}  // namespace vramplan::abi
