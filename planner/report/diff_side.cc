// Answers that were kept, read for a diff.
#include <algorithm>

#include "planner/report/diff.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

constexpr const char* kOfEstimate = "vramplan.estimate/1";
constexpr const char* kOfRun = "vramplan.run/1";

// Looks into an answer; the first thing that is wrong ends it.
class AnswerReader {
 public:
  explicit AnswerReader(std::string file) : file_(std::move(file)) {}

  // Null: there is no such member.
  static const Json* Find(const Json& object, std::string_view name) {
    const auto* members = std::get_if<Json::Members>(&object.value());
    if (members == nullptr) return nullptr;
    for (const auto& [key, value] : *members) {
      if (key == name) return &value;
    }
    return nullptr;
  }
  const Json& Member(const Json& object, const char* name) {
    static const Json kNothing;
    const Json* found = Find(object, name);
    if (found == nullptr) Fail(name, "is missing");
    return found == nullptr ? kNothing : *found;
  }
  Bytes Size(const Json& object, const char* name) {
    const auto* count = std::get_if<int64_t>(&Member(object, name).value());
    if (count == nullptr || *count < 0) Fail(name, "is not a number of bytes");
    return count == nullptr || *count < 0 ? Bytes() : Bytes::Of(*count);
  }
  std::string Text(const Json& object, const char* name) {
    const auto* text = std::get_if<std::string>(&Member(object, name).value());
    if (text == nullptr) Fail(name, "is not a text");
    return text == nullptr ? "" : *text;
  }
  const Json::Items& Items(const Json& object, const char* name) {
    static const Json::Items kNone;
    const auto* items = std::get_if<Json::Items>(&Member(object, name).value());
    if (items == nullptr) Fail(name, "is not a list");
    return items == nullptr ? kNone : *items;
  }
  std::vector<NamedBytes> Sizes(const Json& object) {
    std::vector<NamedBytes> sizes;
    const auto* members = std::get_if<Json::Members>(&object.value());
    if (members == nullptr) return sizes;
    for (const auto& [name, unused] : *members) sizes.push_back({name, Size(object, name.c_str())});
    return sizes;
  }
  void Fail(const char* member, const char* text) {
    if (!error_)
      error_ = Error{ErrorCode::kBadInput, file_ + ": " + member, text,
                     "name an answer that vramplan estimate --format json or vramplan run --format json wrote"};
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  std::string file_;
  std::optional<Error> error_;
};

std::string ValueText(const Json& value) {
  if (const auto* text = std::get_if<std::string>(&value.value())) return *text;
  if (const auto* number = std::get_if<double>(&value.value())) return NumberText(*number);
  return PrintCompact(value);
}

void ReadEstimate(const Json& answer, AnswerReader* reader, DiffSide* side) {
  const Json& peak = reader->Member(answer, "peak");
  side->device = reader->Size(peak, "device");
  side->phase = reader->Text(peak, "phase");
  side->node = reader->Text(peak, "node");
  side->categories = reader->Sizes(reader->Member(answer, "categories"));
  for (const Json& layer : reader->Items(answer, "layers")) {
    const std::string path = reader->Text(layer, "module");
    Bytes bytes;
    for (const char* column : {"parameters", "buffers", "saved", "gradients", "optimizer_state"})
      bytes += reader->Size(layer, column);
    side->modules.push_back({path.empty() ? "(the model itself)" : path, bytes});
  }
  const auto* spec = std::get_if<Json::Members>(&reader->Member(answer, "spec").value());
  if (spec == nullptr) return;
  for (const auto& [name, option] : *spec) {
    std::string typed = name;
    std::ranges::replace(typed, '_', '-');
    side->options.push_back(typed + " " + ValueText(reader->Member(option, "value")));
  }
}

void ReadRun(const Json& answer, AnswerReader* reader, DiffSide* side) {
  const Json& peak = reader->Member(answer, "peak");
  side->device = reader->Size(reader->Member(peak, "device"), "likely");
  side->phase = reader->Text(peak, "phase");
  const Json::Items& ranks = reader->Items(answer, "ranks");
  if (ranks.size() == 1) {
    if (const Json* categories = AnswerReader::Find(ranks.front(), "categories"))
      side->categories = reader->Sizes(*categories);
  }
  for (const Json& place : reader->Items(answer, "places")) {
    const std::string path = reader->Text(place, "module");
    side->modules.push_back({path.empty() ? "(outside modules)" : path, reader->Size(place, "bytes")});
  }
  side->options.push_back("command " + PrintCompact(reader->Member(answer, "command")));
  side->options.push_back("framework " + reader->Text(answer, "framework"));
}

}  // namespace

Result<DiffSide> SideOf(const std::string& file, const Json& answer) {
  AnswerReader reader(file);
  DiffSide side{.file = file, .schema = reader.Text(answer, "schema")};
  if (reader.error()) return *reader.error();
  if (side.schema != kOfEstimate && side.schema != kOfRun) {
    reader.Fail("schema", "is neither vramplan.estimate/1 nor vramplan.run/1");
    return *reader.error();
  }
  const Json& peak = reader.Member(answer, "peak");
  side.requested = reader.Size(peak, "requested");
  side.allocated = reader.Size(peak, "allocated");
  side.reserved = reader.Size(peak, "reserved");
  side.schema == kOfRun ? ReadRun(answer, &reader, &side) : ReadEstimate(answer, &reader, &side);
  if (reader.error()) return *reader.error();
  return side;
}

}  // namespace vramplan
