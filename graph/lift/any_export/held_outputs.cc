// Held outputs: what lives until the next forward beside what was exported.
//
//   encoder_last_hidden_state   of the Seq2SeqLMOutput that transformers' encoder-decoder models return (5.23,
//                               modeling_t5.py, modeling_bart.py); an export of the logits does not show it
//   weight_mask * weight_orig   torch.nn.utils.prune sets the product as the module's attribute in front of each
//                               forward (prune.py 2.10, BasePruningMethod.__call__)
//   weight_v * (weight_g / n)   torch.nn.utils.weight_norm does so, too (weight_norm.py 2.10, WeightNorm.__call__); one
//                               norm for all, dim=None, is computed in these parts (ATen/native/WeightNorm.cpp)
#include <algorithm>
#include <string>
#include <string_view>

#include "graph/base/text.h"
#include "graph/habits/reparametrizations.h"
#include "graph/layers/uses.h"
#include "graph/lift/any_export/passes.h"
#include "graph/lift/habit_of.h"

namespace vramplan {
namespace {

// "m.model.decoder.layers.0.encoder_attn" -> "m.model.encoder", "m.text_decoder.layers.0.cross_attention" ->
// "m.text_encoder"; empty when nothing of the path is a decoder.
std::string EncoderOf(const std::string& path) {
  const size_t at = path.find("decoder.");
  if (at == std::string::npos || (at > 0 && path[at - 1] != '.' && path[at - 1] != '_')) return "";
  return path.substr(0, at) + "encoder";
}

}  // namespace

void HoldEncoderState(Layers* layers) {
  std::string encoder;
  for (const Module& module : layers->modules) {
    const NameHabit* habit = HabitOfModule(module, NameHabit::Of::kCrossAttention);
    if (habit != nullptr && HasModule(*layers, habit->with)) encoder = EncoderOf(module.path);
    if (!encoder.empty()) break;
  }
  if (encoder.empty()) return;
  const auto is_inside = [&](ModuleId module) {
    for (; module.valid(); module = (*layers)[module].parent) {
      if ((*layers)[module].path == encoder) return true;
    }
    return false;
  };
  std::vector<bool> made(layers->values.size(), false);  // by value: inside the encoder
  for (const Layer& layer : layers->layers) {
    const bool inside = is_inside(layer.module);
    for (const ValueId id : layer.inputs) {
      if (inside || !id.valid() || !made[id.index()] || !IsFloating((*layers)[id].type)) continue;
      if (!Contains(layers->outputs, id)) layers->outputs.push_back(id);
      return;
    }
    for (const ValueId id : layer.outputs) {
      if (inside && id.valid()) made[id.index()] = true;
    }
  }
}

void HoldComputedWeights(Layers* layers, Notes* notes) {
  const auto name_before = [&](ValueId id, std::string_view end) {
    const std::string_view name = id.valid() ? std::string_view((*layers)[id].name) : std::string_view();
    return name.ends_with(end) ? name.substr(0, name.size() - end.size()) : std::string_view();
  };
  const std::vector<NameHabit> habits = NamesWith(NameHabit::Of::kProductOf);
  const auto is_product = [&](ValueId one, ValueId other) {
    return std::ranges::any_of(habits, [&](const NameHabit& habit) {
      const std::string_view name = name_before(one, habit.with);
      return !name.empty() && name == name_before(other, habit.name);
    });
  };
  const Uses uses(*layers);
  const auto is_scaled = [&](ValueId direction, ValueId scale) {
    const Layer* quotient = uses.MakerOf(scale);
    const ValueId magnitude = quotient != nullptr && quotient->op == "div" ? quotient->inputs[0] : ValueId();
    return direction.valid() && magnitude.valid() &&
           IsBoundWeightNorm((*layers)[direction].name, (*layers)[magnitude].name);
  };
  int pruned = 0, scaled = 0;
  for (const Layer& layer : layers->layers) {
    if (layer.op != "mul" || layer.inputs.size() != 2) continue;
    const ValueId a = layer.inputs[0], b = layer.inputs[1];
    const bool is_pruned = is_product(a, b) || is_product(b, a);
    if (!is_pruned && !is_scaled(a, b) && !is_scaled(b, a)) continue;
    layers->kept_by_modules.push_back(layer.outputs[0]);
    ++(is_pruned ? pruned : scaled);
  }
  const auto note = [&](const char* code, int count, const std::string& factors, const std::string& function) {
    if (count == 0) return;
    const std::string products = count == 1 ? " weight is the product of " : " weights are products of ";
    notes->Add({.code = code,
                .subject = "the file",
                .text = std::to_string(count) + products + factors + ", as " + function +
                        " names them; it keeps each product until the next forward"});
  };
  note("pruned-weights", pruned, "NAME_mask and NAME_orig", "torch.nn.utils.prune");
  note("scaled-weights", scaled, "NAME_v and a quotient of NAME_g", "torch.nn.utils.weight_norm");
}

}  // namespace vramplan
