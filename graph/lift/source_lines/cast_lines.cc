#include "graph/lift/source_lines/cast_lines.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "graph/layers/uses.h"
#include "graph/lift/source_lines/line_of.h"

namespace vramplan {
namespace {

// What the cast mask is multiplied with, which was made before it; invalid: it is no such cast.
ValueId PartnerOf(const Uses& uses, const Layer& cast) {
  const Layers& layers = uses.layers();
  if (cast.op != "to" || cast.inputs.size() != 1 || !cast.inputs[0].valid()) return {};
  const DType from = layers[cast.inputs[0]].type;
  if (IsFloating(from) || layers[cast.outputs[0]].type != DType::kFloat32) return {};
  for (const int32_t place : uses.ReadersOf(cast.outputs[0])) {
    if (static_cast<size_t>(place) >= layers.layers.size()) continue;
    const Layer& reader = layers.layers[static_cast<size_t>(place)];
    if (reader.op != "mul" || reader.inputs.size() != 2) continue;
    const ValueId partner = reader.inputs[reader.inputs[0] == cast.outputs[0] ? 1 : 0];
    const bool earlier =
        uses.PlaceOfMaker(partner) >= 0 && static_cast<size_t>(uses.PlaceOfMaker(partner)) < uses.PlaceOf(&cast);
    if (earlier && IsFloating(layers[partner].type)) return partner;
  }
  return {};
}

enum class Said : uint8_t { kNothing, kFloat, kLike };

Said WhatLineSays(const Layers& layers, const Layer& cast) {
  const SourceLine* line = LineOf(layers, cast);
  if (line == nullptr) return Said::kNothing;
  const auto has = [&](const char* text) { return line->text.find(text) != std::string::npos; };
  if (has(".type_as(") || (has(".to(") && has(".dtype"))) return Said::kLike;
  return has(".float(") || has("float32") ? Said::kFloat : Said::kNothing;
}

bool CastAs(Layers* layers, Said said) {
  const Uses uses(*layers);
  bool any = false;
  for (Layer& layer : layers->layers) {
    const ValueId partner = PartnerOf(uses, layer);
    if (!partner.valid() || WhatLineSays(*layers, layer) != said) continue;
    layer.op = "type_as";
    layer.inputs.push_back(partner);
    any = true;
  }
  return any;
}

}  // namespace

void ReadCastLines(Layers* layers) {
  if (!layers->source.stacks.empty()) CastAs(layers, Said::kLike);
}

bool CastAsOperand(Layers* layers) { return CastAs(layers, Said::kNothing); }

}  // namespace vramplan
