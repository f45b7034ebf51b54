// AtenTarget: the name of a call as PyTorch's dispatcher has it, with the writing in place apart.
//
//   "aten.relu_.default"    aten.relu.default, in place
//   "aten.__ior__.Tensor"   aten.bitwise_or.Tensor, in place
//   "aten.__and__.Tensor"   aten.bitwise_and.Tensor
#pragma once

#include <string>
#include <string_view>

namespace vramplan {

struct AtenTarget {
  std::string plain;
  bool in_place = false;
  bool operator==(const AtenTarget&) const = default;
};

AtenTarget ReadAtenTarget(std::string_view target);

// True for what Python or the host did: operator.mul, math.floor, aten.sym_size.int, assertions.
bool IsHostTarget(std::string_view target);

}  // namespace vramplan
