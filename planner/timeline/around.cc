#include "planner/timeline/around.h"

#include <algorithm>
#include <optional>

#include "graph/base/check.h"

namespace vramplan {
namespace {

// The events of another model's forwards, as copies that can be put into a timeline: each copy has blocks of its own,
// and frees what the copy before it left.
class Forwards {
 public:
  Forwards(const Timeline& from, bool beside, Timeline* to)
      : from_(from), to_(*to), beside_(beside), blocks_(from.blocks.size()), shared_(from.blocks.size()) {
    // A handle's workspace stays with the thread, whichever model asks (aten/src/ATen/cuda/CUDABlas.cpp,
    // getCUDABlasLtWorkspace and the workspaces of CublasHandlePool.cpp, 2.10: by handle and stream).
    for (size_t b = 0; b < from.blocks.size(); ++b) {
      const Block& block = from.blocks[b];
      shared_[b] = block.category == Category::kWorkspace && std::ranges::any_of(to->blocks, [&](const Block& ours) {
                     return ours.category == Category::kWorkspace && ours.bytes == block.bytes;
                   });
    }
    for (const Event& event : from.events) {
      if (event.kind == EventKind::kFree) shared_[static_cast<size_t>(event.block.value)] = false;
    }
  }

  // What of the setup is of a category that `takes` says; it lives for ever.
  void CopySetup(bool (*takes)(Category), int step, Phase phase, std::vector<Event>* into) {
    for (const Event& event : from_.events) {
      if (event.step > 0 || event.kind != EventKind::kAllocate || !takes(from_[event.block].category)) continue;
      Copy(event, step, phase, into);
    }
  }

  // The first forward, then the steady one again and again.
  void CopyForward(int step, std::vector<Event>* into) {
    const int which = ++copies_ == 1 ? 1 : 2;
    std::vector<BlockId> born;
    // What the copy before left stands for what the first forward left.
    if (copies_ > 2) {
      for (size_t i = 0; i < std::min(first_left_.size(), last_left_.size()); ++i)
        blocks_[static_cast<size_t>(first_left_[i].value)] = last_left_[i];
    }
    for (const Event& event : from_.events) {
      if (event.step != which || !event.block.valid()) continue;
      Copy(event, step, Phase::kForward, into);
      if (event.kind == EventKind::kAllocate && !shared_[static_cast<size_t>(event.block.value)])
        born.push_back(event.block);
      if (event.kind == EventKind::kFree) std::erase(born, event.block);
    }
    std::vector<BlockId>& left = which == 1 ? first_left_ : second_left_;
    left = born;
    last_left_.clear();
    for (const BlockId block : born) {
      if (const auto& ours = blocks_[static_cast<size_t>(block.value)]) last_left_.push_back(*ours);
    }
  }

 private:
  void Copy(Event event, int step, Phase phase, std::vector<Event>* into) {
    if (shared_[static_cast<size_t>(event.block.value)]) return;
    std::optional<BlockId>& ours = blocks_[static_cast<size_t>(event.block.value)];
    if (event.kind == EventKind::kAllocate) {
      Block block = from_[event.block];
      if (!beside_) block.bytes = SizeExpr::Constant(block.bytes.At(from_.batch));
      if (beside_) block.origin.layer = block.origin.owner = -1;
      ours = BlockId{static_cast<int32_t>(to_.blocks.size())};
      to_.blocks.push_back(block);
    }
    if (!ours) return;  // an input that the models share
    event.block = *ours;
    event.step = static_cast<int8_t>(step);
    event.phase = phase;
    if (beside_) event.origin.layer = event.origin.owner = -1;
    into->push_back(event);
    if (event.kind == EventKind::kFree) ours.reset();
  }

  const Timeline& from_;
  Timeline& to_;
  // Of another model at the same batch: its sizes grow with it, and its layers are not those of the timeline. Else of
  // the same model at a batch of its own.
  bool beside_;
  std::vector<std::optional<BlockId>> blocks_;  // of the last copy
  std::vector<bool> shared_;                    // what the timeline has already, for both
  int copies_ = 0;
  std::vector<BlockId> first_left_, second_left_;  // of `from`
  std::vector<BlockId> last_left_;                 // of ours
};

bool IsModel(Category category) { return category == Category::kParameters || category == Category::kBuffers; }
bool IsInput(Category category) { return category == Category::kInputs; }

// Under no_grad.
TrainingSpec SpecOfForward(const TrainingSpec& spec) {
  TrainingSpec forward = spec;
  forward.mode = Mode::kInfer;
  forward.around = {};
  forward.checkpoint.clear();
  forward.saved.clear();
  return forward;
}

Status AddSecond(const TrainingSpec& spec, int64_t batch, Timeline* timeline) {
  TrainingSpec forward = SpecOfForward(spec);
  forward.loss = Loss::kNone;
  const Result<Timeline> second = Schedule(*spec.around.second, forward, batch, nullptr);
  if (!second.ok()) return second.error();
  Forwards forwards(*second, true, timeline);
  std::vector<Event> events;
  bool has_model = false;
  const std::vector<Event> before = std::move(timeline->events);
  const bool trains = spec.mode == Mode::kTrain;
  for (const Event& event : before) {
    // Behind the parameters of the first model, so that both are there before anything else.
    const bool model = event.step == 0 && event.block.valid() && IsModel((*timeline)[event.block].category);
    if (!model && !has_model) {
      has_model = true;
      forwards.CopySetup(IsModel, 0, Phase::kSetup, &events);
    }
    const EventKind where = trains ? EventKind::kBeforeLoss : EventKind::kAfterForward;
    if (event.kind == where) forwards.CopyForward(event.step, &events);
    events.push_back(event);
  }
  timeline->events = std::move(events);
  return Done();
}

Status AddValidation(const Layers& layers, const TrainingSpec& spec, Timeline* timeline) {
  const Result<Timeline> evaluation = Schedule(layers, SpecOfForward(spec), *spec.around.eval_batch, nullptr);
  if (!evaluation.ok()) return evaluation.error();
  // Its parameters are those of the timeline; what its loader gives it is its own.
  Forwards forwards(*evaluation, false, timeline);
  forwards.CopySetup(IsInput, timeline->steps + 1, Phase::kForward, &timeline->events);
  for (int batch = 1; batch <= 2; ++batch) {
    const int step = timeline->steps + batch;
    forwards.CopyForward(step, &timeline->events);
    for (const EventKind mark : {EventKind::kAfterForward, EventKind::kStepEnd}) {
      Event event;
      event.kind = mark;
      event.phase = Phase::kForward;
      event.step = static_cast<int8_t>(step);
      timeline->events.push_back(event);
    }
  }
  return Done();
}

}  // namespace

void KeepResident(const Surroundings& around, Recorder& recorder) {
  if (around.resident == Bytes()) return;
  recorder.Allocate(SizeExpr::Constant(around.resident), Category::kInputs, {.op = "resident data"});
}

void LossTotal::Add(const eager::Tensor& loss) {
  if (!keeps_) return;
  const BlockId next =
      recorder_.Allocate(SizeExpr::Constant(Bytes::Of(4)), Category::kActivations, {.op = "aten::add"});
  if (total_.valid()) recorder_.Free(total_);
  total_ = next;
  graphs_.push_back(loss->grad_fn);
}

Result<Retained> Retained::Of(const Layers& layers, const Surroundings& around) {
  Retained retained;
  for (const std::string& name : around.retain) {
    // The last layer of a module gives what the module gives; an operator and a value are called by their own names.
    std::optional<size_t> found;
    std::optional<ValueId> output;
    for (size_t l = 0; l < layers.layers.size(); ++l) {
      const Layer& layer = layers.layers[l];
      ModuleId module = layer.module;
      while (module.valid() && layers[module].path != name) module = layers[module].parent;
      if (module.valid() || layer.name == name) found = l;
      for (const ValueId id : layer.outputs) {
        if (!id.valid() || layers[id].name != name) continue;
        found = l;
        output = id;
      }
    }
    if (!found) {
      return Error{ErrorCode::kUsage, "--retain", "no module, operator or tensor is called \"" + name + "\"",
                   "vramplan inspect FILE --dump layers lists them"};
    }
    std::vector<ValueId>& kept = retained.kept_[*found];
    if (output) {
      kept.push_back(*output);
    } else {
      for (const ValueId id : layers.layers[*found].outputs) {
        if (id.valid()) kept.push_back(id);
      }
    }
  }
  return retained;
}

void Retained::After(size_t layer, const std::vector<eager::Tensor>& values) {
  const auto found = kept_.find(layer);
  if (found == kept_.end()) return;
  for (const ValueId id : found->second) held_[id] = values[id.index()];
}

Status AddModels(const Layers& layers, const TrainingSpec& spec, int64_t batch, Timeline* timeline) {
  if (spec.around.second) {
    if (const Status added = AddSecond(spec, batch, timeline); !added) return added;
  }
  if (!spec.around.eval_batch || spec.mode != Mode::kTrain) return Done();
  return AddValidation(layers, spec, timeline);
}

bool HasModelsBeside(const TrainingSpec& spec) { return spec.around.second || spec.around.eval_batch; }

}  // namespace vramplan
