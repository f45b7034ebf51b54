#include "graph/shapes/rule.h"

#include <algorithm>
#include <unordered_map>

#include "graph/shapes/arithmetic.h"
#include "graph/shapes/symbols.h"

namespace vramplan {

const TensorFacts& NodeInference::FactsAt(TensorId tensor) const {
  static const TensorFacts kAbsent;
  return tensor.valid() ? (*shapes_)[tensor] : kAbsent;
}

const TensorFacts& NodeInference::In(int input) const {
  return FactsAt(Has(input) ? node_->inputs[static_cast<size_t>(input)] : TensorId());
}

TensorFacts& NodeInference::Out(int output) {
  if (output >= outputs() || !node_->outputs[static_cast<size_t>(output)].valid()) return absent_;
  return shapes_->tensors[static_cast<size_t>(node_->outputs[static_cast<size_t>(output)].value)];
}

void NodeInference::Begin(const Node& node) {
  node_ = &node;
  absent_ = TensorFacts();
  bounds_.clear();
  meets_bounds_ = std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId input) {
    return input.valid() && at_most_[static_cast<size_t>(input.value)];
  });
}

namespace {

// An error is one line, also when it quotes an attribute (the equation of Einsum) that holds whatever bytes.
std::string OneLine(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

}  // namespace

void NodeInference::Fail(const std::string& text, const std::string& hint) {
  if (failure_) return;
  failure_ =
      Error{ErrorCode::kBadInput, graph_.file, "node " + node_->name + " (" + node_->op + "): " + OneLine(text), hint};
}

void NodeInference::SetShape(int output, const std::vector<Dim>& dims) {
  if (dims.size() > Shape::kMaxRank) {
    return Fail("its output has " + std::to_string(dims.size()) + " axes; at most " + std::to_string(Shape::kMaxRank) +
                " are understood");
  }
  Out(output).shape = Shape(dims);
}

std::optional<int> NodeInference::Axis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    Fail("axis " + std::to_string(axis) + " is outside of a tensor of " + std::to_string(rank) + " axes");
    return std::nullopt;
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::optional<std::vector<int>> NodeInference::Axes(int input, int rank) {
  std::optional<std::vector<int64_t>> given;
  if (Has(input)) {
    given = ConstantInts(input);
  } else if (node_->attributes.Has("axes")) {
    given = Ints("axes");
  }
  if (!given) return std::nullopt;
  std::vector<int> axes;
  for (int64_t a : *given) {
    const auto axis = Axis(a, rank);
    if (!axis) return std::nullopt;
    axes.push_back(*axis);
  }
  return axes;
}

const std::vector<Dim>* NodeInference::Integers(int input) const {
  const TensorFacts& facts = In(input);
  return facts.integers ? &*facts.integers : nullptr;
}

std::optional<std::vector<int64_t>> NodeInference::ConstantInts(int input) const {
  const std::vector<Dim>* values = Integers(input);
  if (values == nullptr) return std::nullopt;
  std::vector<int64_t> numbers;
  numbers.reserve(values->size());
  for (Dim v : *values) {
    if (!v.IsConstant()) return std::nullopt;
    numbers.push_back(v.c0());
  }
  return numbers;
}

std::optional<std::vector<double>> NodeInference::Reals(int input) const {
  const TensorFacts& facts = In(input);
  if (facts.reals) return facts.reals;
  const auto numbers = ConstantInts(input);
  if (!numbers) return std::nullopt;
  return std::vector<double>(numbers->begin(), numbers->end());
}

void NodeInference::SetIntegers(int output, std::vector<Dim> values) {
  for (Dim& v : values) {
    if (v.overflowed()) v = Dim::Unknown();  // contents may wrap (hashes, sentinels); only lengths must not
  }
  Out(output).integers = std::move(values);
}

std::optional<std::vector<Dim>> NodeInference::Target(int input) {
  const auto& shape = ShapeOf(input);
  const std::vector<Dim>* values = Integers(input);
  const Dim count = shape && shape->rank() <= 1 ? shape->Elements() : Dim::Unknown();
  if (!count.IsConstant()) return std::nullopt;
  if (count.c0() > Shape::kMaxRank) {
    Fail("it asks for " + ToString(count) + " axes; at most " + std::to_string(Shape::kMaxRank) + " are understood");
    return std::nullopt;
  }
  return values != nullptr ? *values : std::vector<Dim>(static_cast<size_t>(count.c0()), Dim::Unknown());
}

bool NodeInference::AcceptBakedBatch(int64_t batch) {
  const auto known = baked_batch();
  if (known) return *known == batch;
  baked_batch_ = batch;
  return true;
}

std::optional<Dim> NodeInference::Same(Dim a, Dim b) {
  if (a == b) return a;
  if (a.overflowed() || b.overflowed()) return Dim::Overflow();
  if (!a.known()) return b;
  if (!b.known()) return a;
  constexpr int64_t kLargeBatch = 1 << 20;
  if (meets_bounds_ && (!reopened() || a.IsConstant() == b.IsConstant()))
    return a.At(kLargeBatch) <= b.At(kLargeBatch) ? a : b;
  if (a.IsConstant() == b.IsConstant()) return std::nullopt;
  const Dim growing = a.IsConstant() ? b : a;
  const int64_t length = a.IsConstant() ? a.c0() : b.c0();
  const auto batch = BatchAt(growing, length);
  if (!batch || !AcceptBakedBatch(*batch)) return meets_bounds_ ? std::optional(a.IsConstant() ? a : b) : std::nullopt;
  NoteRebatched("the length " + std::to_string(length) + " meets " + ToString(growing) + " and is taken as that");
  return growing;
}

std::optional<Dim> NodeInference::Broadcast(Dim a, Dim b) {
  if (a.Is(1)) return b;
  if (b.Is(1)) return a;
  return Same(a, b);
}

std::optional<Shape> NodeInference::BroadcastShapes(const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape result = longer;
  const int offset = longer.rank() - shorter.rank();
  for (int i = 0; i < shorter.rank(); ++i) {
    const auto dim = Broadcast(longer[offset + i], shorter[i]);
    if (!dim) {
      if (const ShortTable* table = ShortTableOf(longer[offset + i], shorter[i])) FailOfPositions(*table);
      Fail("the shapes " + Show(a) + " and " + Show(b) + " do not broadcast");
      return std::nullopt;
    }
    result[offset + i] = *dim;
  }
  return result;
}

std::optional<Shape> NodeInference::BroadcastInputs(int count) {
  if (count == 0 || !ShapeOf(0)) return std::nullopt;
  std::optional<Shape> shape = ShapeOf(0);
  for (int i = 1; i < count && shape; ++i) {
    if (!ShapeOf(i)) return std::nullopt;
    shape = BroadcastShapes(*shape, *ShapeOf(i));
  }
  return shape;
}

void NodeInference::NoteRebatched(const std::string& text) {
  const std::string where = baked_batch()
                                ? "the file was exported with the batch " + std::to_string(*baked_batch()) + " inside"
                                : "the export wrote the batch of its example there";
  notes_->Add(
      {"rebatched", reopened() ? Severity::kNote : Severity::kWarning, node_->name, text + " (" + where + ")", ""});
}

void NodeInference::Note(const char* code, const std::string& text, const std::string& hint) {
  notes_->Add({code, Severity::kWarning, node_->name, text, hint});
}

std::string NodeInference::Show(const Shape& shape) const {
  return ToString(shape, binding_.batch_symbol.empty() ? "B" : binding_.batch_symbol);
}

std::string NodeInference::Describe(int input) const {
  if (!Has(input)) return "(absent)";
  const std::string& name = graph_[node_->inputs[static_cast<size_t>(input)]].name;
  return name + " " + (ShapeOf(input) ? Show(*ShapeOf(input)) : std::string("of unknown shape"));
}

std::optional<std::vector<TensorFacts>> NodeInference::InferSubgraph(const Graph& subgraph,
                                                                     const std::vector<TensorFacts>& inputs,
                                                                     const std::vector<bool>& empty_sequences,
                                                                     bool trial) {
  if (depth_ > kMaxSubgraphDepth) return std::nullopt;
  Shapes inside;
  Notes unheard;
  inside.tensors.resize(subgraph.tensors.size());
  NodeInference nodes(subgraph, binding_, &inside, trial ? &unheard : notes_, depth_ + 1);
  for (size_t i = 0; i < subgraph.tensors.size(); ++i) {
    const Tensor& tensor = subgraph.tensors[i];
    if (tensor.stored) inside.tensors[i] = FactsOf(*tensor.stored);
    if (!tensor.outer.valid()) continue;
    inside.tensors[i] = (*shapes_)[tensor.outer];
    nodes.at_most_[i] = at_most_[static_cast<size_t>(tensor.outer.value)];
  }
  for (size_t i = 0; i < subgraph.inputs.size() && i < inputs.size(); ++i) {
    const auto input = static_cast<size_t>(subgraph.inputs[i].value);
    inside.tensors[input] = inputs[i];
    nodes.at_most_[input] = meets_bounds_;
  }
  nodes.baked_batch_ = baked_batch_;
  for (size_t i = 0; i < subgraph.inputs.size() && i < empty_sequences.size(); ++i) {
    if (empty_sequences[i]) nodes.sequences_[subgraph.inputs[i]] = std::make_shared<const Elements>();
  }
  InferNodes(subgraph, &nodes);
  if (nodes.failure()) {
    if (trial) return std::nullopt;
    failed_inside_ = true;
    Fail("inside it, " + nodes.failure()->text, nodes.failure()->hint);
    return std::nullopt;
  }
  std::vector<TensorFacts> outputs;
  for (TensorId id : subgraph.outputs) {
    outputs.push_back(id.valid() ? inside[id] : TensorFacts());
    meets_bounds_ = meets_bounds_ || (id.valid() && nodes.at_most_[static_cast<size_t>(id.value)]);
  }
  return outputs;
}

const NodeInference::Elements* NodeInference::ElementsOf(int input) const {
  if (!Has(input)) return nullptr;
  const auto found = sequences_.find(node_->inputs[static_cast<size_t>(input)]);
  return found == sequences_.end() ? nullptr : found->second.get();
}

void NodeInference::SetElements(int output, Elements elements) {
  if (output >= outputs() || !node_->outputs[static_cast<size_t>(output)].valid()) return;
  sequences_[node_->outputs[static_cast<size_t>(output)]] = std::make_shared<const Elements>(std::move(elements));
}

const DeclaredType* NodeInference::Declared(int output) const {
  const TensorId id = output < outputs() ? node_->outputs[static_cast<size_t>(output)] : TensorId();
  return id.valid() && graph_[id].declared ? &*graph_[id].declared : nullptr;
}

bool NodeInference::TakeDeclared(int output) {
  const TensorId id = node_->outputs[static_cast<size_t>(output)];
  if (!id.valid()) return false;
  const auto& declared = graph_[id].declared;
  TensorFacts& facts = Out(output);
  if (!declared) return false;
  facts.is_tensor = declared->is_tensor;
  if (facts.type == DType::kUndefined) facts.type = declared->type;
  if (!declared->dims || declared->dims->size() > Shape::kMaxRank) return !declared->is_tensor;
  if (facts.shape && facts.shape->rank() != static_cast<int>(declared->dims->size())) return false;
  Shape shape;
  bool taken = false;
  for (size_t axis = 0; axis < declared->dims->size(); ++axis) {
    const Dim before = facts.shape ? (*facts.shape)[static_cast<int>(axis)] : Dim::Unknown();
    Dim dim = before;
    const DeclaredDim& said = (*declared->dims)[axis];
    if (!before.known()) {
      if (said.length && *said.length >= 0) dim = *said.length;
      if (!said.length && !said.symbol.empty())
        dim = EvaluateDim(said.symbol, binding_.symbols).value_or(Dim::Unknown());
      // The declared length of axis 0 is the exporter's batch when the batch was re-opened.
      if (axis == 0 && reopened() && dim.Is(*binding_.fixed_batch) && dim.known()) {
        dim = Dim::Batch();
        NoteRebatched("axis 0 of its declared output shape is taken as the batch");
      }
      taken = taken || dim.known();
    }
    shape.Append(dim);
  }
  facts.shape = shape;
  return taken || shape.known();
}

void NodeInference::CheckTensor(const std::string& name, const TensorFacts& facts) {
  if (failure_ || !facts.shape) return;
  const Dim elements = facts.shape->Elements();
  const int bits = BitWidth(facts.type);
  bool overflowing = elements.overflowed() || (elements * Dim(bits < 8 ? 1 : bits / 8)).overflowed();
  bool negative = false;
  for (const Dim& d : *facts.shape) {
    overflowing = overflowing || d.overflowed();
    negative = negative || (d.known() && !AlwaysAtLeast(d, 0) && d.At(1) < 0);
  }
  if (!overflowing && !negative) return;
  const std::string what = "tensor " + name + ": its shape " + Show(*facts.shape) +
                           (negative ? " has a negative length" : " is overflowing");
  if (node_ != nullptr) return Fail(what);
  failure_ = Error{ErrorCode::kBadInput, graph_.file, what, ""};
}

void NodeInference::CheckOutputs() {
  for (int i = 0; i < outputs(); ++i) {
    const TensorId id = node_->outputs[static_cast<size_t>(i)];
    if (id.valid()) CheckTensor(graph_[id].name, Out(i));
  }
}

TensorFacts FactsOf(const StoredTensor& stored) {
  TensorFacts facts;
  facts.type = stored.type;
  if (stored.dims.size() > Shape::kMaxRank) return facts;
  Shape shape;
  for (int64_t d : stored.dims) shape.Append(d);
  facts.shape = shape;
  const auto count = shape.Elements();
  if (!stored.values || !count.IsConstant()) return facts;
  const auto fits = [&](size_t size) { return static_cast<int64_t>(size) == count.c0(); };
  if (IsFloating(stored.type)) {
    if (fits(stored.values->reals.size())) facts.reals = stored.values->reals;
  } else if (fits(stored.values->integers.size())) {
    facts.integers = std::vector<Dim>(stored.values->integers.begin(), stored.values->integers.end());
  }
  return facts;
}

void SameShape(NodeInference& n) {
  for (int i = 0; i < n.outputs(); ++i) n.Out(i).shape = n.ShapeOf(0);
}

namespace {

using Table = std::unordered_map<std::string_view, const RuleRow*>;

Table TableOf(std::initializer_list<std::span<const RuleRow>> families) {
  Table table;
  for (const auto& family : families) {
    for (const RuleRow& row : family) CHECK(table.emplace(row.op, &row).second);
  }
  return table;
}

}  // namespace

const RuleRow* FindRule(std::string_view domain, std::string_view op) {
  static const std::unordered_map<std::string_view, Table> kDomains = {
      {"", TableOf({kElementwiseRules, kCreationRules, kReshapeRules, kJoiningRules, kIndexingRules, kMatmulRules,
                    kConvolutionRules, kPoolingRules, kNormalizationRules, kReductionRules, kImageRules,
                    kRecurrentRules, kAttentionRules, kQuantizationRules, kLossRules, kSignalRules, kControlRules,
                    kSequenceRules, kTextRules})},
      {"ai.onnx.preview", TableOf({kPreviewRules})},
      {"ai.onnx.preview.training", TableOf({kTrainingRules})},
      {"ai.onnx.ml", TableOf({kMlRules})},
      {"com.microsoft", TableOf({kMicrosoftRules, kMicrosoftAttentionRules, kMicrosoftQuantizedRules})},
      {"com.microsoft.nchwc", TableOf({kNchwcRules})},
  };
  const auto table = kDomains.find(domain == "ai.onnx" ? "" : domain);
  if (table == kDomains.end()) return nullptr;
  const auto found = table->second.find(op);
  return found == table->second.end() ? nullptr : found->second;
}

}  // namespace vramplan
