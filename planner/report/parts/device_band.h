// DeviceBand: how sure the bytes on the card are. Three columns, each row's sum is `device`:
//
//                                low         likely        high
//   reserved                1.90 GiB       2.00 GiB    2.00 GiB    ours, to what measured cards took less
//   cuDNN workspaces             0 B            0 B    0.40 GiB    none, to what its heuristics may pick
//   CUDA context, kernels    195 MiB        350 MiB     450 MiB    by generation of cards; or --context
//   on the device           2.09 GiB       2.34 GiB    2.84 GiB
//
// Invariant: low <= likely <= high in every row.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/layers/layers.h"
#include "planner/allocator/replay.h"
#include "planner/report/writing/json.h"
#include "planner/report/writing/style.h"
#include "planner/spec/context.h"
#include "planner/spec/spec.h"

namespace vramplan {

struct Band {
  Bytes low, likely, high;
  Band& operator+=(const Band& other);
  bool operator==(const Band&) const = default;
};

struct BandRow {
  std::string name;
  Band band;
};
// A table of them, whose last row is their sum, `sum`.
std::string PrintBands(const char* title, const std::vector<BandRow>& rows, const char* sum, const Style& style);
Band SumOfBands(const std::vector<BandRow>& rows);

struct DeviceBand {
  Band reserved;
  std::optional<Band> convolutions;  // nothing: --cudnn-workspace was given, or nothing calls cuDNN
  Band context;
  std::vector<BandRow> rows() const;
  Band device() const { return SumOfBands(rows()); }
};

// Whether a step's reserved bytes depend on what cuDNN picks, and how far.
struct ReservedEnds {
  bool uncertain = false;  // then reserved has a width, and:
  Bytes high;              // reserved when every convolution takes the high end of its workspace
  // Of other runtimes than PyTorch: the width of reserved for reasons of their own, instead of what was measured there.
  std::optional<Band> range;
};

// Whether cuDNN chooses workspaces in this step, and nobody said how large they are.
bool CudnnChooses(const Layers& layers, const TrainingSpec& spec);

// What measured cards took above our reserved bytes, which is at least the high end of cuDNN's workspaces.
Bytes MeasuredAbove(Bytes reserved);
// The most that we may reserve in a room that measured cards fill.
Bytes RoomBelowMeasured(Bytes room);

DeviceBand BandOf(Bytes reserved, const ReservedEnds& ends, const ContextBand& context);

// The table above; "" when nothing has a width.
std::string PrintBand(const DeviceBand& band, const Style& style);

}  // namespace vramplan
