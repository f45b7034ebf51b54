// Typed values: what stands behind an option, read as a number, or as the lengths of dims and inputs.
//
//   --dim sequence=128            {"sequence", 128}
//   --input x=8x3x224x224         {"x", {8, 3, 224, 224}}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/architectures/lora.h"
#include "graph/architectures/quantization.h"
#include "graph/base/result.h"
#include "graph/shapes/infer.h"

namespace vramplan {

// A usage error about an option.
Error Wrong(std::string_view flag, std::string text, std::string hint);

std::optional<int64_t> ReadInteger(std::string_view text);
// A finite number of 0 or more.
Result<double> ReadReal(std::string_view flag, std::string_view text);

Status ReadDims(const std::vector<std::string>& typed, BindOptions* bind);
// "512", "512x384": height x width.
Result<std::optional<ImageSize>> ParseImage(const std::string& text);
// "16", "16,target=q_proj+v_proj", "16,target=all-linear,dropout=0.05".
Result<Lora> ParseLora(const std::string& text);
Result<Quantization> ParseQuant(const std::string& text);
Status ReadInputs(const std::vector<std::string>& typed, BindOptions* bind);

}  // namespace vramplan
