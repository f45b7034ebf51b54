// RequestLike: the request of a step that an out-of-memory message is about.
//
//   tried 624.00 MiB, allocated 13.71 GiB     the backward of step 1 at batch 39, gradient of
//                                             /up.3/conv/net/net.4/BatchNormalization_output_0: 624.00 MiB, requested
//                                             when 13.70 GiB were allocated
//
// A message has two numbers of that moment, each rounded to two decimals: the size of the cudaMalloc (2 MiB for
// requests up to 1 MiB, 20 MiB up to 10 MiB, else the next multiple of 2 MiB) and the bytes of live tensors.
#pragma once

#include <functional>
#include <optional>

#include "planner/allocator/caching_allocator.h"
#include "planner/oom/message.h"
#include "planner/solver/bottleneck.h"

namespace vramplan {

struct RequestMatch {
  Bottleneck request;
  Bytes tried;           // what was asked for: of PyTorch the size of the cudaMalloc
  Bytes allocated;       // before it, on an unlimited card
  int alike = 1;         // how many requests of the run would print the same message, this one included
  bool refused = false;  // the step, replayed with the memory that was available, fails at this very request
  // The step fails at another request, even with a little more memory: before this one or, if the allocated bytes are
  // not close, at any.
  bool fails_elsewhere = false;
  // The message's allocated bytes minus `allocated`, as a share of the former; 0 if the message does not say.
  double difference = 0;
};

// If the allocated bytes differ from the message's by less than this share, both are taken for the same moment.
inline constexpr double kClose = 0.02;

// The request that prints the message's "Tried to allocate". If the step, replayed with `room`, fails at such a request
// and the allocated bytes are close, it is that one; else it is the one with the closest allocated bytes, the first of
// equals, of those that the step reaches. `timeline` is the step at `batch`; `room` is what the allocator could take, if
// that is known. Nothing: no request prints this size, or the message does not have it.
std::optional<RequestMatch> RequestLike(const OutOfMemory& message, const Timeline& timeline, const Layers& layers,
                                        int64_t batch, const AllocatorConfig& config, std::optional<Bytes> room);

// The batch at which the step has such a request with the closest allocated bytes; batches that fail elsewhere are left
// out. Of those that are close (kClose) the ones that fail at that request come first, then the closest, then the
// smallest. Sizes are polynomials in the batch, so one timeline shows which batches to lay out: at most two dozen.
// Nothing: none up to `most`, or the message lacks one of the numbers.
using LayOutAt = std::function<Result<Timeline>(int64_t batch)>;
std::optional<RequestMatch> BatchLike(const OutOfMemory& message, const LayOutAt& lay_out, const Layers& layers,
                                      const AllocatorConfig& config, std::optional<Bytes> room, int64_t most);

}  // namespace vramplan
