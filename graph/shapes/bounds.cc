#include "graph/shapes/bounds.h"

#include "graph/shapes/arithmetic.h"
#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

constexpr const char* kTaken = "(bounds)";  // no name of a length in a file: those of expressions have no parentheses

}  // namespace

void TakeBounds(Binding* binding) { binding->symbols.emplace(kTaken, 1); }
bool TakesBounds(const Binding& binding) { return binding.symbols.count(kTaken) != 0; }
Binding WithoutBounds(Binding binding) {
  binding.symbols.erase(kTaken);
  return binding;
}

Dim NodeInference::Undecided(Dim at_most) {
  if (!TakesBounds(binding_)) return Dim::Unknown();
  if (at_most.known()) bounds_.push_back(at_most);
  return at_most;
}

void NodeInference::MarkOutput(int output, bool given) {
  const TensorId id = node_->outputs[static_cast<size_t>(output)];
  at_most_[static_cast<size_t>(id.value)] = meets_bounds_ || (bounded() && !given);
}

void NodeInference::ForgiveBounds() {
  if (!failure_ || failed_inside_ || !(meets_bounds_ || bounded())) return;
  const size_t text = failure_->text.find("): ");  // behind the node, which the note names
  Note("unknown-shape",
       "lengths that depend on data contradict each other if all are at their longest: " +
           failure_->text.substr(text == std::string::npos ? 0 : text + 3),
       "--dim TENSOR:AXIS=N gives such a length");
  failure_.reset();
  for (int i = 0; i < outputs(); ++i) {
    TensorFacts unknown;
    unknown.type = Out(i).type;
    unknown.is_tensor = Out(i).is_tensor;
    Out(i) = unknown;
  }
}

std::optional<Shape> NodeInference::Either(const std::optional<Shape>& a, const std::optional<Shape>& b) {
  if (!a || !b) return std::nullopt;
  if (a->rank() != b->rank()) {
    if (!TakesBounds(binding_)) return std::nullopt;
    const std::optional<Shape> larger = AlwaysAtLeast(a->Elements(), b->Elements())   ? a
                                        : AlwaysAtLeast(b->Elements(), a->Elements()) ? b
                                                                                      : std::nullopt;
    if (larger) bounds_.insert(bounds_.end(), larger->begin(), larger->end());
    return larger;
  }
  Shape both = *a;
  for (int i = 0; i < a->rank(); ++i) {
    if ((*a)[i] != (*b)[i]) both[i] = Undecided(BoundOfBoth((*a)[i], (*b)[i]));
  }
  return both;
}

bool NodeInference::TakeGiven(int output) {
  const TensorId id = node_->outputs[static_cast<size_t>(output)];
  if (!Out(output).shape) return false;
  Shape& shape = *Out(output).shape;
  if (!bounded() && !meets_bounds_ && shape.known()) return false;
  bool taken = false;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto given = binding_.symbols.find((graph_[id].name + ":").append(std::to_string(axis)));
    if (given == binding_.symbols.end()) continue;
    shape[axis] = given->second;
    taken = true;
  }
  return taken;
}

TensorFacts Common(const TensorFacts& a, const TensorFacts& b) {
  TensorFacts both;
  both.type = a.type != DType::kUndefined ? a.type : b.type;
  both.is_tensor = a.is_tensor;
  if (!a.shape || !b.shape || a.shape->rank() != b.shape->rank()) return both;
  both.shape = a.shape;
  for (int i = 0; i < a.shape->rank(); ++i) {
    if ((*a.shape)[i] != (*b.shape)[i]) (*both.shape)[i] = Dim::Unknown();
  }
  return both;
}

}  // namespace vramplan
