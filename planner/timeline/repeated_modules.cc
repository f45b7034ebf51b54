#include "planner/timeline/repeated_modules.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/base/text.h"

namespace vramplan {
namespace {

constexpr int kFewestLayers = 4;  // of a block: less is an operator with its activation

// "down.#.res" of "down.1.res".
std::string WithoutNumbers(const std::string& path) {
  std::string pattern;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const bool number = IsNumber(path.substr(begin, end - begin));
    if (begin > 0) pattern += '.';
    pattern += number ? std::string("#") : path.substr(begin, end - begin);
    begin = end + 1;
  }
  return pattern;
}

}  // namespace

std::vector<std::string> RepeatedModules(const Layers& layers) {
  std::vector<int> count(layers.modules.size(), 0);  // of layers, by module call
  for (const Layer& layer : layers.layers) {
    for (ModuleId m = layer.module; m.valid(); m = layers[m].parent) ++count[static_cast<size_t>(m.value)];
  }
  std::map<std::string, std::set<std::string>> alike;  // by pattern: paths
  std::vector<std::string> patterns(layers.modules.size());
  for (size_t m = 1; m < layers.modules.size(); ++m) {
    if (count[m] < kFewestLayers) continue;
    patterns[m] = WithoutNumbers(layers.modules[m].path);
    if (patterns[m].find('#') != std::string::npos) alike[patterns[m]].insert(layers.modules[m].path);
  }
  const auto repeated = [&](size_t m) {
    const auto found = alike.find(patterns[m]);
    return found != alike.end() && found->second.size() > 1;
  };
  std::vector<std::string> paths;
  std::set<std::string_view> seen;
  for (size_t m = 1; m < layers.modules.size(); ++m) {
    if (!repeated(m)) continue;
    bool inside = false;
    for (ModuleId around = layers.modules[m].parent; around.valid() && !inside; around = layers[around].parent)
      inside = repeated(static_cast<size_t>(around.value));
    if (!inside && seen.insert(layers.modules[m].path).second) paths.push_back(layers.modules[m].path);
  }
  return paths;
}

}  // namespace vramplan
