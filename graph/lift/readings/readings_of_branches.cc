#include "graph/lift/readings/readings_of_branches.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/habits/habits.h"
#include "graph/layers/edit.h"

namespace vramplan {
namespace {

constexpr const char* kEvalTells = "an export of model.eval() has what eval() runs";

// What remains without the branches.
class Branches {
 public:
  explicit Branches(Layers* layers) : layers_(*layers), edit_(layers) {}

  // Whether some branch went, and whatever it met can do without it.
  bool CutNamed() {
    for (size_t l = 0; l < layers_.layers.size(); ++l) {
      const Layer& layer = layers_.layers[l];
      const std::string path = layer.module.valid() ? "." + layers_[layer.module].path : "";
      const bool named = HabitWithin(path, NameHabit::Of::kTrainOnly, "") != nullptr;
      const Meeting meeting = named ? Meeting{.gone = true} : MeetingOf(layer);
      if (!meeting.gone) continue;
      if (!meeting.live) {
        gone_.insert(layer.outputs.begin(), layer.outputs.end());
      } else if (meeting.other.valid()) {
        edit_.Rename(layer.outputs[0], meeting.other);
      } else {
        return false;
      }
      edit_.Remove(l);
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
  // What a layer reads: whether some of it is gone, and some is not. Of a sum with what is gone, the other operand.
  struct Meeting {
    bool gone = false, live = false;
    ValueId other;
  };
  Meeting MeetingOf(const Layer& layer) const {
    Meeting meeting;
    int live = 0;
    for (const ValueId id : layer.inputs) {
      if (!id.valid() || layers_[id].role != Role::kActivation) continue;
      const bool is_gone = gone_.contains(id);
      meeting.gone = meeting.gone || is_gone;
      if (!is_gone && ++live == 1) meeting.other = id;
    }
    meeting.live = live > 0;
    const bool stands_for_sum =
        live == 1 && layer.op == "add" && layers_[meeting.other].shape == layers_[layer.outputs[0]].shape;
    if (!stands_for_sum) meeting.other = ValueId();
    return meeting;
  }

  Layers& layers_;
  Edit edit_;
  std::set<ValueId> gone_;
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
