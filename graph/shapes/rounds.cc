#include "graph/shapes/rounds.h"

#include <algorithm>

#include "graph/shapes/arithmetic.h"
#include "graph/shapes/bounds.h"

namespace vramplan {
namespace {

using Facts = std::vector<TensorFacts>;

constexpr int kDeepForTwoRounds = 6;  // inside other loops; else the work would double with every level
constexpr int kDeepForTrials = 2;     // a trial is a round more

class RoundBody {
 public:
  RoundBody(NodeInference& n, const Graph& graph, const States& states, Rounds* rounds)
      : n_(n), graph_(graph), states_(states), rounds_(rounds) {}

  std::optional<Facts> Run(Facts inputs) {
    std::vector<bool> empty(states_.first_input, false);
    empty.insert(empty.end(), states_.empty.begin(), states_.empty.end());
    auto first = Checked(n_.InferSubgraph(graph_, inputs, empty));
    if (!first) return std::nullopt;
    if (rounds_->while_first) rounds_->exact = !first->empty() && IsTrue(first->front());
    Facts both = BeforeAndBehind(inputs, *first, true);
    if (SameShapes(inputs, both) || n_.depth() >= kDeepForTwoRounds) return Settled(inputs, *std::move(first), both);
    if (auto later = SettledLater(inputs, *first)) return later;
    if (auto grown = Grown(inputs, *first)) return grown;
    // What holds before and behind the first round holds always when it holds behind one more.
    for (size_t i = 0; i < states_.count; ++i) StateOf(&inputs, i) = both[i];
    auto second = Checked(n_.InferSubgraph(graph_, inputs));
    if (!second) return std::nullopt;
    both = BeforeAndBehind(inputs, *second, false);
    return Settled(inputs, *std::move(second), both);
  }

 private:
  TensorFacts& StateOf(Facts* inputs, size_t i) const { return (*inputs)[states_.first_input + i]; }
  const TensorFacts& StateOf(const Facts& inputs, size_t i) const { return inputs[states_.first_input + i]; }
  TensorFacts& LeftOf(Facts* outputs, size_t i) const { return (*outputs)[states_.first_output + i]; }
  const TensorFacts& LeftOf(const Facts& outputs, size_t i) const { return outputs[states_.first_output + i]; }
  bool StartsEmpty(size_t i) const { return i < states_.empty.size() && states_.empty[i]; }

  std::optional<Facts> Checked(std::optional<Facts> outputs) const {
    if (outputs && outputs->size() < states_.first_output + states_.count) return std::nullopt;
    return outputs;
  }

  // What holds at either time, the bound of both where that is asked for.
  TensorFacts Both(const TensorFacts& a, const TensorFacts& b) {
    TensorFacts both = WithoutContents(Common(a, b));
    both.shape = n_.Either(a.shape, b.shape);
    return both;
  }

  // What holds for each state before and behind a round.
  Facts BeforeAndBehind(const Facts& inputs, const Facts& outputs, bool first) const {
    Facts both;
    for (size_t i = 0; i < states_.count; ++i) {
      const TensorFacts& left = LeftOf(outputs, i);
      both.push_back(WithoutContents(first && StartsEmpty(i) ? left : Common(StateOf(inputs, i), left)));
    }
    return both;
  }

  bool SameShapes(const Facts& inputs, const Facts& both) const {
    for (size_t i = 0; i < states_.count; ++i) {
      if (both[i].shape != StateOf(inputs, i).shape) return false;
    }
    return true;
  }

  // The outputs with what holds for the states. When they still change, that and all else the body makes is not known.
  Facts Settled(const Facts& inputs, Facts outputs, const Facts& both) const {
    if (!SameShapes(inputs, both)) {
      for (TensorFacts& facts : outputs) facts.shape.reset();
    }
    for (size_t i = 0; i < states_.count; ++i) {
      LeftOf(&outputs, i) = both[i];
      if (both[i].shape != StateOf(inputs, i).shape) LeftOf(&outputs, i).shape.reset();
    }
    return outputs;
  }

  std::optional<Facts> Trial(const Facts& inputs) const { return Checked(n_.InferSubgraph(graph_, inputs, {}, true)); }

  // What holds for the outputs of both rounds; the states are those of the first.
  Facts Joined(const Facts& outputs, const Facts& others) {
    Facts joined = outputs;
    for (size_t i = 0; i < joined.size() && i < others.size(); ++i) {
      const bool state = i >= states_.first_output && i < states_.first_output + states_.count;
      if (!state) joined[i] = Both(outputs[i], others[i]);
    }
    return joined;
  }

  // Trials are for few levels, where they can tell something.
  bool MayTry() const {
    const bool some_empty = std::count(states_.empty.begin(), states_.empty.end(), true) > 0;
    return n_.depth() < kDeepForTrials && !some_empty && (rounds_->exact || TakesBounds(n_.binding()));
  }

  Facts NextInputs(const Facts& inputs, const Facts& outputs) const {
    Facts next = inputs;
    for (size_t i = 0; i < states_.count; ++i) StateOf(&next, i) = WithoutContents(LeftOf(outputs, i));
    return next;
  }

  // States that are others behind the first round, and then stay.
  std::optional<Facts> SettledLater(const Facts& inputs, const Facts& first) {
    const bool runs = rounds_->exact && AlwaysAtLeast(rounds_->most, 1);
    if (!MayTry() || !(runs || TakesBounds(n_.binding()))) return std::nullopt;
    const auto second = Trial(NextInputs(inputs, first));
    if (!second) return std::nullopt;
    for (size_t i = 0; i < states_.count; ++i) {
      const auto& shape = LeftOf(first, i).shape;
      if (!shape || !shape->known() || shape != LeftOf(*second, i).shape) return std::nullopt;
    }
    Facts joined = Joined(first, *second);
    for (size_t i = 0; i < states_.count; ++i) {
      const TensorFacts& left = LeftOf(first, i);
      LeftOf(&joined, i) = runs ? WithoutContents(left) : Both(StateOf(inputs, i), left);
    }
    return joined;
  }

  using Lengths = std::optional<std::vector<Dim>>;

  // By how much each axis is longer; nothing when that is not known.
  static Lengths Growth(const std::optional<Shape>& from, const std::optional<Shape>& to) {
    if (!from || !to || !from->known() || !to->known() || from->rank() != to->rank()) return std::nullopt;
    std::vector<Dim> growth;
    for (int axis = 0; axis < from->rank(); ++axis) growth.push_back((*to)[axis] - (*from)[axis]);
    return growth;
  }

  // States that grow by the same in the first, the second and the last round.
  std::optional<Facts> Grown(const Facts& inputs, const Facts& first) {
    if (!MayTry() || !AlwaysAtLeast(rounds_->most, 2)) return std::nullopt;
    const auto second = Trial(NextInputs(inputs, first));
    if (!second) return std::nullopt;
    Facts last = inputs;
    for (size_t i = 0; i < states_.count; ++i) {
      const Lengths growth = Growth(StateOf(inputs, i).shape, LeftOf(first, i).shape);
      if (!growth || Growth(LeftOf(first, i).shape, LeftOf(*second, i).shape) != growth) return std::nullopt;
      Shape& shape = *StateOf(&last, i).shape;
      for (int axis = 0; axis < shape.rank(); ++axis) {
        shape[axis] = shape[axis] + (rounds_->most - Dim(1)) * (*growth)[static_cast<size_t>(axis)];
        if (!AlwaysAtLeast(shape[axis], 0)) return std::nullopt;
      }
    }
    const auto end = Trial(last);
    if (!end) return std::nullopt;
    for (size_t i = 0; i < states_.count; ++i) {
      const Lengths growth = Growth(StateOf(inputs, i).shape, LeftOf(first, i).shape);
      if (Growth(StateOf(last, i).shape, LeftOf(*end, i).shape) != growth) return std::nullopt;
    }
    Facts joined = Joined(Joined(*end, *second), first);
    for (size_t i = 0; i < states_.count; ++i) {
      const TensorFacts& left = LeftOf(*end, i);
      LeftOf(&joined, i) = rounds_->exact ? WithoutContents(left) : Both(StateOf(inputs, i), left);
    }
    return joined;
  }

  NodeInference& n_;
  const Graph& graph_;
  const States& states_;
  Rounds* const rounds_;
};

}  // namespace

bool IsTrue(const TensorFacts& facts) {
  return facts.integers && facts.integers->size() == 1 && facts.integers->front().Is(1);
}

TensorFacts WithoutContents(TensorFacts facts) {
  facts.integers.reset();
  facts.reals.reset();
  return facts;
}

std::optional<std::vector<TensorFacts>> AfterRounds(NodeInference& n, const Graph& body,
                                                    const std::vector<TensorFacts>& inputs, const States& states,
                                                    Rounds* rounds) {
  return RoundBody(n, body, states, rounds).Run(inputs);
}

}  // namespace vramplan
