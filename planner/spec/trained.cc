#include "planner/spec/trained.h"

#include <algorithm>
#include <array>
#include <set>

#include "graph/base/text.h"
#include "graph/layers/trained.h"
#include "planner/spec/nearest.h"

namespace vramplan {
namespace {

// Where the set that begins at glob[open] ends, and whether it has `c`; npos: it does not end, and [ is a character.
struct Set {
  size_t end = std::string_view::npos;
  bool has = false;
};

Set ReadSet(std::string_view glob, size_t open, char c) {
  size_t at = open + 1;
  const bool inverted = at < glob.size() && glob[at] == '!';
  if (inverted) ++at;
  const size_t close = glob.find(']', at + 1);  // one that stands first is a member
  if (close == std::string_view::npos) return {};
  bool has = false;
  for (; at < close; ++at) {
    if (at + 2 < close && glob[at + 1] == '-') {
      has = has || (glob[at] <= c && c <= glob[at + 2]);
      at += 2;
    } else {
      has = has || glob[at] == c;
    }
  }
  return {close + 1, has != inverted};
}

std::string_view WithoutParts(std::string_view name, size_t count) {
  for (; count > 0; --count) name.remove_prefix(name.find('.') + 1);
  return name;
}

// A name that only the file has: of a matrix that an exporter folded and no rule could give back.
bool IsMadeUp(std::string_view name) {
  return name.find("::") != std::string_view::npos || name.starts_with("val_") || name.starts_with("_v_") ||
         name.find_first_not_of("0123456789") == std::string_view::npos;
}

size_t SharedParts(const Layers& layers) {
  std::vector<std::string_view> shared;
  bool first = true;
  for (const ValueId id : layers.parameters) {
    const std::string& name = layers[id].name;
    if (IsMadeUp(name)) continue;
    std::vector<std::string_view> parts = PartsOf(name);
    parts.pop_back();  // weight
    if (first) shared = parts;
    first = false;
    const auto differs = std::mismatch(shared.begin(), shared.end(), parts.begin(), parts.end()).first;
    shared.erase(differs, shared.end());
  }
  return layers.parameters.size() > 1 ? shared.size() : 0;
}

bool Matches(const std::string& glob, std::string_view name, size_t shared) {
  const std::string plain = WithoutWrappers(glob);
  for (size_t parts = 0; parts <= shared; ++parts) {
    const std::string_view shorter = WithoutParts(name, parts);
    if (MatchesGlob(glob, shorter) || (plain != glob && MatchesGlob(plain, shorter))) return true;
  }
  return false;
}

// The words that a glob is made of are compared with the paths and names that the file has.
std::string Suggestion(const TrainedPattern& pattern, const Layers& layers, size_t shared) {
  std::string core = WithoutWrappers(pattern.glob);
  while (!core.empty() && (core.back() == '*' || core.back() == '.')) core.pop_back();
  core.erase(0, std::min(core.find_first_not_of("*."), core.size()));
  std::vector<std::string> known;
  std::set<std::string, std::less<>> seen;
  const auto add = [&](std::string_view text) {
    if (seen.insert(std::string(text)).second) known.emplace_back(text);
  };
  for (const ValueId id : layers.parameters) {
    const std::string_view name = WithoutParts(layers[id].name, shared);
    for (size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1))
      add(name.substr(0, dot));
    add(name);
  }
  for (const ValueId id : layers.parameters) {
    for (const std::string_view part : PartsOf(layers[id].name)) add(part);
  }
  const std::string near = SuggestNearest(core, known);
  return near.empty() ? "vramplan inspect FILE --dump parameters lists the names" : near;
}

std::string_view FlagOf(const TrainedPattern& pattern) { return pattern.trained ? "--trainable" : "--frozen"; }

}  // namespace

bool MatchesGlob(std::string_view glob, std::string_view name) {
  size_t g = 0, n = 0, star = std::string_view::npos, after_star = 0;
  while (n < name.size()) {
    const Set set = g < glob.size() && glob[g] == '[' ? ReadSet(glob, g, name[n]) : Set{};
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      after_star = n;
    } else if (set.end != std::string_view::npos && set.has) {
      g = set.end;
      ++n;
    } else if (g < glob.size() && set.end == std::string_view::npos && (glob[g] == '?' || glob[g] == name[n])) {
      ++g;
      ++n;
    } else if (star != std::string_view::npos) {  // the star takes one more
      g = star + 1;
      n = ++after_star;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

// torch/nn/parallel/distributed.py and data_parallel.py: module; torch/_dynamo/eval_frame.py: _orig_mod;
// torch/distributed/fsdp/_common_utils.py: _fsdp_wrapped_module;
// torch/distributed/algorithms/_checkpoint/checkpoint_wrapper.py: _checkpoint_wrapped_module.
std::string WithoutWrappers(std::string_view path) {
  constexpr std::array<std::string_view, 4> kWrappers = {"module", "_orig_mod", "_fsdp_wrapped_module",
                                                         "_checkpoint_wrapped_module"};
  std::string text;
  for (const std::string_view part : PartsOf(path)) {
    if (std::find(kWrappers.begin(), kWrappers.end(), part) != kWrappers.end()) continue;
    text += (text.empty() ? "" : ".") + std::string(part);
  }
  return text;
}

std::string SharedPrefix(const Layers& layers) {
  size_t parts = SharedParts(layers);
  for (const ValueId id : layers.parameters) {
    const std::string& name = layers[id].name;
    if (parts == 0 || IsMadeUp(name)) continue;
    return name.substr(0, name.size() - WithoutParts(name, parts).size());
  }
  return "";
}

bool DecideAll(const std::vector<TrainedPattern>& patterns, const Layers& layers) {
  const size_t shared = SharedParts(layers);
  return std::all_of(layers.parameters.begin(), layers.parameters.end(), [&](ValueId id) {
    return std::any_of(patterns.begin(), patterns.end(), [&](const TrainedPattern& pattern) {
      return Matches(pattern.glob, layers[id].name, IsMadeUp(layers[id].name) ? 0 : shared);
    });
  });
}

Status ApplyTrained(const std::vector<TrainedPattern>& patterns, Layers* layers, Notes* notes) {
  if (patterns.empty()) return Done{};
  const size_t shared = SharedParts(*layers);
  std::vector<bool> used(patterns.size());
  std::vector<std::string> missed;
  for (const ValueId id : layers->parameters) {
    const std::string name = (*layers)[id].name;
    const bool made_up = IsMadeUp(name);
    bool matched = false;
    for (size_t i = 0; i < patterns.size(); ++i) {
      if (!Matches(patterns[i].glob, name, made_up ? 0 : shared)) continue;
      used[i] = matched = true;
      SetTrained(layers, id, patterns[i].trained);
    }
    if (!matched && made_up) missed.push_back(name);
  }
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (used[i]) continue;
    return Error{ErrorCode::kUsage, std::string(FlagOf(patterns[i])),
                 InQuotes(patterns[i].glob) + " matches no parameter", Suggestion(patterns[i], *layers, shared)};
  }
  if (!missed.empty() && notes != nullptr) {
    notes->Add({"unnamed-parameters", Severity::kNote, missed[0],
                std::to_string(missed.size()) + " parameters have lost their names in this file, and no --trainable or "
                                                "--frozen reached them",
                "vramplan inspect FILE --dump parameters lists the names that the file has"});
  }
  return Done{};
}

TrainedCount CountTrained(const Layers& layers) {
  TrainedCount count;
  for (const ValueId id : layers.parameters) {
    const Dim elements = layers[id].shape.Elements();
    const int64_t known = elements.known() ? elements.At(1) : 0;
    const bool trained = IsTrained(layers, id);
    (trained ? count.trained : count.frozen) = SaturatingAdd(trained ? count.trained : count.frozen, known);
    ++(trained ? count.trained_tensors : count.frozen_tensors);
  }
  return count;
}

std::string ToString(const std::vector<TrainedPattern>& patterns) {
  std::string text;
  for (const TrainedPattern& pattern : patterns) {
    text += (text.empty() ? "" : " ") + std::string(FlagOf(pattern)) + " '" + pattern.glob + "'";
  }
  return text;
}

}  // namespace vramplan
