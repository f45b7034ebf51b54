// Names of a weight's two parts under torch.nn.utils.weight_norm: its direction and its magnitude.
//
//   fc.weight_v, fc.weight_g                                    the hook binds the weight to its module until the next
//                                                               forward (torch/nn/utils/weight_norm.py 2.10)
//   fc.parametrizations.weight.original1, ...original0          made for the call (parametrizations.py 2.10)
#pragma once

#include <string_view>

namespace vramplan {

struct WeightNormNames {
  std::string_view direction, magnitude;
  bool bound;
};
inline constexpr WeightNormNames kWeightNorms[] = {
    {"weight_v", "weight_g", true}, {"parametrizations.weight.original1", "parametrizations.weight.original0", false}};

// Those of which the two are the parts, in one module; null: they are not.
inline const WeightNormNames* WeightNormOf(std::string_view direction, std::string_view magnitude) {
  for (const WeightNormNames& names : kWeightNorms) {
    if (direction.ends_with(names.direction) && magnitude.ends_with(names.magnitude) &&
        direction.substr(0, direction.size() - names.direction.size()) ==
            magnitude.substr(0, magnitude.size() - names.magnitude.size()))
      return &names;
  }
  return nullptr;
}

}  // namespace vramplan
