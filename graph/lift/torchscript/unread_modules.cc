// Modules that are built and do not run. Their parameters lie on the card and get no gradient, and the exporter drops
// initializers that no node reads (torch/csrc/jit/passes/onnx/eliminate_unused_items.cpp, PyTorch 2.10):
//
//   BartForCausalLM    model.decoder.layers.0.self_attn.k_proj.weight [256, 256]       in the file
//                      model.decoder.layers.0.encoder_attn.k_proj.weight [256, 256]    not: no encoder calls it
//
// Which models build such a module is a habit, with the module that is as large. The dynamo exporter lists all names
// (graph/lift/dynamo/unused_parameters.cc).
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/text.h"
#include "graph/lift/habit_of.h"
#include "graph/lift/torchscript/passes.h"

namespace vramplan {
namespace {

// "self_attn encoder_attn" -> its words.
std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// "m.model.decoder.layer_norm.weight" -> "m.model.decoder": around the module that has the parameter.
std::string_view Around(std::string_view parameter) {
  for (int names = 0; names < 2; ++names)
    parameter = parameter.substr(0, std::min(parameter.rfind('.'), parameter.size()));
  return parameter;
}

class UnreadModules {
 public:
  explicit UnreadModules(Layers* layers) : layers_(*layers), known_(layers->parameters) {
    for (const ValueId id : known_) names_.insert(layers_[id].name);
  }

  void Run() {
    for (const ValueId id : known_) {
      const std::string name = layers_[id].name;
      const NameHabit* habit = HabitOfPath(layers_, name, NameHabit::Of::kBuildsUnread);
      if (habit != nullptr) AddTwins(std::string(Around(name)) + ".", Words(habit->with));
    }
  }

 private:
  void AddTwins(const std::string& around, const std::vector<std::string>& words) {
    if (words.size() > 2 && !Has("." + words[2] + ".")) return;
    std::vector<Value> twins;
    for (const ValueId id : known_) {
      Value twin = layers_[id];
      const size_t inside = BehindOf(around, twin.name);
      const size_t at = inside == std::string::npos ? inside : twin.name.find("." + words[0], inside - 1);
      if (at == std::string::npos) continue;
      twin.name.replace(at + 1, words[0].size(), words[1]);
      if (names_.contains(twin.name)) return;  // the file has the module
      twins.push_back(std::move(twin));
    }
    for (Value& twin : twins) {
      layers_.guesses.unread.push_back(twin.name);
      layers_.parameters.push_back(layers_.Add(std::move(twin)));
    }
  }

  // Where a name goes on behind "m.model.decoder."; what is named after its nodes misses modules that only hold others:
  // "m.decoder.layers.0". Of other names npos.
  static size_t BehindOf(const std::string& around, const std::string& name) {
    const std::string last = std::string(LeafOf(around.substr(0, around.size() - 1))) + ".";
    const size_t at = name.find(last);
    if (at == std::string::npos || (at > 0 && name[at - 1] != '.') || !around.starts_with(name.substr(0, at)))
      return std::string::npos;
    return at + last.size();
  }

  // Whether some parameter has this in its name, behind the wrapper that an export may have.
  bool Has(const std::string& part) const {
    return std::ranges::any_of(names_,
                               [&](const std::string& name) { return ("." + name).find(part) != std::string::npos; });
  }

  Layers& layers_;
  const std::vector<ValueId> known_;
  std::set<std::string> names_;
};

}  // namespace

void CountUnreadModules(Layers* layers) { UnreadModules(layers).Run(); }

}  // namespace vramplan
