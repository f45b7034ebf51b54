// Control flow (If, Loop, Scan), whose bodies are inferred with the facts they are called with.
#include "graph/shapes/arithmetic.h"
#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

const Graph* Body(const NodeInference& n, const char* name) {
  const auto* body = n.node().attributes.Get<std::shared_ptr<Graph>>(name);
  return body != nullptr ? body->get() : nullptr;
}

TensorFacts WithoutContents(TensorFacts facts) {
  facts.integers.reset();
  facts.reals.reset();
  return facts;
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

// What a state is in every round: as it starts, and as the body leaves it; found in two rounds. Deep inside other loops
// one round must do, or the work would double with every level. A state that does not settle is not known.
// `empties` tells of each state whether it starts as an empty sequence: what the body puts in is then all there is.
std::optional<std::vector<TensorFacts>> Settled(NodeInference& n, const Graph& body, std::vector<TensorFacts>* inputs,
                                                size_t first_state, size_t states, size_t first_output,
                                                const std::vector<bool>& empties = {}) {
  std::optional<std::vector<TensorFacts>> outputs;
  constexpr int kDeepForTwoRounds = 6;
  const int rounds = n.depth() < kDeepForTwoRounds ? 2 : 1;
  for (int round = 0; round < rounds; ++round) {
    std::vector<bool> empty_inputs(first_state, false);
    if (round == 0) empty_inputs.insert(empty_inputs.end(), empties.begin(), empties.end());
    outputs = n.InferSubgraph(body, *inputs, empty_inputs);
    if (!outputs || outputs->size() < first_output + states) return std::nullopt;
    bool same = true;
    for (size_t i = 0; i < states; ++i) {
      TensorFacts& state = (*inputs)[first_state + i];
      const TensorFacts& after = (*outputs)[first_output + i];
      const bool empty = round == 0 && i < empties.size() && empties[i];
      const TensorFacts common = WithoutContents(empty ? after : Common(state, after));
      const bool settled = common.shape == state.shape;
      same = same && settled;
      state = common;
      if (!settled && round + 1 == rounds) state.shape.reset();
    }
    if (same) break;
    if (round + 1 == rounds) {  // what else the body makes may follow from a state
      for (TensorFacts& facts : *outputs) facts.shape.reset();
    }
  }
  for (size_t i = 0; i < states; ++i) (*outputs)[first_output + i] = (*inputs)[first_state + i];
  return outputs;
}

bool IsOne(const TensorFacts& facts) {
  return facts.integers && facts.integers->size() == 1 && facts.integers->front().Is(1);
}

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
  const bool starts = !n.Has(1) || IsOne(n.In(1));
  if (starts) condition.integers = {Dim(1)};
  std::vector<TensorFacts> inputs{iteration, condition};
  std::vector<bool> empties;
  for (size_t i = 0; i < states; ++i) {
    const int input = static_cast<int>(i) + 2;
    inputs.push_back(WithoutContents(n.In(input)));
    empties.push_back(n.ElementsOf(input) != nullptr && n.ElementsOf(input)->empty());
  }
  const auto outputs = Settled(n, *body, &inputs, 2, states, 1, empties);
  if (!outputs) return;
  const bool always = !n.Has(1) || (starts && !outputs->empty() && IsOne(outputs->front()));
  const std::vector<Dim>* trips = n.Integers(0);
  const Dim most = trips != nullptr && trips->size() == 1 ? Maximum(trips->front(), 0) : Dim::Unknown();
  for (int i = 0; i < n.outputs() && i + 1 < static_cast<int>(outputs->size()); ++i) {
    n.Out(i) = WithoutContents((*outputs)[static_cast<size_t>(i) + 1]);
    if (static_cast<size_t>(i) < states || !n.Out(i).shape) continue;
    std::vector<Dim> stacked{always ? most : n.Undecided(most)};
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
  const auto outputs = Settled(n, body, &inputs, 0, states, 0);
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
  const auto outputs = Settled(n, *body, &inputs, 0, states, 0);
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

constexpr RuleRow kRows[] = {{"If", If, Type::kRule}, {"Loop", Loop, Type::kRule}, {"Scan", Scan, Type::kRule}};

}  // namespace

constinit const std::span<const RuleRow> kControlRules(kRows);

}  // namespace vramplan
