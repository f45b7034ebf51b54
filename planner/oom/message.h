// ReadOutOfMemory: reads what a framework, a library, a driver or a kernel printed when memory ran out, and a user
// pasted.
//
//   torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 22.00 MiB. GPU 0 has a total capacity of 23.65 GiB of
//   which 11.06 MiB is free. ... this process has 23.60 GiB memory in use. Of the allocated memory 22.90 GiB is
//   allocated by PyTorch, and 194.87 MiB is reserved by PyTorch but unallocated.
//
//   tried 22.00 MiB   capacity 23.65 GiB   free 11.06 MiB   allocated 22.90 GiB   reserved 23.09 GiB
//   outside 523 MiB
//
// The wordings are the rows of forms.h. Line breaks, also within words, indentation, colours and rank prefixes do not
// matter; a truncated message gives the numbers that are left. Sizes are as printed: rounded to two decimals of their unit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/bytes.h"
#include "graph/base/result.h"
#include "planner/oom/traceback.h"

namespace vramplan {

// Which memory ran out.
enum class MemoryPlace : uint8_t {
  kCard,      // of the card, or of the part of it that a pool may take
  kHost,      // the machine's RAM, or its container's
  kOnChip,    // what one kernel may have in a multiprocessor
  kKeyValue,  // what a server has left for keys and values beside weights and activations
};
std::string_view Name(MemoryPlace place);  // "card", "host", "on-chip", "key-value"

struct OutOfMemoryProcess {
  int64_t pid = 0;
  Bytes in_use;
  bool own = false;  // the process that failed, which in a container has another number for itself
  bool operator==(const OutOfMemoryProcess&) const = default;
};

struct OutOfMemoryPart {
  std::string_view name;
  Bytes bytes;
  bool operator==(const OutOfMemoryPart&) const = default;
};

struct OutOfMemory {
  std::string_view kind;  // who says it: "pytorch", "tensorflow", "device" (the driver), "library", "host" ...
  MemoryPlace place = MemoryPlace::kCard;
  std::string_view backend;    // "CUDA", "HIP", "XPU", "NPU", "MPS"; empty: not said
  std::string_view remark;     // what such a message means, in a sentence; empty: it says it all itself
  std::string_view pool;       // `capacity` is not of the card but of this: "TensorFlow's pool"
  std::optional<int64_t> gpu;  // as the process counts them
  std::optional<Bytes> tried;  // PyTorch since 1.0: of the segment, so 2 MiB and 20 MiB may stand for less
  std::optional<Bytes> capacity, free;
  std::optional<Bytes> allowed;        // of a process that set a fraction, or a limit
  std::optional<Bytes> allocated;      // by live tensors
  std::optional<Bytes> private_pools;  // idle, in pools of CUDA graphs, which nothing else may use
  std::optional<Bytes> unallocated;    // by no tensor, of `reserved`
  std::optional<Bytes> reserved;       // by the allocator: allocated, in private pools and unallocated
  std::optional<Bytes> outside;        // of this process, beside `reserved`: the context, kernels, libraries
  std::optional<Bytes> in_use;         // by this process, inside and outside the allocator
  std::optional<Bytes> used;           // of the card, by whomever
  std::optional<Bytes> total;          // by a whole compiled program, with `parts`
  std::vector<OutOfMemoryPart> parts;
  std::optional<int64_t> tokens, tokens_fit;  // of a server: in a request, and that its cache has room for
  std::vector<OutOfMemoryProcess> processes;
  int unread_processes = 0;    // that are listed with 0 bytes: a container does not see what they hold
  bool before_2 = false;       // printed by PyTorch before 2.0, which computed attention in parts
  bool before_2_1 = false;     // printed by PyTorch before 2.1, which has no expandable segments
  std::string shape;           // TensorFlow: "shape[32,3840,10,10] and type float"
  std::string node, op;        // ONNX Runtime, TensorFlow: of the request
  Failure failure;             // by the traceback around it
  int messages = 1;            // of this kind in the text
  bool raised = true;          // false: it was logged, not raised, and the run went on
  bool cut = false;            // it ends before its last sentence
  bool no_expandable = false;  // the log says that expandable segments do not work there
  bool windows = false;        // the log has paths of Windows
  bool loads_data = false;     // the log names a data loader, or its workers
  bool operator==(const OutOfMemory&) const = default;
};

// The first message in the text that was raised and has the size of a request; if none was, the first that has; if none
// has, the first. What a framework says itself goes before what the system says of a process that it killed, and before
// warnings. Advice about it ("if you see CUDA out of memory") is no message. Error (kBadInput, `subject`): the
// text does not say that memory ran out.
Result<OutOfMemory> ReadOutOfMemory(std::string_view subject, std::string_view text);

// Each number is rounded to two decimals: of gibibytes by 5 MiB at most, and six of them are added up.
inline constexpr Bytes kRounding = Bytes::MiB(32);

// Outside its allocator a process has a context, kernels and libraries: 0.2 to 1.2 GiB on cards of every generation
// (the catalogue's bands, planner/spec), up to 1.5 GiB with PyTorch before CUDA 11.7, which loaded all kernels at once.
// More than that has another reason.
inline constexpr Bytes kMostContext = Bytes::MiB(1536);

// No card has this: the catalogue's largest has 288 GiB.
inline constexpr Bytes kBeyondAnyCard = Bytes::GiB(1024);

// No card and no host has this: sizes of shapes that are a mistake, and differences below zero.
inline constexpr Bytes kBeyondAnyMachine = Bytes::GiB(int64_t{1} << 20);

}  // namespace vramplan
