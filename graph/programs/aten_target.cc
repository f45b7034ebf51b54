#include "graph/programs/aten_target.h"

#include <algorithm>

#include "graph/base/text.h"

namespace vramplan {

AtenTarget ReadAtenTarget(std::string_view target) {
  const size_t dot = target.find('.');
  if (dot == std::string_view::npos) return {std::string(target)};
  const size_t begin = dot + 1, end = std::min(target.find('.', begin), target.size());
  std::string name(target.substr(begin, end - begin));
  AtenTarget read;
  if (name.size() > 4 && name.starts_with("__") && name.ends_with("__")) {
    std::string bitwise = name.substr(2, name.size() - 4);
    const bool in_place = IsOneOf(bitwise, {"iand", "ior", "ixor"});
    if (in_place) bitwise.erase(0, 1);
    if (IsOneOf(bitwise, {"and", "or", "xor"})) {
      name = "bitwise_" + bitwise;
      read.in_place = in_place;
    }
  } else if (name.size() > 1 && name.ends_with('_')) {
    name.pop_back();
    read.in_place = true;
  }
  std::string overload(target.substr(end));
  // pow_.Scalar(self, exponent) writes; pow.Scalar(self, exponent) has a number as self (native_functions.yaml 2.10).
  if (read.in_place && name == "pow" && overload == ".Scalar") overload = ".Tensor_Scalar";
  read.plain = std::string(target.substr(0, begin)) + name + overload;
  return read;
}

bool IsHostTarget(std::string_view target) {
  for (const std::string_view prefix : {"operator.", "_operator.", "math.", "builtins.", "torch.sym_", "aten.sym_",
                                        "aten._assert", "aten._local_scalar_dense", "aten.item"}) {
    if (target.starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace vramplan
