#include "graph/lift/readings/readings_of_branches.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/base/text.h"
#include "graph/habits/habits.h"
#include "graph/layers/edit.h"

namespace vramplan {
namespace {

constexpr const char* kEvalTells = "an export of model.eval() has what eval() runs";

// "aux.0" in m.aux.0, behind any dot.
bool HasTrainOnlyName(std::string_view path, const std::vector<NameHabit>& habits) {
  for (size_t at = 0; at < path.size();) {
    const std::string_view rest = path.substr(at);
    if (std::ranges::any_of(habits, [&](const NameHabit& habit) { return rest.starts_with(habit.name); })) return true;
    at = std::min(path.find('.', at), path.size() - 1) + 1;
  }
  return false;
}

bool IsMade(const Layers& layers, ValueId id) { return id.valid() && layers[id].role == Role::kActivation; }

// What remains without the branches: names of what is gone, and what stands for a sum with it.
class Branches {
 public:
  explicit Branches(Layers* layers) : layers_(*layers), edit_(layers) {}

  // Whether some branch went, and whatever it met can do without it.
  bool CutNamed() {
    const std::vector<NameHabit> habits = NamesWith(NameHabit::Of::kTrainOnly);
    for (size_t l = 0; l < layers_.layers.size(); ++l) {
      const Layer& layer = layers_.layers[l];
      const bool named = layer.module.valid() && HasTrainOnlyName(layers_[layer.module].path, habits);
      if (!named && !CutBehind(layer)) continue;
      if (!named && failed_) return false;
      edit_.Remove(l);
      if (named || !renamed_) gone_.insert(layer.outputs.begin(), layer.outputs.end());
    }
    std::vector<ValueId> outputs;
    std::ranges::copy_if(layers_.outputs, std::back_inserter(outputs), [&](ValueId id) { return !gone_.contains(id); });
    if (gone_.empty() || outputs.empty()) return false;
    layers_.outputs = std::move(outputs);
    edit_.Apply();
    return true;
  }

  // Whether heads went that make outputs behind the first.
  bool CutFurtherOutputs() {
    if (layers_.outputs.size() < 2) return false;
    const auto heads = [&] {
      return std::ranges::count_if(layers_.layers, [&](const Layer& layer) {
        return std::ranges::any_of(layer.inputs,
                                   [&](ValueId id) { return id.valid() && layers_[id].role == Role::kParameter; });
      });
    };
    const auto before = heads();
    layers_.outputs.resize(1);
    DropUnread(&layers_, [](const Layer&) { return true; });
    return heads() < before;
  }

 private:
  // Whether a layer goes that reads what is gone. A sum with it is its other operand.
  bool CutBehind(const Layer& layer) {
    renamed_ = false;
    int gone = 0, live = 0;
    ValueId other;
    for (const ValueId id : layer.inputs) {
      if (!IsMade(layers_, id)) continue;
      ++(gone_.contains(id) ? gone : live);
      if (!gone_.contains(id)) other = id;
    }
    if (gone == 0) return false;
    if (live == 0) return true;
    renamed_ = live == 1 && layer.op == "add" && layers_[other].shape == layers_[layer.outputs[0]].shape;
    if (renamed_) edit_.Rename(layer.outputs[0], other);
    failed_ = !renamed_;
    return true;
  }

  Layers& layers_;
  Edit edit_;
  std::set<ValueId> gone_;
  bool renamed_ = false, failed_ = false;
};

}  // namespace

std::optional<Reading> WithoutBranchesOfTraining(const Layers& layers) {
  if (layers.exported == ExportedMode::kEvaluation) return std::nullopt;
  Layers other = layers;
  bool cut = Branches(&other).CutNamed();
  if (!cut) other = layers;
  Layers alone = other;
  if (Branches(&alone).CutFurtherOutputs()) {
    other = std::move(alone);
    cut = true;
  }
  if (!cut) return std::nullopt;
  DropUnread(&other, [](const Layer&) { return true; });
  return Reading{"train-only-branches", "assumed: eval() runs all that the export has, its extra heads too", kEvalTells,
                 std::move(other)};
}

std::optional<Reading> WithoutLoss(const Layers& layers) {
  const bool returns_loss = layers.outputs.size() == 1 && layers.outputs[0].valid() && layers.layers.size() > 1 &&
                            layers[layers.outputs[0]].shape.rank() == 0;
  if (!returns_loss || layers.exported == ExportedMode::kEvaluation) return std::nullopt;
  Layers other = layers;
  other.outputs = {other.layers[0].outputs[0]};
  DropUnread(&other, [](const Layer&) { return true; });
  return Reading{"loss-in-evaluation", "assumed: evaluation computes the loss that the export returns", kEvalTells,
                 std::move(other)};
}

}  // namespace vramplan
