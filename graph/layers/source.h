// Source: where Python stood when the exporter met an operator, as the dynamo exporter writes it beside every node
// (`pkg.torch.onnx.stack_trace`: torch/onnx/_internal/exporter/_core.py of 2.6, 2.10 and 2.15, _set_node_metadata; some
// tools and people take it out). Frames of torch.nn.Module itself are not in it.
//
//   File "net.py", line 57, in forward              outermost first: a frame for every module call and for every
//     x = self.stem(x)                              function in between, each with the line that it stood in
//   File ".../modules/container.py", line 253, in forward
//     input = module(input)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/code_place.h"
#include "graph/ir/graph.h"

namespace vramplan {

struct SourceLine : CodePlace {
  std::string text;  // one line of the file, without what stands around it
  auto operator<=>(const SourceLine&) const = default;
};

// Calls that keep what they are given, as lines write them.
struct KeepingCall {
  std::string_view written;
  bool in_list;
};
inline constexpr KeepingCall kKeepingCalls[] = {
    {".append(", true},     {".extend(", true},  {".insert(", true},
    {".appendleft(", true}, {".update(", false}, {"setattr(", false},
};

struct Source {
  std::vector<SourceLine> lines;             // each once
  std::vector<std::vector<int32_t>> stacks;  // by node: indices of lines, outermost first; empty: unknown

  // Of a node, the lines of frames called "forward": one a module call, from the root's on.
  std::vector<int32_t> ForwardsOf(NodeId node) const;
};

}  // namespace vramplan
