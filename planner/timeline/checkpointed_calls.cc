#include "planner/timeline/checkpointed_calls.h"

#include <algorithm>
#include <set>

#include "planner/spec/nearest.h"

namespace vramplan {
namespace {

constexpr size_t kNamesInError = 3;

Error Wrong(std::string text, std::string hint) {
  return {ErrorCode::kUsage, "--checkpoint", std::move(text), std::move(hint)};
}

bool EndsWithComponents(const std::string& path, const std::string& tail) {
  return path == tail ||
         (path.size() > tail.size() && path.ends_with(tail) && path[path.size() - tail.size() - 1] == '.');
}

// The last components of a path, as many as `like` has.
std::string Tail(const std::string& path, const std::string& like) {
  auto dots = std::count(like.begin(), like.end(), '.');
  size_t at = path.size();
  while (at > 0 && (path[at - 1] != '.' || dots-- > 0)) --at;
  return path.substr(at);
}

// At most three, in their order, as things that can be typed.
std::string TypeOneOf(const std::vector<std::string>& paths) {
  const auto end = paths.begin() + static_cast<std::ptrdiff_t>(std::min(paths.size(), kNamesInError));
  return "type --checkpoint " + JoinChoices(std::vector<std::string>(paths.begin(), end));
}

class CallFinder {
 public:
  explicit CallFinder(const Layers& layers) : layers_(layers) {
    std::set<ModuleId> called;
    std::set<std::string> seen;
    for (const Layer& layer : layers.layers) {
      for (ModuleId m = layer.module; m.valid() && called.insert(m).second; m = layers[m].parent) {
        if (const std::string& path = layers[m].path; !path.empty() && seen.insert(path).second) paths_.push_back(path);
      }
    }
  }

  // The one path that `typed` means.
  Result<std::string> PathOf(const std::string& typed) const {
    if (typed.empty() || typed == ".") {
      return Wrong("the model itself is not checkpointed", paths_.empty() ? "" : TypeOneOf({paths_.front()}));
    }
    std::vector<std::string> found;
    for (const std::string& path : paths_) {
      if (path == typed) return path;
      if (EndsWithComponents(path, typed)) found.push_back(path);
    }
    if (found.size() == 1) return found.front();
    if (found.size() > 1) {
      return Wrong(InQuotes(typed) + " names " + std::to_string(found.size()) + " modules", TypeOneOf(found));
    }
    return Unknown(typed);
  }

 private:
  Error Unknown(const std::string& typed) const {
    if (typed == "none") return Wrong("\"none\" is not a module of the model", "leave --checkpoint out");
    if (paths_.empty()) return Wrong("the file names no modules", "export the model with PyTorch, which writes them");
    std::vector<std::string> inside, near;
    for (const std::string& path : paths_) {
      if (const size_t at = path.find(typed + "."); at == 0 || (at != std::string::npos && path[at - 1] == '.')) {
        // One level below what was typed.
        inside.push_back(path.substr(0, path.find('.', at + typed.size() + 1)));
      }
      near.push_back(Tail(path, typed));
    }
    const auto once = [](std::vector<std::string>& names) {
      std::set<std::string> seen;
      std::erase_if(names, [&](const std::string& name) { return !seen.insert(name).second; });
    };
    once(inside);
    once(near);
    if (!inside.empty()) return Wrong(InQuotes(typed) + " only holds modules and is never called", TypeOneOf(inside));
    for (const auto* list : {&layers_.parameters, &layers_.buffers}) {
      for (const ValueId id : *list) {
        const std::string& name = layers_[id].name;
        if (const size_t dot = name.rfind('.');
            dot != std::string::npos && EndsWithComponents(name.substr(0, dot), typed))
          return Wrong(InQuotes(typed) + " runs no operator in this file", TypeOneOf({paths_.front()}));
      }
    }
    const std::string hint = SuggestNearest(typed, near);
    return Wrong(InQuotes(typed) + " is not a module of the model", hint.empty() ? TypeOneOf({paths_.front()}) : hint);
  }

  const Layers& layers_;
  std::vector<std::string> paths_;  // of modules that run something, inner ones first, in order of execution
};

// Which layers run inside, and what comes from outside.
void Fill(const Layers& layers, const std::vector<int>& call_of_module, std::vector<CheckpointedCall>* calls) {
  std::vector<std::set<ValueId>> known(calls->size());  // made inside, or among the arguments
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    const Layer& layer = layers.layers[l];
    for (ModuleId m = layer.module; m.valid(); m = layers[m].parent) {
      const int call = call_of_module[static_cast<size_t>(m.value)];
      if (call < 0) continue;
      CheckpointedCall& inside = (*calls)[static_cast<size_t>(call)];
      std::set<ValueId>& values = known[static_cast<size_t>(call)];
      inside.layers.push_back(l);
      for (const ValueId id : layer.inputs) {
        if (!id.valid() || (layers[id].role != Role::kActivation && layers[id].role != Role::kInput)) continue;
        if (values.insert(id).second) inside.arguments.push_back(id);
      }
      for (const ValueId id : layer.outputs) {
        if (id.valid()) values.insert(id);
      }
    }
  }
}

Error NotWrapped(const SavedCall& call) {
  return {ErrorCode::kUsage, "--saved", InQuotes(call.module) + " is not checkpointed, and saves everything anyway",
          "add --checkpoint " + call.module};
}

// Operator calls to the module calls that save them. A checkpoint inside another one would be asked by both.
Status GiveSaved(const Layers& layers, const CallFinder& finder, const std::vector<SavedCall>& saved,
                 std::vector<CheckpointedCall>* calls) {
  for (const SavedCall& call : saved) {
    const Result<std::string> path = finder.PathOf(call.module);
    if (!path.ok()) return path.error();
    bool found = false;
    for (size_t c = 0; c < calls->size(); ++c) {
      if (layers[(*calls)[c].module].path != *path) continue;
      found = true;
      const bool nests = (*calls)[c].around >= 0 || std::any_of(calls->begin(), calls->end(), [&](const auto& other) {
                           return other.around == static_cast<int>(c);
                         });
      if (nests) {
        return Error{ErrorCode::kUsage, "--saved", InQuotes(call.module) + " is inside or around another checkpoint",
                     "save operator calls of modules whose checkpoints do not nest"};
      }
      (*calls)[c].saved.push_back(call);
    }
    if (!found) return NotWrapped(call);
  }
  return Done();
}

}  // namespace

Result<std::vector<CheckpointedCall>> FindCheckpointedCalls(const Layers& layers, const std::vector<std::string>& paths,
                                                            const std::vector<SavedCall>& saved) {
  std::vector<CheckpointedCall> calls;
  if (paths.empty() && !saved.empty()) return NotWrapped(saved.front());
  if (paths.empty() && layers.checkpointed.empty()) return calls;
  const CallFinder finder(layers);
  std::set<std::string> wanted;
  for (const std::string& typed : paths) {
    const Result<std::string> path = finder.PathOf(typed);
    if (!path.ok()) return path.error();
    wanted.insert(*path);
  }
  std::vector<int> call_of_module(layers.modules.size(), -1);
  for (size_t m = 0; m < layers.modules.size(); ++m) {
    const ModuleId call{static_cast<int32_t>(m)};
    const bool in_code = std::binary_search(layers.checkpointed.begin(), layers.checkpointed.end(), call);
    if (!in_code && wanted.count(layers.modules[m].path) == 0) continue;
    call_of_module[m] = static_cast<int>(calls.size());
    calls.push_back({call, -1, {}, {}, {}});
    calls.back().reentrant = std::ranges::find(layers.reentrant, call) != layers.reentrant.end();
  }
  Fill(layers, call_of_module, &calls);
  for (CheckpointedCall& call : calls) {
    for (ModuleId m = layers[call.module].parent; m.valid() && call.around < 0; m = layers[m].parent) {
      call.around = call_of_module[static_cast<size_t>(m.value)];
    }
  }
  if (const Status given = GiveSaved(layers, finder, saved, &calls); !given.ok()) return given.error();
  return calls;
}

}  // namespace vramplan
