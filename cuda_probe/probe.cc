#include "cuda_probe/probe.h"

#include "graph/base/check.h"

namespace vramplan {

std::string_view Name(CardLibrary library) {
  switch (library) {
    case CardLibrary::kKernel:
      return "first kernel";
    case CardLibrary::kCublas:
      return "cuBLAS";
    case CardLibrary::kCudnn:
      return "cuDNN";
  }
  FailCheck(__FILE__, __LINE__, "unknown library");
}

std::string_view Name(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::kFp32:
      return "fp32";
    case Arithmetic::kTf32:
      return "tf32";
    case Arithmetic::kFp16:
      return "fp16";
    case Arithmetic::kBf16:
      return "bf16";
  }
  FailCheck(__FILE__, __LINE__, "unknown arithmetic");
}

}  // namespace vramplan
