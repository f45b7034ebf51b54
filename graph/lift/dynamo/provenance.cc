#include "graph/lift/dynamo/provenance.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "graph/base/ablation.h"
#include "graph/base/text.h"
#include "graph/habits/habits.h"
#include "graph/lift/any_export/inplace.h"
#include "graph/lift/dynamo/attention_operands.h"
#include "graph/lift/dynamo/folded.h"
#include "graph/lift/dynamo/fx_groups.h"
#include "graph/lift/dynamo/merged_permutation.h"
#include "graph/lift/dynamo/signature.h"
#include "graph/lift/dynamo/without_node.h"
#include "graph/lift/liveness.h"
#include "graph/lift/recorded/recorded.h"
#include "graph/programs/aten.h"

namespace vramplan {
namespace {

class ProvenanceSource {
 public:
  ProvenanceSource(const Graph& graph, const Shapes& shapes, LayerBuilder& builder, std::vector<bool>& live,
                   Notes* notes)
      : graph_(graph),
        shapes_(shapes),
        builder_(builder),
        live_(live),
        notes_(notes),
        groups_(GroupByFxNode(graph, live)),
        signature_(graph, groups_, &builder) {
    for (const FxGroup& group : groups_.groups) {
      for (const ModuleFrame& frame : group.path) classes_.emplace(frame.path, frame.class_name);
    }
  }

  void Run() {
    if (!groups_.root_class.empty()) builder_.SetRootClass(groups_.root_class);
    IndexTensors();
    size_t bare = 0;
    for (size_t g = 0; g < groups_.groups.size(); ++g) {
      for (; bare < groups_.bare.size() && groups_.bare[bare] < groups_.groups[g].last(); ++bare)
        LiftBare(groups_.bare[bare]);
      LiftGroup(static_cast<int32_t>(g));
    }
    for (; bare < groups_.bare.size(); ++bare) LiftBare(groups_.bare[bare]);
    signature_.Finish(notes_);
  }

 private:
  void IndexTensors() {
    for (size_t t = 0; t < graph_.tensors.size(); ++t) by_name_.emplace(graph_.tensors[t].name, TensorId::At(t));
    consumers_.resize(graph_.tensors.size());
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!live_[n]) continue;
      const Node& node = graph_.nodes[n];
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i].valid() && !IsShapeOperand(node, i)) {
          consumers_[node.inputs[i].index()].push_back(NodeId::At(n));
        }
      }
    }
  }

  const FxGroup& Group(int32_t g) const { return groups_.groups[static_cast<size_t>(g)]; }
  FxSite At(int32_t g) { return {Group(g), classes_, builder_, signature_}; }
  int32_t GroupOf(NodeId node) const { return node.valid() ? groups_.of_node[node.index()] : -1; }

  // The tensors that a group takes in as data, in order of appearance.
  std::vector<TensorId> DataInputs(int32_t g) const {
    std::vector<TensorId> inputs;
    for (const NodeId id : Group(g).nodes) {
      const Node& node = graph_[id];
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const TensorId tensor = node.inputs[i];
        if (!tensor.valid() || IsShapeOperand(node, i)) continue;
        const NodeId maker = graph_[tensor].producer;
        if (maker.valid() && (GroupOf(maker) == g || !live_of_start_[maker.index()])) continue;
        if (!Contains(inputs, tensor)) inputs.push_back(tensor);
      }
    }
    return inputs;
  }

  // What a group makes for others: the tensor with the fx node's name, tensors for getitem, or the last one.
  std::vector<TensorId> DataOutputs(int32_t g, bool several) const {
    const FxGroup& group = Group(g);
    std::vector<TensorId> outputs;
    for (const NodeId id : group.nodes) {
      // A second pool only helps to count where the maximum was.
      if (several && graph_[id].op == "MaxPool" && id != group.nodes.front()) continue;
      for (const TensorId tensor : graph_[id].outputs) {
        if (!tensor.valid()) continue;
        const std::string& name = graph_[tensor].name;
        const auto& consumers = consumers_[tensor.index()];
        const bool leaves = std::ranges::any_of(consumers, [&](NodeId user) { return GroupOf(user) != g; }) ||
                            Contains(graph_.outputs, tensor);
        const bool stays_inside = !consumers.empty() && !leaves;
        if (name == group.fx.name && !several && !stays_inside) return {tensor};
        if (leaves || (several && !stays_inside)) outputs.push_back(tensor);
      }
    }
    if (several || outputs.empty()) return outputs;
    // Inner results that the exporter's common subexpression elimination shares with other groups come first; the
    // result comes last.
    return {outputs.back()};
  }

  // The value of a tensor; one inside a group that already became a layer stands for what that group computed it from.
  ValueId Trace(TensorId tensor) {
    for (int steps = 0; steps < 64; ++steps) {
      if (builder_.HasValue(tensor)) return builder_.ValueOf(tensor);
      const NodeId maker = graph_[tensor].producer;
      if (!maker.valid() || GroupOf(maker) < 0 || !lifted_.contains(GroupOf(maker))) return builder_.ValueOf(tensor);
      const TensorId next = DataBehind(graph_[maker], graph_);
      if (!next.valid()) return builder_.ValueOf(tensor);
      tensor = next;
    }
    return builder_.ValueOf(tensor);
  }

  // A reference by name: a placeholder, the result of another fx node, or a tensor of the file. Invalid: nothing of
  // that name is left.
  ValueId ByName(const std::string& name) {
    if (const ValueId value = signature_.ByPlaceholder(name); value.valid()) return value;
    if (const auto found = by_fx_name_.find(name); found != by_fx_name_.end()) return found->second;
    if (const auto found = by_name_.find(name); found != by_name_.end()) {
      const NodeId maker = graph_[found->second].producer;
      const bool made_by_fx = maker.valid() && GroupOf(maker) >= 0;
      const bool not_data = maker.valid() && !live_of_start_[maker.index()];
      if ((made_by_fx || not_data) && !builder_.HasValue(found->second)) return {};
      return builder_.ValueOf(found->second);
    }
    return {};
  }
  bool IsHostName(const std::string& name) const {
    if (groups_.host.contains(name) || name.starts_with("sym_")) return true;
    const auto found = by_name_.find(name);
    return found != by_name_.end() && IsHostNumber(graph_, shapes_, found->second, live_of_start_);
  }

  // Operands in two rounds: those found by name, then what is left of the names takes what is left of the group's
  // inputs, in order (the exporter removed views, clones and eval dropouts between them, and renamed what it folded).
  using Operands = std::unordered_map<std::string, ValueId>;  // by reference
  Operands Resolve(int32_t g, const std::vector<std::string>& refs) {
    Operands operands;
    std::vector<std::string> open;
    for (const std::string& ref : refs) {
      if (operands.contains(ref) || IsHostName(ref)) continue;
      ValueId value = ByName(ref);
      if (!value.valid()) value = NumberOfBag(g, ref);
      operands.emplace(ref, value);
      if (!value.valid()) open.push_back(ref);
    }
    if (!open.empty()) ResolveAttention(g, &operands, &open);
    if (open.empty()) return operands;
    const auto is_taken = [&](ValueId value) {
      return std::ranges::any_of(operands, [&](const auto& entry) { return entry.second == value; });
    };
    // What is left: made by layers first, constants and what the signature names only when there is nothing else.
    std::vector<ValueId> made, stored, named;
    for (const TensorId tensor : DataInputs(g)) {
      const bool is_stored = graph_[tensor].stored.has_value();
      const bool is_named = is_stored && signature_.ByTarget(graph_[tensor].name).valid();
      const ValueId value = Trace(tensor);
      if (!is_taken(value)) (is_named ? named : is_stored ? stored : made).push_back(value);
    }
    if (made.size() < open.size()) made.insert(made.end(), stored.begin(), stored.end());
    if (made.empty()) made = named;  // self.queue.clone().detach()
    if (made.empty()) {
      for (const TensorId tensor : DataInputs(g))
        made.push_back(Trace(tensor));  // x + clone(x): both names are one tensor
    }
    for (size_t i = 0; i < open.size() && !made.empty(); ++i)
      operands[open[i]] = Dropped(g, open[i], made[std::min(i, made.size() - 1)]);
    return operands;
  }

  // What bags of embeddings are made of is read inside a loop's body: their numbers are an input of the model.
  ValueId NumberOfBag(int32_t g, const std::string& ref) {
    const auto found = by_name_.find(ref);
    if (!Group(g).fx.target.starts_with("aten.embedding_bag") || !Runs("read", "provenance NumberOfBag")) return {};
    return found == by_name_.end() ? ValueId{} : builder_.ValueOf(NumbersBehind(graph_, found->second));
  }

  // Attention's operands by the part they play, where their names are gone.
  void ResolveAttention(int32_t g, Operands* operands, std::vector<std::string>* open) {
    if (!Runs("read", "provenance ResolveAttention")) return;
    const FxGroup& group = Group(g);
    if (group.fx.target.find("scaled_dot_product_attention") == std::string::npos) return;
    const std::array<TensorId, 4> parts = AttentionOperands(graph_, group.nodes);
    const std::vector<TensorId> outputs = DataOutputs(g, false);
    const Shape call = outputs.empty() ? Shape() : shapes_[outputs.front()].shape.value_or(Shape());
    for (size_t i = 0; i < parts.size() && i < group.fx.arguments.size(); ++i) {
      const FxLiteral& argument = group.fx.arguments[i];
      const auto at =
          argument.kind == FxLiteral::Kind::kRef ? std::find(open->begin(), open->end(), argument.text) : open->end();
      if (at == open->end() || !parts[i].valid()) continue;
      const ValueId source = Trace(parts[i]);
      const ValueId heads = LiftViewAsHeads(*at, source, call, At(g));
      (*operands)[*at] = heads.valid() ? by_fx_name_[*at] = heads : Dropped(g, *at, source);
      open->erase(at);
    }
  }

  // The operand `ref`, which nothing in the file carries and whose data comes from `source`.
  ValueId Dropped(int32_t g, const std::string& ref, ValueId source) {
    const ValueId result = LiftCallWithoutNode(ref, source, At(g));
    if (result != source) by_fx_name_[ref] = result;
    return result;
  }

  static std::vector<std::string> RefsOf(const FxLiteral& literal) {
    std::vector<std::string> refs;
    VisitRefs(literal, [&](const std::string& name) { refs.push_back(name); });
    return refs;
  }

  static void AddOperands(const std::vector<std::string>& refs, const Operands& operands, AtenCall* call) {
    for (const std::string& ref : refs) {
      const auto found = operands.find(ref);
      if (found != operands.end()) call->inputs.push_back(found->second);
    }
  }

  void LiftGroup(int32_t g) {
    const FxGroup& group = Group(g);
    const AtenRule* rule = FindAtenRule(group.fx.target);
    AtenCall call;
    for (const TensorId tensor : DataOutputs(g, rule != nullptr && rule->several_outputs))
      call.outputs.push_back(builder_.ValueOf(tensor));
    lifted_.insert(g);
    for (const NodeId id : group.nodes) live_[id.index()] = false;
    if (call.outputs.empty()) return;

    if (group.folded_norm) {
      ValueId input;
      for (const TensorId tensor : DataInputs(g)) {
        if (!input.valid() && !graph_[tensor].stored.has_value()) input = Trace(tensor);
      }
      const FoldedConvolution folded = LiftFoldedConvolution(input, call.outputs.front(), At(g));
      if (folded.result.valid()) by_fx_name_[folded.name] = folded.result;
    }
    NameArguments(g, rule, &call);
    signature_.LearnShapes(graph_, group.nodes, call);
    if (rule != nullptr && rule->shape != nullptr) rule->shape(call, builder_);
    // x[..., 0::2] = y is a scatter between two Transposes in the file; its result has the axes of x.
    if (call.op == "slice_scatter" && call.inputs.front().valid())
      builder_.At(call.outputs.front()).shape = builder_.At(call.inputs.front()).shape;
    TakeMergedPermutation(group, &call);
    if (group.fx.target.find("legit_functional") != std::string::npos) call.attributes.Set("training", int64_t{1});
    if (call.alias && !call.inputs.empty() && call.inputs.front().valid()) {
      Alias(g, call);
      return;
    }
    if (IsInPlace(g, call)) call.attributes.Set("inplace", int64_t{1});
    by_fx_name_[group.fx.name] = call.outputs.front();
    builder_.AddLayer({.op = call.op,
                       .name = group.fx.name,
                       .inputs = std::move(call.inputs),
                       .outputs = std::move(call.outputs),
                       .attributes = std::move(call.attributes),
                       .nodes = group.nodes,
                       .evidence = Evidence::kProvenance},
                      group.path);
  }

  void TakeMergedPermutation(const FxGroup& group, AtenCall* call) {
    if (!Runs("read", "provenance TakeMergedPermutation")) return;
    if (group.nodes.size() != 1 || call->inputs.empty() || !call->inputs.front().valid()) return;
    const Node& node = graph_[group.nodes.back()];
    if (node.inputs.empty() || Trace(node.inputs.front()) != call->inputs.front()) return;
    vramplan::TakeMergedPermutation(node, builder_.At(call->inputs.front()).shape,
                                    builder_.At(call->outputs.front()).shape, call);
  }

  // By the classes, when nobody reads the first operand afterwards (in place, they would read the result instead).
  bool IsInPlace(int32_t g, const AtenCall& call) {
    if (!Runs("read", "provenance IsInPlace")) return false;
    if (call.inputs.empty() || !call.inputs.front().valid()) return false;
    const FxGroup& group = Group(g);
    if (recorded_.contains(group.fx.name)) return false;  // the last pass says it
    const Layer* maker = builder_.MakerOf(call.inputs.front());
    std::vector<std::string_view> classes = {groups_.root_class};
    for (const ModuleFrame& frame : group.path) classes.push_back(frame.class_name);
    std::string_view path;
    if (!group.path.empty()) path = group.path.back().path;
    const bool is_feature = maker != nullptr && IsFeature(call.op, call.attributes, maker->op);
    const InPlace verdict = InPlaceByClass(call.op, classes, is_feature, path);
    if (verdict == InPlace::kNo || maker == nullptr) return false;
    // x = y + z, where x += z would write into what the caller gave.
    const ModulePath made_in = builder_.PathOf(call.inputs.front());
    const auto is_own = [&] {
      return group.path.size() <= made_in.size() && std::equal(group.path.begin(), group.path.end(), made_in.begin());
    };
    if (call.op == "add" && !is_own()) return false;
    for (const TensorId tensor : DataInputs(g)) {
      if (Trace(tensor) != call.inputs.front()) continue;
      for (const NodeId user : consumers_[tensor.index()]) {
        if (GroupOf(user) != g && group.last() < user) return false;
      }
    }
    if (verdict == InPlace::kAssumed) NoteAssumedInPlace(group.path.back().path, &builder_.guesses(), notes_);
    return true;
  }

  void Alias(int32_t g, const AtenCall& call) {
    by_fx_name_[Group(g).fx.name] = call.inputs.front();
    for (const TensorId tensor : DataOutputs(g, false)) builder_.SetValueOf(tensor, call.inputs.front());
  }

  // Positional and keyword arguments under their names in the schema; without a rule, every reference is an operand.
  void NameArguments(int32_t g, const AtenRule* rule, AtenCall* call) {
    const FxNode& fx = Group(g).fx;
    if (rule == nullptr) {
      std::string op = fx.target.substr(0, fx.target.find('.', fx.target.find('.') + 1));
      const size_t dot = op.find('.');
      call->op = dot == std::string::npos ? op : op.substr(0, dot) + "::" + op.substr(dot + 1);
      const std::vector<std::string> refs = RefsOf({.items = fx.arguments});
      return AddOperands(refs, Resolve(g, refs), call);
    }
    call->op = rule->op;
    const std::vector<AtenArgument> arguments = ParseAtenArguments(rule->arguments);
    const auto literal_of = [&](size_t i) -> const FxLiteral* {
      if (i < fx.arguments.size()) return &fx.arguments[i];
      for (const auto& [name, literal] : fx.keywords) {
        if (name == arguments[i].name) return &literal;
      }
      return nullptr;
    };
    std::vector<std::string> refs;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const FxLiteral* literal = literal_of(i);
      const bool tensors =
          arguments[i].kind == AtenArgument::Kind::kTensor || arguments[i].kind == AtenArgument::Kind::kTensors;
      if (literal != nullptr && tensors) VisitRefs(*literal, [&](const std::string& name) { refs.push_back(name); });
    }
    Operands operands = Resolve(g, refs);
    for (auto& [ref, value] : operands) {
      if (!value.valid() || builder_.At(value).role != Role::kConstant) continue;
      const auto tensor = by_name_.find(builder_.At(value).name);
      if (tensor == by_name_.end() || !graph_[tensor->second].stored.has_value()) continue;
      if (const ValueId made = LiftFoldedTable(tensor->second, ref, At(g)); made.valid()) value = made;
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
      const FxLiteral* literal = literal_of(i);
      switch (arguments[i].kind) {
        case AtenArgument::Kind::kIgnored:
          break;
        case AtenArgument::Kind::kAttribute:
          if (literal != nullptr) SetAttribute(call->attributes, std::string(arguments[i].name), ArgumentOf(*literal));
          break;
        case AtenArgument::Kind::kTensors:
          if (literal != nullptr) AddOperands(RefsOf(*literal), operands, call);
          break;
        case AtenArgument::Kind::kTensor:
          call->inputs.push_back(TensorArgument(literal, operands, &call->attributes));
          break;
      }
    }
    while (call->inputs.size() > 1 && !call->inputs.back().valid()) call->inputs.pop_back();
  }

  // A tensor, or nothing; a Python number in its place (also one that the exporter wrapped into a tensor) becomes
  // "scalar".
  ValueId TensorArgument(const FxLiteral* literal, const Operands& operands, Attributes* attributes) {
    if (literal == nullptr) return {};
    if (literal->IsNumber()) {
      SetAttribute(*attributes, "scalar", ArgumentOf(*literal));
      return {};
    }
    if (literal->kind != FxLiteral::Kind::kRef) return {};
    const auto found = operands.find(literal->text);
    if (found == operands.end()) {
      attributes->Set("scalar", 1.0);  // a size: its value does not matter
      return {};
    }
    const ValueId value = found->second;
    if (!value.valid()) {
      notes_->Add({.code = "lost-operand",
                   .subject = literal->text,
                   .text = "the file names this operand but does not have it"});
      return {};
    }
    const Value& it = builder_.At(value);
    if (it.role == Role::kConstant && it.shape.rank() == 0) {
      attributes->Set("scalar", 1.0);
      return {};
    }
    return value;
  }

  // Nodes that a rewrite made without saying where from (onnxscript 0.7: SplitToSequence with getitems becomes Split).
  void LiftBare(NodeId id) {
    if (!Runs("read", "provenance LiftBare")) return;
    const Node& node = graph_[id];
    if (node.op != "Split" || node.inputs.empty()) return;  // the rest is for the patterns
    const ValueId input = Trace(node.inputs[0]);
    const int64_t axis = FromFront(node.attributes.Int("axis", 0), builder_.At(input).shape.rank());
    Layer split{
        .op = "split", .name = node.name, .inputs = {input}, .attributes = Named({{"dim", axis}}), .nodes = {id}};
    for (const TensorId tensor : node.outputs) split.outputs.push_back(builder_.ValueOf(tensor));
    live_[id.index()] = false;
    builder_.AddLayer(std::move(split), CommonPath(groups_, consumers_, node, builder_.PathOf(input)));
  }

  const Graph& graph_;
  const Shapes& shapes_;
  LayerBuilder& builder_;
  std::vector<bool>& live_;
  const std::vector<bool> live_of_start_ = live_;
  Notes* notes_;
  FxGroups groups_;
  Signature signature_;
  ClassByPath classes_;
  std::unordered_map<std::string, TensorId> by_name_;
  std::unordered_map<std::string, ValueId> by_fx_name_;
  std::vector<std::vector<NodeId>> consumers_;  // live nodes that read a tensor's data, by tensor
  std::unordered_set<int32_t> lifted_;
  const std::unordered_set<std::string> recorded_ = RecordedResults(graph_);
};

}  // namespace

void LiftByProvenance(const Graph& graph, const Shapes& shapes, LayerBuilder& builder, std::vector<bool>* live,
                      Notes* notes) {
  if (std::ranges::all_of(graph.nodes, [](const Node& node) { return node.provenance.fx_node.empty(); })) return;
  ProvenanceSource(graph, shapes, builder, *live, notes).Run();
}

}  // namespace vramplan
