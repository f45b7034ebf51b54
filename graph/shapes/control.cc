// Control flow (If, Loop, Scan), whose bodies are inferred with the facts they are called with, and sequences, which
// carry what their elements have in common.
#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

const Graph* Body(const NodeInference& n, const char* name) {
  const auto* body = n.node().attributes.Get<std::shared_ptr<Graph>>(name);
  return body != nullptr ? body->get() : nullptr;
}

// What holds for both: lengths that differ are not known.
TensorFacts Common(const TensorFacts& a, const TensorFacts& b) {
  TensorFacts both;
  both.type = a.type;
  both.is_tensor = a.is_tensor;
  if (!a.shape || !b.shape || a.shape->rank() != b.shape->rank()) return both;
  both.shape = a.shape;
  for (int i = 0; i < a.shape->rank(); ++i) {
    if ((*a.shape)[i] != (*b.shape)[i]) (*both.shape)[i] = Dim::Unknown();
  }
  return both;
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
  std::vector<TensorFacts> both;
  for (size_t i = 0; i < first->size() && i < second->size(); ++i) both.push_back(Common((*first)[i], (*second)[i]));
  set(both);
}

// What a state is in every round: as it starts, and as the body leaves it; found in two rounds.
std::optional<std::vector<TensorFacts>> Settled(NodeInference& n, const Graph& body, std::vector<TensorFacts>* inputs,
                                                size_t first_state, size_t states, size_t first_output) {
  std::optional<std::vector<TensorFacts>> outputs;
  for (int round = 0; round < 2; ++round) {
    outputs = n.InferSubgraph(body, *inputs);
    if (!outputs || outputs->size() < first_output + states) return std::nullopt;
    bool same = true;
    for (size_t i = 0; i < states; ++i) {
      TensorFacts& state = (*inputs)[first_state + i];
      const TensorFacts common = Common(state, (*outputs)[first_output + i]);
      same = same && common.shape == state.shape;
      state = common;
    }
    if (same) break;
  }
  for (size_t i = 0; i < states; ++i) (*outputs)[first_output + i] = (*inputs)[first_state + i];
  return outputs;
}

// Inputs: trip count, condition, states. The body takes (iteration, condition, states) and gives (condition, states,
// elements of scans).
void Loop(NodeInference& n) {
  const Graph* body = Body(n, "body");
  if (body == nullptr) return n.Fail("it lacks its body");
  const size_t states = n.inputs() > 2 ? static_cast<size_t>(n.inputs()) - 2 : 0;
  TensorFacts iteration, condition;
  iteration.type = DType::kInt64;
  condition.type = DType::kBool;
  iteration.shape = condition.shape = Shape{};
  std::vector<TensorFacts> inputs{iteration, condition};
  for (size_t i = 0; i < states; ++i) inputs.push_back(WithoutContents(n.In(static_cast<int>(i) + 2)));
  const auto outputs = Settled(n, *body, &inputs, 2, states, 1);
  if (!outputs) return;
  const std::vector<Dim>* trips = n.Integers(0);
  const bool always = !n.Has(1);  // without a condition the body may still stop it; with one, surely
  for (int i = 0; i < n.outputs() && i + 1 < static_cast<int>(outputs->size()); ++i) {
    n.Out(i) = WithoutContents((*outputs)[static_cast<size_t>(i) + 1]);
    if (static_cast<size_t>(i) < states || !n.Out(i).shape) continue;
    std::vector<Dim> stacked{always && trips != nullptr && trips->size() == 1 ? trips->front() : Dim::Unknown()};
    stacked.insert(stacked.end(), n.Out(i).shape->begin(), n.Out(i).shape->end());
    n.SetShape(i, stacked);
  }
}

// Inputs: states, then tensors that are taken apart along an axis; outputs: states, then stacked results (onnx Scan-9).
void Scan(NodeInference& n) {
  if (n.opset() != 0 && n.opset() < 9) return;  // another operator then, with a batch of its own
  const Graph* body = Body(n, "body");
  const int64_t scanned = n.Int("num_scan_inputs", 0);
  if (body == nullptr || scanned < 1 || scanned > n.inputs()) return n.Fail("it lacks its body or what it scans");
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

void SequenceConstruct(NodeInference& n) {
  TensorFacts common = WithoutContents(n.In(0));
  for (int i = 1; i < n.inputs(); ++i) common = Common(common, n.In(i));
  n.Out(0) = common;
  n.Out(0).is_tensor = false;
}

void SequenceEmpty(NodeInference& n) {
  n.Out(0).type = DTypeFromOnnx(static_cast<int32_t>(n.Int("dtype", 1))).value_or(DType::kFloat32);
  n.Out(0).is_tensor = false;
}

void SequenceInsert(NodeInference& n) {
  n.Out(0) = n.In(0).shape ? Common(n.In(0), n.In(1)) : WithoutContents(n.In(1));
  n.Out(0).is_tensor = false;
}

void SequenceErase(NodeInference& n) {
  n.Out(0) = n.In(0);
  n.Out(0).is_tensor = false;
}

void SequenceAt(NodeInference& n) {
  n.Out(0) = n.In(0);
  n.Out(0).is_tensor = true;
}

void SequenceLength(NodeInference& n) { n.SetShape(0, Shape{}); }

// Pieces of the lengths in input 1, or of length 1 (dropped with keepdims=0).
void SplitToSequence(NodeInference& n) {
  n.Out(0).is_tensor = false;
  if (!n.ShapeOf(0)) return;
  Shape piece = *n.ShapeOf(0);
  const auto axis = n.Axis(n.Int("axis", 0), piece.rank());
  if (!axis) return;
  if (!n.Has(1) && n.Int("keepdims", 1) == 0) {
    piece.Remove(*axis);
  } else {
    Dim length = 1;
    if (n.Has(1)) {
      const std::vector<Dim>* lengths = n.Integers(1);
      length = lengths != nullptr && !lengths->empty() ? lengths->front() : Dim::Unknown();
      for (size_t i = 1; lengths != nullptr && i < lengths->size(); ++i) {
        if ((*lengths)[i] != length) length = Dim::Unknown();
      }
      if (!length.known() || !n.ShapeOf(1) || (n.ShapeOf(1)->rank() == 0 && !DivideExactly(piece[*axis], length)))
        length = Dim::Unknown();
    }
    piece[*axis] = length;
  }
  n.SetShape(0, piece);
}

void ConcatFromSequence(NodeInference& n) {
  n.Out(0).is_tensor = true;
  if (!n.ShapeOf(0)) return;
  std::vector<Dim> out(n.ShapeOf(0)->begin(), n.ShapeOf(0)->end());
  const bool fresh = n.Int("new_axis", 0) != 0;
  const auto axis = n.Axis(n.Int("axis", 0), static_cast<int>(out.size()) + (fresh ? 1 : 0));
  if (!axis) return;
  if (fresh) {
    out.insert(out.begin() + *axis, Dim::Unknown());
  } else {
    out[static_cast<size_t>(*axis)] = Dim::Unknown();
  }
  n.SetShape(0, out);
}

void OptionalHas(NodeInference& n) { n.SetShape(0, Shape{}); }

constexpr RuleRow kRows[] = {
    {"If", If, Type::kRule},
    {"Loop", Loop, Type::kRule},
    {"Scan", Scan, Type::kRule},
    {"SequenceConstruct", SequenceConstruct},
    {"SequenceEmpty", SequenceEmpty, Type::kRule},
    {"SequenceInsert", SequenceInsert},
    {"SequenceErase", SequenceErase},
    {"SequenceAt", SequenceAt},
    {"SequenceLength", SequenceLength, Type::kInt64},
    {"SplitToSequence", SplitToSequence},
    {"ConcatFromSequence", ConcatFromSequence},
    {"Optional", SequenceErase},
    {"OptionalGetElement", SequenceAt},
    {"OptionalHasElement", OptionalHas, Type::kBool},
};

}  // namespace

constinit const std::span<const RuleRow> kControlRules(kRows);

}  // namespace vramplan
