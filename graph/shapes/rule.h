// Rule: how the outputs of one operator follow from its inputs. An operator is one row of the table of its family:
//
//   {"Relu", SameShape},                        output: type and shape of the first input
//   {"Equal", Binary<EqualTo>, Type::kBool},    output: bool, the broadcast shape, and its contents where both are
//   known
//
// A rule reads In(i) and writes Out(i). What it leaves without a shape is unknown. Where inputs contradict each other
// it calls Fail and returns; the first failure ends Infer. Contents of tensors ("integers" of TensorFacts) are only
// ever set together with a constant shape of as many elements.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/shapes/infer.h"

namespace vramplan {

// Contents are computed up to this many elements: shapes, axes, pads and split lengths are shorter, and the index
// tensors that exporters compute (Swin's window masks) are longer and shape nothing. Stored constants are kept up to
// ConstantValues::kMaxElements.
inline constexpr int64_t kMaxFolded = 64;

// Subgraphs within subgraphs are inferred this deep; Load lets no deeper file in.
inline constexpr int kMaxSubgraphDepth = 256;

// A stored tensor of which more rows are read than it has.
struct ShortTable {
  std::string name;
  int64_t rows = 0, asked = 0;
};

// One node being inferred: its inputs' facts, its outputs', its attributes.
class NodeInference {
 public:
  NodeInference(const Graph& graph, const Binding& binding, Shapes* shapes, Notes* notes, int depth = 0)
      : graph_(graph),
        binding_(binding),
        shapes_(shapes),
        notes_(notes),
        depth_(depth),
        at_most_(graph.tensors.size(), false) {}

  void Begin(const Node& node);
  const std::optional<Error>& failure() const { return failure_; }

  const Node& node() const { return *node_; }
  int64_t opset() const { return opset_; }
  int inputs() const { return static_cast<int>(node_->inputs.size()); }
  int outputs() const { return static_cast<int>(node_->outputs.size()); }
  bool Has(int input) const { return input < inputs() && node_->inputs[static_cast<size_t>(input)].valid(); }
  // Facts of an input; empty ones for an omitted input, and a place to write for an omitted output.
  const TensorFacts& In(int input) const;
  TensorFacts& Out(int output);
  const std::optional<Shape>& ShapeOf(int input) const { return In(input).shape; }
  // Of any tensor that an earlier node has made; empty for an absent one.
  const TensorFacts& FactsAt(TensorId tensor) const;

  int64_t Int(const char* name, int64_t otherwise) const { return node_->attributes.Int(name, otherwise); }
  std::vector<int64_t> Ints(const char* name) const { return node_->attributes.Ints(name); }
  std::string Text(const char* name, const char* otherwise) const { return node_->attributes.Text(name, otherwise); }

  // The first failure counts: "model.onnx: node conv1 (Conv): text".
  void Fail(const std::string& text, const std::string& hint = "");
  void SetShape(int output, const Shape& shape) { Out(output).shape = shape; }
  void SetShape(int output, const std::vector<Dim>& dims);  // fails beyond Shape::kMaxRank

  // `axis` counted from the front; fails when it is outside of [-rank, rank).
  std::optional<int> Axis(int64_t axis, int rank);
  // Axes from an attribute (old opsets) or an input (new ones), counted from the front. Nothing: not given, not known
  // or failed; AxesGiven tells the first from the others.
  std::optional<std::vector<int>> Axes(int input, int rank);
  bool AxesGiven(int input) const { return Has(input) || node_->attributes.Has("axes"); }

  // Contents of an input, when they are known: as lengths, as plain numbers, as reals.
  const std::vector<Dim>* Integers(int input) const;
  std::optional<std::vector<int64_t>> ConstantInts(int input) const;
  std::optional<std::vector<double>> Reals(int input) const;
  void SetIntegers(int output, std::vector<Dim> values);
  // The shape that an input of lengths asks for; unknown lengths where the contents are not known, nothing when not
  // even their number is. Fails beyond Shape::kMaxRank.
  std::optional<std::vector<Dim>> Target(int input);

  // The one length that two axes must share, or nothing when they contradict. A plain number against a length with the
  // batch is taken as the batch that the exporter baked into the file, which is noted.
  std::optional<Dim> Same(Dim a, Dim b);
  // The same for two axes of a numpy broadcast, where 1 gives way.
  std::optional<Dim> Broadcast(Dim a, Dim b);
  // The broadcast of the shapes of inputs [0, count); nothing when one is not known or (after Fail) when they
  // contradict.
  std::optional<Shape> BroadcastInputs(int count);
  std::optional<Shape> BroadcastShapes(const Shape& a, const Shape& b);

  // The batch the file was exported with: as its inputs say, or as an earlier node of a symbolic file showed.
  std::optional<int64_t> baked_batch() const { return binding_.fixed_batch ? binding_.fixed_batch : baked_batch_; }
  bool reopened() const { return binding_.fixed_batch.has_value(); }
  // False when this node shows another batch than the one known so far.
  bool AcceptBakedBatch(int64_t batch);
  void NoteRebatched(const std::string& text);
  void Note(const char* code, const std::string& text, const std::string& hint = "");

  const Graph& graph() const { return graph_; }
  const Binding& binding() const { return binding_; }
  std::string Describe(int input) const;  // "x [B, 3, 224, 224]"
  std::string Show(const Shape& shape) const;

  // Facts of the outputs of a subgraph whose inputs have these facts; nothing when it fails (then this node failed,
  // too) or nests too deep. A trial says nothing and fails alone.
  std::optional<std::vector<TensorFacts>> InferSubgraph(const Graph& subgraph, const std::vector<TensorFacts>& inputs,
                                                        const std::vector<bool>& empty_sequences = {},
                                                        bool trial = false);

  // A length that data decides: unknown, or the most that it can be after TakeBounds (bounds.h).
  Dim Undecided(Dim at_most);
  bool bounded() const { return !bounds_.empty(); }           // whether that was asked for this node
  const std::vector<Dim>& bounds() const { return bounds_; }  // what was given for it
  // Whether a bound, or what follows from one, is among what this node reads. Two lengths that must be the same may
  // then differ: the smaller is the bound of both.
  bool meets_bounds() const { return meets_bounds_; }
  // Takes back a failure, or outputs that cannot be, where bounds may be the reason: the outputs are not known.
  void ForgiveBounds();
  // Remembers whether the output is a bound or follows from one.
  void MarkOutput(int output, bool given);
  // What holds for both shapes; lengths that differ are undecided, and the larger one wins.
  std::optional<Shape> Either(const std::optional<Shape>& a, const std::optional<Shape>& b);
  // The lengths that the user gave for what data decides: --dim TENSOR:AXIS=N. True when one was taken.
  bool TakeGiven(int output);

  // positions.cc: the table has fewer rows than are read, for certain; or a slice of it was cut short, which is told
  // where it meets the length that was asked for.
  void FailOfPositions(const ShortTable& table);
  void RememberShort(ShortTable table);
  const ShortTable* ShortTableOf(Dim a, Dim b) const;

  // The elements of a sequence, while it is short and every one is known; null otherwise.
  using Elements = std::vector<TensorFacts>;
  const Elements* ElementsOf(int input) const;
  void SetElements(int output, Elements elements);
  int depth() const { return depth_; }

  const DeclaredType* Declared(int output) const;
  // Sets outputs from the types that the file declares, where inference left them open. True when anything was taken.
  bool TakeDeclared(int output);
  // Fails on lengths that are negative or overflow; names the tensor.
  void CheckOutputs();
  void CheckTensor(const std::string& name, const TensorFacts& facts);

 private:
  const Graph& graph_;
  const Binding& binding_;
  Shapes* shapes_;
  Notes* notes_;
  int depth_;  // how many subgraphs are around the graph
  const Node* node_ = nullptr;
  int64_t opset_ = graph_.opset();
  TensorFacts absent_;
  std::optional<int64_t> baked_batch_;
  std::optional<Error> failure_;
  bool failed_inside_ = false;  // in a subgraph
  std::vector<Dim> bounds_;
  bool meets_bounds_ = false;
  std::vector<bool> at_most_;  // by tensor: a bound, or what follows from one
  std::map<TensorId, std::shared_ptr<const Elements>> sequences_;
  std::vector<ShortTable> short_tables_;
};

// The element type of all outputs, unless the rule sets it.
enum class Type : uint8_t { kFirstInput, kSecondInput, kThirdInput, kBool, kInt64, kInt32, kUint8, kFloat32, kRule };

struct RuleRow {
  std::string_view op;
  void (*infer)(NodeInference& node);
  Type type = Type::kFirstInput;
};

// The row of one domain and operator; null when there is none. "ai.onnx" is the same as "".
const RuleRow* FindRule(std::string_view domain, std::string_view op);

// Infers all nodes of a graph whose inputs and stored tensors have their facts.
void InferNodes(const Graph& graph, NodeInference* node);

// The families. A new operator is one row in one of these tables.
extern const std::span<const RuleRow> kElementwiseRules;
extern const std::span<const RuleRow> kCreationRules;
extern const std::span<const RuleRow> kReshapeRules;
extern const std::span<const RuleRow> kJoiningRules;
extern const std::span<const RuleRow> kIndexingRules;
extern const std::span<const RuleRow> kMatmulRules;
extern const std::span<const RuleRow> kConvolutionRules;
extern const std::span<const RuleRow> kPoolingRules;
extern const std::span<const RuleRow> kNormalizationRules;
extern const std::span<const RuleRow> kReductionRules;
extern const std::span<const RuleRow> kImageRules;
extern const std::span<const RuleRow> kRecurrentRules;
extern const std::span<const RuleRow> kAttentionRules;
extern const std::span<const RuleRow> kQuantizationRules;
extern const std::span<const RuleRow> kLossRules;
extern const std::span<const RuleRow> kSignalRules;
extern const std::span<const RuleRow> kControlRules;
extern const std::span<const RuleRow> kSequenceRules;
extern const std::span<const RuleRow> kTextRules;
extern const std::span<const RuleRow> kPreviewRules;    // of the domain ai.onnx.preview
extern const std::span<const RuleRow> kTrainingRules;   // of ai.onnx.preview.training
extern const std::span<const RuleRow> kMlRules;         // of ai.onnx.ml
extern const std::span<const RuleRow> kMicrosoftRules;  // of com.microsoft
extern const std::span<const RuleRow> kMicrosoftAttentionRules;
extern const std::span<const RuleRow> kMicrosoftQuantizedRules;
extern const std::span<const RuleRow> kNchwcRules;  // of com.microsoft.nchwc

// What holds for both: lengths that differ are not known.
TensorFacts Common(const TensorFacts& a, const TensorFacts& b);

// What a stored tensor is, with its contents when they are small.
TensorFacts FactsOf(const StoredTensor& stored);

// Positions (positions.cc): the largest element of the node's output; whether a Gather reads rows that its table lacks.
void CarryLargest(NodeInference& n);
void CheckPositions(NodeInference& n);

// The rule of every operator whose outputs look like its first input.
void SameShape(NodeInference& node);

// Rules that more than one family uses; numbers are inputs.
void MatMulOf(NodeInference& node, int left, int right);
// [.., M, K] x [.., K, N], whose inner lengths are the same; `row`, `column`: without M, without N.
void SetProduct(NodeInference& node, Shape a, Shape b, bool row = false, bool column = false);
void MatMul(NodeInference& node);  // of inputs 0 and 1
void ConvOf(NodeInference& node, int input, int weight, bool channels_last = false);
void PoolOf(NodeInference& node, bool channels_last = false);
// [N, C, ...] of [N, ..., C], and back.
Shape ChannelsFirst(const Shape& shape);
Shape ChannelsLast(const Shape& shape);
void Gemm(NodeInference& node);
void LayerNormalization(NodeInference& node);

}  // namespace vramplan
