#include "graph/lift/match/source.h"

#include <algorithm>
#include <cmath>

#include "graph/base/ablation.h"
#include "graph/base/check.h"
#include "graph/lift/dynamo/without_node.h"
#include "graph/lift/liveness.h"
#include "graph/lift/simplifiers/fx_names.h"

namespace vramplan {
namespace {

// What sizes and scalars are computed from: a stored scalar, or a short list of numbers; larger ones are tables, and a
// list of floating numbers that is no literal is a small layer's weight.
bool IsFewNumbers(const StoredTensor& stored) {
  if (!stored.values.has_value() || stored.dims.size() > 1) return false;
  return stored.dims.empty() || stored.dims[0] <= (IsFloating(stored.type) && !stored.literal ? 1 : 16);
}

// The value written by `x[a:b] = 3`: one number, spread.
bool IsFill(const Graph& graph, TensorId tensor) {
  for (int steps = 0; steps < 8 && tensor.valid() && graph[tensor].producer.valid(); ++steps) {
    const Node& node = graph[graph[tensor].producer];
    if (node.op == "ConstantOfShape") return true;
    if (node.op != "Expand" && node.op != "Reshape" && node.op != "Cast") return false;
    tensor = node.inputs[0];
  }
  return graph.IsStored(tensor);
}

}  // namespace

std::string Beside(const Node& node, const char* suffix) { return node.name + "." + suffix; }

PatternSource::PatternSource(const Graph& graph, const Shapes& shapes, LayerBuilder& builder,
                             const std::vector<bool>& live, Notes* notes)
    : graph_(graph), shapes_(shapes), builder_(builder), live_(live), notes_(notes), modules_(graph) {
  from_pytorch_ = WrittenByPyTorch(graph);
  fx_names_ = HasFxNames(graph);
  made_.resize(graph.tensors.size());
  needed_.resize(graph.tensors.size());
  FindFirstUsers();
  FindNumbers();
  FindNoOps();
  CountUses();
}

void PatternSource::FindFirstUsers() {
  first_user_.resize(graph_.tensors.size());
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    if (graph_.nodes[n].op == "Identity") continue;
    for (const TensorId input : graph_.nodes[n].inputs) {
      if (input.valid() && !first_user_[Index(input)].valid()) {
        first_user_[Index(input)] = NodeId::At(n);
      }
    }
  }
}

void PatternSource::FindNumbers() {
  number_.resize(graph_.nodes.size());
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const Node& node = graph_.nodes[n];
    if (node.op == "Shape" || node.op == "Size") {
      number_[n] = true;
      continue;
    }
    if (!IsSizeArithmetic(node.op)) continue;
    number_[n] = std::ranges::all_of(node.inputs, [&](TensorId input) {
      if (!input.valid()) return true;
      const Tensor& tensor = graph_[input];
      if (tensor.producer.valid()) return static_cast<bool>(number_[tensor.producer.index()]);
      return tensor.stored.has_value() && IsFewNumbers(*tensor.stored) &&
             (tensor.stored->literal || !IsFloating(tensor.stored->type) || !from_pytorch_ || !HasModulePath(input));
    });
  }
}

void PatternSource::FindNoOps() {
  behind_.resize(graph_.tensors.size());
  for (size_t t = 0; t < behind_.size(); ++t) behind_[t] = TensorId::At(t);
  for (const Node& node : graph_.nodes) {
    if (node.outputs.empty() || node.inputs.empty() || !node.inputs[0].valid() || !node.outputs[0].valid()) continue;
    bool none = false;
    if (node.op == "Identity") {
      none = !IsStoredCopy(node.outputs[0]);
    } else if (node.op == "Cast") {
      const DType from = shapes_[node.inputs[0]].type;
      none = from != DType::kUndefined && static_cast<int64_t>(from) == node.attributes.Int("to", 0);
    } else if (node.op == "Dropout") {
      // torch.nn.functional.dropout returns its input for p = 0 and in eval (aten/src/ATen/native/Dropout.cpp 2.10).
      // Before opset 12 the node cannot say that it is in training; an exporter writes it only for a model that has it.
      const bool training = graph_.opset() < 12 || (node.inputs.size() > 2 && Number(node.inputs[2]).value_or(0) != 0);
      const double ratio = node.inputs.size() > 1 && node.inputs[1].valid() ? Number(node.inputs[1]).value_or(0.5)
                                                                            : node.attributes.Real("ratio", 0.5);
      none = !training || ratio == 0;
    } else if (node.op == "ScatterND") {
      // Python's x[a:b] = 3 fills in place; the exporter has no other word for it.
      none = node.inputs.size() > 2 && from_pytorch_ && IsFill(graph_, node.inputs[2]);
    }
    if (none) behind_[Index(node.outputs[0])] = behind_[Index(node.inputs[0])];
  }
}

void PatternSource::CountUses() {
  uses_.resize(graph_.tensors.size());
  users_.resize(graph_.tensors.size());
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    if (!live_[n]) continue;
    const Node& node = graph_.nodes[n];
    if (node.outputs.size() == 1 && Behind(node.outputs[0]) != node.outputs[0]) continue;  // a no-op uses nothing
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].valid() || IsShapeOperand(node, i)) continue;
      const TensorId behind = Behind(node.inputs[i]);
      ++uses_[Index(behind)];
      users_[Index(behind)].push_back(NodeId::At(n));
    }
  }
  for (const TensorId output : graph_.outputs) ++uses_[Index(Behind(output))];
}

TensorId PatternSource::Behind(TensorId tensor) const { return tensor.valid() ? behind_[Index(tensor)] : tensor; }

TensorId PatternSource::In(NodeId node, size_t i) const {
  const Node& n = graph_[node];
  return i < n.inputs.size() ? Behind(n.inputs[i]) : TensorId{};
}

NodeId PatternSource::MakerOf(TensorId tensor, std::string_view op) const {
  if (!tensor.valid()) return {};
  const NodeId maker = graph_[tensor].producer;
  return Live(maker) && graph_[maker].op == op ? maker : NodeId{};
}

std::optional<double> PatternSource::Number(TensorId tensor) const {
  if (!tensor.valid()) return std::nullopt;
  const Tensor& t = graph_[tensor];
  if (t.stored.has_value()) {
    // PyTorch's names are its state dict's: a scale that is learned. Other tools name their numbers as they like.
    if (!t.stored->literal && IsFloating(t.stored->type) && from_pytorch_ && HasModulePath(tensor)) return std::nullopt;
    if (!t.stored->values.has_value()) return std::nullopt;
    const ConstantValues& values = *t.stored->values;
    if (values.integers.size() + values.reals.size() != 1) return std::nullopt;
    return values.reals.empty() ? static_cast<double>(values.integers[0]) : values.reals[0];
  }
  if (!t.producer.valid() || !number_[t.producer.index()]) return std::nullopt;
  const TensorFacts& facts = shapes_[tensor];
  if (facts.reals.has_value() && facts.reals->size() == 1) return (*facts.reals)[0];
  if (facts.integers.has_value() && facts.integers->size() == 1 && (*facts.integers)[0].IsConstant()) {
    return static_cast<double>((*facts.integers)[0].c0());
  }
  return std::nullopt;
}

// In a file whose fx nodes left but their names, what is called as one was folded, and a function of onnxscript that
// was put in place calls a number of its arguments "p_cast".
bool PatternSource::HasModulePath(TensorId tensor) const {
  const std::string& name = graph_[tensor].name;
  if (!IsModulePath(name)) return false;
  return !fx_names_ || (FxOperatorOf(name).empty() && !OperatorOf(name).ends_with("_cast"));
}

bool PatternSource::IsHostMade(TensorId tensor) const {
  if (!tensor.valid()) return false;
  const NodeId maker = graph_[tensor].producer;
  return maker.valid() && !graph_[tensor].stored.has_value() && number_[maker.index()];
}

bool PatternSource::IsNumber(TensorId tensor, double expected) const {
  const std::optional<double> number = Number(tensor);
  return number.has_value() && std::abs(*number - expected) <= 1e-3 * std::max(1.0, std::abs(expected));
}

std::string PatternSource::NameIn(NodeId user, const std::string& leaf) const {
  const std::string module = ModuleOf(user);
  return module.empty() ? leaf : module + "." + leaf;
}

std::optional<std::pair<TensorId, double>> PatternSource::TensorAndNumber(NodeId node) const {
  if (graph_[node].inputs.size() != 2) return std::nullopt;
  if (const auto right = Number(In(node, 1))) return std::make_pair(In(node, 0), *right);
  if (const auto left = Number(In(node, 0))) return std::make_pair(In(node, 1), *left);
  return std::nullopt;
}

std::optional<std::vector<int64_t>> PatternSource::Integers(TensorId tensor) const {
  if (!tensor.valid()) return std::nullopt;
  const Tensor& t = graph_[tensor];
  if (t.stored.has_value() && t.stored->values.has_value() && !IsFloating(t.stored->type)) {
    return t.stored->values->integers;
  }
  const TensorFacts& facts = shapes_[tensor];
  if (!facts.integers.has_value()) return std::nullopt;
  std::vector<int64_t> integers;
  for (const Dim& dim : *facts.integers) {
    if (!dim.IsConstant()) return std::nullopt;
    integers.push_back(dim.c0());
  }
  return integers;
}

std::optional<std::vector<int64_t>> PatternSource::IntegersOf(NodeId node, const std::string& attribute,
                                                              size_t input) const {
  const Node& n = graph_[node];
  if (const auto* list = n.attributes.Get<std::vector<int64_t>>(attribute)) return *list;
  return input < n.inputs.size() ? Integers(n.inputs[input]) : std::nullopt;
}

const StoredTensor* PatternSource::Stored(TensorId tensor) const {
  for (int steps = 0; steps < 16 && tensor.valid(); ++steps) {
    const Tensor& t = graph_[tensor];
    if (t.stored.has_value()) return &*t.stored;
    if (!t.producer.valid() || graph_[t.producer].op != "Identity") return nullptr;
    tensor = graph_[t.producer].inputs[0];
  }
  return nullptr;
}

bool PatternSource::IsInitializer(TensorId tensor) const {
  for (int steps = 0; steps < 16 && tensor.valid(); ++steps) {
    const Tensor& t = graph_[tensor];
    if (t.stored.has_value()) return !t.stored->literal;
    if (!t.producer.valid() || graph_[t.producer].op != "Identity") return false;
    tensor = graph_[t.producer].inputs[0];
  }
  return false;
}

Shape PatternSource::ShapeOf(TensorId tensor) const {
  if (tensor.valid() && shapes_[tensor].shape.has_value()) return *shapes_[tensor].shape;
  Shape shape;
  if (const StoredTensor* stored = tensor.valid() ? Stored(tensor) : nullptr) {
    for (const int64_t length : stored->dims) shape.Append(length);
  }
  return shape;
}

Operand PatternSource::Use(TensorId tensor) {
  if (!tensor.valid()) return {};
  const TensorId behind = Behind(tensor);
  if (!needed_[Index(behind)]) {
    needed_[Index(behind)] = true;
    work_.push_back(behind);
  }
  return {.tensor = behind};
}

Operand PatternSource::Parameter(TensorId tensor, NodeId user, const std::string& leaf, std::optional<Shape> shape) {
  return UseAs(Role::kParameter, tensor, user, leaf, shape);
}

Operand PatternSource::Buffer(TensorId tensor, NodeId user, const std::string& leaf) {
  return UseAs(Role::kBuffer, tensor, user, leaf, std::nullopt);
}

Operand PatternSource::UseAs(Role role, TensorId tensor, NodeId user, const std::string& leaf,
                             std::optional<Shape> shape) {
  if (!tensor.valid()) return {};
  const TensorId behind = Behind(tensor);
  if (Stored(behind) != nullptr) {
    Claim claim{role, NameIn(user, leaf), shape, user};
    const auto [found, fresh] = claims_.try_emplace(behind, claim);
    if (!fresh && user < found->second.user) found->second = std::move(claim);  // the first user names it
  }
  return Use(behind);
}

Operand PatternSource::Out(NodeId node, size_t i) {
  const Node& n = graph_[node];
  if (i >= n.outputs.size() || !n.outputs[i].valid()) return {};
  return {.tensor = n.outputs[i]};
}

std::vector<Operand> PatternSource::Outs(NodeId node) {
  std::vector<Operand> outputs;
  for (size_t i = 0; i < graph_[node].outputs.size(); ++i) outputs.push_back(Out(node, i));
  return outputs;
}

Operand PatternSource::LostUnder(const std::string& key, const std::string& name, DType type, const Shape& shape) {
  const auto [found, fresh] = lost_of_.try_emplace(key, static_cast<int32_t>(lost_.size()));
  if (fresh) lost_.push_back({.name = name, .type = type, .shape = shape, .value = {}});
  return {.lost = found->second};
}

Operand PatternSource::PartOf(TensorId packed, NodeId user, const std::string& leaf, const Shape& shape) {
  const TensorId behind = Behind(packed);
  taken_apart_.insert(behind);
  const std::string name = NameIn(user, leaf);
  return LostUnder(name == leaf ? name + "@" + std::to_string(behind.value) : name + ToString(shape), name,
                   TypeOf(behind), shape);
}

Operand PatternSource::New(const std::string& name, DType type, const Shape& shape) {
  return {.made = builder_.AddValue({.name = name, .type = type, .shape = shape})};
}

void PatternSource::Add(Draft draft) {
  CHECK(!draft.nodes.empty());
  for (const Operand& output : draft.outputs) {
    if (!output.tensor.valid()) continue;
    CHECK(!made_[Index(output.tensor)]);
    made_[Index(output.tensor)] = true;
  }
  drafts_.push_back(std::move(draft));
}

bool PatternSource::PutAll(std::vector<Operand> outputs, std::string op, std::vector<Operand> inputs,
                           std::vector<NodeId> nodes, Attributes attributes) {
  Add({.op = std::move(op),
       .inputs = std::move(inputs),
       .outputs = std::move(outputs),
       .attributes = std::move(attributes),
       .nodes = std::move(nodes)});
  return true;
}

void PatternSource::Lift(TensorId tensor) {
  const NodeId maker = graph_[tensor].producer;
  if (made_[Index(tensor)] || !Live(maker) || Stored(tensor) != nullptr) return;
  if (number_[maker.index()]) return;  // a host value that is used as data: a constant
  const Node& node = graph_[maker];
  const auto made = [&](TensorId output) { return output.valid() && made_[Index(output)]; };
  for (const PatternRow* row : PatternsFor(node.op)) {
    if (std::ranges::any_of(node.outputs, made)) break;  // a mask or a statistic of a matched layer
    if (IsLeftOut("match", row->name)) continue;
    if (Why* why = Asks(maker)) why->asked.push_back({.rule = row->name, .matched = false, .reasons = {}});
    if (!row->match(*this, maker)) continue;
    if (Why* why = Asks(maker)) why->asked.back().matched = true;
    NoteThatItActed("match", row->name);
    if (made_[Index(tensor)]) return;
  }
  if (node.domain == "com.microsoft" && notes_ != nullptr) {
    notes_->Add({"fused-operator", Severity::kWarning, graph_.file,
                 "ONNX Runtime put " + node.op + " in the place of what PyTorch runs, whose parts are not counted",
                 "give the file as it was before the optimizer, or type --framework onnxruntime"});
  }
  Draft draft{.op = "onnx::" + node.op, .inputs = {}, .outputs = {}, .attributes = node.attributes, .nodes = {maker}};
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!IsShapeOperand(node, i)) draft.inputs.push_back(Use(node.inputs[i]));
  }
  for (size_t i = 0; i < node.outputs.size(); ++i)
    draft.outputs.push_back(made(node.outputs[i]) ? Operand() : Out(maker, i));
  Add(std::move(draft));
}

void PatternSource::Run(Why* why) {
  why_ = why;
  for (const TensorId output : graph_.outputs) Use(output);
  for (size_t t = 0; t < graph_.tensors.size(); ++t) {
    const TensorId tensor = TensorId::At(t);
    if (!builder_.HasValue(tensor) || !Live(graph_[tensor].producer)) continue;
    if (!builder_.IsMade(builder_.ValueOf(tensor))) Use(tensor);  // a layer of the other source needs it
  }
  while (!work_.empty()) {
    const TensorId tensor = work_.back();
    work_.pop_back();
    Lift(tensor);
  }
  OrderDrafts();
  RegisterStored();
  Flush();
}

void PatternSource::OrderDrafts() {
  for (Draft& draft : drafts_) {
    if (!draft.position.valid()) draft.position = *std::ranges::max_element(draft.nodes);
  }
  std::ranges::stable_sort(drafts_, {}, &Draft::position);
}

void PatternSource::Flush() {
  const auto value_of = [&](const Operand& operand) {
    if (operand.lost >= 0) return lost_[static_cast<size_t>(operand.lost)].value;
    return operand.tensor.valid() ? builder_.ValueOf(operand.tensor) : operand.made;
  };
  for (Draft& draft : drafts_) {
    Layer layer{.op = std::move(draft.op),
                .name = graph_[draft.nodes.back()].name,
                .attributes = std::move(draft.attributes),
                .nodes = draft.nodes,
                .evidence = draft.nodes.size() > 1 ? Evidence::kPattern : Evidence::kNode};
    for (const Operand& input : draft.inputs) layer.inputs.push_back(value_of(input));
    for (const Operand& output : draft.outputs) layer.outputs.push_back(value_of(output));
    const ModulePath& path = draft.path.has_value() ? *draft.path : modules_.PathOf(draft.nodes.back());
    builder_.AddLayer(std::move(layer), path, draft.position);
  }
  // What stands for a no-op's output: graph outputs, and operands of layers from the other source.
  for (size_t t = 0; t < behind_.size(); ++t) {
    const TensorId tensor = TensorId::At(t);
    if (behind_[t] != tensor && needed_[Index(behind_[t])]) builder_.SetValueOf(tensor, builder_.ValueOf(behind_[t]));
  }
}

}  // namespace vramplan
