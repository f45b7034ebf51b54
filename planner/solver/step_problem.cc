#include "planner/solver/step_problem.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "graph/base/check.h"
#include "planner/timeline/backward.h"
#include "planner/timeline/recorder.h"
#include "planner/timeline/run.h"

namespace vramplan {
namespace {

using eager::GradNode;
using eager::Tensor;

// What the tape says of one layer's backward, or of the loss'.
struct Backwards {
  std::set<BlockId> saved;
  std::set<size_t> from;                // whose backward brings gradients
  int64_t parameters = 0, results = 0;  // bytes of gradients made
  int64_t level = 0, peak = 0;          // of what it made, while it ran
};

BlockId BlockOf(const Tensor& tensor) { return tensor && tensor->storage ? tensor->storage->block : BlockId(); }

class Step {
 public:
  Step(const Layers& layers, const TrainingSpec& spec, const Rates& rates, int64_t batch)
      : layers_(layers),
        rates_(rates),
        time_(EstimateTime(layers, spec, rates, batch)),
        recorder_(timeline_),
        e_(recorder_, spec, batch, &notes_),
        backwards_(layers.layers.size() + 1) {
    timeline_.batch = batch;
    recorder_.Follow(&e_.origin);
  }

  Result<RematProblem> Run() {
    const Releases releases = ReleasesAfter(layers_);
    ModelRun model(e_, recorder_, layers_, {}, releases);
    model.MakeInputs();
    if (const Status target = model.MakeTarget(); !target) return target.error();
    recorder_.Enter(1, Phase::kForward);
    model.Observe([this](size_t layer, const std::vector<Tensor>& values) { AfterLayer(layer, values); });
    seen_ = timeline_.events.size();
    model.Forward();
    seen_ = timeline_.events.size();
    const Tensor loss = model.ComputeLoss();
    model.LeaveAutocast();
    AfterLoss();
    if (!loss->grad_fn) return Error{ErrorCode::kBadInput, "", "the loss has no gradient", "use --mode infer"};
    ReadTape(loss->grad_fn.get());
    recorder_.Enter(1, Phase::kBackward);
    seen_ = timeline_.events.size();
    Backward(e_, loss);
    ReadGradients();
    AddBackwards();
    recorder_.Stop();
    return RematProblem(std::move(nodes_), std::move(edges_));
  }

 private:
  int64_t BytesOf(BlockId block) const { return timeline_[block].bytes.At(timeline_.batch).count(); }
  static int64_t Nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

  // What was made since the last look.
  struct Made {
    std::set<BlockId> blocks;  // that are there still
    int64_t peak = 0;          // of all of it at once
  };
  Made Fresh() {
    Made made;
    int64_t level = 0;
    for (; seen_ < timeline_.events.size(); ++seen_) {
      const Event& event = timeline_.events[seen_];
      if (event.kind == EventKind::kAllocate && event.category != Category::kWorkspace) {
        made.blocks.insert(event.block);
        level += BytesOf(event.block);
        made.peak = std::max(made.peak, level);
      }
      if (event.kind == EventKind::kFree && made.blocks.erase(event.block) != 0) level -= BytesOf(event.block);
    }
    return made;
  }

  // Scratch is a value of its own that costs nothing and is read by the one node that takes it.
  void AddScratch(int64_t bytes, std::set<int32_t>* reads) {
    if (bytes > 0) reads->insert(AddNode(0, bytes, *reads));
  }

  int32_t AddNode(int64_t cost, int64_t bytes, const std::set<int32_t>& reads) {
    const int32_t node = static_cast<int32_t>(nodes_.size());
    nodes_.push_back({cost, bytes});
    for (const int32_t read : reads) edges_.emplace_back(read, node);
    return node;
  }

  void AfterLayer(size_t l, const std::vector<Tensor>& values) {
    const Layer& layer = layers_.layers[l];
    std::set<int32_t> reads;
    for (const ValueId id : layer.inputs) {
      if (!id.valid()) continue;
      const auto made = node_of_.find(BlockOf(values[static_cast<size_t>(id.value)]));
      if (made != node_of_.end()) reads.insert(made->second);
    }
    std::set<BlockId> outputs;
    for (const ValueId id : layer.outputs) {
      if (id.valid()) outputs.insert(BlockOf(values[static_cast<size_t>(id.value)]));
    }
    AddForward(Fresh(), outputs, reads, Nanoseconds(time_.forward[l]));
    for (const ValueId id : layers_.outputs) {
      if (id.valid()) result_.insert(BlockOf(values[static_cast<size_t>(id.value)]));
    }
  }

  void AfterLoss() {
    std::set<int32_t> reads;
    for (const BlockId block : result_) {
      if (node_of_.count(block) != 0) reads.insert(node_of_[block]);
    }
    const Made made = Fresh();
    double bytes = 0;
    for (const BlockId block : made.blocks) bytes += static_cast<double>(BytesOf(block));
    loss_cost_ = Nanoseconds(2 * bytes / rates_.bandwidth);  // as much is read as is written
    AddForward(made, {}, reads, loss_cost_);
  }

  void AddForward(const Made& made, const std::set<BlockId>& outputs, std::set<int32_t> reads, int64_t cost) {
    int64_t output_bytes = 0, kept_bytes = 0;
    for (const BlockId block : made.blocks) (outputs.count(block) != 0 ? output_bytes : kept_bytes) += BytesOf(block);
    if (made.blocks.empty()) {  // in place: whoever computes the value again does this again, too
      for (const BlockId block : outputs) {
        const auto changed = node_of_.find(block);
        if (changed == node_of_.end()) continue;
        nodes_[static_cast<size_t>(changed->second)].cost += cost;
        break;
      }
      return;
    }
    AddScratch(made.peak - output_bytes - kept_bytes, &reads);
    int64_t kept_cost = 0;
    int32_t kept = -1;
    if (kept_bytes > 0) {
      const double share = static_cast<double>(kept_bytes) / static_cast<double>(kept_bytes + output_bytes);
      kept_cost = std::llround(static_cast<double>(cost) * share);
      kept = AddNode(kept_cost, kept_bytes, reads);
      reads.insert(kept);
    }
    const int32_t output = output_bytes > 0 ? AddNode(cost - kept_cost, output_bytes, reads) : kept;
    for (const BlockId block : made.blocks) node_of_[block] = outputs.count(block) != 0 ? output : kept;
  }

  // The loss' entries come after those of all layers.
  size_t GroupOf(const GradNode& node) const {
    return node.layer < 0 ? layers_.layers.size() : static_cast<size_t>(node.layer);
  }

  void ReadTape(GradNode* root) {
    std::set<GradNode*> known = {root};
    std::vector<GradNode*> open = {root};
    while (!open.empty()) {
      GradNode* node = open.back();
      open.pop_back();
      Backwards& group = backwards_[GroupOf(*node)];
      for (const Tensor& saved : node->saved) {
        if (BlockOf(saved).valid()) group.saved.insert(BlockOf(saved));
      }
      for (const eager::Edge& edge : node->edges) {
        if (!edge.node) continue;
        const size_t to = GroupOf(*edge.node);
        if (to < GroupOf(*node)) backwards_[to].from.insert(GroupOf(*node));
        if (known.insert(edge.node.get()).second) open.push_back(edge.node.get());
      }
    }
  }

  // What each layer's backward makes for others: blocks that die while another one is at work, or not at all.
  void ReadGradients() {
    std::map<BlockId, size_t> made;  // by whom
    std::set<BlockId> parameters;
    const auto group = [&](const Origin& origin) {
      return origin.layer < 0 ? layers_.layers.size() : static_cast<size_t>(origin.layer);
    };
    for (; seen_ < timeline_.events.size(); ++seen_) {
      const Event& event = timeline_.events[seen_];
      if (event.kind == EventKind::kAllocate && event.category != Category::kWorkspace) {
        made[event.block] = group(event.origin);
        Backwards& by = backwards_[made[event.block]];
        by.peak = std::max(by.peak, by.level += BytesOf(event.block));
      }
      if (event.kind == EventKind::kRetag) parameters.insert(event.block);
      const auto born = made.find(event.block);
      if (event.kind != EventKind::kFree || born == made.end()) continue;
      Backwards& by = backwards_[born->second];
      if (born->second != group(event.origin)) {
        by.results += BytesOf(event.block);
      } else {
        by.level -= BytesOf(event.block);
      }
      made.erase(born);
    }
    for (const auto& [block, by] : made) {
      (parameters.count(block) != 0 ? backwards_[by].parameters : backwards_[by].results) += BytesOf(block);
    }
  }

  // Of a frozen weight only the input's gradient is computed.
  bool IsOneProduct(size_t group) const {
    return group < time_.forward.size() && time_.backward[group] < 2 * time_.forward[group];
  }

  void AddBackwards() {
    std::set<int32_t> all_parameters;
    std::vector<std::set<int32_t>> gives(backwards_.size());  // where a group's gradients lie, by group
    for (size_t group = backwards_.size(); group-- > 0;) {
      const Backwards& backwards = backwards_[group];
      std::set<int32_t> reads;
      for (const size_t from : backwards.from) reads.insert(gives[from].begin(), gives[from].end());
      gives[group] = reads;  // given on as they are
      for (const BlockId block : backwards.saved) {
        const auto made = node_of_.find(block);
        if (made != node_of_.end()) reads.insert(made->second);
      }
      const int64_t product = group < time_.forward.size() ? Nanoseconds(time_.forward[group]) : loss_cost_;
      AddScratch(backwards.peak - backwards.parameters - backwards.results, &reads);
      const bool both = backwards.parameters > 0 && backwards.results > 0;
      if (backwards.parameters > 0) all_parameters.insert(AddNode(product, backwards.parameters, reads));
      if (backwards.results > 0)
        gives[group] = {AddNode(both || IsOneProduct(group) ? product : 2 * product, backwards.results, reads)};
    }
    AddNode(0, 0, all_parameters);
  }

  const Layers& layers_;
  const Rates& rates_;
  const StepTime time_;
  Notes notes_;
  Timeline timeline_;
  Recorder recorder_;
  eager::Eager e_;
  size_t seen_ = 0;  // events
  std::map<BlockId, int32_t> node_of_;
  std::set<BlockId> result_;  // of the model
  int64_t loss_cost_ = 0;
  std::vector<Backwards> backwards_;  // by layer, then the loss
  std::vector<RematNode> nodes_;
  std::vector<RematProblem::Edge> edges_;
};

}  // namespace

Result<RematProblem> StepProblem(const Layers& layers, const TrainingSpec& spec, const Rates& rates, int64_t batch) {
  TrainingSpec plain = spec;
  plain.mode = Mode::kTrain;
  plain.checkpoint.clear();
  return Step(layers, plain, rates, batch).Run();
}

}  // namespace vramplan
