// Quantization: what bitsandbytes makes of linear layers. Their weights are packed, four bits an element with a scale for
// each block of 64, or eight with a scale for each row; transformers leaves the output layer and tied weights as they are.
//
//   linear(x, w [8, 64], b)    linear_4bit(x, packed [256, 1], scales, b)    linear_8bit(x, packed [8, 64], scales [8], b)
//
// Sources: bitsandbytes 0.50 (nn/modules.py, Linear4bit and Linear8bitLt; functional.py, quantize_4bit), transformers 5.23
// (quantizers/base.py, get_keys_to_not_convert).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/base/result.h"
#include "graph/ir/facts.h"

namespace vramplan {

struct Quantization {
  std::string type = "nf4";  // or fp4, which takes the same bytes, or int8
  bool nested = false;       // bnb_4bit_use_double_quant: the scales are quantized too, in blocks of 256
  bool eight() const { return type == "int8"; }
  bool operator==(const Quantization&) const = default;
};

struct QuantizedTypes {
  DType stored = DType::kBFloat16;    // of the weights that were packed: a backward makes them in it
  DType computed = DType::kBFloat16;  // bnb_4bit_compute_dtype
};

// The program's calls of a layer with a packed weight.
inline constexpr std::string_view kPackedLinear = "bitsandbytes.linear_4bit", kLinear8Bit = "bitsandbytes.linear_8bit";

// Names of the modules that transformers packs: the linear layers of the programs, but not the output layer (with `words`,
// the last one called), the module of the last parameter, tied ones and those whose last name is in `kept`.
std::vector<std::string> PackedModules(const Facts& facts, bool words, const std::vector<std::string>& kept);

// Packs these modules. Error: there are none.
Status Quantize(const Quantization& quantization, const QuantizedTypes& types, const std::vector<std::string>& modules,
                Facts* facts);

}  // namespace vramplan
