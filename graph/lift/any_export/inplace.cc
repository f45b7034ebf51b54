#include "graph/lift/any_export/inplace.h"

#include <algorithm>
#include <cmath>

#include "graph/base/text.h"
#include "graph/habits/habits.h"

namespace vramplan {
namespace {

// Functions of torch.nn with an `inplace` argument that modules of libraries set.
constexpr std::string_view kInPlaceActivations[] = {"relu", "leaky_relu", "elu",       "selu",    "celu",
                                                    "silu", "mish",       "hardswish", "hardtanh"};

constexpr std::string_view kDropoutModule = "torch.nn.modules.dropout.";

InPlace ActivationInPlace(const std::vector<std::string_view>& classes, bool behind_feature, std::string_view path) {
  const ActivationHabit habit = ActivationHabitOf(classes, LeafOf(path));
  if (habit != ActivationHabit::kUnknown) return habit == ActivationHabit::kInPlace ? InPlace::kYes : InPlace::kNo;
  // The modules of PyTorch within the innermost class that is not its own.
  const auto of_torch = [](std::string_view name) { return name.empty() || name.starts_with("torch.nn."); };
  const auto outer = std::find_if_not(classes.rbegin(), classes.rend(), of_torch);
  const bool is_module = std::any_of(
      classes.rbegin(), outer, [](std::string_view name) { return name.starts_with("torch.nn.modules.activation."); });
  return is_module && behind_feature ? InPlace::kAssumed : InPlace::kNo;
}

}  // namespace

bool IsFeature(std::string_view activation, const Attributes& attributes, std::string_view maker) {
  constexpr double kDefaultSlope = 0.01;  // torch.nn.LeakyReLU
  const bool leaky = activation == "leaky_relu";
  const bool own_slope = leaky && std::abs(attributes.Real("negative_slope", kDefaultSlope) - kDefaultSlope) > 1e-6;
  if (maker == "batch_norm") return !leaky || own_slope;
  if (maker == "instance_norm") return leaky || activation == "elu" || activation == "relu";
  return own_slope && maker.starts_with("conv");
}

InPlace InPlaceByClass(const std::string& op, const std::vector<std::string_view>& classes, bool behind_feature,
                       std::string_view path) {
  const std::string_view innermost = classes.empty() ? std::string_view() : classes.back();
  if (op == "add") return HasHabit(innermost, Effect::kAddsInPlace) ? InPlace::kYes : InPlace::kNo;
  // The noise of a dropout in place (aten/src/ATen/native/Dropout.cpp, _dropout<inplace>).
  if (op == "div" || op == "mul") return innermost.starts_with(kDropoutModule) ? InPlace::kYes : InPlace::kNo;
  if (!Contains(kInPlaceActivations, op)) return InPlace::kNo;
  return ActivationInPlace(classes, behind_feature, path);
}

void NoteAssumedInPlace(const std::string& path, Guesses* guesses, Notes* notes) {
  if (guesses->in_place) return;
  guesses->in_place = true;
  notes->Add({.code = "assumed-inplace",
              .subject = path,
              .text = "activation modules right after a norm are assumed to be inplace=True; the file does not say"});
}

}  // namespace vramplan
