#include "graph/lift/any_export/decomposed_calls.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "graph/base/text.h"
#include "graph/layers/edit.h"
#include "graph/layers/uses.h"

namespace vramplan {
namespace {

struct Found {
  std::string op;
  std::vector<ValueId> inputs;
  Attributes attributes;
};

const Shape& ShapeOf(const Uses& uses, ValueId id) { return uses.layers()[id].shape; }

bool FromDynamo(const Layer& layer) { return layer.evidence == Evidence::kProvenance; }

// The table of an index by constants that the export computed; invalid otherwise.
ValueId Indexed(const Uses& uses, const Layer* index) {
  if (index == nullptr || index->op != "index" || index->inputs.size() < 2) return {};
  for (size_t i = 1; i < index->inputs.size(); ++i) {
    if (Uses::In(index, i).valid() && !uses.IsStored(Uses::In(index, i))) return {};
  }
  return Uses::In(index, 0);
}

std::optional<Found> LinearResize(const Uses& uses, const Layer& add) {
  if (add.op != "add" || !FromDynamo(add)) return std::nullopt;
  const Layer *base = uses.Operand(&add, 0, "index"), *product = uses.Operand(&add, 1, "mul");
  const Layer* difference = uses.Operand(product, 0, "sub");
  const ValueId x = Indexed(uses, base);
  if (!x.valid() || difference == nullptr || !uses.IsStored(Uses::In(product, 1))) return std::nullopt;
  if (Uses::In(difference, 1) != Uses::In(&add, 0) || Indexed(uses, uses.MakerOf(Uses::In(difference, 0))) != x)
    return std::nullopt;
  return Found{"upsample_linear1d", {x}, {}};
}

std::optional<Found> NearestExact(const Uses& uses, const Layer& index) {
  if (index.attributes.Int("unchecked", 0) == 0) return std::nullopt;
  const ValueId x = Indexed(uses, &index);
  if (!x.valid()) return std::nullopt;
  const Shape &from = ShapeOf(uses, x), &to = ShapeOf(uses, index.outputs[0]);
  if (from.rank() != to.rank() || from.rank() < 3 || !(from[0] == to[0]) || !(from[1] == to[1])) return std::nullopt;
  return Found{Ranked("_upsample_nearest_exact", from.rank() - 2), {x}, {}};
}

std::optional<Found> AdaptivePool(const Uses& uses, const Layer& root) {
  if (!FromDynamo(root) || root.outputs.empty()) return std::nullopt;
  const Layer* last = uses.MakerOf(Uses::In(&root, 0));
  if (root.op == "div") {
    if (!uses.IsStored(Uses::In(&root, 1))) return std::nullopt;
    const auto is_part = [](const std::string& op) {
      return op == "add" || op == "select" || op == "masked_fill" || op == "where";
    };
    for (int steps = 0; last != nullptr && is_part(last->op) && steps < 4096; ++steps)
      last = uses.MakerOf(Uses::In(last, 0));
  } else if (root.op != "mean") {
    return std::nullopt;
  }
  const ValueId x = Indexed(uses, last);
  if (!x.valid() || !uses.layers()[x].shape.rank()) return std::nullopt;
  const int axes = ShapeOf(uses, x).rank() - 2;
  const Shape &windows = ShapeOf(uses, last->outputs[0]), &out = ShapeOf(uses, root.outputs[0]);
  if (axes < 1 || axes > 3 || windows.rank() != 2 + 2 * axes || out.rank() != 2 + axes) return std::nullopt;
  return Found{Ranked("adaptive_avg_pool", axes), {x}, {}};
}

std::optional<Found> AffineGrid(const Uses& uses, const Layer& reshape) {
  if (reshape.op != "reshape" || !FromDynamo(reshape)) return std::nullopt;
  const Layer* product = uses.Operand(uses.Operand(&reshape, 0, "sum"), 0, "mul");
  const Layer* transposed = uses.Operand(uses.Operand(product, 1, "unsqueeze"), 0, "transpose");
  if (transposed == nullptr || !uses.IsStored(Uses::In(product, 0))) return std::nullopt;
  const Shape &base = ShapeOf(uses, Uses::In(product, 0)), &grid = ShapeOf(uses, reshape.outputs[0]);
  if (base.rank() != 3 || !base[2].Is(1) || !base[1].Is(grid.rank() - 1)) return std::nullopt;
  Found found{"affine_grid", {Uses::In(transposed, 0)}, {}};
  const Layer* sample = uses.OnlyReaderOf(reshape.outputs[0]);
  if (sample != nullptr && sample->attributes.Int("align_corners", 0) != 0)
    found.attributes.Set("align_corners", int64_t{1});
  return found;
}

std::optional<Found> MaxUnpool(const Uses& uses, const Layer& reshape) {
  const Layer* put = reshape.op == "reshape" ? uses.Operand(&reshape, 0, "index_put") : nullptr;
  if (put == nullptr || put->inputs.size() != 3 || !FromDynamo(reshape)) return std::nullopt;
  const Layer* zeros = uses.MakerOf(uses.BehindViews(Uses::In(put, 0)));
  const Layer* places = uses.MakerOf(uses.BehindViews(Uses::In(put, 1)));
  if (zeros == nullptr || zeros->op != "zeros" || places == nullptr || places->op != "add") return std::nullopt;
  const Layer* scaled = uses.Operand(places, 1, "mul");
  const Layer* range = scaled == nullptr ? nullptr : uses.MakerOf(uses.BehindViews(Uses::In(scaled, 0)));
  if (range == nullptr || range->op != "arange") return std::nullopt;
  const ValueId x = uses.BehindViews(Uses::In(put, 2));
  return Found{Ranked("max_unpool", ShapeOf(uses, x).rank() - 2), {x, Uses::In(places, 0)}, {}};
}

// nan_to_num: three choices between x and a number, by isnan, isneginf and isposinf (torch/_refs 2.10), or fills by
// isnan, isinf and a sign (torch/onnx/symbolic_opset9.py).
std::optional<Found> NanToNum(const Uses& uses, const Layer& last) {
  if (FromDynamo(last)) {
    if (last.op != "where") return std::nullopt;
    const Layer* second = uses.Operand(&last, 2, "where");
    const Layer* first = uses.Operand(second, 2, "where");
    const Layer* nan = uses.Operand(first, 0, "isnan");
    const bool signs =
        uses.Operand(&last, 0, "aten::isposinf") != nullptr && uses.Operand(second, 0, "aten::isneginf") != nullptr;
    if (nan == nullptr || !signs || Uses::In(nan, 0) != Uses::In(first, 2)) return std::nullopt;
    return Found{"nan_to_num", {Uses::In(nan, 0)}, {}};
  }
  if (last.op != "masked_fill") return std::nullopt;
  const auto infinite = [&](const Layer* fill) {
    return uses.Operand(uses.Operand(fill, 1, "bitwise_and"), 0, "isinf") != nullptr;
  };
  const Layer* second = uses.Operand(&last, 0, "masked_fill");
  const Layer* first = uses.Operand(second, 0, "masked_fill");
  const Layer* nan = uses.Operand(first, 1, "isnan");
  if (nan == nullptr || !infinite(&last) || !infinite(second) || Uses::In(nan, 0) != Uses::In(first, 0))
    return std::nullopt;
  return Found{"nan_to_num", {Uses::In(nan, 0)}, {}};
}

std::optional<Found> AlphaDropout(const Uses& uses, const Layer& add) {
  if (add.op != "add" || !FromDynamo(add)) return std::nullopt;
  const Layer *product = uses.Operand(&add, 0, "mul"), *shift = uses.Operand(&add, 1, "add");
  const Layer* noise = uses.Operand(uses.Operand(product, 1, "mul"), 0, "bernoulli");
  const Layer* same = uses.Operand(uses.Operand(uses.Operand(shift, 0, "mul"), 0, "add"), 0, "bernoulli");
  if (noise == nullptr || noise != same) return std::nullopt;
  const bool whole = ShapeOf(uses, noise->outputs[0]) == ShapeOf(uses, Uses::In(product, 0));
  return Found{whole ? "alpha_dropout" : "feature_alpha_dropout", {Uses::In(product, 0)}, {}};
}

// cdist of p != 2 in TorchScript: sum(|a[:, :, None] - b[:, None]| ** p) ** (1 / (p + 1e-6)) (torch/onnx/
// symbolic_opset9.py 2.10: cdist, pairwise_distance). Nobody writes the exponent so by hand.
std::optional<Found> CdistOfPower(const Uses& uses, const Layer& root) {
  if (root.op != "pow" || FromDynamo(root)) return std::nullopt;
  const Layer* power = uses.Operand(uses.Operand(&root, 0, "sum"), 0, "pow");
  const Layer* difference = uses.Operand(power, 0, "sub");
  const Layer *left = uses.Operand(difference, 0, "unsqueeze"), *right = uses.Operand(difference, 1, "unsqueeze");
  if (left == nullptr || right == nullptr || !root.attributes.Has("scalar")) return std::nullopt;
  const double p = power->attributes.Real("scalar", 0);
  constexpr double kEpsilon = 1e-6;
  if (p <= 0 || std::abs(root.attributes.Real("scalar", 0) * (p + kEpsilon) - 1) > kEpsilon / 10) return std::nullopt;
  Found found{"cdist", {Uses::In(left, 0), Uses::In(right, 0)}, {}};
  found.attributes.Set("p", p);
  return found;
}

std::optional<Found> Cdist(const Uses& uses, const Layer& sqrt) {
  if (sqrt.op != "sqrt") return std::nullopt;
  const Layer* clamp = uses.Operand(&sqrt, 0, "clamp");
  if (clamp == nullptr) clamp = uses.Operand(&sqrt, 0, "maximum");
  const Layer* product = uses.Operand(clamp, 0, "matmul");
  const Layer *left = uses.Operand(product, 0, "cat"), *transposed = uses.Operand(product, 1, "transpose");
  const Layer* right = uses.Operand(transposed, 0, "cat");
  if (left == nullptr || right == nullptr || left->inputs.size() != 3 || right->inputs.size() != 3) return std::nullopt;
  const Layer* square = uses.Operand(uses.Operand(right, 2, "sum"), 0, "pow");
  const Layer* doubled = uses.Operand(left, 0, "mul");
  if (uses.Operand(left, 2, "ones") == nullptr || square == nullptr || doubled == nullptr) return std::nullopt;
  if (Uses::In(square, 0) != Uses::In(right, 0)) return std::nullopt;
  return Found{"cdist", {Uses::In(doubled, 0), Uses::In(right, 0)}, {}};
}

// Windows along `dim`: slices of one tensor, one step from each other.
std::optional<Found> Unfold(const Uses& uses, const Layer& cat) {
  if (cat.op != "cat" || FromDynamo(cat) || cat.inputs.size() < 2) return std::nullopt;
  const int64_t dim = cat.attributes.Int("dim", 0);
  ValueId x;
  int64_t first = 0, step = 0;
  for (size_t i = 0; i < cat.inputs.size(); ++i) {
    const Layer* maker = uses.Operand(uses.Operand(&cat, i, "unsqueeze"), 0, "transpose");
    if (maker == nullptr) maker = uses.Operand(uses.Operand(&cat, i, "unsqueeze"), 0, "permute");
    if (maker == nullptr) return std::nullopt;
    const Layer* slice = uses.Operand(maker, 0, "slice");
    if (slice == nullptr || slice->attributes.Int("dim", -1) != dim) return std::nullopt;
    const int64_t start = slice->attributes.Int("start", 0);
    if (i == 0) first = start;
    if (i == 1) step = start - first;
    if (i == 0) x = Uses::In(slice, 0);
    if (Uses::In(slice, 0) != x || start != first + step * static_cast<int64_t>(i)) return std::nullopt;
  }
  const Shape &from = ShapeOf(uses, x), &to = ShapeOf(uses, cat.outputs[0]);
  if (first != 0 || step < 1 || to.rank() != from.rank() + 1) return std::nullopt;
  Found found{"unfold", {x}, {}};
  found.attributes.Set("dimension", dim);
  found.attributes.Set("step", step);
  return found;
}

std::optional<Found> Columns(const Uses& uses, const Layer& reshape) {
  if (reshape.op != "reshape" || FromDynamo(reshape)) return std::nullopt;
  const Layer* transposed = uses.Operand(&reshape, 0, "transpose");
  const Layer* columns = uses.Operand(transposed, 0, "index");
  const Layer* rows = uses.Operand(columns, 0, "index");
  const Layer* pad = uses.Operand(rows, 0, "pad");
  if (pad == nullptr || columns->attributes.Int("dim", 0) != 4 || rows->attributes.Int("dim", 0) != 2)
    return std::nullopt;
  if (ShapeOf(uses, columns->outputs[0]).rank() != 6 || ShapeOf(uses, reshape.outputs[0]).rank() != 3)
    return std::nullopt;
  return Found{"im2col", {Uses::In(pad, 0)}, {}};
}

std::optional<Found> Activation(const Uses& uses, const Layer& root) {
  if (FromDynamo(root)) return std::nullopt;
  if (root.op == "log") {
    const Layer* plus = uses.Operand(&root, 0, "add");
    if (plus != nullptr && plus->inputs.size() == 2 && !Uses::In(plus, 1).valid() &&
        plus->attributes.Real("scalar", 0) == 1)
      return Found{"log1p", {Uses::In(plus, 0)}, {}};
    const Layer* odds = uses.Operand(&root, 0, "div");
    if (odds != nullptr && Uses::In(odds, 0).valid() &&
        Uses::In(uses.Operand(odds, 1, "rsub"), 0) == Uses::In(odds, 0)) {
      ValueId x = Uses::In(odds, 0);  // bounded by two conditions, or by a clamp
      for (const Layer* bound = uses.MakerOf(x); bound != nullptr; bound = uses.MakerOf(x)) {
        if (bound->op != "where" && bound->op != "masked_fill" && bound->op != "clamp") break;
        x = Uses::In(bound, bound->op == "where" ? 1 : 0);
      }
      return Found{"logit", {x}, {}};
    }
    const Layer* sigmoid = uses.Operand(&root, 0, "sigmoid");
    if (sigmoid == nullptr || uses.OnlyReaderOf(sigmoid->outputs[0]) == nullptr) return std::nullopt;
    return Found{"log_sigmoid", {Uses::In(sigmoid, 0)}, {}};
  }
  if (root.op == "gt" && !Uses::In(&root, 1).valid()) {  // of flags as numbers
    const Layer* sum = uses.Operand(&root, 0, "sum");
    const Layer* numbers = uses.Operand(sum, 0, "to");
    const ValueId flags = Uses::In(numbers, 0);
    if (!flags.valid() || uses.layers()[flags].type != DType::kBool) return std::nullopt;
    Found found{"any", {flags}, {}};
    found.attributes.Set("dim", sum->attributes.Ints("dim"));
    found.attributes.Set("keepdim", sum->attributes.Int("keepdim", 0));
    return found;
  }
  if (root.op == "slice" && root.attributes.Int("step", 1) < 0) {
    ValueId x = Uses::In(&root, 0);
    for (const Layer* inner = uses.MakerOf(x); inner != nullptr && inner->op == "slice"; inner = uses.MakerOf(x)) {
      if (inner->attributes.Int("step", 1) >= 0) break;
      x = Uses::In(inner, 0);
    }
    return Found{"flip", {x}, {}};
  }
  if (root.op == "where") {
    const Layer* outside = uses.Operand(&root, 0, "bitwise_or");
    const Layer *above = uses.Operand(outside, 0, "gt"), *below = uses.Operand(outside, 1, "lt");
    const ValueId x = Uses::In(&root, 1);
    if (above == nullptr || Uses::In(above, 0) != x || Uses::In(below, 0) != x || Uses::In(&root, 2).valid())
      return std::nullopt;
    return Found{"hardshrink", {x}, {}};
  }
  if (root.op == "add") {
    const Layer *high = uses.Operand(&root, 0, "where"), *low = uses.Operand(&root, 1, "where");
    const Layer *above = uses.Operand(high, 0, "gt"), *below = uses.Operand(low, 0, "lt");
    const Layer *less = uses.Operand(high, 1, "sub"), *more = uses.Operand(low, 1, "add");
    if (above == nullptr || below == nullptr || less == nullptr || more == nullptr) return std::nullopt;
    const ValueId x = Uses::In(above, 0);
    if (Uses::In(below, 0) != x || Uses::In(less, 0) != x || Uses::In(more, 0) != x) return std::nullopt;
    return Found{"softshrink", {x}, {}};
  }
  if (root.op == "prelu") {
    const Layer* noise = uses.Operand(&root, 1, "bernoulli");
    return noise == nullptr ? std::nullopt : std::optional(Found{"rrelu", {Uses::In(&root, 0)}, {}});
  }
  return std::nullopt;
}

// Rows of a pad: a slice from the other end, the tensor, a slice from its beginning.
std::optional<Found> CircularPad(const Uses& uses, const Layer& cat) {
  if (cat.op != "cat" || FromDynamo(cat) || cat.inputs.size() < 2 || cat.inputs.size() > 3) return std::nullopt;
  const Layer* level = &cat;
  std::map<int64_t, std::pair<int64_t, int64_t>> pads;  // by axis
  ValueId x;
  while (level != nullptr && level->op == "cat" && level->inputs.size() <= 3) {
    const int64_t dim = level->attributes.Int("dim", 0);
    ValueId inner;
    for (const ValueId part : level->inputs) {
      const Layer* slice = uses.MakerOf(part);
      if (slice != nullptr && slice->op == "slice" && slice->attributes.Int("dim", -1) == dim) continue;
      if (inner.valid()) return std::nullopt;
      inner = part;
    }
    if (!inner.valid() || pads.count(dim) != 0) break;
    std::pair<int64_t, int64_t> rims;
    bool before = true, circular = true;
    for (const ValueId part : level->inputs) {
      if (part == inner) {
        before = false;
        continue;
      }
      const Layer* slice = uses.MakerOf(part);
      const Dim width = ShapeOf(uses, part)[static_cast<int>(dim)];
      const int64_t start = slice->attributes.Int("start", 0);
      circular =
          circular && Uses::In(slice, 0) == inner && width.IsConstant() && (before ? start == -width.c0() : start == 0);
      (before ? rims.first : rims.second) = width.c0();
    }
    if (!circular) break;
    pads[dim] = rims;
    x = inner;
    level = uses.MakerOf(inner);
  }
  if (pads.empty()) return std::nullopt;
  const int rank = ShapeOf(uses, x).rank();
  std::vector<int64_t> list;
  for (int axis = rank - 1; axis >= std::min<int>(rank - 1, static_cast<int>(pads.begin()->first)); --axis) {
    const auto found = pads.find(axis);
    list.push_back(found == pads.end() ? 0 : found->second.first);
    list.push_back(found == pads.end() ? 0 : found->second.second);
  }
  Found found{"pad", {x}, {}};
  found.attributes.Set("pad", list);
  found.attributes.Set("mode", std::string("circular"));
  return found;
}

// x.var(dim), with or without Bessel's correction, and its root (symbolic_opset9.py, _var_mean).
// sum(x * y) / max(sqrt(sum(x * x) * sum(y * y)), eps): torch/onnx/_internal/torchscript_exporter/symbolic_opset9.py
// 2.10, cosine_similarity.
std::optional<Found> CosineSimilarity(const Uses& uses, const Layer& root) {
  if (root.op != "div" || FromDynamo(root)) return std::nullopt;
  const Layer* sum = uses.Operand(&root, 0, "sum");
  const Layer* product = uses.Operand(sum, 0, "mul");
  const Layer* squares = uses.Operand(uses.Operand(uses.Operand(&root, 1, "maximum"), 0, "sqrt"), 0, "mul");
  if (product == nullptr || squares == nullptr) return std::nullopt;
  for (const size_t side : {0, 1}) {
    const Layer* square = uses.Operand(uses.Operand(squares, side, "sum"), 0, "mul");
    if (square == nullptr || Uses::In(square, 0) != Uses::In(square, 1) ||
        Uses::In(square, 0) != Uses::In(product, side))
      return std::nullopt;
  }
  const std::vector<int64_t> dims = sum->attributes.Ints("dim");
  const Shape &left = ShapeOf(uses, Uses::In(product, 0)), &right = ShapeOf(uses, Uses::In(product, 1));
  if (dims.size() != 1 || left.rank() != right.rank()) return std::nullopt;
  Found found{"cosine_similarity", {Uses::In(product, 0), Uses::In(product, 1)}, {}};
  found.attributes.Set("dim", dims[0]);
  return found;
}

std::optional<Found> Variance(const Uses& uses, const Layer& root) {
  if (FromDynamo(root)) return std::nullopt;
  const Layer* last = &root;
  const bool deviation = root.op == "sqrt";
  if (deviation) last = uses.MakerOf(Uses::In(&root, 0));
  if (last != nullptr && last->op == "div")
    last = uses.Operand(uses.Operand(last, 0, "mul") == nullptr ? nullptr : last, 0, "mul");
  if (last != nullptr && last->op == "mul") last = uses.Operand(last, 0, "mean");
  if (last == nullptr || last->op != "mean") return std::nullopt;
  const Layer* square = uses.Operand(last, 0, "mul");
  const Layer* difference = uses.Operand(square, 0, "sub");
  if (difference == nullptr || Uses::In(square, 0) != Uses::In(square, 1)) return std::nullopt;
  const Layer* mean = uses.Operand(difference, 1, "mean");
  if (mean == nullptr || Uses::In(mean, 0) != Uses::In(difference, 0)) return std::nullopt;
  Found found{deviation ? "std" : "var", {Uses::In(mean, 0)}, {}};
  found.attributes.Set("dim", last->attributes.Ints("dim"));
  found.attributes.Set("keepdim", last->attributes.Int("keepdim", 0));
  return found;
}

// A batch norm without running statistics is given those of the batch, as nodes (symbolic_opset9.py, batch_norm).
std::optional<Found> BatchStatistics(const Uses& uses, const Layer& norm) {
  if (norm.op != "batch_norm" || FromDynamo(norm) || norm.inputs.size() < 5) return std::nullopt;
  if (uses.Operand(&norm, 3, "mean") == nullptr || !Uses::In(&norm, 4).valid()) return std::nullopt;
  Found found{"batch_norm", {norm.inputs.begin(), norm.inputs.begin() + 3}, norm.attributes};
  found.attributes.Set("training", int64_t{1});
  return found;
}

// The average over channels, a pooling of x * x with a depth of channels; or the condition whose branches squeeze it,
// where nobody chose one (graph/shapes/branches.h): how many channels it takes is not seen then, 5 as the class has it.
std::optional<Found> LocalResponseNorm(const Uses& uses, const Layer& div) {
  const Layer* power = div.op == "div" && !FromDynamo(div) ? uses.Operand(&div, 1, "pow") : nullptr;
  const Layer* scaled = uses.Operand(uses.Operand(power, 0, "add"), 0, "mul");
  const Layer* average = uses.MakerOf(uses.BehindViews(Uses::In(scaled, 0)));
  if (average == nullptr) return std::nullopt;
  if (average->op != "onnx::If") {
    const Layer* squares = uses.MakerOf(uses.BehindViews(Uses::In(average, 0)));
    if (!average->op.starts_with("avg_pool") || squares == nullptr || squares->op != "mul" ||
        Uses::In(squares, 0) != Uses::In(&div, 0) || Uses::In(squares, 1) != Uses::In(&div, 0))
      return std::nullopt;
  }
  Found found{"local_response_norm", {Uses::In(&div, 0)}, {}};
  if (const std::vector<int64_t> kernel = average->attributes.Ints("kernel_size"); !kernel.empty())
    found.attributes.Set("size", kernel.front());
  return found;
}

// Where the maximum was is counted along the whole image, as PyTorch does, by taking off a pool of windows of one
// (symbolic_opset9.py, _max_pool): the pool itself gave these places.
void GatherPlaces(const Uses& uses, std::map<size_t, Layer>* calls, std::set<size_t>* gone) {
  for (const Layer& sub : uses.layers().layers) {
    if (sub.op != "sub" || FromDynamo(sub)) continue;
    const Layer *pool = uses.MakerOf(Uses::In(&sub, 0)), *ones = uses.Operand(&sub, 1, "slice");
    while (ones != nullptr && ones->op == "slice") ones = uses.MakerOf(Uses::In(ones, 0));
    const bool pools = pool != nullptr && ones != nullptr && pool->op.rfind("max_pool", 0) == 0 &&
                       ones->op.find("max_pool") != std::string::npos && Uses::In(pool, 0) == Uses::In(ones, 0);
    if (!pools || pool->outputs.size() != 2 || pool->outputs[1] != Uses::In(&sub, 0)) continue;
    Layer call = *pool;
    call.outputs[1] = sub.outputs[0];
    calls->emplace(uses.PlaceOf(pool), std::move(call));
    gone->insert(uses.PlaceOf(&sub));
  }
}

// Of a reduction without places, whether it was max(dim)[0] rather than amax(dim), which keeps more: where the axis
// stays, as in CBAM (max_out, _ = torch.max(x, dim=1, keepdim=True)); over the points of PointNet (x = self.bn3(...); x
// = torch.max(x, 2)[0], models/pointnet_utils.py); over the neighbours of points, one axis of an activated map
// (torch.max(new_points, 2)[0], yanx27's models/pointnet2_utils.py; x.max(dim=-1)[0], WangYueFt/dgcnn's model.py).
bool HadPlaces(const Uses& uses, const Layer& layer, int64_t dim) {
  if (layer.attributes.Int("keepdim", 1) != 0) return true;
  const int rank = uses.layers()[Uses::In(&layer, 0)].shape.rank();
  if (rank != 4) return dim == 2 && rank == 3 && uses.Operand(&layer, 0, "batch_norm") != nullptr;
  constexpr std::string_view kMakers[] = {"batch_norm", "relu", "leaky_relu", "gelu", "silu"};
  return std::any_of(std::begin(kMakers), std::end(kMakers),
                     [&](std::string_view op) { return uses.Operand(&layer, 0, op) != nullptr; });
}

// max(dim) is two nodes, of which that of the places goes when nobody reads them (symbolic_helper.py, _max_helper).
void GatherMaxima(const Uses& uses, std::map<size_t, Layer>* calls, std::set<size_t>* gone) {
  std::map<std::pair<ValueId, int64_t>, const Layer*> places;  // by operand and axis
  for (const Layer& layer : uses.layers().layers) {
    const std::vector<int64_t> dims = layer.attributes.Ints("dim");
    if ((layer.op == "argmax" || layer.op == "argmin") && dims.size() == 1 && !FromDynamo(layer))
      places.emplace(std::pair(Uses::In(&layer, 0), layer.op == "argmax" ? dims[0] : ~dims[0]), &layer);
  }
  for (const Layer& layer : uses.layers().layers) {
    const std::vector<int64_t> dims = layer.attributes.Ints("dim");
    if ((layer.op != "amax" && layer.op != "amin") || dims.size() != 1 || FromDynamo(layer)) continue;
    const auto found = places.find({Uses::In(&layer, 0), layer.op == "amax" ? dims[0] : ~dims[0]});
    Layer call = layer;
    call.op = layer.op == "amax" ? "max" : "min";
    if (found == places.end() || found->second->attributes.Int("keepdim", 1) != layer.attributes.Int("keepdim", 1)) {
      if (HadPlaces(uses, layer, dims[0])) calls->emplace(uses.PlaceOf(&layer), std::move(call));
      continue;
    }
    call.outputs.push_back(found->second->outputs[0]);
    calls->emplace(uses.PlaceOf(std::min(&layer, found->second)), std::move(call));
    gone->insert(uses.PlaceOf(std::max(&layer, found->second)));
    places.erase(found);
  }
}

}  // namespace

void GatherDecomposedCalls(Layers* layers) {
  const Uses uses(*layers);
  std::map<size_t, Layer> calls;
  std::set<size_t> gone;
  GatherPlaces(uses, &calls, &gone);
  GatherMaxima(uses, &calls, &gone);
  for (const Layer& layer : layers->layers) {
    if (layer.outputs.size() != 1) continue;
    std::optional<Found> found;
    for (const auto& match :
         {LinearResize, NearestExact, AdaptivePool, AffineGrid, MaxUnpool, AlphaDropout, NanToNum, Cdist, CdistOfPower,
          Unfold, Columns, Activation, CircularPad, Variance, CosineSimilarity, BatchStatistics, LocalResponseNorm}) {
      if (!found) found = match(uses, layer);
    }
    if (!found || !found->inputs[0].valid()) continue;
    Layer call{.op = std::move(found->op),
               .name = layer.name,
               .inputs = std::move(found->inputs),
               .outputs = layer.outputs,
               .attributes = std::move(found->attributes)};
    call.module = layer.module;
    call.nodes = layer.nodes;
    call.evidence = layer.evidence;
    calls.emplace(uses.PlaceOf(&layer), std::move(call));
  }
  PutCalls(layers, std::move(calls), gone);
}

bool IsAmbiguousMaximum(const Layer& layer) {
  constexpr std::string_view kMaxima[] = {"max", "min", "amax", "amin"};
  return std::find(std::begin(kMaxima), std::end(kMaxima), layer.op) != std::end(kMaxima) && !FromDynamo(layer) &&
         layer.attributes.Ints("dim").size() == 1 && layer.outputs.size() == 1;
}

void NoteMaxima(const Layers& layers, Notes* notes) {
  for (const Layer& layer : layers.layers) {
    const bool placed = layer.op == "max" || layer.op == "min";
    if (!IsAmbiguousMaximum(layer)) continue;
    notes->Add({.code = "assumed-amax",
                .subject = layer.name,
                .text = placed ? "a maximum along one axis is assumed to be max(dim)[0], which keeps indices; "
                                 "amax(dim), which keeps its input instead, looks the same in a TorchScript export"
                               : "a maximum along one axis is assumed to be amax(dim), which keeps its input; "
                                 "max(dim)[0], which keeps indices instead, looks the same in a TorchScript export",
                .hint = "a dynamo export tells them apart"});
    return;
  }
}

}  // namespace vramplan
