// Control flow (If, Loop, Scan), whose bodies are inferred with the facts they are called with.
#include "graph/shapes/arithmetic.h"
#include "graph/shapes/rounds.h"
#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

const Graph* Body(const NodeInference& n, const char* name) {
  const auto* body = n.node().attributes.Get<std::shared_ptr<Graph>>(name);
  return body != nullptr ? body->get() : nullptr;
}

void If(NodeInference& n) {
  const Graph* yes = Body(n, "then_branch");
  const Graph* no = Body(n, "else_branch");
  if (yes == nullptr || no == nullptr) return n.Fail("it lacks a branch");
  const auto condition = n.ConstantInts(0);
  const auto set = [&](const std::vector<TensorFacts>& facts) {
    for (int i = 0; i < n.outputs() && i < static_cast<int>(facts.size()); ++i)
      n.Out(i) = facts[static_cast<size_t>(i)];
  };
  if (condition && condition->size() == 1) {
    const auto taken = n.InferSubgraph(condition->front() != 0 ? *yes : *no, {});
    if (taken) set(*taken);
    return;
  }
  const auto first = n.InferSubgraph(*yes, {});
  const auto second = n.InferSubgraph(*no, {});
  if (!first || !second) return;
  for (size_t i = 0; i < first->size() && i < second->size() && static_cast<int>(i) < n.outputs(); ++i) {
    TensorFacts both = Common((*first)[i], (*second)[i]);
    both.shape = n.Either((*first)[i].shape, (*second)[i].shape);
    n.Out(static_cast<int>(i)) = both;
  }
}

// The trip count of a loop that only its condition ends (TorchScript writes 2^63 - 1) bounds nothing.
constexpr int64_t kUnboundedTrips = int64_t{1} << 31;

// Inputs: trip count, condition, states. The body takes (iteration, condition, states) and gives (condition, states,
// elements of scans). It runs as often as the trip count says when no condition is given, or when that is true before
// and after every round; a condition that data decides may stop it earlier (onnx Loop-21).
void Loop(NodeInference& n) {
  const Graph* body = Body(n, "body");
  if (body == nullptr) return n.Fail("it lacks its body");
  const size_t states = n.inputs() > 2 ? static_cast<size_t>(n.inputs()) - 2 : 0;
  TensorFacts iteration, condition;
  iteration.type = DType::kInt64;
  condition.type = DType::kBool;
  iteration.shape = condition.shape = Shape{};
  const bool starts = !n.Has(1) || IsTrue(n.In(1));
  if (starts) condition.integers = {Dim(1)};
  std::vector<TensorFacts> inputs{iteration, condition};
  States carried{.count = states, .first_input = 2, .first_output = 1, .empty = {}};
  for (size_t i = 0; i < states; ++i) {
    const int input = static_cast<int>(i) + 2;
    inputs.push_back(WithoutContents(n.In(input)));
    carried.empty.push_back(n.ElementsOf(input) != nullptr && n.ElementsOf(input)->empty());
  }
  const std::vector<Dim>* trips = n.Integers(0);
  Rounds rounds{.exact = !n.Has(1), .while_first = n.Has(1) && starts};
  if (trips != nullptr && trips->size() == 1) rounds.most = Maximum(trips->front(), 0);
  if (rounds.most.IsConstant() && rounds.most.c0() >= kUnboundedTrips) rounds.most = Dim::Unknown();
  const auto outputs = AfterRounds(n, *body, inputs, carried, &rounds);
  if (!outputs) return;
  for (int i = 0; i < n.outputs() && i + 1 < static_cast<int>(outputs->size()); ++i) {
    n.Out(i) = WithoutContents((*outputs)[static_cast<size_t>(i) + 1]);
    if (static_cast<size_t>(i) < states || !n.Out(i).shape) continue;
    std::vector<Dim> stacked{rounds.exact ? rounds.most : n.Undecided(rounds.most)};
    stacked.insert(stacked.end(), n.Out(i).shape->begin(), n.Out(i).shape->end());
    n.SetShape(i, stacked);
  }
}

// Scan of opset 8: sequence lengths (optional), states [B, ...] and scanned tensors [B, steps, ...]; the body sees
// neither the batch nor the steps; results are [B, ...] and [B, steps, ...].
void BatchedScan(NodeInference& n, const Graph& body, int64_t scanned) {
  if (scanned + 1 > n.inputs()) return n.Fail("it lacks what it scans");
  const size_t states = static_cast<size_t>(n.inputs() - scanned) - 1;
  Dim batch = Dim::Unknown(), steps = Dim::Unknown();
  std::vector<TensorFacts> inputs;
  for (int i = 1; i < n.inputs(); ++i) {
    inputs.push_back(WithoutContents(n.In(i)));
    auto& shape = inputs.back().shape;
    const bool state = inputs.size() <= states;
    if (!shape) continue;
    if (shape->rank() < (state ? 1 : 2)) return n.Fail(n.Describe(i) + " has no axis for the batch and the steps");
    batch = n.Same(batch, (*shape)[0]).value_or(Dim::Unknown());
    if (!state) steps = n.Same(steps, (*shape)[1]).value_or(Dim::Unknown());
    shape->Remove(0);
    if (!state) shape->Remove(0);
  }
  Rounds rounds{.most = steps, .exact = !n.Has(0)};
  const auto outputs = AfterRounds(n, body, inputs, {.count = states, .empty = {}}, &rounds);
  if (!outputs) return;
  for (int i = 0; i < n.outputs() && i < static_cast<int>(outputs->size()); ++i) {
    n.Out(i) = WithoutContents((*outputs)[static_cast<size_t>(i)]);
    if (!n.Out(i).shape) continue;
    std::vector<Dim> dims{batch};
    if (static_cast<size_t>(i) >= states) dims.push_back(steps);
    dims.insert(dims.end(), n.Out(i).shape->begin(), n.Out(i).shape->end());
    n.SetShape(i, dims);
  }
}

// Inputs: states, then tensors that are taken apart along an axis; outputs: states, then stacked results (onnx Scan-9).
void Scan(NodeInference& n) {
  const Graph* body = Body(n, "body");
  const int64_t scanned = n.Int("num_scan_inputs", 0);
  if (body == nullptr || scanned < 1 || scanned > n.inputs()) return n.Fail("it lacks its body or what it scans");
  if (n.opset() != 0 && n.opset() < 9) return BatchedScan(n, *body, scanned);
  const size_t states = static_cast<size_t>(n.inputs() - scanned);
  const std::vector<int64_t> in_axes = n.Ints("scan_input_axes"), out_axes = n.Ints("scan_output_axes");
  Dim steps = Dim::Unknown();
  std::vector<TensorFacts> inputs;
  for (int i = 0; i < n.inputs(); ++i) {
    inputs.push_back(WithoutContents(n.In(i)));
    const size_t place = static_cast<size_t>(i) - states;
    if (static_cast<size_t>(i) < states || !inputs.back().shape) continue;
    const auto axis = n.Axis(place < in_axes.size() ? in_axes[place] : 0, inputs.back().shape->rank());
    if (!axis) return;
    steps = n.Same(steps, (*inputs.back().shape)[*axis]).value_or(Dim::Unknown());
    inputs.back().shape->Remove(*axis);
  }
  Rounds rounds{.most = steps, .exact = true};
  const auto outputs = AfterRounds(n, *body, inputs, {.count = states, .empty = {}}, &rounds);
  if (!outputs) return;
  for (int i = 0; i < n.outputs() && i < static_cast<int>(outputs->size()); ++i) {
    n.Out(i) = WithoutContents((*outputs)[static_cast<size_t>(i)]);
    const size_t place = static_cast<size_t>(i) - states;
    if (static_cast<size_t>(i) < states || !n.Out(i).shape) continue;
    std::vector<Dim> stacked(n.Out(i).shape->begin(), n.Out(i).shape->end());
    const auto axis = n.Axis(place < out_axes.size() ? out_axes[place] : 0, static_cast<int>(stacked.size()) + 1);
    if (!axis) return;
    stacked.insert(stacked.begin() + *axis, steps);
    n.SetShape(i, stacked);
  }
}

constexpr RuleRow kControlRows[] = {{"If", If, Type::kRule}, {"Loop", Loop, Type::kRule}, {"Scan", Scan, Type::kRule}};

}  // namespace

constinit const std::span<const RuleRow> kControlRules(kControlRows);

}  // namespace vramplan
