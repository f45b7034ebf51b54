// Copies: cat, roll, pad, pixel shuffle, casts.

#include "graph/lift/match/source.h"

namespace vramplan {
namespace {

// Concat(x[k:], x[:k]) along one axis: gives x, the axis and the shift.
struct Turn {
  TensorId input;
  int64_t dim = 0, shift = 0;
  std::vector<NodeId> nodes;
};
std::optional<Turn> TurnOf(PatternSource& source, NodeId concat) {
  if (!concat.valid() || source[concat].inputs.size() != 2) return std::nullopt;
  const NodeId tail = source.OnlyMakerOf(source.In(concat, 0), "Slice");
  const NodeId head = source.OnlyMakerOf(source.In(concat, 1), "Slice");
  if (!tail.valid() || !head.valid()) return std::nullopt;
  const TensorId input = source.In(tail, 0);
  const int rank = source.RankOf(input);
  const int64_t dim = FromFront(source[concat].attributes.Int("axis", 0), rank);
  const auto starts = source.IntegersOf(tail, "starts", 1), ends = source.IntegersOf(head, "ends", 2);
  const auto zeros = source.IntegersOf(head, "starts", 1);
  const auto axes = source.IntegersOf(tail, "axes", 3), head_axes = source.IntegersOf(head, "axes", 3);
  if (source.In(head, 0) != input || !starts || !ends || !axes || !head_axes || !zeros) return std::nullopt;
  if (starts->size() != 1 || *starts != *ends || *zeros != std::vector<int64_t>{0}) return std::nullopt;
  if (axes->size() != 1 || FromFront((*axes)[0], rank) != dim || FromFront((*head_axes)[0], rank) != dim)
    return std::nullopt;
  return Turn{input, dim, -(*starts)[0], {tail, head, concat}};
}

// One roll of several axes is a chain of such pairs (symbolic_opset9.py 2.10, roll).
bool MatchRoll(PatternSource& source, NodeId root) {
  auto turn = TurnOf(source, root);
  if (!turn.has_value()) return false;
  std::vector<int64_t> shifts, dims;
  std::vector<NodeId> nodes;
  TensorId input;
  while (turn.has_value()) {
    shifts.insert(shifts.begin(), turn->shift);
    dims.insert(dims.begin(), turn->dim);
    nodes.insert(nodes.begin(), turn->nodes.begin(), turn->nodes.end());
    input = turn->input;
    const NodeId inner = source.MakerOf(input, "Concat");
    turn.reset();
    if (inner.valid() && source.UsersOf(input).size() == 2 && source.SameScope(inner, root))
      turn = TurnOf(source, inner);
  }
  return source.Emit("roll", {source.Use(input)}, std::move(nodes), Named({{"shifts", shifts}, {"dims", dims}}));
}

// cls_token.expand(B, -1, -1), of which a fixed batch of 1 left nothing to see: what it joins has the batch.
Operand Joined(PatternSource& source, NodeId root, size_t i) {
  const TensorId tensor = source.In(root, i);
  Shape shape = source.ShapeOf(tensor);
  const Shape joined = source.ShapeOf(source[root].outputs[0]);
  const int64_t dim = FromFront(source[root].attributes.Int("axis", 0), joined.rank());
  if (dim == 0 || joined.rank() != shape.rank() || shape.rank() < 2 || !(joined[0] == Dim::Batch())) {
    return source.Use(tensor);
  }
  const NodeId expand = source.OnlyMakerOf(tensor, "Expand");
  if (!shape[0].IsConstant() || (!expand.valid() && source.Stored(tensor) == nullptr)) return source.Use(tensor);
  shape[0] = Dim::Batch();
  const Operand repeated = source.New(Beside(source[root], "expand"), source.TypeOf(tensor), shape);
  source.Put(repeated, "expand", {source.Use(expand.valid() ? source.In(expand, 0) : tensor)}, {root});
  return repeated;
}

bool MatchConcat(PatternSource& source, NodeId root) {
  std::vector<Operand> inputs;
  for (size_t i = 0; i < source[root].inputs.size(); ++i) inputs.push_back(Joined(source, root, i));
  return source.Emit(
      "cat", std::move(inputs), {root},
      Named({{"dim", FromFront(source[root].attributes.Int("axis", 0), source.RankOf(source[root].outputs[0]))}}));
}

// ONNX says all begins, then all ends; torch says begin and end of the last axis first.
bool MatchPad(PatternSource& source, NodeId root) {
  std::vector<int64_t> pad;
  if (const auto pads = source.IntegersOf(root, "pads", 1)) {
    const size_t rank = pads->size() / 2;
    for (size_t axis = rank; axis-- > 0;) pad.insert(pad.end(), {(*pads)[axis], (*pads)[axis + rank]});
    while (pad.size() >= 2 && pad.back() == 0 && pad[pad.size() - 2] == 0) pad.resize(pad.size() - 2);
  }
  std::string mode = source[root].attributes.Text("mode", "constant");
  if (mode == "edge") mode = "replicate";
  if (mode == "wrap") mode = "circular";
  return source.EmitOf(root, "pad", Named({{"pad", pad}, {"mode", mode}}));
}

// Reshape, Transpose, Reshape: pixel_shuffle and pixel_unshuffle before opset 11 (symbolic_opset9.py 2.10), and
// TensorFlow's depth_to_space.
bool IsPixelShuffle(const NodesMatch& found, Draft* draft) {
  const PatternSource& source = found.source;
  const std::vector<int64_t> perm = source[found.MakerOf("turned")].attributes.Ints("perm");
  const bool shuffle = perm == std::vector<int64_t>{0, 1, 4, 2, 5, 3};
  if (!shuffle && perm != std::vector<int64_t>{0, 1, 3, 5, 2, 4}) return false;
  const Shape from = source.ShapeOf(found["x"]), parts = source.ShapeOf(found["parts"]);
  const Shape to = source.ShapeOf(source[found.root()].outputs[0]);
  if (from.rank() != 4 || parts.rank() != 6 || to.rank() != 4 || from[0] != parts[0] || to[0] != parts[0]) return false;
  // [B, C, r, r, H, W] to [B, C, H * r, W * r]; [B, C, H, r, W, r] to [B, C * r * r, H, W].
  const Shape& small = shuffle ? from : to;
  const int height = shuffle ? 4 : 2, width = shuffle ? 5 : 4;
  const Dim r = parts[shuffle ? 2 : 3], other = parts[shuffle ? 3 : 5];
  if (!shuffle) draft->op = "pixel_unshuffle";
  return r == other && small[1] == parts[1] * r * r && small[2] == parts[height] && small[3] == parts[width];
}

bool MatchTrilu(PatternSource& source, NodeId root) {
  return source.EmitOf(root, source[root].attributes.Int("upper", 1) != 0 ? "triu" : "tril");
}

}  // namespace

const PatternRows& MovePatterns() {
  static const PatternRows rows = {
      {"Concat", MatchRoll},
      {"Concat", MatchConcat},
      {"Pad", MatchPad},
      Becomes("Cast|CastLike(x)", "to(x)"),
      Becomes("DepthToSpace(x)", "pixel_shuffle(x)"),
      Becomes("SpaceToDepth(x)", "pixel_unshuffle(x)"),
      Becomes("Reshape(turned=Transpose(parts=Reshape(x)))", "pixel_shuffle(x)", IsPixelShuffle),
      {"Trilu", MatchTrilu},
  };
  return rows;
}

}  // namespace vramplan
