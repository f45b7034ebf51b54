#include "planner/report/json/profile_json.h"

#include <algorithm>
#include <optional>

#include "planner/allocator/stream.h"
#include "planner/report/writing/json_reader.h"

namespace vramplan {
namespace {

constexpr const char* kSchema = "vramplan.profile/1";
constexpr int64_t kMostSamples = 1000000;
constexpr int64_t kLongestAxis = int64_t{1} << 40;

constexpr const char* kHint = "vramplan calibrate writes such files; planner/calibration/profile.h describes them";

std::optional<DType> TypeNamed(const std::string& name) {
  for (const DType type : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    if (name == Name(type)) return type;
  }
  return std::nullopt;
}

std::string TextOrNone(const JsonReader& object, const char* name) {
  const auto text = object.Find(name);
  return text ? text->Text() : "";
}

std::vector<int64_t> ReadLengths(const JsonReader& list) {
  std::vector<int64_t> lengths;
  for (const JsonReader& item : list.Items()) lengths.push_back(std::max<int64_t>(1, item.Whole(kLongestAxis)));
  if (lengths.size() < 3) list.Fail("has fewer than three axes");
  lengths.resize(std::max<size_t>(3, lengths.size()), 1);
  return lengths;
}

FittedRate ReadFit(const JsonReader& fit) {
  return {.what = fit["what"].Text(),
          .rate = fit["rate"].Number(true),
          .launch = fit["launch"].Number(false),
          .residual = fit["residual"].Number(false),
          .samples = static_cast<int>(fit["samples"].Whole(kMostSamples))};
}

void ReadConvolution(const JsonReader& convolution, Profile* profile) {
  ConvolutionShape shape;
  const std::string pass = convolution["pass"].Text();
  bool known = false;
  for (const auto one :
       {ConvolutionPass::kForward, ConvolutionPass::kInputGradient, ConvolutionPass::kWeightGradient}) {
    if (pass != Name(one)) continue;
    shape.pass = one;
    known = true;
  }
  if (!known) convolution["pass"].Fail("is not forward, input-gradient or weight-gradient");
  const std::optional<DType> type = TypeNamed(convolution["type"].Text());
  if (!type) convolution["type"].Fail("is not float16, bfloat16, float32 or float64");
  shape.type = type.value_or(DType::kFloat32);
  shape.channels_last = convolution["channels_last"].Flag();
  shape.input = ReadLengths(convolution["input"]);
  shape.filter = ReadLengths(convolution["filter"]);
  shape.output = ReadLengths(convolution["output"]);
  const Bytes workspace = convolution["workspace"].Size();
  if (!convolution.error() && shape.input[0] != shape.output[0])
    convolution["output"].Fail("has another batch than input");
  if (!convolution.error()) profile->convolutions.push_back({std::move(shape), workspace});
}

}  // namespace

Result<Profile> ProfileFromText(const std::string& name, const std::string& text) {
  const Result<Json> json = ParseJson(name, text);
  if (!json.ok()) return Error{ErrorCode::kBadInput, name, json.error().text, kHint};
  const JsonReader reader(*json, name, kHint);
  const std::string schema = reader["schema"].Text();
  if (!reader.error() && schema != kSchema) reader["schema"].Fail("is \"" + schema + "\", not \"" + kSchema + "\"");
  Profile profile;
  profile.date = TextOrNone(reader, "date");
  profile.driver = TextOrNone(reader, "driver");
  const JsonReader card = reader["card"];
  profile.name = card["name"].Text();
  profile.uuid = TextOrNone(card, "uuid");
  const Result<Capability> capability = ParseCapability(card["capability"].Text());
  if (!capability.ok()) card["capability"].Fail("is not a compute capability, as \"7.5\"");
  if (capability.ok()) profile.capability = *capability;
  profile.multiprocessors = static_cast<int>(card["multiprocessors"].Whole(4096));
  profile.usable = card["usable"].Size();
  if (const auto context = reader.Find("context")) {
    const auto bytes = [&](const char* end) { return (*context)[end].Size(); };
    const std::string when = profile.date.empty() ? "" : " on " + profile.date;
    profile.context = ContextBand{bytes("low"), bytes("likely"), bytes("high"), "measured" + when + ", " + name};
    if (profile.context->low > profile.context->likely || profile.context->likely > profile.context->high)
      context->Fail("is not in order: low, likely, high");
  }
  if (const auto rates = reader.Find("rates")) {
    const auto rate = [&](const char* kind) { return (*rates)[kind].Number(true); };
    profile.rates = Rates{rate("bandwidth"), rate("fp32"), rate("half")};
  }
  if (const auto loads = reader.Find("loads")) {
    const auto load = [&](const char* part) -> std::optional<Bytes> {
      const auto bytes = loads->Find(part);
      return bytes ? std::optional(bytes->Size()) : std::nullopt;
    };
    profile.loads = MeasuredLoads{load("context"), load("kernel"), load("cublas"), load("cudnn")};
  }
  if (const auto memory = reader.Find("memory")) {
    const auto bytes = [&](const char* fact) { return (*memory)[fact].Size(); };
    profile.memory = MeasuredMemory{bytes("granularity"), bytes("largest"), bytes("reachable"), bytes("margin")};
  }
  if (const auto fits = reader.Find("fits")) {
    for (const JsonReader& fit : fits->Items()) profile.fits.push_back(ReadFit(fit));
  }
  if (const auto convolutions = reader.Find("convolutions")) {
    for (const JsonReader& convolution : convolutions->Items()) ReadConvolution(convolution, &profile);
  }
  if (reader.error()) return *reader.error();
  return profile;
}

Result<Profile> ReadProfile(const std::string& path) {
  const Result<std::string> text = ReadStream(path);
  if (!text.ok()) return text.error();
  return ProfileFromText(path, *text);
}

}  // namespace vramplan
