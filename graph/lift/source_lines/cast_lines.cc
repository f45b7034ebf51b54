// Casts by line: an fp32 export writes keep.to(x.dtype) as a cast to fp32. Under autocast x may be fp16, and the cast
// is to that. Where the file has the source line, it says which type was meant:
//
//   keep = (torch.rand(n, 1, 1, 1) > p).to(y.dtype)    to, mul(y, keep)   ->   type_as(keep, y), mul(y, keep)
//   keep = (torch.rand(n, 1, 1, 1) > p).float()        stays fp32
//   x.float() * torch.rsqrt(x.float().pow(2) ...)      two casts of x that the export lost (upcasts.cc)
//   return self.output(h).float()                      a cast behind the last call, which left nothing
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "graph/layers/edit.h"
#include "graph/layers/uses.h"
#include "graph/lift/any_export/passes.h"
#include "graph/lift/source_lines/passes.h"

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

// How often the line of a reader of fp32 makes fp32: x.float() * torch.rsqrt(x.float().pow(2).mean(-1) + eps) does
// twice; -1: the file does not say.
int CastsIn(const SourceLine* line) {
  if (line == nullptr) return -1;
  int casts = 0;
  for (const std::string_view cast : {".float()", ".to(torch.float32)"}) {
    for (size_t at = line->text.find(cast); at != std::string::npos; at = line->text.find(cast, at + 1)) ++casts;
  }
  return casts;
}

// Gives the second reader of x.float() one of its own, where the line does or, for a reading, where none is known.
bool CastForEach(Layers* layers, bool by_line) {
  const Uses uses(*layers);
  Edit edit(layers);
  bool any = false;
  for (const Layer& cast : layers->layers) {
    if (cast.op != "float") continue;
    const auto readers = uses.ReadersOf(cast.outputs[0]);
    if (readers.size() != 2 || readers[0] == readers[1]) continue;
    const auto second = static_cast<size_t>(readers[1]);
    if (second >= layers->layers.size()) continue;
    const int casts = CastsIn(LineOf(*layers, layers->layers[second]));
    if (by_line ? casts < 2 : casts >= 0) continue;
    Layer again = cast;
    again.name += ".again";
    edit.RepeatFor(second, std::move(again));
    any = true;
  }
  edit.Apply();
  return any;
}

// return self.output(h).float(): what the model returns is fp32 beside what its last call made.
void CastReturned(Layers* layers) {
  const Uses uses(*layers);
  Edit edit(layers);
  for (const ValueId id : layers->outputs) {
    const int32_t place = uses.PlaceOfMaker(id);
    const auto readers = uses.ReadersOf(id);
    if (place < 0 || static_cast<size_t>(readers.front()) < layers->layers.size()) continue;
    const auto at = static_cast<size_t>(place);
    const Layer& last = layers->layers[at];
    if (LineOf(*layers, last) == nullptr) continue;
    const auto& stack = layers->source.stacks[static_cast<size_t>(last.nodes.back().value)];
    const std::string& line = layers->source.lines[static_cast<size_t>(stack.front())].text;
    if (!line.starts_with("return ") || !line.ends_with(").float()")) continue;
    const Value wide{.type = (*layers)[id].type, .shape = (*layers)[id].shape};
    edit.Rename(id, edit.InsertBehind(at, CallBeside(last, "float", {id}), wide));
  }
  edit.Apply();
}

}  // namespace

void ReadCastLines(Layers* layers) {
  if (layers->source.stacks.empty()) return;
  CastAs(layers, Said::kLike);
  CastForEach(layers, true);
  CastBack(layers, CastEvidence::kLine);
  CastReturned(layers);
}

bool CastTwice(Layers* layers) { return CastForEach(layers, false); }

bool CastAsOperand(Layers* layers) { return CastAs(layers, Said::kNothing); }

}  // namespace vramplan
