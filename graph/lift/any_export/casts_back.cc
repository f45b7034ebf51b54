// Casts back: code for halves computes norms and probabilities in fp32 and gives them the type of what it was given. An
// export in fp32 shows neither cast; under autocast the result is half as large, and so is what is made of it.
//
//   GroupNorm32: return super().forward(x.float()).type(x.dtype)          group_norm(x), type_as(., x)
//   F.softmax(scores.float(), dim=-1).type_as(xq)                         float(scores), softmax, type_as(., scores)
//   return (latent + self.pos_embed).to(latent.dtype)                     add, type_as(., latent): a buffer stays fp32
//   return (q * cos + rotate_half(q) * sin).type_as(q)                    add, type_as(., q)
//
// What is known: classes that people copy (graph/habits), and source lines. Of the rest a reading asks
// (readings/readings.h). A norm under autocast widens its operand by itself, a softmax widens it inside its kernel
// (aten/src/ATen/autocast_mode.h, fp32 and fp32_set_opt_dtype), so that only the latter's float() makes a tensor.
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "graph/base/text.h"
#include "graph/layers/edit.h"
#include "graph/layers/uses.h"
#include "graph/lift/any_export/passes.h"
#include "graph/lift/habit_of.h"
#include "graph/lift/source_lines/passes.h"

namespace vramplan {
namespace {

bool IsProbability(const Layer& layer) { return layer.op == "softmax"; }

bool SaysAny(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

// Who widens in a line narrows again, there or in the next.
bool LineWidens(std::string_view text) {
  return SaysAny(text, {".float()", "(torch.float32)", "(torch.float)", "dtype=torch.float32)"});
}

class CastsBack {
 public:
  explicit CastsBack(Layers* layers) : layers_(*layers), uses_(*layers), edit_(layers) {}

  bool Run(CastEvidence asked) {
    bool any = false;
    for (size_t l = 0; l < layers_.layers.size(); ++l) {
      const Layer& layer = layers_.layers[l];
      if (asked == CastEvidence::kClass && IsSumThatGoesBack(layer)) {
        Return(l, layer.inputs[0]);
        any = true;
        continue;
      }
      if (const ValueId turned = TurnedBy(layer); turned.valid() && OfTurn(layer) == asked) {
        Return(l, turned);
        any = true;
        continue;
      }
      const bool norm = IsOneOf(layer.op, {"group_norm", "layer_norm", "rms_norm"});
      if ((!norm && !IsProbability(layer)) || layer.inputs.empty() || IsCastBack(layer)) continue;
      if ((norm ? OfNorm(layer) : OfProbability(layer)) != asked) continue;
      Narrow(l, norm);
      any = true;
    }
    edit_.Apply();
    return any;
  }

 private:
  bool IsCastBack(const Layer& layer) const {
    const Layer* reader = uses_.OnlyReaderOf(layer.outputs[0]);
    return reader != nullptr && reader->op == "type_as";
  }

  bool IsSumThatGoesBack(const Layer& layer) const {
    return layer.op == "add" && layer.module.valid() && layer.inputs.size() == 2 && layer.inputs[0].valid() &&
           HasHabit(layers_[layer.module].class_name, Effect::kSumGoesBack) && !IsCastBack(layer);
  }

  // Whether a value is the other one with its halves turned: cat(-x[..., d:], x[..., :d]).
  bool IsTurned(ValueId value, ValueId x) const {
    const Layer* join = uses_.MakerOf(uses_.Behind({"reshape", "view"}, value));
    if (join == nullptr || !IsOneOf(join->op, {"cat", "stack"}) || join->inputs.empty()) return false;
    return uses_.Behind({"neg", "slice", "select", "split", "unbind", "unsqueeze", "squeeze", "reshape", "view"},
                        join->inputs[0]) == uses_.Behind({"reshape", "view"}, x);
  }

  // The x of x * cos + turned(x) * sin, which no cast follows; invalid where this is no such sum.
  ValueId TurnedBy(const Layer& sum) const {
    if (sum.op != "add" || IsCastBack(sum)) return {};
    const Layer *straight = uses_.Operand(&sum, 0, "mul"), *turned = uses_.Operand(&sum, 1, "mul");
    if (straight == nullptr || turned == nullptr || turned->inputs.size() != 2 || straight->inputs.size() != 2)
      return {};
    for (const ValueId x : straight->inputs) {
      for (const ValueId other : turned->inputs) {
        if (x.valid() && IsTurned(other, x)) return x;
      }
    }
    return {};
  }

  CastEvidence OfTurn(const Layer& layer) const {
    const std::string_view name = layer.module.valid() ? std::string_view(layers_[layer.module].class_name) : "";
    if (!IsOfAnyLibrary(name)) return LinesOf(layer);
    return HasHabit(name, Effect::kTurnGoesBack) ? CastEvidence::kClass : CastEvidence::kTellsNot;
  }

  // What tells that this norm goes back.
  CastEvidence OfNorm(const Layer& layer) const {
    if (!layer.module.valid()) return CastEvidence::kTellsNot;
    const Module& module = layers_[layer.module];
    // TorchScript names no class: GroupNorm32 of guided-diffusion and LayerNorm of CLIP look like the framework's.
    if (module.class_name.empty()) return FromDynamo(layer) ? CastEvidence::kTellsNot : CastEvidence::kNothing;
    if (IsOfAnyLibrary(module.class_name)) return CastEvidence::kTellsNot;
    if (HabitOfName(module.class_name, NameHabit::Of::kNormGoesBack, "") != nullptr) return CastEvidence::kClass;
    return LinesOf(layer);
  }

  // Attention's: what is multiplied next.
  CastEvidence OfProbability(const Layer& layer) const {
    if (layer.module.valid() && IsOfAnyLibrary(layers_[layer.module].class_name)) return CastEvidence::kTellsNot;
    const Layer* reader = uses_.OnlyReaderOf(layer.outputs[0]);
    if (reader != nullptr && reader->op == "dropout") reader = uses_.OnlyReaderOf(reader->outputs[0]);
    if (reader == nullptr || !IsOneOf(reader->op, {"matmul", "bmm", "einsum"})) return CastEvidence::kTellsNot;
    return LinesOf(layer);
  }

  // Of the lines in which the layer ran, from its own to that of its module's forward.
  CastEvidence LinesOf(const Layer& layer) const {
    const SourceLine* own = LineOf(layers_, layer);
    if (own == nullptr) return CastEvidence::kNothing;
    const auto& stack = layers_.source.stacks[static_cast<size_t>(layer.nodes.back().value)];
    constexpr size_t kFrames = 3;  // forward, its parent's by super(), the function that it calls
    for (size_t i = stack.size(); i-- > 0 && stack.size() - i <= kFrames;) {
      if (LineWidens(layers_.source.lines[static_cast<size_t>(stack[i])].text)) return CastEvidence::kLine;
    }
    return CastEvidence::kTellsNot;
  }

  void Narrow(size_t l, bool norm) {
    Layer& layer = layers_.layers[l];
    const ValueId given = layer.inputs[0];
    if (!norm) layer.inputs[0] = edit_.InsertBefore(l, CallBeside(layer, "float", {given}), Like(given));
    Return(l, given);
  }

  void Return(size_t l, ValueId given) {
    const ValueId made = layers_.layers[l].outputs[0];
    edit_.Rename(made, edit_.InsertBehind(l, CallBeside(layers_.layers[l], "type_as", {made, given}), Like(made)));
  }

  Value Like(ValueId id) const { return {.type = layers_[id].type, .shape = layers_[id].shape}; }

  Layers& layers_;
  const Uses uses_;
  Edit edit_;
};

}  // namespace

bool CastBack(Layers* layers, CastEvidence asked) { return CastsBack(layers).Run(asked); }

}  // namespace vramplan
