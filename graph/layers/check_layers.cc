#include "graph/layers/check_layers.h"

#include <algorithm>
#include <initializer_list>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

namespace vramplan {
namespace {

constexpr int32_t kNobody = -1;

std::string Called(const Layer& layer) { return layer.name + " (" + layer.op + ")"; }

class Checker {
 public:
  explicit Checker(const Layers& layers) : layers_(layers), maker_(layers.values.size(), kNobody) {}

  std::string Run() {
    Modules();
    Names();
    Makers();
    Reads();
    Lists();
    return std::move(broken_);
  }

 private:
  void Say(const std::string& what) {
    if (broken_.empty()) broken_ = what;
  }

  bool IsValue(ValueId id) const { return id.valid() && id.index() < layers_.values.size(); }
  bool IsModule(ModuleId id) const { return !id.valid() || id.index() < layers_.modules.size(); }

  void Modules() {
    for (size_t m = 0; m < layers_.modules.size(); ++m) {
      const ModuleId parent = layers_.modules[m].parent;
      const bool stands_behind = m == 0 ? !parent.valid() : !parent.valid() || parent.index() < m;
      if (!stands_behind) Say("the call of module " + layers_.modules[m].path + " stands before the one around it");
    }
    for (const auto& [what, calls] :
         {std::pair("checkpointed", &layers_.checkpointed), std::pair("reentrant", &layers_.reentrant),
          std::pair("perhaps checkpointed", &layers_.perhaps_checkpointed)})
      for (const ModuleId call : *calls)
        if (!call.valid() || !IsModule(call)) Say("no module call " + std::to_string(call.value) + " is " + what);
  }

  void Names() {
    std::unordered_set<std::string> names;
    for (const Layer& layer : layers_.layers)
      if (!names.insert(layer.name).second) Say("two layers are called " + layer.name);
  }

  void Makers() {
    for (size_t l = 0; l < layers_.layers.size(); ++l) {
      const Layer& layer = layers_.layers[l];
      if (!IsModule(layer.module)) Say(Called(layer) + " is of no module call that there is");
      for (const ValueId id : layer.outputs) {
        if (!id.valid()) continue;
        if (!IsValue(id)) return Say(Called(layer) + " makes no value that there is");
        int32_t& maker = maker_[id.index()];
        if (maker != kNobody)
          Say(Called(layer) + " makes " + Named(id) + ", which " + Called(layers_.layers[static_cast<size_t>(maker)]) +
              " has made");
        if (layers_[id].role != Role::kActivation) Say(Called(layer) + " makes " + Named(id) + ", no activation");
        maker = static_cast<int32_t>(l);
      }
    }
  }

  void Reads() {
    for (size_t l = 0; l < layers_.layers.size(); ++l) {
      const Layer& layer = layers_.layers[l];
      for (const ValueId id : layer.inputs) {
        if (!id.valid()) continue;
        if (!IsValue(id)) return Say(Called(layer) + " reads no value that there is");
        if (layers_[id].role != Role::kActivation) continue;
        const int32_t maker = maker_[id.index()];
        if (maker >= static_cast<int32_t>(l))
          Say(Called(layer) + " reads " + Named(id) + ", which " + Called(layers_.layers[static_cast<size_t>(maker)]) +
              " makes later");
      }
    }
  }

  void Lists() {
    ListOf("an input", layers_.inputs, {Role::kInput});
    ListOf("a parameter", layers_.parameters, {Role::kParameter, Role::kBuffer});
    ListOf("a buffer", layers_.buffers, {Role::kBuffer});
    for (const auto& [what, ids] :
         {std::pair("returned", &layers_.outputs), std::pair("kept by a module", &layers_.kept_by_modules)})
      for (const ValueId id : *ids)
        if (!IsValue(id) || (layers_[id].role == Role::kActivation && maker_[id.index()] == kNobody))
          Say((IsValue(id) ? Named(id) : "value " + std::to_string(id.value)) + " is " + what +
              ", and nothing makes it");
    for (const RecordedEnd& end : layers_.recorded)
      if (!IsValue(end.value) || (end.made.valid() && !IsValue(end.made))) Say("a recorded end is of no value");
    if (layers_.loss_after.valid() && !IsValue(layers_.loss_after)) Say("the loss begins behind no value");
  }

  void ListOf(const std::string& what, std::span<const ValueId> ids, std::initializer_list<Role> roles) {
    std::unordered_set<int32_t> seen;
    for (const ValueId id : ids) {
      if (!IsValue(id)) return Say(what + " is no value that there is");
      if (!seen.insert(id.value).second) Say(Named(id) + " is listed twice as " + what);
      if (std::find(roles.begin(), roles.end(), layers_[id].role) == roles.end())
        Say(Named(id) + " is listed as " + what + " and has another role");
    }
  }

  std::string Named(ValueId id) const { return "value " + std::to_string(id.value) + " (" + layers_[id].name + ")"; }

  const Layers& layers_;
  std::vector<int32_t> maker_;  // of each value, the place of its layer
  std::string broken_;
};

}  // namespace

std::string BrokenInvariant(const Layers& layers) { return Checker(layers).Run(); }

}  // namespace vramplan
