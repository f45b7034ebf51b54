#include "graph/shapes/bounds.h"

#include "graph/shapes/arithmetic.h"
#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

constexpr const char* kTaken = "(bounds)";  // no name of a length in a file: those of expressions have no parentheses

}  // namespace

void TakeBounds(Binding* binding) { binding->symbols.emplace(kTaken, 1); }
bool TakesBounds(const Binding& binding) { return binding.symbols.count(kTaken) != 0; }

Dim NodeInference::Undecided(Dim at_most) {
  if (!TakesBounds(binding_)) return Dim::Unknown();
  bounded_ = true;
  return at_most;
}

std::optional<Shape> NodeInference::Either(const std::optional<Shape>& a, const std::optional<Shape>& b) {
  if (!a || !b) return std::nullopt;
  if (a->rank() != b->rank()) {
    if (!TakesBounds(binding_)) return std::nullopt;
    bounded_ = true;
    if (AlwaysAtLeast(a->Elements(), b->Elements())) return a;
    return AlwaysAtLeast(b->Elements(), a->Elements()) ? b : std::nullopt;
  }
  Shape both = *a;
  for (int i = 0; i < a->rank(); ++i) {
    if ((*a)[i] != (*b)[i]) both[i] = Undecided(Maximum((*a)[i], (*b)[i]));
  }
  return both;
}

bool NodeInference::TakeGiven(int output) {
  const TensorId id = node_->outputs[static_cast<size_t>(output)];
  if (!Out(output).shape) return false;
  Shape& shape = *Out(output).shape;
  if (!bounded_ && shape.known()) return false;
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
