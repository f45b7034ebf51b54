// SnapshotOf: a run as torch.cuda.memory._snapshot() would have it, so that PyTorch's own viewer
// (pytorch.org/memory_viz, torch/cuda/_memory_viz.py) opens what was predicted. Every allocation, free and segment of
// all steps that are laid out, and the segments as they lie after the last.
//
//   {"segments": [{"address", "total_size", "blocks": [...]}], "device_traces": [[{"action": "alloc", "addr", "size",
//   "frames": [{"name": "up.3.conv", "filename": "torch.nn.Conv2d", "line": 0}]}]], ...}
//
// Invariants, as on a card: sizes of entries are what was asked for, those of segments what was taken; the running sum
// of the entries peaks at `requested`, the segments sum to `reserved`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/base/code_place.h"
#include "planner/allocator/replay.h"
#include "planner/snapshot/pickle.h"

namespace vramplan {

struct SnapshotSubject {
  const Timeline& timeline;
  int64_t batch = 1;
  const AllocatorConfig& config;
  // What the viewer shows as lines of code, of an allocation or a free, the innermost first.
  std::function<std::vector<CodePlace>(size_t event)> frames;
};

Pickle SnapshotOf(const SnapshotSubject& subject);

}  // namespace vramplan
