// RequestLike: the request of a step that an out-of-memory message is about.
//
//   tried 624.00 MiB, allocated 13.71 GiB     the backward of step 1 at batch 39, gradient of
//                                             /up.3/conv/net/net.4/BatchNormalization_output_0: 624.00 MiB, asked for
//                                             when 13.70 GiB were allocated
//
// A message has two numbers of that moment, each rounded to two decimals: what cudaMalloc was asked for (of requests up
// to 1 MiB 2 MiB, up to 10 MiB 20 MiB, else the next multiple of 2 MiB) and what live tensors took.
#pragma once

#include <functional>
#include <optional>

#include "planner/allocator/caching_allocator.h"
#include "planner/oom/message.h"
#include "planner/solver/bottleneck.h"

namespace vramplan {

struct RequestMatch {
  Bottleneck request;
  Bytes tried;           // what cudaMalloc is asked for
  Bytes allocated;       // before it, on a card without end
  int alike = 1;         // requests of the run of which the message prints the same, this one included
  bool refused = false;  // the step, replayed in the room that there was, fails at just this request
  // What the message says is allocated, less that, as a share of it; 0 when the message does not say.
  double difference = 0;
};

// What is allocated is within this of the message: they are thought to be of one moment.
inline constexpr double kClose = 0.02;

// The request that prints as what was tried: the one at which the step fails in `room`, when that one does so and what
// is allocated is close; else of all the one at which what is allocated is closest, first one of equals. `timeline` is
// the step at `batch`; `room`: what the allocator could take, when it is known. Nothing: no request prints so, or the
// message does not say what was tried.
std::optional<RequestMatch> RequestLike(const OutOfMemory& message, const Timeline& timeline, const Layers& layers,
                                        int64_t batch, const AllocatorConfig& config, std::optional<Bytes> room);

// The batch at which the step has such a request with what is allocated close: one that fails there before others, then
// the closest, then the smallest. Sizes are polynomials in the batch, so one timeline shows which batches to lay out:
// at most two dozen. Nothing: none up to `most`, or the message lacks one of the two numbers.
using LayOutAt = std::function<Result<Timeline>(int64_t batch)>;
std::optional<RequestMatch> BatchLike(const OutOfMemory& message, const LayOutAt& lay_out, const Layers& layers,
                                      const AllocatorConfig& config, std::optional<Bytes> room, int64_t most);

}  // namespace vramplan
