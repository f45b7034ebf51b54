// Weights that torch.nn.utils makes of other tensors in front of each call of their module, by the names of these
// (torch/nn/utils/weight_norm.py, spectral_norm.py, parametrizations.py, PyTorch 2.10):
//
//   fc.weight_v, fc.weight_g                                 weight_norm: direction and magnitude
//   fc.parametrizations.weight.original1, ...original0       the same of torch.nn.utils.parametrizations
//   fc.weight_orig, fc.weight_u, fc.weight_v                 spectral_norm: weight, and the two vectors of its iteration
//   fc.parametrizations.weight.original, ...0._u, ...0._v    the same of torch.nn.utils.parametrizations
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace vramplan {

struct Reparametrization {
  std::string_view op;  // the call: weight_norm(v, g) or spectral_norm(weight, u, v)
  // What the names of its operands end with behind the module's path, in the call's order; empty: it takes no more.
  std::array<std::string_view, 3> operands;
  bool bound;  // a hook binds the weight to the module until the next call; a parametrization makes it for the call
};

inline constexpr std::string_view kWeightNorm = "weight_norm", kSpectralNorm = "spectral_norm";

inline constexpr std::array<Reparametrization, 4> kReparametrizations = {{
    {kWeightNorm, {"weight_v", "weight_g", ""}, true},
    {kWeightNorm, {"parametrizations.weight.original1", "parametrizations.weight.original0", ""}, false},
    {kSpectralNorm, {"weight_orig", "weight_u", "weight_v"}, true},
    {kSpectralNorm,
     {"parametrizations.weight.original", "parametrizations.weight.0._u", "parametrizations.weight.0._v"},
     false},
}};

// The path of the module, with its dot, whose operand `operand` has this name; none: it is not called so.
inline std::optional<std::string_view> ModuleWith(const Reparametrization& form, size_t operand,
                                                  std::string_view name) {
  const std::string_view end = form.operands.at(operand);
  if (!name.ends_with(end)) return std::nullopt;
  return name.substr(0, name.size() - end.size());
}

// Whether a tensor of this name is trained in a weight's place.
inline bool IsPartOfWeight(std::string_view name) {
  for (const Reparametrization& form : kReparametrizations) {
    const size_t trained = form.op == kWeightNorm ? 2 : 1;
    for (size_t operand = 0; operand < trained; ++operand)
      if (ModuleWith(form, operand, name)) return true;
  }
  return false;
}

// The weight norm of which these are the names of direction and magnitude, in one module; null: they are not.
inline const Reparametrization* WeightNormOf(std::string_view direction, std::string_view magnitude) {
  for (const Reparametrization& form : kReparametrizations) {
    const std::optional<std::string_view> module = ModuleWith(form, 0, direction);
    if (form.op == kWeightNorm && module && module == ModuleWith(form, 1, magnitude)) return &form;
  }
  return nullptr;
}

// Whether it is, and a hook binds the weight to its module.
inline bool IsBoundWeightNorm(std::string_view direction, std::string_view magnitude) {
  const Reparametrization* form = WeightNormOf(direction, magnitude);
  return form != nullptr && form->bound;
}

}  // namespace vramplan
