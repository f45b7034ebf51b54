#include "graph/lift/readings/readings_of_casts.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "graph/lift/any_export/passes.h"
#include "graph/lift/source_lines/passes.h"

namespace vramplan {
namespace {

bool Has(const Layers& layers, std::string_view op) {
  return std::ranges::any_of(layers.layers, [&](const Layer& layer) { return layer.op == op; });
}

}  // namespace

// .float() or .to(x.dtype), which differ under autocast (graph/lift/source_lines/cast_lines.cc).
std::optional<Reading> CastsInstead(const Layers& layers) {
  if (!Has(layers, "to")) return std::nullopt;
  Layers other = layers;
  if (!CastAsOperand(&other)) return std::nullopt;
  return Reading{"cast-guessed", "assumed: masks are made fp32, not of the type of what they are multiplied with",
                 "a dynamo export of PyTorch 2.9 or newer writes the source lines", std::move(other)};
}

// x.float() once for a norm, or once for its square and once for what is scaled.
std::optional<Reading> CastTwiceInstead(const Layers& layers) {
  if (!Has(layers, "float")) return std::nullopt;
  Layers other = layers;
  if (!CastTwice(&other)) return std::nullopt;
  return Reading{"upcast-guessed", "assumed: norms that are written out call x.float() once",
                 "a dynamo export of PyTorch 2.9 or newer writes the source lines", std::move(other)};
}

// Norms and softmaxes of somebody's own that compute in fp32 and go back (graph/lift/any_export/casts_back.cc).
std::optional<Reading> CastBackInstead(const Layers& layers) {
  Layers other = layers;
  if (!CastBack(&other, CastEvidence::kNothing)) return std::nullopt;
  return Reading{"cast-back-guessed",
                 "assumed: norms and softmaxes return fp32 under autocast; code for halves may cast them back",
                 "a dynamo export of PyTorch 2.9 or newer writes the source lines", std::move(other)};
}

}  // namespace vramplan
