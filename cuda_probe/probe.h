// Probe: the boundary to real cards, in plain C++. This header has no CUDA type and needs no toolkit.
//
//   ThisMachine()->Cards()              every card, and who holds its memory
//   ThisMachine()->Open(0)              a CUDA context on card 0: allocate, touch, time; its destructor frees all
//
// Implementations: the driver's (driver_probe.cc, where a CUDA toolkit was found), the null twin (null_probe.cc: every
// answer is "no probe in this build"), and the tests' recording fake (tests/support/fake_probe.h).
//
// Errors are kNoCard, one line each: no driver, no card, permission refused, card lost. Out of memory is not an error.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cuda_probe/facts.h"
#include "graph/base/bytes.h"
#include "graph/base/result.h"

namespace vramplan {

// What a program loads onto the card besides its tensors.
enum class CardLibrary : uint8_t { kKernel, kCublas, kCudnn };
std::string_view Name(CardLibrary library);  // "first kernel", "cuBLAS", "cuDNN"

enum class Arithmetic : uint8_t { kFp32, kTf32, kFp16, kBf16 };
std::string_view Name(Arithmetic arithmetic);  // "fp32", "tf32", "fp16", "bf16"

// A computation that was timed on the card.
struct TimedWork {
  double work = 0;     // bytes moved, or FLOP (multiplications and additions each counted)
  double seconds = 0;  // between two events on the card
  bool operator==(const TimedWork&) const = default;
};

// One convolution as a framework asks cuDNN for it; the batch comes first in `input` and `output`.
struct ConvolutionCall {
  enum class Pass : uint8_t { kForward, kInputGradient, kWeightGradient };
  Pass pass = Pass::kForward;
  Arithmetic type = Arithmetic::kFp32;
  bool channels_last = false;
  std::vector<int64_t> input, filter, output;      // filter: [out, in / groups, spatial...]
  std::vector<int64_t> padding, stride, dilation;  // by spatial axis
  int64_t groups = 1;
};

// A CUDA context on one card. Its destructor gives back every allocation that is left, then the context.
class CardSession {
 public:
  virtual ~CardSession() = default;

  struct Memory {
    Bytes free, total;
  };
  virtual Result<Memory> Free() = 0;  // cuMemGetInfo: the whole card, the use of other processes included

  // Nothing: out of memory.
  virtual Result<std::optional<uint64_t>> Allocate(Bytes bytes) = 0;
  virtual Status Release(uint64_t address) = 0;

  // Writes every byte of the range, waits, and returns the time that the card took.
  virtual Result<TimedWork> Touch(uint64_t address, Bytes bytes) = 0;
  // Reads one range and writes another of the same size: 2 x bytes moved. They do not overlap.
  virtual Result<TimedWork> Copy(uint64_t to, uint64_t from, Bytes bytes) = 0;
  // Computes about `flop` operations at the highest rate it can reach. Nothing: the card lacks this arithmetic.
  virtual Result<std::optional<TimedWork>> Compute(Arithmetic arithmetic, double flop) = 0;

  // Loads the library and makes its first call, so that it takes its share of the card. False: not installed.
  virtual Result<bool> Load(CardLibrary library) = 0;
  // The workspace that cuDNN's heuristics would take for this call. Nothing: no cuDNN, or it cannot compute this.
  virtual Result<std::optional<Bytes>> Workspace(const ConvolutionCall& call) = 0;
};

class Probe {
 public:
  virtual ~Probe() = default;
  virtual Result<DriverFacts> Driver() = 0;
  virtual Result<std::vector<CardFacts>> Cards() = 0;  // at least one
  // `card` is CardFacts::index.
  virtual Result<std::unique_ptr<CardSession>> Open(int card) = 0;

  // Read without a context (NVML). Nothing: the driver does not say.
  virtual Result<std::optional<Bytes>> Used(int card) = 0;                   // by all processes and the driver
  virtual Result<std::optional<std::vector<Holder>>> Holders(int card) = 0;  // right now
  // Waits between two samples.
  virtual void Wait(double seconds) = 0;
};

// The cards of this machine. Never null.
std::unique_ptr<Probe> ThisMachine();
// Whether this build can see cards; if not, why: "built without a CUDA toolkit".
bool BuiltWithProbe();

}  // namespace vramplan
