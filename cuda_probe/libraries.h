// cuBLAS and cuDNN, if they are installed: what they add to a context, the rate of a matrix product, the workspace of a
// convolution. Both work in the context that is current on the calling thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cuda_probe/driver_api.h"
#include "cuda_probe/probe.h"
#include "graph/base/result.h"

namespace vramplan {

// A library's handle in this context; null if the library is not installed.
class Cublas {
 public:
  static Result<std::unique_ptr<Cublas>> Open(CUstream stream);
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;
  // The card is lost: the destructor must not talk to it.
  void Forget() { handle_ = nullptr; }

  // C = A x B on the stream, all square with this side. False: this card cannot do it in this arithmetic.
  Result<bool> Multiply(Arithmetic arithmetic, int side, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c);

 private:
  explicit Cublas(void* handle) : handle_(handle) {}
  void* handle_;
};
// The size of one number in a matrix.
int SizeOf(Arithmetic arithmetic);

class Cudnn {
 public:
  static Result<std::unique_ptr<Cudnn>> Open(CUstream stream);
  ~Cudnn();
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;
  // The card is lost: the destructor must not talk to it.
  void Forget() { handle_ = nullptr; }

  // The workspace of the first algorithm that the heuristics name and that works, which PyTorch takes with
  // cudnn.benchmark off (aten/src/ATen/native/cudnn/Conv_v7.cpp, `search`). Nothing: none works.
  std::optional<Bytes> Workspace(const ConvolutionCall& call) const;

  // The bytes of input, filter and output of the convolution in FirstCall(): 1x8x8x8, filter 8x8x1x1.
  static constexpr size_t kFirstInput = 2048, kFirstFilter = 256;
  // Runs one small convolution, so that its kernel is loaded.
  void FirstCall(CUdeviceptr input, CUdeviceptr filter, CUdeviceptr output) const;

 private:
  explicit Cudnn(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace vramplan
