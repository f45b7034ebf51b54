#include "planner/timeline/backward.h"

#include <deque>
#include <limits>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "planner/semantics/pointwise.h"
#include "planner/semantics/view.h"

namespace vramplan {
namespace {

using eager::Eager;
using eager::Edge;
using eager::GradContext;
using eager::GradNode;
using eager::Tensor;
using eager::TensorImpl;
using eager::Visit;

// What waits for its gradients: a tape entry, or a leaf.
struct Task {
  int dependencies = 0;
  Ref<GradNode> node;
  Tensor leaf;
  PooledVector<Tensor> buffer;  // one slot per output of the entry
  Visit before;                 // what the entry or the leaf knew when this run came to it
};

class Engine {
 public:
  explicit Engine(Eager& e) : e_(e), run_(++e.engine_runs) {}
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine() {
    for (Task& task : tasks_) Leave(task);  // those that no gradient came to
  }

  void Run(const Tensor& loss) {
    CHECK(loss->grad_fn);
    CountDependencies(loss->grad_fn);
    const Tensor root = e_.EmptyLike(loss);  // torch.ones_like(loss), held by the caller to the end
    const uint32_t first = TaskOf(Edge{loss->grad_fn, Tensor(), loss->output_number});
    tasks_[first].buffer[static_cast<size_t>(loss->output_number)] = root;
    Push(first);
    RunReady();
  }

  void Run(const std::vector<Tensor>& results, std::span<const Tensor> gradients) {
    std::vector<std::pair<Edge, Tensor>> roots;
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i] || !results[i]->grad_fn || !gradients[i]) continue;
      roots.push_back({{results[i]->grad_fn, Tensor(), results[i]->output_number}, gradients[i]});
    }
    for (const auto& [edge, gradient] : roots) {
      if (edge.node->visit.run != run_) CountDependencies(edge.node);
      ++tasks_[TaskOf(edge)].dependencies;
    }
    for (const auto& [edge, gradient] : roots) Arrive(edge, gradient);
    RunReady();
  }

 private:
  void RunReady() {
    while (!ready_.empty()) {
      Task& task = tasks_[ready_.top().task];
      ready_.pop();
      task.leaf ? Accumulate(task) : Evaluate(task);
      Leave(task);
    }
  }

  static void Leave(Task& task) {
    if (task.node) task.node->visit = task.before;
    if (task.leaf) task.leaf->visit = task.before;
    task.node = {};
    task.leaf = {};
  }

  struct Ready {
    int64_t sequence;
    int64_t order;
    uint32_t task;
    bool operator<(const Ready& other) const {  // highest sequence first; leaves before all; then first come
      return sequence != other.sequence ? sequence < other.sequence : order > other.order;
    }
  };

  // A new one where this run has not met the entry or the leaf.
  uint32_t TaskOf(const Edge& edge) {
    Visit& visit = edge.node ? edge.node->visit : edge.leaf->visit;
    if (visit.run == run_) return visit.task;
    const size_t outputs = edge.node ? edge.node->outputs.size() : 1;
    tasks_.push_back({.node = edge.node,
                      .leaf = edge.node ? Tensor() : edge.leaf,
                      .buffer = PooledVector<Tensor>(outputs),
                      .before = visit});
    visit = {run_, static_cast<uint32_t>(tasks_.size() - 1)};
    return visit.task;
  }

  void CountDependencies(const Ref<GradNode>& root) {
    std::vector<GradNode*> pending = {root.get()};
    TaskOf(Edge{root, Tensor(), 0});
    while (!pending.empty()) {
      GradNode* node = pending.back();
      pending.pop_back();
      for (const Edge& edge : node->edges) {
        if (!edge.valid()) continue;
        const size_t known = tasks_.size();
        ++tasks_[TaskOf(edge)].dependencies;
        if (tasks_.size() > known && edge.node) pending.push_back(edge.node.get());
      }
    }
  }

  void Push(uint32_t number) {
    const Task& task = tasks_[number];
    const int64_t sequence = task.leaf ? std::numeric_limits<int64_t>::max() : task.node->sequence;
    ready_.push({sequence, order_++, number});
  }

  // InputBuffer::add
  void Arrive(const Edge& edge, Tensor gradient) {
    const uint32_t number = TaskOf(edge);
    Task& task = tasks_[number];
    Tensor& slot = task.buffer[static_cast<size_t>(edge.input_number)];
    if (gradient) {
      if (!slot) {
        slot = std::move(gradient);
      } else if (!IsNonOverlappingAndDense(*slot) || slot.get()->use_count() != 1 ||
                 slot->storage.get()->use_count() != 1) {
        e_.origin.op = "aten::add";
        slot = e_.EmptyIterator({&slot, &gradient}, slot->dtype);
      }
    }
    if (--task.dependencies == 0) Push(number);
  }

  void Evaluate(Task& task) {
    GradNode& node = *task.node;
    e_.origin.layer = node.layer;
    e_.origin.node = node.name;
    e_.origin.op = node.name;
    PooledVector<Tensor> results;
    {
      PooledVector<Tensor> gradients = std::move(task.buffer);
      const bool any =
          std::any_of(gradients.begin(), gradients.end(), [](const Tensor& g) { return static_cast<bool>(g); });
      if (any) {
        if (node.before) node.before();
        node.Unpack();
        GradContext context(e_, node, gradients);
        node.apply(context);
        results = std::move(context.results);
        node.DropUnpacked();
      } else {
        results.resize(node.edges.size());
      }
      for (size_t i = 0; i < results.size(); ++i) results[i] = Validated(node.edges[i], std::move(results[i]));
    }
    node.Release();
    for (size_t i = 0; i < results.size(); ++i) {
      if (node.edges[i].valid()) Arrive(node.edges[i], std::move(results[i]));
    }
  }

  // validate_outputs: summed to the sizes, converted to the type, of what it is the gradient of.
  Tensor Validated(const Edge& edge, Tensor gradient) {
    if (!gradient || !edge.valid()) return Tensor();
    const auto validated = [&](const auto& like) { return Validated(like, std::move(gradient)); };
    return edge.node ? validated(edge.node->outputs[static_cast<size_t>(edge.input_number)]) : validated(*edge.leaf);
  }
  template <typename Like>
  Tensor Validated(const Like& like, Tensor gradient) {
    if (gradient->lengths == like.layout->lengths) return ToType(e_, gradient, like.dtype);
    e_.origin.op = "aten::sum";
    Tensor whole = std::move(gradient);
    const Tensor summed = SumTo(e_, whole, like.layout->sizes);
    whole = Tensor();  // at::sum_to takes it over (input_metadata.h, reduce_grad)
    return ToType(e_, summed, like.dtype);
  }

  // obeys_layout_contract (utils/grad_layout_contract.h): axes of length 1 do not matter.
  static bool LiesLike(const TensorImpl& gradient, const TensorImpl& parameter) {
    if (!IsNonOverlappingAndDense(parameter)) return IsContiguous(gradient);
    for (int i = 0; i < parameter.dim(); ++i) {
      if (parameter.lengths[i] != 1 && gradient.strides[i] != parameter.strides[i]) return false;
    }
    return true;
  }

  void Accumulate(Task& task) {
    e_.origin.node = "torch::autograd::AccumulateGrad";
    e_.origin.op = "aten::detach";
    Tensor gradient = std::move(task.buffer[0]);
    TensorImpl& leaf = *task.leaf;
    if (!gradient) return;
    if (!leaf.grad) Put(std::move(gradient), leaf);  // else it is added in place to what is there
    if (e_.accumulated) e_.accumulated(leaf);
  }

  void Put(Tensor gradient, TensorImpl& leaf) {
    if (gradient.get()->use_count() == 1 && LiesLike(*gradient, leaf)) {
      leaf.grad = e_.Alias(gradient);
    } else {
      e_.origin.op = "aten::new_empty_strided";
      leaf.grad = e_.EmptyStrided(
          leaf.sizes, IsNonOverlappingAndDense(leaf) ? leaf.strides : ContiguousStrides(leaf.lengths), leaf.dtype);
    }
    if (leaf.grad->storage->block.valid())
      leaf.grad->storage->memory->Retag(leaf.grad->storage->block, Category::kGradients);
  }

  Eager& e_;
  const uint32_t run_;
  std::deque<Task> tasks_;  // does not move them: a task may be run while others come in
  std::priority_queue<Ready> ready_;
  int64_t order_ = 0;
};

}  // namespace

void BackwardInside(Eager& e, const std::vector<eager::Tensor>& results, std::span<const eager::Tensor> gradients) {
  const Origin before = e.origin;
  Engine(e).Run(results, gradients);
  e.origin = before;
}

void Backward(Eager& e, const eager::Tensor& loss) {
  const Origin before = e.origin;
  const Category category = e.category;
  e.category = Category::kTemporaries;
  e.grad_mode = false;
  e.thread = Eager::Thread::kAutograd;
  Engine(e).Run(loss);
  e.thread = Eager::Thread::kMain;
  e.grad_mode = true;
  e.category = category;
  e.origin = before;
}

}  // namespace vramplan
