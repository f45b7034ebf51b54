// LayerRow: what each layer costs, read off a Timeline by who asked.
//
//   fc = Linear(512, 10) at batch 32, Adam:  parameters 20'520 B, output 1'280 B, gradients 20'520 B, optimizer_state
//   41'040 B,
//                                            saved 0 B: its input was saved where it was made
//
// Invariant: `parameters` sum to those of the model; blocks that no layer asked for are in a last row, "(outside
// layers)".
#pragma once

#include <string>
#include <vector>

#include "graph/layers/layers.h"
#include "planner/report/writing/json.h"
#include "planner/report/writing/style.h"
#include "planner/timeline/timeline.h"

namespace vramplan {

struct LayerRow {
  std::string name, op, module;
  Bytes parameters, buffers;  // of the first layer that uses them, in the precision of the run
  Bytes saved;                // activations of this layer that live after the last step's forward
  Bytes output;               // its first output
  Bytes gradients;            // alive after the last step's backward
  Bytes optimizer_state;
  Bytes peak_temporary;  // its temporaries in the last step, at their highest
  bool operator==(const LayerRow&) const = default;
};

// In order of execution. `spec` decides the width of floating values.
std::vector<LayerRow> LayerTable(const Timeline& timeline, const Layers& layers, const TrainingSpec& spec,
                                 int64_t batch);

// Sums column by column; name "sum".
LayerRow SumOf(const std::vector<LayerRow>& rows);

// The `most` biggest layers, the others as one row, and the sum of what is printed. "states" are parameters, buffers,
// gradients and optimizer state together.
std::string PrintLayers(const std::vector<LayerRow>& rows, Mode mode, int most, const Style& style);

}  // namespace vramplan
