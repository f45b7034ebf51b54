// Answers that were kept, read for a diff.
#include <algorithm>

#include "planner/report/diff.h"
#include "planner/report/writing/json_reader.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

constexpr const char* kOfEstimate = "vramplan.estimate/1";
constexpr const char* kOfRun = "vramplan.run/1";
constexpr const char* kAnswerHint =
    "name an answer that vramplan estimate --format json or vramplan run --format json wrote";

std::vector<NamedBytes> SizesIn(const JsonReader& object) {
  std::vector<NamedBytes> sizes;
  for (const auto& [name, size] : object.Members()) sizes.push_back({name, size.Size()});
  return sizes;
}

std::string ValueText(const Json& value) {
  if (const auto* text = std::get_if<std::string>(&value.value())) return *text;
  if (const auto* number = std::get_if<double>(&value.value())) return NumberText(*number);
  return PrintCompact(value);
}

void ReadEstimate(const JsonReader& answer, DiffSide* side) {
  const JsonReader peak = answer["peak"];
  side->device = peak["device"].Size();
  side->phase = peak["phase"].Text();
  side->node = peak["node"].Text();
  side->categories = SizesIn(answer["categories"]);
  for (const JsonReader& layer : answer["layers"].Items()) {
    const std::string path = layer["module"].Text();
    Bytes bytes;
    for (const char* column : {"parameters", "buffers", "saved", "gradients", "optimizer_state"})
      bytes += layer[column].Size();
    side->modules.push_back({path.empty() ? "(the model itself)" : path, bytes});
  }
  for (const auto& [name, option] : answer["spec"].Members()) {
    std::string typed = name;
    std::ranges::replace(typed, '_', '-');
    side->options.push_back(typed + " " + ValueText(option["value"].json()));
  }
}

void ReadRun(const JsonReader& answer, DiffSide* side) {
  side->device = answer["peak"]["device"]["likely"].Size();
  side->phase = answer["peak"]["phase"].Text();
  const std::vector<JsonReader> ranks = answer["ranks"].Items();
  if (ranks.size() == 1) {
    if (const auto categories = ranks.front().Find("categories")) side->categories = SizesIn(*categories);
  }
  for (const JsonReader& place : answer["places"].Items()) {
    const std::string path = place["module"].Text();
    side->modules.push_back({path.empty() ? "(outside modules)" : path, place["bytes"].Size()});
  }
  side->options.push_back("command " + PrintCompact(answer["command"].json()));
  side->options.push_back("framework " + answer["framework"].Text());
}

}  // namespace

Result<DiffSide> SideOf(const std::string& file, const Json& answer) {
  const JsonReader reader(answer, file, kAnswerHint);
  DiffSide side{.file = file, .schema = reader["schema"].Text()};
  if (reader.error()) return *reader.error();
  if (side.schema != kOfEstimate && side.schema != kOfRun) {
    reader["schema"].Fail("is neither vramplan.estimate/1 nor vramplan.run/1");
    return *reader.error();
  }
  const JsonReader peak = reader["peak"];
  side.requested = peak["requested"].Size();
  side.allocated = peak["allocated"].Size();
  side.reserved = peak["reserved"].Size();
  side.schema == kOfRun ? ReadRun(reader, &side) : ReadEstimate(reader, &side);
  if (reader.error()) return *reader.error();
  return side;
}

}  // namespace vramplan
