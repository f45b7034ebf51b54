// Lora: the adapters that peft puts beside linear layers, and the frozen rest.
//
//   y = linear(x, w)    y = linear(x, w) + scale * linear(linear(dropout(x), A), B)    A [r, in], B [out, r]
//
// The calls are those of peft 0.21 (tuners/lora/layer.py, Linear.forward), recorded in bf16, fp32 and with a dropout.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/base/result.h"
#include "graph/ir/facts.h"

namespace vramplan {

struct Lora {
  int64_t rank = 8;
  // Ends of the modules' paths, as "q_proj" or "to_out.0"; "all-linear": every linear layer but the one that makes the output. Empty: what
  // peft takes for the class.
  std::vector<std::string> targets;
  double dropout = 0;
  bool dora = false;  // use_dora: the result's columns are scaled to a trained length (tuners/lora/dora.py)
  bool operator==(const Lora&) const = default;
};

// The program's call of a DoRA layer, and which argument is the weight of its base.
inline constexpr std::string_view kDoraLinear = "peft.dora_linear";
inline constexpr size_t kWeightOfDora = 2;

// The modules that bitsandbytes will pack (quantization.h), whose adapters peft adds in another way (tuners/lora/bnb.py).
struct PackedLayers {
  std::vector<std::string> modules;
  bool cloned = false;  // their result is, before anything is added: those of four bits
};

// `type`: of the adapters. `leaves`: paths of the modules whose results require a gradient (transformers,
// enable_input_require_grads). Error: no linear layer has such a name; it lists those that there are.
Status AddLora(const Lora& lora, const PackedLayers& packed, const std::vector<std::string>& leaves, DType type,
               Facts* facts);

}  // namespace vramplan
