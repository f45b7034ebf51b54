#include "graph/lift/dynamo/signature.h"

#include <algorithm>

#include "graph/base/ablation.h"
#include "graph/base/text.h"
#include "graph/lift/liveness.h"

namespace vramplan {

std::pair<std::string, std::string> SplitTarget(const std::string& target) {
  return {ParentOf(target), std::string(LeafOf(target))};
}

Signature::Signature(const Graph& graph, const FxGroups& groups, LayerBuilder* builder) : builder_(builder) {
  const std::vector<SignatureEntry> entries = ParseSignature(graph.signature);
  std::unordered_map<std::string, TensorId> stored;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const TensorId id = TensorId::At(t);
    if (graph[id].stored.has_value()) stored.emplace(graph[id].name, id);
  }
  for (const SignatureEntry& entry : entries) {
    if (entry.kind != SignatureEntry::Kind::kParameter && entry.kind != SignatureEntry::Kind::kBuffer) continue;
    if (!groups.referenced.contains(entry.placeholder)) unreferenced_.emplace(entry.target, 0);
    if (stored.contains(entry.target)) by_target_.emplace(entry.target, ValueId{});  // for FindTies: has an initializer
  }
  FindTies(groups, entries);
  by_target_.clear();

  size_t input = 0;
  const auto inputs = static_cast<size_t>(
      std::ranges::count_if(entries, [](const SignatureEntry& e) { return e.kind == SignatureEntry::Kind::kInput; }));
  for (const SignatureEntry& entry : entries) {
    switch (entry.kind) {
      case SignatureEntry::Kind::kConstant:
        break;
      case SignatureEntry::Kind::kInput:
        // The graph's inputs are the program's, in its order, perhaps under other names.
        if (inputs == graph.inputs.size())
          by_placeholder_[entry.placeholder] = builder_->ValueOf(graph.inputs[input++]);
        break;
      case SignatureEntry::Kind::kParameter:
      case SignatureEntry::Kind::kBuffer: {
        const auto tie = ties_.find(entry.target);
        const std::string& group = tie == ties_.end() ? entry.target : tie->second;
        ValueId& value = by_target_[group];
        const auto found = stored.find(group);
        if (!value.valid()) {
          const Role role = entry.kind == SignatureEntry::Kind::kParameter ? Role::kParameter : Role::kBuffer;
          value = found != stored.end() ? builder_->AddStored(found->second, role)
                                        : builder_->AddValue({.name = entry.target, .role = role});
          builder_->At(value).name = entry.target;
          shape_known_.resize(value.index() + 1, false);
          shape_known_[value.index()] = found != stored.end();
        }
        by_placeholder_[entry.placeholder] = value;
        by_target_[entry.target] = value;
        order_.push_back(entry.target);
        break;
      }
    }
  }
}

// A leaf module's call that uses a parameter of another module, while its own of the same place is used by nobody,
// shows a tie.
void Signature::FindTies(const FxGroups& groups, const std::vector<SignatureEntry>& entries) {
  if (!Runs("read", "signature FindTies")) return;
  std::unordered_map<std::string, const SignatureEntry*> by_placeholder;
  for (const SignatureEntry& entry : entries) {
    if (entry.kind == SignatureEntry::Kind::kParameter) by_placeholder.emplace(entry.placeholder, &entry);
  }
  const auto is_free = [&](const std::string& target) {
    return unreferenced_.contains(target) && !by_target_.contains(target);
  };
  for (const FxGroup& group : groups.groups) {
    if (group.path.empty()) continue;
    for (const FxLiteral& argument : group.fx.arguments) {
      const auto used =
          argument.kind == FxLiteral::Kind::kRef ? by_placeholder.find(argument.text) : by_placeholder.end();
      if (used == by_placeholder.end()) continue;
      const auto [module, name] = SplitTarget(used->second->target);
      const std::string own = group.path.back().path + "." + name;
      if (module != group.path.back().path && is_free(own)) ties_.emplace(own, used->second->target);
    }
  }
  // transformers' T5 registers the same embedding a third time, in a module that is never called (m.shared).
  if (ties_.empty()) return;
  const std::string one = ties_.begin()->second;
  if (!std::ranges::all_of(ties_, [&](const auto& tie) { return tie.second == one; })) return;
  for (const SignatureEntry& entry : entries) {
    if (entry.kind != SignatureEntry::Kind::kParameter || !is_free(entry.target) || ties_.contains(entry.target))
      continue;
    const auto [module, name] = SplitTarget(entry.target);
    if (module.ends_with("shared") && name == SplitTarget(one).second) ties_.emplace(entry.target, one);
  }
}

ValueId Signature::ByPlaceholder(const std::string& placeholder) const {
  const auto found = by_placeholder_.find(placeholder);
  return found == by_placeholder_.end() ? ValueId{} : found->second;
}

ValueId Signature::ByTarget(const std::string& target) const {
  const auto found = by_target_.find(target);
  return found == by_target_.end() ? ValueId{} : found->second;
}

bool Signature::ShapeIsKnown(ValueId value) const {
  const Role role = builder_->At(value).role;
  if (role != Role::kParameter && role != Role::kBuffer) return true;
  const auto at = value.index();
  return at >= shape_known_.size() || shape_known_[at];
}

void Signature::SetShape(ValueId value, DType type, const Shape& shape) {
  builder_->At(value).type = type;
  builder_->At(value).shape = shape;
  shape_known_[value.index()] = true;
}

void Signature::Learn(ValueId value, DType type, const Shape& shape) {
  if (!value.valid() || ShapeIsKnown(value)) return;
  if (!std::ranges::all_of(shape, [](const Dim& length) { return length.IsConstant(); })) return;
  SetShape(value, IsFloating(type) ? type : DType::kFloat32, shape);
}

ValueId Signature::UnreferencedBefore(ValueId parameter) const {
  for (size_t i = 1; i < order_.size(); ++i) {
    if (ByTarget(order_[i]) == parameter) return IsUnreferenced(order_[i - 1]) ? ByTarget(order_[i - 1]) : ValueId{};
  }
  return {};
}

void Signature::InferFromUse(const AtenCall& call) {
  const auto input = [&](size_t i) { return i < call.inputs.size() ? call.inputs[i] : ValueId{}; };
  if (call.outputs.empty() || !call.outputs.front().valid()) return;
  const Shape out = builder_->At(call.outputs.front()).shape;
  const DType type = builder_->At(call.outputs.front()).type;
  const Shape in = input(0).valid() ? builder_->At(input(0)).shape : Shape();
  if (call.op == "batch_norm" || call.op == "instance_norm" || call.op == "group_norm") {
    if (out.rank() < 2) return;
    for (size_t i = 1; i < 5; ++i) Learn(input(i), type, Shape{out[1]});
  } else if (call.op == "layer_norm" || call.op == "rms_norm") {
    const int axes = static_cast<int>(call.attributes.Int("normalized_axes", 1));
    if (axes > out.rank()) return;
    Shape trailing;
    for (int i = out.rank() - axes; i < out.rank(); ++i) trailing.Append(out[i]);
    for (size_t i = 1; i < 3; ++i) Learn(input(i), type, trailing);
  } else if (call.op == "linear") {
    if (out.rank() < 1) return;
    Learn(input(2), type, Shape{out.FromEnd(1)});
    if (in.rank() >= 1) Learn(input(1), type, Shape{out.FromEnd(1), in.FromEnd(1)});
    // A table that went through the linear while it was exported. Swin v2's coordinates are pairs, in which case
    // nothing is left of its weight either (torchvision/models/swin_transformer.py 0.25, ShiftedWindowAttentionV2).
    if (!input(0).valid() || ShapeIsKnown(input(0)) || !input(1).valid()) return;
    if (builder_->At(input(0)).name.ends_with("relative_coords_table"))
      Learn(input(1), type, Shape{out.FromEnd(1), Dim(2)});
    Shape table = out;
    if (!ShapeIsKnown(input(1))) return;
    table[table.rank() - 1] = builder_->At(input(1)).shape.FromEnd(1);
    Learn(input(0), type, table);
  } else if (call.op == "addmm") {
    const Shape a = input(1).valid() ? builder_->At(input(1)).shape : Shape();
    if (a.rank() < 1 || out.rank() < 1) return;
    Learn(input(0), type, Shape{out.FromEnd(1)});
    Learn(input(2), type, Shape{a.FromEnd(1), out.FromEnd(1)});
  } else if (call.op == "bilinear") {
    const Shape other = input(1).valid() ? builder_->At(input(1)).shape : Shape();
    if (out.rank() < 1 || in.rank() < 1 || other.rank() < 1) return;
    Learn(input(2), type, Shape{out.FromEnd(1), in.FromEnd(1), other.FromEnd(1)});
    Learn(input(3), type, Shape{out.FromEnd(1)});
  } else if (call.op.starts_with("conv")) {
    if (out.rank() >= 2) Learn(input(2), type, Shape{out[1]});
  }
}

void Signature::LearnShapes(const Graph& graph, const std::vector<NodeId>& nodes, const AtenCall& call) {
  AtenCall counted = call;
  if (call.op == "layer_norm") {
    counted.attributes.Set("normalized_axes", static_cast<int64_t>(call.attributes.Ints("normalized_shape").size()));
  }
  InferFromUse(counted);
  std::vector<ValueId> open;
  for (const ValueId input : call.inputs) {
    if (input.valid() && !ShapeIsKnown(input)) open.push_back(input);
  }
  if (open.empty()) return;
  // A number beside a tensor is a parameter's where nothing else can be.
  const bool takes_number = nodes.size() == 1 && open.size() == 1 && IsOneOf(call.op, {"add", "sub", "mul", "div"});
  std::vector<TensorId> stored;
  for (const NodeId id : nodes) {
    const Node& node = graph[id];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId tensor = node.inputs[i];
      if (tensor.valid() && !IsShapeOperand(node, i) && graph[tensor].stored.has_value() &&
          (takes_number || !graph[tensor].stored->dims.empty())) {
        stored.push_back(tensor);
      }
    }
  }
  const auto is_named = [&](TensorId tensor) {
    const ValueId own = ByTarget(graph[tensor].name);
    return own.valid() && Contains(call.inputs, own);
  };
  stored.erase(std::remove_if(stored.begin(), stored.end(), is_named), stored.end());
  for (size_t i = 0; i < open.size() && i < stored.size(); ++i) {
    const StoredTensor& tensor = *graph[stored[i]].stored;
    Shape shape;
    for (const int64_t length : tensor.dims) shape.Append(length);
    // A slope of prelu is stored as [C, 1, 1] to broadcast, the module's is [C].
    if (call.op == "prelu") shape = Shape{shape.Elements()};
    SetShape(open[i], tensor.type, shape);
  }
}

ValueId Signature::OnlyInside(const std::string& module, const std::string& leaf) const {
  ValueId found;
  for (const std::string& target : order_) {
    const auto [owner, name] = SplitTarget(target);
    const bool inside = owner == module || (owner.starts_with(module) && owner[module.size()] == '.');
    if (name != leaf || !inside) continue;
    if (found.valid()) return {};
    found = ByTarget(target);
  }
  return found;
}

}  // namespace vramplan
