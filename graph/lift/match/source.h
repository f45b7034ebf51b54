// PatternSource: puts operators back together from the outputs backwards, like instruction selection. A value that is
// needed asks the patterns of the node that makes it, in table order; the first that matches makes layers and needs its
// own operands in turn. What nobody needs (arithmetic of sizes, halves of a pattern) is never looked at:
//
//   output = Mul(Mul(x, Add(Erf(Div(x, 1.414)), 1)), 0.5)     needed: output
//   MatchGelu at the last Mul  ->  gelu(x)                    needed: x
//
// Invariants: a tensor is made by one layer; layers reach the builder in node order; an interior value of a pattern
// has no other user (UsedOnce).
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/base/note.h"
#include "graph/layers/builder.h"
#include "graph/layers/form.h"
#include "graph/lift/torchscript/patterns_modules.h"
#include "graph/lift/why.h"

namespace vramplan {

// A value in a draft: a tensor of the file, one that was made for the draft, or a parameter that the file has lost;
// none of them: absent.
struct Operand {
  TensorId tensor;
  ValueId made;
  int32_t lost = -1;
  bool valid() const { return tensor.valid() || made.valid() || lost >= 0; }
};

struct Draft {
  std::string op;
  std::vector<Operand> inputs, outputs;
  Attributes attributes;
  std::vector<NodeId> nodes;       // the last one names the layer
  NodeId position;                 // where it stands, when that is not its last node
  std::optional<ModulePath> path;  // of its modules, when that is not its last node's
};

class PatternSource {
 public:
  PatternSource(const Graph& graph, const Shapes& shapes, LayerBuilder& builder, const std::vector<bool>& live,
                Notes* notes);

  // Lifts everything that the graph's outputs, and the layers that the builder already has, need. `why`: null, or what
  // rules say of its node.
  void Run(Why* why = nullptr);

  // --- Looking -------------------------------------------------------------------------------------------------------
  const Node& operator[](NodeId node) const { return graph_[node]; }
  const Graph& graph() const { return graph_; }
  bool FromPyTorch() const { return from_pytorch_; }
  Notes& notes() const { return *notes_; }
  // Where forms say why they do not match `root`; null: nobody asks.
  Why* Asks(NodeId root) const { return why_ != nullptr && why_->node == root ? why_ : nullptr; }
  // By the dynamo exporter, of whose words only names are left (fx_names.h).
  bool FromFx() const { return fx_names_; }
  // The tensor behind no-ops: Identity, a Cast to its own type, a Dropout that drops nothing.
  TensorId Behind(TensorId tensor) const;
  // Input i of a node behind no-ops; invalid when absent.
  TensorId In(NodeId node, size_t i) const;
  // The live node that makes `tensor`; invalid where none does.
  NodeId MakerOf(TensorId tensor) const {
    const NodeId maker = graph_.MakerOf(tensor);
    return Live(maker) ? maker : NodeId{};
  }
  // The same, when it is an `op`.
  NodeId MakerOf(TensorId tensor, std::string_view op) const;
  // The same, when nobody else uses the tensor.
  NodeId OnlyMakerOf(TensorId tensor, std::string_view op) const {
    return UsedOnce(tensor) ? MakerOf(tensor, op) : NodeId{};
  }
  // False for an absent tensor.
  bool UsedOnce(TensorId tensor) const { return tensor.valid() && uses_[Index(tensor)] == 1; }
  const std::vector<NodeId>& UsersOf(TensorId tensor) const { return users_[Index(tensor)]; }
  bool SameScope(NodeId a, NodeId b) const { return modules_.ScopeOf(a) == modules_.ScopeOf(b); }
  std::string ModuleOf(NodeId node) const { return modules_.InnermostOf(node); }
  const ModulePaths& modules() const { return modules_; }
  // "<module of user>.<leaf>"; in the root the leaf alone.
  std::string NameIn(NodeId user, const std::string& leaf) const;
  // A number that Python held: a stored scalar that is no parameter, or one computed from sizes.
  std::optional<double> Number(TensorId tensor) const;
  bool IsNumber(TensorId tensor, double expected) const;
  // Made on the host: arithmetic of sizes and stored numbers.
  bool IsHostMade(TensorId tensor) const;
  // The two operands of a commutative node as (tensor, number), when one of them is a number.
  std::optional<std::pair<TensorId, double>> TensorAndNumber(NodeId node) const;
  // Contents of an integer operand; nothing when they depend on data or on the batch.
  std::optional<std::vector<int64_t>> Integers(TensorId tensor) const;
  // Numbers that are an attribute in old opsets and an input in new ones.
  std::optional<std::vector<int64_t>> IntegersOf(NodeId node, const std::string& attribute, size_t input) const;
  // The stored tensor behind `tensor` (an initializer, a Constant, an Identity of one); null for others.
  const StoredTensor* Stored(TensorId tensor) const;
  // A stored tensor that the module tree owns or that an exporter folded; false for Constant nodes.
  bool IsInitializer(TensorId tensor) const;
  // Its name is that of its place in the module tree.
  bool HasModulePath(TensorId tensor) const;
  const std::string& NameOf(TensorId tensor) const { return graph_[tensor].name; }
  Shape ShapeOf(TensorId tensor) const;
  DType TypeOf(TensorId tensor) const { return shapes_[tensor].type; }
  int RankOf(TensorId tensor) const { return ShapeOf(tensor).rank(); }

  // --- Making --------------------------------------------------------------------------------------------------------
  // An operand; its maker will be lifted too. Absent stays absent.
  Operand Use(TensorId tensor);
  Operand Input(NodeId node, size_t i) { return Use(In(node, i)); }
  // A stored operand with a known role. Where the file has no path for it, "<module of user>.<leaf>" is one. `shape`:
  // that of the framework's tensor, when the exporter changed it.
  Operand Parameter(TensorId tensor, NodeId user, const std::string& leaf, std::optional<Shape> shape = std::nullopt);
  Operand Buffer(TensorId tensor, NodeId user, const std::string& leaf);
  Operand Out(NodeId node, size_t i = 0);
  std::vector<Operand> Outs(NodeId node);
  // A parameter of which the file has only the tensor that it was packed into with others; that one is none then. All
  // calls of a module have the same.
  Operand PartOf(TensorId packed, NodeId user, const std::string& leaf, const Shape& shape);
  // A value that the file has not.
  Operand New(const std::string& name, DType type, const Shape& shape);
  void Add(Draft draft);
  // A call that makes `outputs`; true.
  bool PutAll(std::vector<Operand> outputs, std::string op, std::vector<Operand> inputs, std::vector<NodeId> nodes,
              Attributes attributes = {});
  bool Put(Operand output, std::string op, std::vector<Operand> inputs, std::vector<NodeId> nodes,
           Attributes attributes = {}) {
    return PutAll({output}, std::move(op), std::move(inputs), std::move(nodes), std::move(attributes));
  }
  // A call that makes what the last of `nodes` does; true.
  bool Emit(std::string op, std::vector<Operand> inputs, std::vector<NodeId> nodes, Attributes attributes = {}) {
    const Operand output = Out(nodes.back());
    return Put(output, std::move(op), std::move(inputs), std::move(nodes), std::move(attributes));
  }
  // The same with all its outputs.
  bool EmitAll(std::string op, std::vector<Operand> inputs, NodeId root, Attributes attributes = {}) {
    return PutAll(Outs(root), std::move(op), std::move(inputs), {root}, std::move(attributes));
  }
  // A call of one node and its first operand.
  bool EmitOf(NodeId root, std::string op, Attributes attributes = {}) {
    return Emit(std::move(op), {Use(In(root, 0))}, {root}, std::move(attributes));
  }

 private:
  struct Claim {  // what a stored tensor is
    Role role = Role::kParameter;
    std::string name;
    std::optional<Shape> shape;
    NodeId user;
  };
  Operand UseAs(Role role, TensorId tensor, NodeId user, const std::string& leaf, std::optional<Shape> shape);
  size_t Index(TensorId tensor) const { return tensor.index(); }
  bool Live(NodeId node) const { return node.valid() && live_[node.index()]; }
  void FindFirstUsers();
  void FindNumbers();
  void FindNoOps();
  void CountUses();
  bool IsStoredCopy(TensorId tensor) const;  // an Identity that un-merges two equal parameters
  void Lift(TensorId tensor);
  void RegisterStored();
  void FindTies();
  std::optional<Claim> ClaimOf(TensorId tensor, bool used) const;
  void RegisterOne(TensorId tensor, const Claim& claim);
  ValueId* TwinOf(TensorId tensor, const Claim& claim);
  void OrderDrafts();
  void Flush();

  const Graph& graph_;
  const Shapes& shapes_;
  LayerBuilder& builder_;
  const std::vector<bool>& live_;
  Notes* notes_;
  Why* why_ = nullptr;
  ModulePaths modules_;
  bool from_pytorch_ = false;
  bool fx_names_ = false;
  std::vector<NodeId> first_user_;  // by tensor: the first node that is no Identity
  std::vector<bool> number_;        // by node: arithmetic of sizes and stored numbers
  std::vector<TensorId> behind_;    // by tensor
  std::vector<int32_t> uses_;       // by tensor, behind no-ops
  std::vector<std::vector<NodeId>> users_;
  std::vector<bool> made_, needed_;  // by tensor
  std::vector<TensorId> work_;
  std::vector<Draft> drafts_;
  std::map<TensorId, Claim> claims_;
  // Matrices that were folded once a call of their module, and how many of a name each scope has.
  std::map<std::tuple<std::string, std::string, int>, ValueId> folded_;
  std::map<std::pair<std::string, int32_t>, int> folded_in_scope_;
  void FindSharedPaths();
  bool IsPathOfSeveral(const std::string& path) const;
  std::set<std::string> shared_paths_;    // of modules that stand for several
  std::set<std::string> named_children_;  // of the model, by what names of parameters begin with
  struct Lost {
    std::string name;
    DType type = DType::kUndefined;
    Shape shape;
    ValueId value;
  };
  void RegisterLost(Lost& lost);
  Operand LostUnder(const std::string& key, const std::string& name, DType type, const Shape& shape);
  std::vector<Lost> lost_;
  std::map<std::string, int32_t> lost_of_;
  std::set<TensorId> taken_apart_;
  std::map<TensorId, TensorId> ties_;  // transposed copies of a table, and the table
};

// One pattern: tries to lift the node `root`, whose op is one of its row. False: not this one.
using MatchFunction = std::function<bool(PatternSource& source, NodeId root)>;
struct PatternRow {
  std::string ops;  // "ReduceMean|ReduceSum"
  MatchFunction match;
  std::string form = {};      // of a row that Becomes made
  bool has_condition = true;  // whether it may refuse what its form matches
  std::string name = {};      // of the rules that tests/ablate leaves out: the family, the place in it, the operators
};
using PatternRows = std::vector<PatternRow>;

// The rows of each family, in the order in which they are tried; single nodes come last.
const PatternRows& AttentionPatterns();
const PatternRows& NormPatterns();
const PatternRows& ActivationPatterns();
const PatternRows& LinearPatterns();
const PatternRows& DensePatterns();
const PatternRows& LossPatterns();
const PatternRows& RandomPatterns();
const PatternRows& MovePatterns();
const PatternRows& IndexPatterns();
const PatternRows& ConvolutionPatterns();
const PatternRows& RecurrentPatterns();
const PatternRows& ViewNodes();
const PatternRows& LookUpNodes();
const PatternRows& PointwiseNodes();
const PatternRows& ReductionNodes();
const PatternRows& AllPatterns();  // of all families, with their names
const std::vector<const PatternRow*>& PatternsFor(const std::string& op);

// A form (graph/layers/form.h) that matched nodes of a file.
struct NodesMatch {
  PatternSource& source;
  const Match& match;
  TensorId operator[](std::string_view name) const { return TensorId{match.Value(name)}; }
  NodeId MakerOf(std::string_view name) const { return source.graph()[(*this)[name]].producer; }
  NodeId root() const { return NodeId{match.calls.front()}; }
  // Operands before what reads them; the root is last.
  std::vector<NodeId> Nodes() const;
  // All are stored, and no literals.
  bool AreStored(std::initializer_list<std::string_view> names) const;
};
// Nodes as the calls of forms.
class NodeCalls final : public CallGraph {
 public:
  explicit NodeCalls(const PatternSource& source) : source_(source) {}
  std::string_view OpOf(int32_t call) const override { return source_[NodeId{call}].op; }
  int32_t MakerOf(int32_t value) const override { return source_.MakerOf(TensorId{value}).value; }
  int32_t ResultOf(int32_t call) const override { return source_[NodeId{call}].outputs[0].value; }
  int32_t Operand(int32_t call, size_t i) const override { return source_.In(NodeId{call}, i).value; }
  std::optional<double> NumberAt(int32_t call, size_t i) const override {
    return source_.Number(source_.In(NodeId{call}, i));
  }
  int32_t BehindViews(int32_t value) const override { return value; }
  bool IsReadOnce(int32_t value) const override { return source_.UsedOnce(TensorId{value}); }
  bool KeepsWhatOthersRead() const override { return false; }

 private:
  const PatternSource& source_;
};

// Whether `form` matches at `root`, so that `accept`, of a NodesMatch, agrees.
template <typename Accept>
bool MatchesForm(PatternSource& source, NodeId root, const Form& form, const Accept& accept) {
  Match match;
  const NodeCalls calls(source);
  const auto accepts = [&](const Match& found) { return accept(NodesMatch{source, found}); };
  Why* why = source.Asks(root);
  if (why == nullptr) return form.Matches(calls, root.value, &match, accepts);
  Mismatch mismatch;
  const bool matches = form.Matches(calls, root.value, &match, accepts, &mismatch);
  if (matches || mismatch.form.empty()) return matches;
  Why::Asked& asked = why->asked.back();
  asked.reasons.push_back(ReasonOf(mismatch, source.graph(), calls));
  if (mismatch.matched > why->nearest_parts) {
    why->nearest_parts = mismatch.matched;
    why->nearest = asked.rule + ": " + asked.reasons.back();
  }
  return false;
}

// What a form does not say of the call that it was: more conditions, attributes, another operator.
using FinishDraft = bool (*)(const NodesMatch& found, Draft* draft);
// A row: the form becomes the call. "%weight" in the call is the module's parameter of that name.
//   Becomes("Mul(x, Sigmoid(x))", "silu(x)")
//   Becomes("Flatten|Reshape(x)", "reshape(x)")
PatternRow Becomes(const std::string& form, std::string_view call, FinishDraft finish = nullptr);

// Whether an exporter folded a batch norm into a convolution.
bool HadBatchNorm(PatternSource& source, NodeId root);
// A convolution node as a layer.
bool EmitConvolution(PatternSource& source, NodeId root, const char* op, bool folded_norm = false);
// A node's name with a suffix, for values the file does not have.
std::string Beside(const Node& node, const char* suffix);

}  // namespace vramplan
