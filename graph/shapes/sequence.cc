// Sequences and optionals. A sequence carries what its elements have in common and, while it is short and every step is
// known, the elements one by one:
//
//   SequenceConstruct(a [2], b [3]) = elements [2], [3], common [?]   SequenceAt 1 = [3]   ConcatFromSequence = [5]
#include "graph/shapes/folding.h"
#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

using Elements = NodeInference::Elements;
constexpr size_t kMaxListed = 64;  // elements one by one: SequenceInsert copies them

TensorFacts Element(TensorFacts facts) {
  facts.integers.reset();
  facts.reals.reset();
  return facts;
}

// Out(0) becomes a sequence of these elements; of an empty one nothing but the type is known.
void SetSequence(NodeInference& n, Elements elements, DType type) {
  TensorFacts sequence;
  sequence.type = type;
  if (!elements.empty()) sequence = elements.front();
  for (size_t i = 1; i < elements.size(); ++i) sequence = Common(sequence, elements[i]);
  sequence.is_tensor = false;
  n.Out(0) = sequence;
  if (elements.size() <= kMaxListed) n.SetElements(0, std::move(elements));
}

// The place that an input names, counted from the front; `size` when the input is absent and `otherwise` says so.
std::optional<size_t> Place(const NodeInference& n, int input, size_t size, std::optional<size_t> otherwise) {
  if (!n.Has(input)) return otherwise;
  const Dim at = ScalarOf(n, input);
  if (!at.IsConstant()) return std::nullopt;
  const int64_t place = at.c0() < 0 ? at.c0() + static_cast<int64_t>(size) : at.c0();
  if (place < 0 || place > static_cast<int64_t>(size)) return std::nullopt;
  return static_cast<size_t>(place);
}

void SequenceConstruct(NodeInference& n) {
  Elements elements;
  for (int i = 0; i < n.inputs(); ++i) elements.push_back(Element(n.In(i)));
  SetSequence(n, std::move(elements), n.In(0).type);
}

void SequenceEmpty(NodeInference& n) {
  SetSequence(n, {}, DTypeFromOnnx(static_cast<int32_t>(n.Int("dtype", 1))).value_or(DType::kFloat32));
}

void SequenceInsert(NodeInference& n) {
  const TensorFacts& in = n.In(0);
  const Elements* listed = n.ElementsOf(0);
  if (listed != nullptr && listed->size() < kMaxListed) {
    if (const auto place = Place(n, 2, listed->size(), listed->size())) {
      Elements elements = *listed;
      elements.insert(elements.begin() + static_cast<int64_t>(*place), Element(n.In(1)));
      return SetSequence(n, std::move(elements), in.type);
    }
  }
  n.Out(0) = Common(in, n.In(1));
  n.Out(0).is_tensor = false;
}

void SequenceErase(NodeInference& n) {
  const TensorFacts& in = n.In(0);
  n.Out(0) = Element(in);
  const Elements* listed = n.ElementsOf(0);
  if (listed == nullptr || listed->empty()) return;
  const auto place = Place(n, 1, listed->size(), listed->size() - 1);
  if (!place || *place >= listed->size()) return;
  Elements elements = *listed;
  elements.erase(elements.begin() + static_cast<int64_t>(*place));
  SetSequence(n, std::move(elements), in.type);
}

// An element that data picks is at most as large as the largest.
void SequenceAt(NodeInference& n) {
  n.Out(0) = Element(n.In(0));
  n.Out(0).is_tensor = true;
  const Elements* listed = n.ElementsOf(0);
  if (listed == nullptr || listed->empty()) return;
  const auto place = Place(n, 1, listed->size(), std::nullopt);
  if (place && *place < listed->size()) {
    n.Out(0) = (*listed)[*place];
    return;
  }
  n.Out(0).shape = listed->front().shape;
  for (const TensorFacts& one : *listed) n.Out(0).shape = n.Either(n.Out(0).shape, one.shape);
}

void SequenceLength(NodeInference& n) {
  n.SetShape(0, Shape{});
  if (const Elements* listed = n.ElementsOf(0)) n.SetIntegers(0, {static_cast<int64_t>(listed->size())});
}

// The lengths of the pieces of an axis: those in input 1, or pieces of the scalar there, the last one shorter; without
// it, of length 1 (onnx SplitToSequence-11).
std::optional<std::vector<Dim>> Pieces(const NodeInference& n, Dim length) {
  if (n.Has(1) && n.ShapeOf(1) && n.ShapeOf(1)->rank() == 1) {
    const std::vector<Dim>* lengths = n.Integers(1);
    return lengths != nullptr ? std::optional(*lengths) : std::nullopt;
  }
  const Dim piece = n.Has(1) ? ScalarOf(n, 1) : Dim(1);
  if (!length.IsConstant() || !piece.IsConstant() || piece.c0() < 1) return std::nullopt;
  if (length.c0() / piece.c0() >= static_cast<int64_t>(kMaxListed)) return std::nullopt;
  std::vector<Dim> pieces;
  for (int64_t left = length.c0(); left > 0; left -= piece.c0()) pieces.push_back(std::min(left, piece.c0()));
  return pieces;
}

void SplitToSequence(NodeInference& n) {
  n.Out(0).is_tensor = false;
  if (!n.ShapeOf(0)) return;
  Shape piece = *n.ShapeOf(0);
  const auto axis = n.Axis(n.Int("axis", 0), piece.rank());
  if (!axis) return;
  // The standard ignores keepdims beside lengths; PyTorch 2.6's unbind counts on it (onnxscript 0.2 core.py:
  // aten_unbind), and ONNX Runtime (1.20) drops an axis of pieces of one.
  const bool ones = !n.Has(1) || (n.ShapeOf(1) && n.ShapeOf(1)->rank() == 0 && ScalarOf(n, 1) == Dim(1));
  const bool drop = ones && n.Int("keepdims", 1) == 0;
  const auto part = [&](Dim length) {
    TensorFacts facts;
    facts.type = n.In(0).type;
    facts.shape = piece;
    (*facts.shape)[*axis] = length;
    if (drop) facts.shape->Remove(*axis);
    return facts;
  };
  const auto lengths = Pieces(n, piece[*axis]);
  if (lengths && lengths->size() <= kMaxListed) {
    Elements elements;
    for (const Dim& length : *lengths) elements.push_back(part(length));
    return SetSequence(n, std::move(elements), n.In(0).type);
  }
  const Dim each = n.Has(1) ? ScalarOf(n, 1) : Dim(1);
  n.Out(0) = part(each.known() && DivideExactly(piece[*axis], each) ? each : Dim::Unknown());
  n.Out(0).is_tensor = false;
}

void ConcatFromSequence(NodeInference& n) {
  const TensorFacts& in = n.In(0);
  n.Out(0).is_tensor = true;
  if (!in.shape) return;
  std::vector<Dim> out(in.shape->begin(), in.shape->end());
  const bool fresh = n.Int("new_axis", 0) != 0;
  const auto axis = n.Axis(n.Int("axis", 0), static_cast<int>(out.size()) + (fresh ? 1 : 0));
  if (!axis) return;
  Dim length = Dim::Unknown();
  if (const Elements* listed = n.ElementsOf(0)) {
    length = fresh ? Dim(static_cast<int64_t>(listed->size())) : Dim(0);
    for (size_t i = 0; !fresh && i < listed->size(); ++i) {
      const auto& shape = (*listed)[i].shape;
      length = length + (shape && *axis < shape->rank() ? (*shape)[*axis] : Dim::Unknown());
    }
  }
  if (fresh) {
    out.insert(out.begin() + *axis, length);
  } else {
    out[static_cast<size_t>(*axis)] = length;
  }
  n.SetShape(0, out);
}

// The body once, on what the elements have in common; sequences beside the first go along with it, tensors stay as they
// are (onnx SequenceMap-17).
void SequenceMap(NodeInference& n) {
  const auto* body = n.node().attributes.Get<std::shared_ptr<Graph>>("body");
  if (body == nullptr) return n.Fail("it lacks its body");
  std::vector<TensorFacts> inputs;
  for (int i = 0; i < n.inputs(); ++i) {
    inputs.push_back(Element(n.In(i)));
    inputs.back().is_tensor = true;
  }
  const auto outputs = n.InferSubgraph(**body, inputs);
  for (int i = 0; outputs && i < n.outputs() && i < static_cast<int>(outputs->size()); ++i) {
    const TensorFacts one = Element((*outputs)[static_cast<size_t>(i)]);
    n.Out(i) = one;
    n.Out(i).is_tensor = false;
    const Elements* listed = n.ElementsOf(0);
    if (listed != nullptr && one.shape && one.shape->known()) n.SetElements(i, Elements(listed->size(), one));
  }
}

// An optional is what it holds, or, without an input, what the file declares of it.
void Optional(NodeInference& n) {
  n.Out(0) = Element(n.In(0));
  n.Out(0).is_tensor = false;
  if (!n.Has(0)) n.TakeDeclared(0);
}

// The tensor in it, or the sequence, which only the declared type of the output tells apart; from opset 18 on one may
// stand for the optional itself.
void OptionalGetElement(NodeInference& n) {
  n.Out(0) = Element(n.In(0));
  n.Out(0).is_tensor = !n.Declared(0) || n.Declared(0)->is_tensor;
}

void OptionalHasElement(NodeInference& n) { n.SetShape(0, Shape{}); }

constexpr RuleRow kSequenceRows[] = {
    {"SequenceConstruct", SequenceConstruct, Type::kRule},
    {"SequenceEmpty", SequenceEmpty, Type::kRule},
    {"SequenceInsert", SequenceInsert, Type::kRule},
    {"SequenceErase", SequenceErase, Type::kRule},
    {"SequenceAt", SequenceAt, Type::kRule},
    {"SequenceLength", SequenceLength, Type::kInt64},
    {"SequenceMap", SequenceMap, Type::kRule},
    {"SplitToSequence", SplitToSequence},
    {"ConcatFromSequence", ConcatFromSequence},
    {"Optional", Optional, Type::kRule},
    {"OptionalGetElement", OptionalGetElement, Type::kRule},
    {"OptionalHasElement", OptionalHasElement, Type::kBool},
};

}  // namespace

constinit const std::span<const RuleRow> kSequenceRules(kSequenceRows);

}  // namespace vramplan
