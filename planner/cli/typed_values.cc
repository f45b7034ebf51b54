#include "planner/cli/typed_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

#include "planner/cli/read_size.h"
#include "planner/spec/nearest.h"

namespace vramplan {
namespace {

// "sequence=128" at the last "=": names may hold one themselves ("past + sequence" does not, but nothing forbids it).
std::optional<std::pair<std::string, std::string>> SplitNamed(const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) return std::nullopt;
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

}  // namespace

Error Wrong(std::string_view flag, std::string text, std::string hint) {
  return {ErrorCode::kUsage, std::string(flag), std::move(text), std::move(hint)};
}

std::optional<int64_t> ReadInteger(std::string_view text) {
  int64_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Result<double> ReadReal(std::string_view flag, std::string_view text) {
  double number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || end != text.data() + text.size() || !std::isfinite(number) || number < 0) {
    return Wrong(flag, InQuotes(text) + " is not a number of 0 or more", "type " + std::string(flag) + " 0.01");
  }
  return number;
}

const std::string* Typed::Other(std::string_view other) const {
  const auto found =
      std::find_if(line.rbegin(), line.rend(), [&](const TypedOption& one) { return one.flag == other; });
  return found == line.rend() ? nullptr : &found->value;
}

Result<int64_t> Whole(const Typed& typed, int64_t least, int64_t most, const char* example) {
  const std::optional<int64_t> number = ReadInteger(typed.text());
  if (number && *number >= least && *number <= most) return *number;
  const std::string range = most == std::numeric_limits<int64_t>::max()
                                ? "of " + std::to_string(least) + " or more"
                                : "from " + std::to_string(least) + " to " + std::to_string(most);
  const std::string& text = typed.text();
  const bool is_list = text.find(',') != text.npos && text.find_first_not_of("0123456789,") == text.npos;
  return Wrong(
      typed.flag, InQuotes(text) + " is not a whole number " + range,
      is_list && TakesOption(Verb::kSweep, typed.flag)
          ? "vramplan sweep FILE --over " + std::string(typed.flag.substr(2)) + "=" + text + " answers for each"
          : "type " + std::string(typed.flag) + " " + example);
}

Result<bool> IsSecond(const Typed& typed, std::string_view first, std::string_view second) {
  const std::string& text = typed.text();
  if (text == first || text == second) return text == second;
  return Wrong(typed.flag, InQuotes(text) + " is not one of " + std::string(first) + " or " + std::string(second),
               "type " + std::string(typed.flag) + " " + std::string(second));
}

Result<bool> IsOn(const Typed& typed) {
  const Result<bool> off = IsSecond(typed, "on", "off");
  return off.ok() ? Result<bool>(!*off) : off;
}

Result<double> ReadSeconds(const Typed& typed) {
  constexpr double kDay = 86400;
  Result<double> seconds = RealOf(typed);
  if (!seconds.ok() || (*seconds > 0 && *seconds <= kDay)) return seconds;
  return Wrong(typed.flag, InQuotes(typed.text()) + " is not a number of seconds above 0 and up to 86400",
               "type --seconds 1");
}

Result<Bytes> SizeOf(const Typed& typed, Notes* notes) { return ReadSize(typed.flag, typed.text(), notes); }

Status ReadDims(const Typed& typed, Options* options) {
  BindOptions* bind = &options->bind;
  for (const std::string& text : typed.values) {
    const auto named = SplitNamed(text);
    const std::optional<int64_t> length = named ? ReadInteger(named->second) : std::nullopt;
    if (!length) return Wrong("--dim", InQuotes(text) + " is not NAME=NUMBER", "type it like --dim sequence=128");
    // 0 is a length: of the past of a language model without a cache.
    if (*length < 0) {
      return Wrong("--dim", InQuotes(text) + " is not a length of 0 or more", "type --dim " + named->first + "=1");
    }
    const auto [place, fresh] = bind->dims.emplace(named->first, *length);
    if (!fresh && place->second != *length) {
      return Wrong(
          "--dim",
          InQuotes(named->first) + " is given twice, as " + std::to_string(place->second) + " and " + named->second,
          "give it once");
    }
  }
  return Done();
}

Result<std::optional<ImageSize>> ParseImage(const std::string& text) {
  const size_t by = text.find('x');
  const std::optional<int64_t> height = ReadInteger(text.substr(0, by)),
                               width = by == std::string::npos ? height : ReadInteger(text.substr(by + 1));
  constexpr int64_t kMost = int64_t{1} << 20;
  if (height && width && std::min(*height, *width) >= 1 && std::max(*height, *width) <= kMost)
    return std::optional(ImageSize{*height, *width});
  return Wrong("--image", InQuotes(text) + " is not a size in pixels", "type --image 512, or --image HEIGHTxWIDTH");
}

Status ReadInputs(const Typed& typed, Options* options) {
  BindOptions* bind = &options->bind;
  for (const std::string& text : typed.values) {
    const auto named = SplitNamed(text);
    std::vector<int64_t> dims;
    bool good = named.has_value();
    for (size_t at = 0; good && at <= named->second.size();) {
      const size_t end = std::min(named->second.find('x', at), named->second.size());
      const std::optional<int64_t> length = ReadInteger(named->second.substr(at, end - at));
      good = length.has_value() && *length >= 1;
      if (good) dims.push_back(*length);
      at = end + 1;
    }
    if (!good)
      return Wrong("--input", InQuotes(text) + " is not NAME=AxBxC with lengths of 1 or more",
                   "type it like --input x=8x3x224x224");
    if (!bind->inputs.emplace(named->first, std::move(dims)).second) {
      return Wrong("--input", InQuotes(named->first) + " is given twice", "give it once");
    }
  }
  return Done();
}

Result<Lora> ParseLora(const std::string& text) {
  const auto wrong = [](const std::string& what) {
    return Wrong("--lora", what, "type --lora 16, or --lora 16,target=q_proj+v_proj,dropout=0.05");
  };
  Lora lora;
  std::istringstream parts(text);
  std::string part;
  std::getline(parts, part, ',');
  const std::optional<int64_t> rank = ReadInteger(part);
  constexpr int64_t kLargest = 1 << 16;
  if (!rank || *rank < 1 || *rank > kLargest)
    return wrong(InQuotes(part) + " is not a rank, a whole number from 1 to " + std::to_string(kLargest));
  lora.rank = *rank;
  while (std::getline(parts, part, ',')) {
    const std::string value = part.substr(std::min(part.size(), part.find('=') + 1));
    if (part.starts_with("target=")) {
      std::istringstream names(value);
      for (std::string name; std::getline(names, name, '+');) lora.targets.push_back(name);
      if (lora.targets.empty()) return wrong("target= names no module");
    } else if (part.starts_with("dropout=")) {
      const Result<double> dropout = ReadReal("--lora", value);
      if (!dropout.ok() || *dropout >= 1) return wrong(InQuotes(value) + " is not a dropout, from 0 to less than 1");
      lora.dropout = *dropout;
    } else if (part == "dora") {
      lora.dora = true;
    } else {
      return wrong(InQuotes(part) + " is not one of target=NAMES, dropout=P or dora");
    }
  }
  return lora;
}

Result<Quantization> ParseQuant(const std::string& text) {
  const size_t comma = text.find(',');
  Quantization quantization{text.substr(0, comma), comma != std::string::npos};
  if (text == "int8") return quantization;
  const bool known = quantization.type == "nf4" || quantization.type == "fp4";
  if (known && (!quantization.nested || text.substr(comma) == ",double")) return quantization;
  return Wrong("--quant", "\"" + text + "\" is not a known quantization",
               "type --quant nf4, nf4,double, fp4, fp4,double or int8");
}

Result<std::optional<VllmOptions>> ParseEngine(const std::string& text) {
  if (text == "transformers") return std::optional<VllmOptions>();
  const Error wrong = Wrong("--engine", InQuotes(text) + " is neither transformers nor vllm with its settings",
                            "type --engine vllm, or --engine vllm,utilization=0.95,tokens=4096,seqs=64,eager");
  VllmOptions options;
  std::istringstream parts(text);
  std::string part;
  std::getline(parts, part, ',');
  if (part != "vllm") return wrong;
  while (std::getline(parts, part, ',')) {
    const std::string value = part.substr(part.find('=') + 1);
    if (part.starts_with("utilization=")) {
      const Result<double> share = ReadReal("--engine", value);
      if (!share.ok() || *share <= 0 || *share > 1)
        return Wrong("--engine", "utilization is a share of the card, above 0 and up to 1", "type utilization=0.92");
      options.utilization = *share;
    } else if (part.starts_with("tokens=") || part.starts_with("seqs=")) {
      const std::optional<int64_t> number = ReadInteger(value);
      if (!number || *number < 1 || *number > kMostSamples) return wrong;
      (part.starts_with("tokens=") ? options.tokens : options.sequences) = number;
    } else if (part == "eager") {
      options.eager = true;
    } else {
      return wrong;
    }
  }
  return std::optional(options);
}

Result<DType> ParseWeights(const std::string& text) {
  if (text == "bf16") return DType::kBFloat16;
  if (text == "fp16") return DType::kFloat16;
  if (text == "fp32") return DType::kFloat32;
  return Wrong("--weights", "\"" + text + "\" is not a type of weights", "type --weights bf16, fp16 or fp32");
}

}  // namespace vramplan
