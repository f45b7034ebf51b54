#include "graph/lift/torchscript/merged_pad.h"

#include <algorithm>
#include <string>
#include <utility>

namespace vramplan {

ValueId LiftMergedPad(const Node& convolution, ValueId input, const std::vector<int64_t>& own, const ModulePath& path,
                      NodeId position, LayerBuilder& builder) {
  if (!input.valid() || convolution.provenance.rewrite_rules.find("FuseConvPad") == std::string::npos) return input;
  const std::vector<int64_t> pads = convolution.attributes.Ints("pads");  // all begins, then all ends
  const Value& data = builder.At(input);
  const size_t axes = pads.size() / 2;
  if (data.shape.rank() != static_cast<int>(axes) + 2) return input;
  Value padded = data;
  padded.name = convolution.name + ".pad";
  padded.role = Role::kActivation;
  std::vector<int64_t> amounts;  // last axis first
  for (size_t i = axes; i-- > 0;) {
    const int64_t mine = i < own.size() ? own[i] : 0;
    amounts.push_back(pads[i] - mine);
    amounts.push_back(pads[axes + i] - mine);
    const int axis = static_cast<int>(i) + 2;
    padded.shape[axis] = padded.shape[axis] + Dim(amounts[amounts.size() - 2] + amounts.back());
  }
  if (std::ranges::any_of(amounts, [](int64_t amount) { return amount < 0; })) return input;
  if (std::ranges::all_of(amounts, [](int64_t amount) { return amount == 0; })) return input;
  return builder.Make(std::move(padded), "pad", {input}, path, position,
                      Named({{"pad", amounts}, {"mode", std::string("constant")}}));
}

}  // namespace vramplan
