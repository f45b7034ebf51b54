// Trace: the stream of one step as PyTorch's profiler sees it on a card. Each event has the block that was allocated or
// freed, what was running, and the allocated bytes after it. Ours, made from a Timeline, and recorded ones look alike.
//
//   event,block,bytes,phase,module,autograd_node,operator,inner_operator,allocated_after,onnx_node
//   alloc,0,512000,forward,0,,aten::linear,aten::addmm,67019264,/0/Gemm
//   alloc,1,512000,forward,1,,aten::relu,aten::clamp_min,67531264,/1/Relu
//   free,0,512000,forward,,,,,67019264,
//   free,old,2560,forward,,,,,67016704,
//
// Blocks are numbered in order of allocation; `old` ones are from before the trace. Phases: forward, loss, backward,
// update, zero_grad. A recomputation belongs to the backward, as on a card.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/result.h"
#include "graph/layers/layers.h"
#include "planner/allocator/replay.h"
#include "planner/timeline/timeline.h"

namespace vramplan {

struct TraceEvent {
  bool birth = true;
  std::optional<int64_t> block;  // nothing: old
  Bytes bytes;                   // of the block: rounded, with unsplit slack
  std::string phase;
  std::string module;         // innermost, in the forward
  std::string autograd_node;  // in the backward
  std::string op, inner_op;   // outermost and innermost framework operator
  std::optional<Bytes> allocated_after;
  // Not in the file. Only in ours: what the block is for, and what was running. Only in recorded ones: the line.
  std::optional<Bytes> asked;
  std::string layer;
  int64_t line = 0;
  bool operator==(const TraceEvent&) const = default;
};
using Trace = std::vector<TraceEvent>;

// The events of one step; without a step, all events from model.to("cuda") on, with phase "setup" before the first
// step. Error: a block of unknown size.
Result<Trace> TraceOf(const Timeline& timeline, const Layers& layers, std::optional<int> step,
                      const AllocatorConfig& config);

std::string PrintTrace(const Trace& trace);
// `name` is the subject of errors (kBadInput, "FILE:LINE"): a missing column, a value of the wrong kind, a block that
// is freed twice. Columns event, block, bytes and phase are required; the others may be absent or empty.
Result<Trace> ParseTrace(std::string_view text, const std::string& name);

}  // namespace vramplan
