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
#include "graph/base/note.h"
#include "graph/base/result.h"
#include "graph/shapes/infer.h"
#include "planner/cli/options.h"
#include "planner/spec/vllm.h"

namespace vramplan {

// A usage error about an option.
Error Wrong(std::string_view flag, std::string text, std::string hint);

// One option as it stands on the line, and all of the line.
struct Typed {
  std::string_view flag;
  const std::vector<std::string>& values;  // in order; of an option that does not repeat they are equal
  const TypedOptions& line;
  const std::string& text() const { return values.back(); }
  // The last value of another option; null: it is not there.
  const std::string* Other(std::string_view other) const;
};

std::optional<int64_t> ReadInteger(std::string_view text);
// A finite number of 0 or more.
Result<double> ReadReal(std::string_view flag, std::string_view text);
inline Result<double> RealOf(const Typed& typed) { return ReadReal(typed.flag, typed.text()); }
// Samples beyond it are typing errors: no card holds a million of anything that needs a plan.
inline constexpr int64_t kMostSamples = int64_t{1} << 20;
// A whole number from `least` to `most`; `example` is what to type instead of another text.
Result<int64_t> Whole(const Typed& typed, int64_t least, int64_t most, const char* example);
// Which of two words it is.
Result<bool> IsSecond(const Typed& typed, std::string_view first, std::string_view second);
Result<bool> IsOn(const Typed& typed);
Result<double> ReadSeconds(const Typed& typed);  // above 0 and up to a day
Result<Bytes> SizeOf(const Typed& typed, Notes* notes);

Status ReadDims(const Typed& typed, Options* options);
// "512", "512x384": height x width.
Result<std::optional<ImageSize>> ParseImage(const std::string& text);
// "16", "16,target=q_proj+v_proj", "16,target=all-linear,dropout=0.05".
Result<Lora> ParseLora(const std::string& text);
// "nf4", "fp4,double".
Result<Quantization> ParseQuant(const std::string& text);
// "transformers", nothing; "vllm", "vllm,utilization=0.95,tokens=4096,seqs=64,eager".
Result<std::optional<VllmOptions>> ParseEngine(const std::string& text);
// "bf16", "fp16", "fp32".
Result<DType> ParseWeights(const std::string& text);
Status ReadInputs(const Typed& typed, Options* options);

}  // namespace vramplan
