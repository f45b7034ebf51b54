#include "graph/habits/habits.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "graph/base/ablation.h"
#include "graph/habits/libraries.h"

namespace vramplan {
namespace {

// Whether some class habit with this effect is about what `matches` says.
template <typename Matches>
bool AnyWith(Effect effect, Matches matches) {
  const std::string name = ablation == nullptr ? "" : std::to_string(static_cast<int>(effect));
  if (IsLeftOut("effect", name)) return false;
  const bool any = std::ranges::any_of(Libraries(), [&](const Library& library) {
    return std::ranges::any_of(library.classes,
                               [&](const ClassHabit& habit) { return habit.effect == effect && matches(habit.of); });
  });
  if (any) NoteThatItActed("effect", name);
  return any;
}

bool IsOfActivations(Effect effect) {
  return effect == Effect::kActsInPlace || effect == Effect::kActsOutOfPlace || effect == Effect::kActsAsItsCaller;
}

// The class habit for `frame` of `classes`; of two that are as long, the one that says more about where it acts.
const ClassHabit* NearestOf(const std::vector<std::string_view>& classes, size_t frame, std::string_view leaf) {
  const ClassHabit* nearest = nullptr;
  for (const Library& library : Libraries()) {
    for (const ClassHabit& habit : library.classes) {
      if (!IsOfActivations(habit.effect) || !classes[frame].starts_with(habit.of)) continue;
      if (!habit.only.empty() && habit.only != leaf) continue;
      const auto around = [&](std::string_view name) { return name.starts_with(habit.within); };
      if (!habit.within.empty() && std::none_of(classes.begin(), classes.end(), around)) continue;
      const auto weight = [](const ClassHabit& of) {
        return std::pair(of.of.size(), of.only.size() + of.within.size());
      };
      if (nearest == nullptr || weight(habit) > weight(*nearest)) nearest = &habit;
    }
  }
  return nearest;
}

// The names with a habit, each with its library.
struct NameOf {
  std::string_view library;
  const NameHabit* habit;
};
const std::vector<NameOf>& NamesOf(NameHabit::Of of) {
  static const std::map<NameHabit::Of, std::vector<NameOf>> names = [] {
    std::map<NameHabit::Of, std::vector<NameOf>> all;
    for (const Library& library : Libraries()) {
      for (const NameHabit& habit : library.names) all[habit.of].push_back({library.name, &habit});
    }
    return all;
  }();
  static const std::vector<NameOf> none;
  const auto found = names.find(of);
  const bool leaves_out = ablation != nullptr && IsLeftOut("habit", std::to_string(static_cast<int>(of)));
  return found == names.end() || leaves_out ? none : found->second;
}

template <typename Matches>
const NameHabit* FindName(NameHabit::Of of, std::string_view class_name, Matches matches) {
  for (const NameOf& name : NamesOf(of)) {
    if (!matches(name.habit->name) || !(class_name.empty() || class_name.starts_with(name.library))) continue;
    if (ablation != nullptr) NoteThatItActed("habit", std::to_string(static_cast<int>(of)));
    return name.habit;
  }
  return nullptr;
}

}  // namespace

std::span<const Library> Libraries() {
  static const std::array libraries = {kTorch,        kTorchvision, kTimm,        kMonai,          kSegmentationModels,
                                       kTransformers, kDiffusers,   kUltralytics, kTorchGeometric, kCopiedCode};
  return libraries;
}

bool HasHabit(std::string_view class_name, Effect effect) {
  return AnyWith(effect, [&](std::string_view of) { return class_name == of; });
}

bool IsOfAnyLibrary(std::string_view class_name) {
  return std::ranges::any_of(Libraries(), [&](const Library& library) {
    return !library.name.empty() && class_name.starts_with(library.name);
  });
}

bool IsOfLibraryWith(std::string_view class_name, Effect effect) {
  return AnyWith(effect, [&](std::string_view of) { return class_name.starts_with(of); });
}

ActivationHabit ActivationHabitOf(const std::vector<std::string_view>& classes, std::string_view leaf) {
  if (IsLeftOut("effect", "of activations")) return ActivationHabit::kUnknown;
  NoteThatItActed("effect", "of activations");
  ActivationHabit unless_said = ActivationHabit::kUnknown;
  for (size_t frame = classes.size(); frame-- > 0;) {
    if (classes[frame].empty() || classes[frame].starts_with("torch.nn.")) continue;
    const ClassHabit* habit = NearestOf(classes, frame, leaf);
    if (habit == nullptr) break;
    if (habit->effect == Effect::kActsInPlace) return ActivationHabit::kInPlace;
    if (habit->effect == Effect::kActsOutOfPlace) return ActivationHabit::kOutOfPlace;
    unless_said = ActivationHabit::kOutOfPlace;  // no caller says anything
  }
  return unless_said;
}

const NameHabit* HabitOfName(std::string_view path, NameHabit::Of of, std::string_view class_name) {
  return FindName(of, class_name, [&](std::string_view name) { return path.ends_with(name); });
}

const NameHabit* HabitWithin(std::string_view path, NameHabit::Of of, std::string_view class_name) {
  return FindName(of, class_name, [&](std::string_view name) { return path.find(name) != std::string_view::npos; });
}

std::vector<NameHabit> NamesWith(NameHabit::Of of) {
  std::vector<NameHabit> names;
  if (ablation != nullptr) NoteThatItActed("habit", std::to_string(static_cast<int>(of)));
  for (const NameOf& name : NamesOf(of)) names.push_back(*name.habit);
  return names;
}

}  // namespace vramplan
