#include <string>
#include <utility>
#include <vector>

#include "graph/shapes/infer.h"
#include "graph/shapes/symbols.h"

namespace vramplan {
namespace {

constexpr int64_t kMostChannels = 4;  // colours and an alpha

bool IsFew(const DeclaredDim& d) { return d.length && *d.length >= 1 && *d.length <= kMostChannels; }

// Where an image of these axes has its height; the width follows. Nothing: it is none.
std::optional<size_t> HeightAxis(const std::vector<DeclaredDim>& dims) {
  if (dims.size() == 4) return IsFew(dims[3]) && !IsFew(dims[1]) ? 1 : 2;
  return dims.size() == 3 && dims[0].length == 3 ? std::optional<size_t>(1) : std::nullopt;
}

// Types of pixels; an attention mask of four axes has none of them.
bool HoldsPixels(DType type) { return IsFloating(type) || type == DType::kUint8; }

std::string SizeText(const ImageSize& size) {
  const std::string height = std::to_string(size.height);
  return size.height == size.width ? height : height + "x" + std::to_string(size.width);
}

// "1x3x512x512": what --input takes.
std::string WholeShape(const std::vector<DeclaredDim>& dims, size_t at, const ImageSize& size) {
  std::string text;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const int64_t length = axis == at ? size.height : axis == at + 1 ? size.width : dims[axis].length.value_or(1);
    text += (axis == 0 ? "" : "x") + std::to_string(length);
  }
  return text;
}

}  // namespace

Result<BindOptions> WithImage(const Graph& graph, BindOptions options) {
  if (!options.image) return options;
  const ImageSize size = *options.image;
  const std::string option = "--image " + SizeText(size);
  bool any = false;
  for (const TensorId id : graph.inputs) {
    const Tensor& input = graph[id];
    if (!input.declared || !input.declared->is_tensor || !input.declared->dims) continue;
    if (!HoldsPixels(input.declared->type) || options.inputs.contains(input.name)) continue;
    const std::vector<DeclaredDim>& dims = *input.declared->dims;
    const std::optional<size_t> at = HeightAxis(dims);
    if (!at) continue;
    for (const auto& [axis, length] : {std::pair(*at, size.height), std::pair(*at + 1, size.width)}) {
      const DeclaredDim& d = dims[axis];
      if (d.length == length) continue;
      const std::string& symbol = d.symbol;
      const std::vector<std::string> names = SymbolsIn(symbol);
      if (d.length || names.size() != 1 || names.front() != symbol) {
        const std::string what = d.length        ? "fixed in the file (" + std::to_string(*d.length) + ")"
                                 : names.empty() ? "free and have no name in the file"
                                                 : "computed in the file (" + symbol + ")";
        const std::string shape = "--input " + input.name + "=" + WholeShape(dims, *at, size);
        return Error{ErrorCode::kBadInput, graph.file, "height and width of its input " + input.name + " are " + what,
                     d.length ? "export it with free ones (dynamic_shapes); " + shape + " tries it on this file"
                              : "type " + shape};
      }
      const auto [place, fresh] = options.dims.emplace(symbol, length);
      if (!fresh && place->second != length) {
        return Error{ErrorCode::kUsage, option,
                     "its " + symbol + " would be " + std::to_string(length) + ", and " +
                         std::to_string(place->second) + " is given",
                     "leave --dim " + symbol + " out, or type --image HEIGHTxWIDTH"};
      }
    }
    any = true;
  }
  if (any) return options;
  return Error{ErrorCode::kUsage, option, "no input of the file is an image (N x channels x height x width)",
               "vramplan inspect " + graph.file + " lists its inputs; --dim NAME=N gives any length"};
}

}  // namespace vramplan
