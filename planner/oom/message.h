// ReadOutOfMemory: reads the numbers of an out-of-memory message that a framework printed and a user pasted.
//
//   torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 22.00 MiB. GPU 0 has a total capacity of 23.65 GiB of
//   which 11.06 MiB is free. ... this process has 23.60 GiB memory in use. Of the allocated memory 22.90 GiB is
//   allocated by PyTorch, and 194.87 MiB is reserved by PyTorch but unallocated.
//
//   tried 22.00 MiB   capacity 23.65 GiB   free 11.06 MiB   allocated 22.90 GiB   reserved 23.09 GiB
//   outside() 523 MiB
//
// The forms are those of PyTorch since 0.4 (c10/cuda/CUDACachingAllocator.cpp, several versions; threads that quote
// them stand beside the rows of tests/planner/oom/message_test.cc), TensorFlow's and XLA's ResourceExhausted, ONNX
// Runtime's arena, and those of cuDNN and cuBLAS. Line breaks, indentation and rank prefixes do not matter; a truncated
// message gives the numbers that are left. Sizes are as printed: rounded to two decimals of their unit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/bytes.h"
#include "graph/base/result.h"

namespace vramplan {

enum class OutOfMemoryKind : uint8_t {
  kPyTorch,      // its caching allocator, with numbers
  kDevice,       // CUDA itself: no numbers
  kHost,         // PyTorch's CPU allocator: the memory of the host, not of the card
  kTensorFlow,   // ResourceExhausted: a tensor, or its BFC allocator
  kXla,          // JAX
  kOnnxRuntime,  // its arena, with the node
  kLibrary,      // cuDNN or cuBLAS had no memory for a handle or a workspace
};
std::string_view Name(
    OutOfMemoryKind kind);  // "pytorch", "device", "host", "tensorflow", "xla", "onnxruntime", "library"

struct OutOfMemoryProcess {
  int64_t pid = 0;
  Bytes in_use;
  bool operator==(const OutOfMemoryProcess&) const = default;
};

struct OutOfMemory {
  OutOfMemoryKind kind = OutOfMemoryKind::kDevice;
  std::string backend;         // "CUDA", "HIP", "XPU"; empty: not said
  std::optional<int> gpu;      // as the process counts them
  std::optional<Bytes> tried;  // PyTorch since 1.4: of the segment, so 2 MiB and 20 MiB may stand for less
  std::optional<Bytes> capacity, free;
  std::optional<Bytes> allowed;               // of a process that set a fraction
  std::optional<Bytes> allocated;             // by live tensors
  std::optional<Bytes> private_pools;         // of CUDA graphs, beside `allocated`
  std::optional<Bytes> reserved;              // by the allocator, `allocated` included; newer forms print its parts
  std::optional<Bytes> in_use;                // by this process, inside and outside the allocator
  std::vector<OutOfMemoryProcess> processes;  // others; in containers this one too
  std::string node, op;                       // ONNX Runtime, TensorFlow: of the request
  bool operator==(const OutOfMemory&) const = default;

  // CUDA context, kernels, libraries: what this process holds outside its allocator. Nothing: not said, or negative.
  std::optional<Bytes> outside() const;
};

// The first message in the text. Error (kBadInput, `subject`): there is none.
Result<OutOfMemory> ReadOutOfMemory(std::string_view subject, std::string_view text);

}  // namespace vramplan
