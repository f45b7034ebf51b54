// Tables of positions: the file stores as many rows as the longest input has, and the model reads them one after the
// other. A longer input is an error in the framework, so it is one here.
//
//   Gather(wpe [1024, 512], Range(0, 4096, 1))    the largest index is 4095: fails
//   Slice(position_ids [1, 512], 0:4096)          numpy gives 512 of them; it fails where they meet the 4096
#include <algorithm>

#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

std::optional<LargestOf> LargestIn(const NodeInference& n, int input) {
  if (const std::vector<Dim>* values = n.Integers(input)) {
    if (values->empty()) return std::nullopt;
    const bool constant = std::ranges::all_of(*values, [](const Dim& v) { return v.IsConstant(); });
    if (!constant) return std::nullopt;
    const auto [low, high] = std::ranges::minmax(*values, {}, [](const Dim& v) { return v.c0(); });
    return LargestOf{high.c0(), low == high};
  }
  return n.In(input).largest;
}

// start, start + delta, ... below limit.
std::optional<LargestOf> OfRange(const NodeInference& n, const Shape& out) {
  const auto start = n.ConstantInts(0), delta = n.ConstantInts(2);
  if (!start || !delta || start->size() != 1 || delta->size() != 1 || !out[0].IsConstant() || out[0].c0() < 1)
    return std::nullopt;
  constexpr int64_t kMost = int64_t{1} << 40;
  if (std::max(std::abs(start->front()), std::abs(delta->front())) > kMost || out[0].c0() > kMost) return std::nullopt;
  const Dim last = Dim(start->front()) + (out[0] - Dim(1)) * Dim(std::max(delta->front(), int64_t{0}));
  if (!last.known()) return std::nullopt;
  return LargestOf{last.c0(), out[0].Is(1)};
}

// Of two operands one of which is the same number everywhere.
std::optional<LargestOf> OfPair(const NodeInference& n, const std::string& op) {
  std::optional<LargestOf> a = LargestIn(n, 0), b = LargestIn(n, 1);
  if (!a || !b) return std::nullopt;
  if (op != "Sub" && a->everywhere) std::swap(a, b);
  if (!b->everywhere) return std::nullopt;
  if (op == "Mul" && b->value < 0) return std::nullopt;
  const Dim x(a->value), y(b->value);
  const Dim value = op == "Add" ? x + y : op == "Sub" ? x - y : x * y;
  if (!value.known()) return std::nullopt;
  return LargestOf{value.c0(), a->everywhere};
}

// Of the same number everywhere the last sum is the largest: positions that are counted from a mask of ones.
std::optional<LargestOf> OfSums(NodeInference& n, const Shape& out) {
  const std::optional<LargestOf> each = LargestIn(n, 0);
  const auto axis = n.ConstantInts(1);
  if (!each || !each->everywhere || each->value < 0 || !axis || axis->size() != 1) return std::nullopt;
  if (axis->front() < -out.rank() || axis->front() >= out.rank() || n.Int("exclusive", 0) != 0) return std::nullopt;
  const Dim length = out[static_cast<int>(axis->front() < 0 ? axis->front() + out.rank() : axis->front())];
  const Dim sum = length * Dim(each->value);
  if (!length.IsConstant() || !sum.known()) return std::nullopt;
  return LargestOf{sum.c0(), length.Is(1)};
}

bool IsView(const std::string& op) {
  static constexpr std::string_view kViews[] = {"Identity", "Unsqueeze", "Squeeze", "Reshape",
                                                "Flatten",  "Transpose", "Expand",  "Tile"};
  return std::ranges::find(kViews, op) != std::end(kViews);
}

// "--dim sequence=1024 or less", where one dim of the file is what was asked for: `asked` rows, or the first ones are
// kept for padding (OPT reads from row 2 on).
std::string ShorterDim(const Binding& binding, int64_t asked, int64_t rows) {
  constexpr int64_t kMostKept = 2;
  for (int64_t kept = 0; kept <= kMostKept; ++kept) {
    for (const auto& [name, length] : binding.symbols) {
      if (length.Is(asked - kept) && rows > kept)
        return "--dim " + name + "=" + std::to_string(rows - kept) + " or less";
    }
  }
  return "ask about an input of " + std::to_string(rows) + " positions or fewer";
}

std::string Grouped(int64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

}  // namespace

void CarryLargest(NodeInference& n) {
  TensorFacts& out = n.Out(0);
  const auto none = [](const Dim& length) { return length.Is(0); };
  if (!out.shape || out.integers || !out.shape->known() || std::ranges::any_of(*out.shape, none)) return;
  const std::string& op = n.node().op;
  if (op == "Range") {
    out.largest = OfRange(n, *out.shape);
  } else if (op == "Add" || op == "Sub" || op == "Mul") {
    out.largest = OfPair(n, op);
  } else if (op == "CumSum") {
    out.largest = OfSums(n, *out.shape);
  } else if (op == "ConstantOfShape") {
    const StoredTensor* value = n.node().attributes.Get<StoredTensor>("value");
    if (value != nullptr && value->values && value->values->integers.size() == 1)
      out.largest = LargestOf{value->values->integers.front(), true};
  } else if (IsView(op) || (op == "Cast" && out.type != DType::kBool)) {
    out.largest = LargestIn(n, 0);
  }
}

void CheckPositions(NodeInference& n) {
  if (n.node().op != "Gather" || n.meets_bounds() || !n.Has(0) || !n.Has(1)) return;
  const Tensor& table = n.graph()[n.node().inputs[0]];
  const std::optional<LargestOf> largest = LargestIn(n, 1);
  if (!table.stored || !largest || !n.ShapeOf(0)) return;
  const int rank = n.ShapeOf(0)->rank();
  const int64_t axis = n.Int("axis", 0);
  if (axis < -rank || axis >= rank) return;
  const Dim rows = (*n.ShapeOf(0))[static_cast<int>(axis < 0 ? axis + rank : axis)];
  if (rows.IsConstant() && largest->value >= rows.c0()) n.FailOfPositions({table.name, rows.c0(), largest->value + 1});
}

void NodeInference::FailOfPositions(const ShortTable& table) {
  if (failure_) return;
  const bool named = !table.name.starts_with("onnx::");  // else by the exporter
  failure_ = Error{ErrorCode::kBadInput, graph_.file,
                   "the position table has " + Grouped(table.rows) + " rows" + (named ? " (" + table.name + ")" : "") +
                       ", and " + Grouped(table.asked) + " are read",
                   ShorterDim(binding_, table.asked, table.rows)};
}

void NodeInference::RememberShort(ShortTable table) {
  if (!meets_bounds_) short_tables_.push_back(std::move(table));
}

const ShortTable* NodeInference::ShortTableOf(Dim a, Dim b) const {
  const auto meets = [&](const ShortTable& table) {
    return (a.Is(table.rows) && b.Is(table.asked)) || (b.Is(table.rows) && a.Is(table.asked));
  };
  const auto found = std::ranges::find_if(short_tables_, meets);
  return found == short_tables_.end() ? nullptr : &*found;
}

}  // namespace vramplan
