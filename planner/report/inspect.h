// Inspection: what the file says, and what was made of it ("vramplan.inspect/1"). Stages that a graph did not get
// through are absent; the notes say why.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/base/note.h"
#include "graph/ir/graph.h"
#include "graph/layers/layers.h"
#include "graph/lift/lift.h"
#include "graph/lift/why.h"
#include "graph/shapes/infer.h"
#include "planner/report/writing/json.h"
#include "planner/report/writing/style.h"

namespace vramplan {

enum class Dump : uint8_t { kNone, kShapes, kLayers, kParameters, kHolds, kPasses };

struct Inspection {
  Graph graph;
  std::vector<FreeLength> lengths;  // of a named model with what is taken where --dim is left out
  bool is_named = false;            // of a named model: what it recorded, behind a graph of one node
  std::optional<Binding> binding;
  std::optional<Shapes> shapes;
  std::optional<Shapes> bounds;  // the same with data-dependent lengths as long as they can be, where there are any
  std::optional<Layers> layers;
  std::vector<PassCount> passes;  // what each pass of the lift did; empty unless asked
  std::optional<Why> why;         // how one node became a call; nothing unless asked
  Notes notes;
};

// Its notes with what `told` makes of each hint: options that are hinted at are those of another verb.
Notes WithHints(const Notes& notes, const std::function<std::string(const std::string& hint)>& told);
std::string PrintInspection(const Inspection& inspection, Dump dump, const Style& style);
Json ToJson(const Inspection& inspection, Dump dump);

}  // namespace vramplan
