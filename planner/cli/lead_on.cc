#include "planner/cli/lead_on.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "graph/architectures/hub.h"
#include "graph/architectures/named.h"
#include "planner/spec/device.h"
#include "planner/spec/nearest.h"

namespace vramplan {
namespace {

namespace fs = std::filesystem;

bool ReadsModel(Verb verb) {
  switch (verb) {
    case Verb::kEstimate:
    case Verb::kFit:
    case Verb::kPlan:
    case Verb::kInspect:
    case Verb::kTrace:
    case Verb::kValidate:
    case Verb::kSweep:
    case Verb::kDiff:
      return true;
    default:
      return false;
  }
}

Error NotAModel(const std::string& path, std::string what, std::string hint) {
  return {ErrorCode::kBadInput, path, std::move(what), std::move(hint)};
}

std::string NamedCard(const std::string& gpu, const std::string& otherwise) {
  return gpu.empty() || gpu == "all" || gpu.find(',') != std::string::npos ? otherwise : gpu;
}

// The Python door, which makes the model from its configuration, without weights.
std::string FromPython(const std::string& name, const std::string& gpu) {
  return "in Python: model = AutoModel.from_config(AutoConfig.from_pretrained(\"" + name +
         "\")), vramplan.fit(model, inputs, gpu=\"" + NamedCard(gpu, "t4") + "\")";
}

bool Exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::optional<Error> OfFolder(Verb verb, const std::string& path, const std::string& gpu) {
  std::vector<std::string> models;
  std::error_code code;
  for (fs::directory_iterator at(path, code), end; !code && at != end; at.increment(code)) {
    const std::string extension = at->path().extension().string();
    if (extension == ".onnx" || extension == ".pt2") models.push_back(at->path().string());
  }
  if (!models.empty()) {
    const std::string& first = *std::ranges::min_element(models);
    return NotAModel(path, "it is a directory; give one file",
                     "type vramplan " + std::string(Name(verb)) + " " + first + (gpu.empty() ? "" : " --gpu " + gpu));
  }
  if (Exists((fs::path(path) / "config.json").string()))
    return NotAModel(path, "its config.json cannot be read", FromPython(path, gpu));
  return NotAModel(path, "it is a directory without an .onnx or .pt2 file", "give the path of an .onnx file");
}

}  // namespace

std::optional<Error> LeadOn(Verb verb, const std::string& path, const std::string& gpu) {
  if (path.empty() || !ReadsModel(verb)) return std::nullopt;
  if (NamesModel(path)) {
    if (verb != Verb::kValidate) return std::nullopt;
    return NotAModel(path, "it is the name of a model, and validate runs the step of a file",
                     "type vramplan fit " + path + ", or give the path of an .onnx file");
  }
  if (path.ends_with(".py")) {
    return NotAModel(path, "it is a script, and " + std::string(Name(verb)) + " takes the file of a model",
                     "type vramplan run --gpu " + NamedCard(gpu, "t4") + " -- python " + path);
  }
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return OfFolder(verb, path, gpu);
  if (Exists(path)) return std::nullopt;
  std::vector<std::string> names;
  for (const KnownModel& model : KnownModels()) {
    names.push_back(model.name);
    names.push_back(model.source);
  }
  const bool is_hub_name = path.starts_with("hf:") || IsHubName(path);
  const bool may_be_name = path.find('/') == std::string::npos && !EndsAsFile(path);
  const std::string near = may_be_name || is_hub_name ? SuggestNearest(path, names) : "";
  if (is_hub_name) {
    return NotAModel(
        path, "vramplan models does not list it, the Hub's cache has no config.json of it, and the Hub was not asked",
        near.empty() ? "give the path of its config.json, which is a few kB; " + FromPython(path, gpu) : near);
  }
  if (may_be_name && !FindCard(path).ok()) {  // of a card the line says something else
    return NotAModel(path, "there is no such file and no model of this name",
                     near.empty()
                         ? "vramplan models lists the names; give any other model as ORG/NAME, if the Hub's cache has "
                           "its config.json, or as the path of one"
                         : near);
  }
  return std::nullopt;
}

}  // namespace vramplan
