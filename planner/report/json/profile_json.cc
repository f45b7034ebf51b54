#include "planner/report/json/profile_json.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "planner/allocator/stream.h"
#include "planner/report/writing/json.h"

namespace vramplan {
namespace {

constexpr const char* kSchema = "vramplan.profile/1";
constexpr int64_t kMostBytes = int64_t{1} << 50;
constexpr int64_t kMostSamples = 1000000;
constexpr int64_t kLongestAxis = int64_t{1} << 40;

constexpr const char* kHint = "vramplan calibrate writes such files; planner/calibration/profile.h describes them";

// A walk through the tree that remembers the first thing that was wrong.
class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  const Json* Member(const Json& object, const std::string& path, const char* name, bool needed = true) {
    const auto* members = std::get_if<Json::Members>(&object.value());
    if (members == nullptr) return Fail(path, "is not a JSON object");
    for (const auto& [key, value] : *members) {
      if (key == name) return &value;
    }
    return needed ? Fail(Below(path, name), "is missing") : nullptr;
  }
  std::string Text(const Json& object, const std::string& path, const char* name, bool needed = true) {
    const Json* value = Member(object, path, name, needed);
    if (value == nullptr) return "";
    const auto* text = std::get_if<std::string>(&value->value());
    if (text == nullptr) Fail(Below(path, name), "is not a text");
    return text == nullptr ? "" : *text;
  }
  // 0 .. `most`.
  int64_t Whole(const Json& object, const std::string& path, const char* name, int64_t most) {
    const Json* value = Member(object, path, name);
    return value == nullptr ? 0 : Whole(*value, Below(path, name), most);
  }
  int64_t Whole(const Json& value, const std::string& path, int64_t most) {
    const auto* number = std::get_if<int64_t>(&value.value());
    if (number == nullptr || *number < 0 || *number > most) {
      Fail(path, "is not a whole number from 0 to " + std::to_string(most));
      return 0;
    }
    return *number;
  }
  // Above 0, or not below it.
  double Number(const Json& object, const std::string& path, const char* name, bool above_zero) {
    const Json* value = Member(object, path, name);
    if (value == nullptr) return 1;
    double number = 0;
    if (const auto* whole = std::get_if<int64_t>(&value->value())) number = static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&value->value())) number = *real;
    if (!std::isfinite(number) || number < 0 || (above_zero && number == 0))
      Fail(Below(path, name), above_zero ? "is not a number above 0" : "is not a number of 0 or more");
    return number;
  }
  std::vector<int64_t> Lengths(const Json& object, const std::string& path, const char* name) {
    std::vector<int64_t> lengths;
    const Json* value = Member(object, path, name);
    const auto* items = value == nullptr ? nullptr : std::get_if<Json::Items>(&value->value());
    if (items == nullptr) {
      Fail(Below(path, name), "is not a list of lengths");
      return {1, 1, 1};
    }
    for (const Json& item : *items)
      lengths.push_back(std::max<int64_t>(1, Whole(item, Below(path, name), kLongestAxis)));
    if (lengths.size() < 3) Fail(Below(path, name), "has fewer than three axes");
    return lengths;
  }
  std::nullptr_t Fail(const std::string& path, const std::string& text) {
    if (!error_) {
      error_ = Error{ErrorCode::kBadInput, path.empty() ? file_ : file_ + ": " + path, text, kHint};
    }
    return nullptr;
  }
  static std::string Below(const std::string& path, const char* name) {
    return path.empty() ? name : path + "." + name;
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  std::string file_;
  std::optional<Error> error_;
};

std::optional<DType> TypeNamed(const std::string& name) {
  for (const DType type : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    if (name == Name(type)) return type;
  }
  return std::nullopt;
}

std::optional<Bytes> ReadLoad(Reader& reader, const Json& loads, const char* name) {
  const Json* value = reader.Member(loads, "loads", name, false);
  if (value == nullptr || std::holds_alternative<std::nullptr_t>(value->value())) return std::nullopt;
  return Bytes::Of(reader.Whole(*value, Reader::Below("loads", name), kMostBytes));
}

FittedRate ReadFit(Reader& reader, const Json& object, const std::string& path) {
  FittedRate fit;
  fit.what = reader.Text(object, path, "what");
  fit.rate = reader.Number(object, path, "rate", true);
  fit.launch = reader.Number(object, path, "launch", false);
  fit.residual = reader.Number(object, path, "residual", false);
  fit.samples = static_cast<int>(reader.Whole(object, path, "samples", kMostSamples));
  return fit;
}

// Calls `read` with each item of the list `name` and its path.
template <typename Read>
void ReadList(Reader& reader, const Json& json, const char* name, Read read) {
  const Json* all = reader.Member(json, "", name, false);
  if (all == nullptr) return;
  const auto* items = std::get_if<Json::Items>(&all->value());
  if (items == nullptr) reader.Fail(name, "is not a list");
  for (size_t i = 0; items != nullptr && i < items->size(); ++i) {
    read((*items)[i], std::string(name) + "[" + std::to_string(i) + "]");
  }
}

void ReadConvolution(Reader& reader, const Json& object, const std::string& path, Profile* profile) {
  ConvolutionShape shape;
  const std::string pass = reader.Text(object, path, "pass");
  bool known = false;
  for (const auto one :
       {ConvolutionPass::kForward, ConvolutionPass::kInputGradient, ConvolutionPass::kWeightGradient}) {
    if (pass != Name(one)) continue;
    shape.pass = one;
    known = true;
  }
  if (!known) reader.Fail(path + ".pass", "is not forward, input-gradient or weight-gradient");
  const std::optional<DType> type = TypeNamed(reader.Text(object, path, "type"));
  if (!type) reader.Fail(path + ".type", "is not float16, bfloat16, float32 or float64");
  shape.type = type.value_or(DType::kFloat32);
  if (const Json* last = reader.Member(object, path, "channels_last")) {
    const bool* value = std::get_if<bool>(&last->value());
    if (value == nullptr) reader.Fail(path + ".channels_last", "is not true or false");
    shape.channels_last = value != nullptr && *value;
  }
  shape.input = reader.Lengths(object, path, "input");
  shape.filter = reader.Lengths(object, path, "filter");
  shape.output = reader.Lengths(object, path, "output");
  const Bytes workspace = Bytes::Of(reader.Whole(object, path, "workspace", kMostBytes));
  if (!reader.error() && shape.input[0] != shape.output[0])
    reader.Fail(path + ".output", "has another batch than input");
  if (!reader.error()) profile->convolutions.push_back({std::move(shape), workspace});
}

}  // namespace

Result<Profile> ProfileFromText(const std::string& name, const std::string& text) {
  const Result<Json> json = ParseJson(name, text);
  if (!json.ok()) return Error{ErrorCode::kBadInput, name, json.error().text, kHint};
  Reader reader(name);
  const std::string schema = reader.Text(*json, "", "schema");
  if (!reader.error() && schema != kSchema) reader.Fail("schema", "is \"" + schema + "\", not \"" + kSchema + "\"");
  Profile profile;
  profile.date = reader.Text(*json, "", "date", false);
  profile.driver = reader.Text(*json, "", "driver", false);
  if (const Json* card = reader.Member(*json, "", "card")) {
    profile.name = reader.Text(*card, "card", "name");
    profile.uuid = reader.Text(*card, "card", "uuid", false);
    const Result<Capability> capability = ParseCapability(reader.Text(*card, "card", "capability"));
    if (!capability.ok()) reader.Fail("card.capability", "is not a compute capability, as \"7.5\"");
    if (capability.ok()) profile.capability = *capability;
    profile.multiprocessors = static_cast<int>(reader.Whole(*card, "card", "multiprocessors", 4096));
    profile.usable = Bytes::Of(reader.Whole(*card, "card", "usable", kMostBytes));
  }
  if (const Json* context = reader.Member(*json, "", "context", false)) {
    const auto bytes = [&](const char* end) { return Bytes::Of(reader.Whole(*context, "context", end, kMostBytes)); };
    const std::string when = profile.date.empty() ? "" : " on " + profile.date;
    profile.context = ContextBand{bytes("low"), bytes("likely"), bytes("high"), "measured" + when + ", " + name};
    if (profile.context->low > profile.context->likely || profile.context->likely > profile.context->high)
      reader.Fail("context", "is not in order: low, likely, high");
  }
  if (const Json* rates = reader.Member(*json, "", "rates", false)) {
    const auto rate = [&](const char* kind) { return reader.Number(*rates, "rates", kind, true); };
    profile.rates = Rates{rate("bandwidth"), rate("fp32"), rate("half")};
  }
  if (const Json* loads = reader.Member(*json, "", "loads", false)) {
    const auto load = [&](const char* part) { return ReadLoad(reader, *loads, part); };
    profile.loads = MeasuredLoads{load("context"), load("kernel"), load("cublas"), load("cudnn")};
  }
  if (const Json* memory = reader.Member(*json, "", "memory", false)) {
    const auto bytes = [&](const char* fact) { return Bytes::Of(reader.Whole(*memory, "memory", fact, kMostBytes)); };
    profile.memory = MeasuredMemory{bytes("granularity"), bytes("largest"), bytes("reachable"), bytes("margin")};
  }
  ReadList(reader, *json, "fits",
           [&](const Json& item, const std::string& path) { profile.fits.push_back(ReadFit(reader, item, path)); });
  ReadList(reader, *json, "convolutions",
           [&](const Json& item, const std::string& path) { ReadConvolution(reader, item, path, &profile); });
  if (reader.error()) return *reader.error();
  return profile;
}

Result<Profile> ReadProfile(const std::string& path) {
  const Result<std::string> text = ReadStream(path);
  if (!text.ok()) return text.error();
  return ProfileFromText(path, *text);
}

}  // namespace vramplan
