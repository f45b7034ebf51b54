// Views: nodes that only say how a tensor is looked at.
#include <algorithm>

#include "graph/base/text.h"
#include "graph/lift/match/source.h"

namespace vramplan {
namespace {

bool MatchTranspose(PatternSource& source, NodeId root) {
  std::vector<int64_t> perm = source[root].attributes.Ints("perm");
  if (perm.empty()) {
    for (int axis = source.RankOf(source.In(root, 0)); axis-- > 0;) perm.push_back(axis);
  }
  std::vector<int64_t> moved;
  for (size_t axis = 0; axis < perm.size(); ++axis) {
    if (perm[axis] != static_cast<int64_t>(axis)) moved.push_back(static_cast<int64_t>(axis));
  }
  if (moved.size() == 2) return source.EmitOf(root, "transpose", Named({{"dim0", moved[0]}, {"dim1", moved[1]}}));
  return source.EmitOf(root, "permute", Named({{"dims", perm}}));
}

// Expand of a number is torch.ones, torch.full: it makes a tensor.
bool MatchExpand(PatternSource& source, NodeId root) {
  const auto number = source.Number(source.In(root, 0));
  if (!number.has_value()) return source.EmitOf(root, "expand");
  return source.Emit(*number == 0 ? "zeros" : *number == 1 ? "ones" : "full", {}, {root});
}

// One slice layer an axis, as Python's x[:, a:b, c:d] makes them.
bool MatchSlice(PatternSource& source, NodeId root) {
  const TensorId input = source.In(root, 0), output = source[root].outputs[0];
  const auto starts = source.IntegersOf(root, "starts", 1);
  const int rank = source.RankOf(input);
  size_t count = 1;
  if (starts.has_value()) {
    count = starts->size();
  } else if (const TensorId tensor = source.In(root, 1);
             tensor.valid() && source.RankOf(tensor) == 1 && source.ShapeOf(tensor)[0].IsConstant()) {
    count = static_cast<size_t>(source.ShapeOf(tensor)[0].c0());
  }
  std::vector<int64_t> axes = source.IntegersOf(root, "axes", 3).value_or(std::vector<int64_t>{});
  if (axes.empty()) {
    for (size_t i = 0; i < count; ++i) axes.push_back(static_cast<int64_t>(i));
  }
  const std::vector<int64_t> steps = source.IntegersOf(root, "steps", 4).value_or(std::vector<int64_t>{});
  if (axes.empty() || source.RankOf(output) != rank) return false;
  Shape shape = source.ShapeOf(input);
  Operand from = source.Use(input);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = FromFront(axes[i], rank);
    if (axis < 0 || axis >= rank) return false;
    shape[static_cast<int>(axis)] = source.ShapeOf(output)[static_cast<int>(axis)];
    const bool last = i + 1 == axes.size();
    const Operand to =
        last ? source.Out(root) : source.New(Beside(source[root], "slice"), source.TypeOf(output), shape);
    Attributes attributes = Named({{"dim", axis}, {"step", i < steps.size() ? steps[i] : 1}});
    if (starts.has_value() && i < starts->size()) attributes.Set("start", (*starts)[i]);
    source.Put(to, "slice", {from}, {root}, std::move(attributes));
    from = to;
  }
  return true;
}

// Gather by a scalar that is known: x[:, 0], or self.weights[0]; of a stored matrix it is a row of an embedding.
bool MatchSelect(PatternSource& source, NodeId root) {
  const TensorId input = source.In(root, 0), index = source.In(root, 1);
  const auto number = source.Number(index);
  if (!number.has_value() || source.RankOf(index) != 0) return false;
  if (source.IsInitializer(input) && source.RankOf(input) == 2) return false;
  return source.EmitOf(root, "select",
                       Named({{"dim", FromFront(source[root].attributes.Int("axis", 0), source.RankOf(input))},
                              {"index", static_cast<int64_t>(*number)}}));
}

// The call stands at its first node: parts that the file makes later may come after users of the first.
bool EmitSplit(PatternSource& source, NodeId root, const char* op, int64_t axis, std::vector<Operand> outputs,
               std::vector<NodeId> nodes) {
  source.Add({.op = op,
              .inputs = {source.Input(root, 0)},
              .outputs = std::move(outputs),
              .attributes = Named({{"dim", axis}}),
              .nodes = nodes,
              .position = nodes.front()});
  return true;
}

bool MatchSplit(PatternSource& source, NodeId root) {
  const int64_t axis = FromFront(source[root].attributes.Int("axis", 0), source.RankOf(source.In(root, 0)));
  return EmitSplit(source, root, "split", axis, source.Outs(root), {root});
}

// Split into ones, each squeezed: unbind. The root is any of the Squeezes.
bool MatchUnbind(PatternSource& source, NodeId root) {
  const NodeId split = source.MakerOf(source.In(root, 0), "Split");
  if (!split.valid()) return false;
  const int rank = source.RankOf(source.In(split, 0));
  const int64_t axis = FromFront(source[split].attributes.Int("axis", 0), rank);
  std::vector<Operand> outputs;
  std::vector<NodeId> nodes = {split};
  for (const TensorId part : source[split].outputs) {
    if (source.UsersOf(part).empty()) {
      outputs.push_back(Operand{});
      continue;
    }
    if (source.UsersOf(part).size() != 1 || !source.UsedOnce(part)) return false;
    const NodeId squeeze = source.UsersOf(part)[0];
    const auto axes = source[squeeze].op == "Squeeze" ? source.IntegersOf(squeeze, "axes", 1) : std::nullopt;
    if (!axes.has_value() || axes->size() != 1 || FromFront((*axes)[0], rank) != axis) return false;
    outputs.push_back(source.Out(squeeze));
    nodes.push_back(squeeze);
  }
  std::sort(nodes.begin() + 1, nodes.end());
  return EmitSplit(source, split, "unbind", axis, std::move(outputs), std::move(nodes));
}

// A sequence of which every user takes one piece is a split's views, or unbind's (TorchScript where it does not know
// how many there are, symbolic_opset11.py: split, unbind; PyTorch 2.6's dynamo exporter always). The root is any of the
// pieces.
bool MatchPieces(PatternSource& source, NodeId root) {
  const NodeId split = source.MakerOf(source.In(root, 0), "SplitToSequence");
  if (!split.valid()) return false;
  const int rank = source.RankOf(source.In(split, 0));
  if (rank == 0) return false;
  std::vector<Operand> outputs;
  std::vector<NodeId> nodes = {split};
  for (const NodeId user : source.UsersOf(source[split].outputs[0])) {
    if (source[user].op != "SequenceAt") return false;
    outputs.push_back(source.Out(user));
    nodes.push_back(user);
  }
  const bool drops = source.RankOf(source[root].outputs[0]) < rank;
  return EmitSplit(source, split, drops ? "unbind" : "split", FromFront(source[split].attributes.Int("axis", 0), rank),
                   std::move(outputs), std::move(nodes));
}

// torch.chunk: neighbouring Slices that cover an axis, where one ends at the very tensor at which the next starts
// (the exporter computes chunk sizes once; hand-written x[:k], x[k:] has two numbers).
bool MatchChunk(PatternSource& source, NodeId root) {
  const TensorId input = source.In(root, 0);
  if (source[root].inputs.size() < 4 || source.UsersOf(input).size() < 2) return false;
  const auto axes = source.Integers(source[root].inputs[3]);
  if (!axes.has_value() || axes->size() != 1) return false;
  std::vector<NodeId> parts;
  for (const NodeId user : source.UsersOf(input)) {
    if (source[user].op != "Slice" || source[user].inputs.size() < 4 ||
        source.Integers(source[user].inputs[3]) != axes || !source.SameScope(user, root)) {
      continue;
    }
    const TensorId start = source[user].inputs[1];
    const bool follows = parts.empty() ? source.Integers(start) == std::vector<int64_t>{0}
                                       : start == source[parts.back()].inputs[2] && source.Stored(start) == nullptr;
    if (follows) parts.push_back(user);
  }
  if (parts.size() < 2 || !Contains(parts, root)) return false;
  if (source.RankOf(input) == 0) return false;  // not known, behind an operator that nobody knows
  const int axis = static_cast<int>(FromFront((*axes)[0], source.RankOf(input)));
  Dim total(0);
  std::vector<Operand> outputs;
  for (const NodeId part : parts) {
    if (source.RankOf(source[part].outputs[0]) != source.RankOf(input)) return false;
    total = total + source.ShapeOf(source[part].outputs[0])[axis];
    outputs.push_back(source.Out(part));
  }
  if (total != source.ShapeOf(input)[axis]) return false;
  return EmitSplit(source, root, "split", axis, std::move(outputs), parts);
}

}  // namespace

const PatternRows& ViewNodes() {
  static const PatternRows rows = {
      {"SequenceAt", MatchPieces},
      {"Squeeze", MatchUnbind},
      {"Slice", MatchChunk},
      {"Slice", MatchSlice},
      {"Gather", MatchSelect},
      {"Split", MatchSplit},
      // view and reshape cannot be told apart; both are free on a contiguous tensor, and where .contiguous().view() was
      // written, reshape copies as well.
      Becomes("Reshape|Flatten(x)", "reshape(x)"),
      Becomes("Unsqueeze(x)", "unsqueeze(x)"),
      Becomes("Squeeze(x)", "squeeze(x)"),
      {"Transpose", MatchTranspose},
      {"Expand", MatchExpand},
      Becomes("Tile(x)", "repeat(x)"),
  };
  return rows;
}

}  // namespace vramplan
