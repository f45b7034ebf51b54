#include "graph/lift/decomposed_calls.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "graph/lift/walk.h"

namespace vramplan {
namespace {

struct Found {
  std::string op;
  std::vector<ValueId> inputs;
  Attributes attributes;
};

const Shape& ShapeOf(const Walk& walk, ValueId id) { return walk.layers()[id].shape; }

std::string Ranked(const char* op, int axes) { return op + std::to_string(axes) + "d"; }

bool FromDynamo(const Layer& layer) { return layer.evidence == Evidence::kProvenance; }

// The table of an index by constants that the export computed; invalid otherwise.
ValueId Indexed(const Walk& walk, const Layer* index) {
  if (index == nullptr || index->op != "index" || index->inputs.size() < 2) return {};
  for (size_t i = 1; i < index->inputs.size(); ++i) {
    if (Walk::In(index, i).valid() && !walk.IsStored(Walk::In(index, i))) return {};
  }
  return Walk::In(index, 0);
}

std::optional<Found> LinearResize(const Walk& walk, const Layer& add) {
  if (add.op != "add" || !FromDynamo(add)) return std::nullopt;
  const Layer *base = walk.Operand(&add, 0, "index"), *product = walk.Operand(&add, 1, "mul");
  const Layer* difference = walk.Operand(product, 0, "sub");
  const ValueId x = Indexed(walk, base);
  if (!x.valid() || difference == nullptr || !walk.IsStored(Walk::In(product, 1))) return std::nullopt;
  if (Walk::In(difference, 1) != Walk::In(&add, 0) || Indexed(walk, walk.MakerOf(Walk::In(difference, 0))) != x)
    return std::nullopt;
  return Found{"upsample_linear1d", {x}, {}};
}

std::optional<Found> NearestExact(const Walk& walk, const Layer& index) {
  if (index.attributes.Int("unchecked", 0) == 0) return std::nullopt;
  const ValueId x = Indexed(walk, &index);
  if (!x.valid()) return std::nullopt;
  const Shape &from = ShapeOf(walk, x), &to = ShapeOf(walk, index.outputs[0]);
  if (from.rank() != to.rank() || from.rank() < 3 || !(from[0] == to[0]) || !(from[1] == to[1])) return std::nullopt;
  return Found{Ranked("_upsample_nearest_exact", from.rank() - 2), {x}, {}};
}

std::optional<Found> AdaptivePool(const Walk& walk, const Layer& root) {
  if (!FromDynamo(root) || root.outputs.empty()) return std::nullopt;
  const Layer* last = walk.MakerOf(Walk::In(&root, 0));
  if (root.op == "div") {
    if (!walk.IsStored(Walk::In(&root, 1))) return std::nullopt;
    const auto is_part = [](const std::string& op) {
      return op == "add" || op == "select" || op == "masked_fill" || op == "where";
    };
    for (int steps = 0; last != nullptr && is_part(last->op) && steps < 4096; ++steps)
      last = walk.MakerOf(Walk::In(last, 0));
  } else if (root.op != "mean") {
    return std::nullopt;
  }
  const ValueId x = Indexed(walk, last);
  if (!x.valid() || !walk.layers()[x].shape.rank()) return std::nullopt;
  const int axes = ShapeOf(walk, x).rank() - 2;
  const Shape &windows = ShapeOf(walk, last->outputs[0]), &out = ShapeOf(walk, root.outputs[0]);
  if (axes < 1 || axes > 3 || windows.rank() != 2 + 2 * axes || out.rank() != 2 + axes) return std::nullopt;
  return Found{Ranked("adaptive_avg_pool", axes), {x}, {}};
}

std::optional<Found> AffineGrid(const Walk& walk, const Layer& reshape) {
  if (reshape.op != "reshape" || !FromDynamo(reshape)) return std::nullopt;
  const Layer* product = walk.Operand(walk.Operand(&reshape, 0, "sum"), 0, "mul");
  const Layer* transposed = walk.Operand(walk.Operand(product, 1, "unsqueeze"), 0, "transpose");
  if (transposed == nullptr || !walk.IsStored(Walk::In(product, 0))) return std::nullopt;
  const Shape &base = ShapeOf(walk, Walk::In(product, 0)), &grid = ShapeOf(walk, reshape.outputs[0]);
  if (base.rank() != 3 || !base[2].Is(1) || !base[1].Is(grid.rank() - 1)) return std::nullopt;
  Found found{"affine_grid", {Walk::In(transposed, 0)}, {}};
  const Layer* sample = walk.OnlyReaderOf(reshape.outputs[0]);
  if (sample != nullptr && sample->attributes.Int("align_corners", 0) != 0)
    found.attributes.Set("align_corners", int64_t{1});
  return found;
}

std::optional<Found> MaxUnpool(const Walk& walk, const Layer& reshape) {
  const Layer* put = reshape.op == "reshape" ? walk.Operand(&reshape, 0, "index_put") : nullptr;
  if (put == nullptr || put->inputs.size() != 3 || !FromDynamo(reshape)) return std::nullopt;
  const Layer* zeros = walk.MakerOf(walk.BehindViews(Walk::In(put, 0)));
  const Layer* places = walk.MakerOf(walk.BehindViews(Walk::In(put, 1)));
  if (zeros == nullptr || zeros->op != "zeros" || places == nullptr || places->op != "add") return std::nullopt;
  const Layer* scaled = walk.Operand(places, 1, "mul");
  const Layer* range = scaled == nullptr ? nullptr : walk.MakerOf(walk.BehindViews(Walk::In(scaled, 0)));
  if (range == nullptr || range->op != "arange") return std::nullopt;
  const ValueId x = walk.BehindViews(Walk::In(put, 2));
  return Found{Ranked("max_unpool", ShapeOf(walk, x).rank() - 2), {x, Walk::In(places, 0)}, {}};
}

// nan_to_num: three choices between x and a number, by isnan, isneginf and isposinf (torch/_refs 2.10), or fills by
// isnan, isinf and a sign (torch/onnx/symbolic_opset9.py).
std::optional<Found> NanToNum(const Walk& walk, const Layer& last) {
  if (FromDynamo(last)) {
    if (last.op != "where") return std::nullopt;
    const Layer* second = walk.Operand(&last, 2, "where");
    const Layer* first = walk.Operand(second, 2, "where");
    const Layer* nan = walk.Operand(first, 0, "isnan");
    const bool signs =
        walk.Operand(&last, 0, "aten::isposinf") != nullptr && walk.Operand(second, 0, "aten::isneginf") != nullptr;
    if (nan == nullptr || !signs || Walk::In(nan, 0) != Walk::In(first, 2)) return std::nullopt;
    return Found{"nan_to_num", {Walk::In(nan, 0)}, {}};
  }
  if (last.op != "masked_fill") return std::nullopt;
  const auto infinite = [&](const Layer* fill) {
    return walk.Operand(walk.Operand(fill, 1, "bitwise_and"), 0, "isinf") != nullptr;
  };
  const Layer* second = walk.Operand(&last, 0, "masked_fill");
  const Layer* first = walk.Operand(second, 0, "masked_fill");
  const Layer* nan = walk.Operand(first, 1, "isnan");
  if (nan == nullptr || !infinite(&last) || !infinite(second) || Walk::In(nan, 0) != Walk::In(first, 0))
    return std::nullopt;
  return Found{"nan_to_num", {Walk::In(nan, 0)}, {}};
}

std::optional<Found> AlphaDropout(const Walk& walk, const Layer& add) {
  if (add.op != "add" || !FromDynamo(add)) return std::nullopt;
  const Layer *product = walk.Operand(&add, 0, "mul"), *shift = walk.Operand(&add, 1, "add");
  const Layer* noise = walk.Operand(walk.Operand(product, 1, "mul"), 0, "bernoulli");
  const Layer* same = walk.Operand(walk.Operand(walk.Operand(shift, 0, "mul"), 0, "add"), 0, "bernoulli");
  if (noise == nullptr || noise != same) return std::nullopt;
  const bool whole = ShapeOf(walk, noise->outputs[0]) == ShapeOf(walk, Walk::In(product, 0));
  return Found{whole ? "alpha_dropout" : "feature_alpha_dropout", {Walk::In(product, 0)}, {}};
}

// cdist of p != 2 in TorchScript: sum(|a[:, :, None] - b[:, None]| ** p) ** (1 / (p + 1e-6)) (torch/onnx/
// symbolic_opset9.py 2.10: cdist, pairwise_distance). Nobody writes the exponent so by hand.
std::optional<Found> CdistOfPower(const Walk& walk, const Layer& root) {
  if (root.op != "pow" || FromDynamo(root)) return std::nullopt;
  const Layer* power = walk.Operand(walk.Operand(&root, 0, "sum"), 0, "pow");
  const Layer* difference = walk.Operand(power, 0, "sub");
  const Layer *left = walk.Operand(difference, 0, "unsqueeze"), *right = walk.Operand(difference, 1, "unsqueeze");
  if (left == nullptr || right == nullptr || !root.attributes.Has("scalar")) return std::nullopt;
  const double p = power->attributes.Real("scalar", 0);
  constexpr double kEpsilon = 1e-6;
  if (p <= 0 || std::abs(root.attributes.Real("scalar", 0) * (p + kEpsilon) - 1) > kEpsilon / 10) return std::nullopt;
  Found found{"cdist", {Walk::In(left, 0), Walk::In(right, 0)}, {}};
  found.attributes.Set("p", p);
  return found;
}

std::optional<Found> Cdist(const Walk& walk, const Layer& sqrt) {
  if (sqrt.op != "sqrt") return std::nullopt;
  const Layer* clamp = walk.Operand(&sqrt, 0, "clamp");
  if (clamp == nullptr) clamp = walk.Operand(&sqrt, 0, "maximum");
  const Layer* product = walk.Operand(clamp, 0, "matmul");
  const Layer *left = walk.Operand(product, 0, "cat"), *transposed = walk.Operand(product, 1, "transpose");
  const Layer* right = walk.Operand(transposed, 0, "cat");
  if (left == nullptr || right == nullptr || left->inputs.size() != 3 || right->inputs.size() != 3) return std::nullopt;
  const Layer* square = walk.Operand(walk.Operand(right, 2, "sum"), 0, "pow");
  const Layer* doubled = walk.Operand(left, 0, "mul");
  if (walk.Operand(left, 2, "ones") == nullptr || square == nullptr || doubled == nullptr) return std::nullopt;
  if (Walk::In(square, 0) != Walk::In(right, 0)) return std::nullopt;
  return Found{"cdist", {Walk::In(doubled, 0), Walk::In(right, 0)}, {}};
}

// Windows along `dim`: slices of one tensor, one step from each other.
std::optional<Found> Unfold(const Walk& walk, const Layer& cat) {
  if (cat.op != "cat" || FromDynamo(cat) || cat.inputs.size() < 2) return std::nullopt;
  const int64_t dim = cat.attributes.Int("dim", 0);
  ValueId x;
  int64_t first = 0, step = 0;
  for (size_t i = 0; i < cat.inputs.size(); ++i) {
    const Layer* maker = walk.Operand(walk.Operand(&cat, i, "unsqueeze"), 0, "transpose");
    if (maker == nullptr) maker = walk.Operand(walk.Operand(&cat, i, "unsqueeze"), 0, "permute");
    if (maker == nullptr) return std::nullopt;
    const Layer* slice = walk.Operand(maker, 0, "slice");
    if (slice == nullptr || slice->attributes.Int("dim", -1) != dim) return std::nullopt;
    const int64_t start = slice->attributes.Int("start", 0);
    if (i == 0) first = start;
    if (i == 1) step = start - first;
    if (i == 0) x = Walk::In(slice, 0);
    if (Walk::In(slice, 0) != x || start != first + step * static_cast<int64_t>(i)) return std::nullopt;
  }
  const Shape &from = ShapeOf(walk, x), &to = ShapeOf(walk, cat.outputs[0]);
  if (first != 0 || step < 1 || to.rank() != from.rank() + 1) return std::nullopt;
  Found found{"unfold", {x}, {}};
  found.attributes.Set("dimension", dim);
  found.attributes.Set("step", step);
  return found;
}

std::optional<Found> Columns(const Walk& walk, const Layer& reshape) {
  if (reshape.op != "reshape" || FromDynamo(reshape)) return std::nullopt;
  const Layer* transposed = walk.Operand(&reshape, 0, "transpose");
  const Layer* columns = walk.Operand(transposed, 0, "index");
  const Layer* rows = walk.Operand(columns, 0, "index");
  const Layer* pad = walk.Operand(rows, 0, "pad");
  if (pad == nullptr || columns->attributes.Int("dim", 0) != 4 || rows->attributes.Int("dim", 0) != 2)
    return std::nullopt;
  if (ShapeOf(walk, columns->outputs[0]).rank() != 6 || ShapeOf(walk, reshape.outputs[0]).rank() != 3)
    return std::nullopt;
  return Found{"im2col", {Walk::In(pad, 0)}, {}};
}

std::optional<Found> Activation(const Walk& walk, const Layer& root) {
  if (FromDynamo(root)) return std::nullopt;
  if (root.op == "log") {
    const Layer* plus = walk.Operand(&root, 0, "add");
    if (plus != nullptr && plus->inputs.size() == 2 && !Walk::In(plus, 1).valid() &&
        plus->attributes.Real("scalar", 0) == 1)
      return Found{"log1p", {Walk::In(plus, 0)}, {}};
    const Layer* odds = walk.Operand(&root, 0, "div");
    if (odds != nullptr && Walk::In(odds, 0).valid() &&
        Walk::In(walk.Operand(odds, 1, "rsub"), 0) == Walk::In(odds, 0)) {
      ValueId x = Walk::In(odds, 0);  // bounded by two conditions, or by a clamp
      for (const Layer* bound = walk.MakerOf(x); bound != nullptr; bound = walk.MakerOf(x)) {
        if (bound->op != "where" && bound->op != "masked_fill" && bound->op != "clamp") break;
        x = Walk::In(bound, bound->op == "where" ? 1 : 0);
      }
      return Found{"logit", {x}, {}};
    }
    const Layer* sigmoid = walk.Operand(&root, 0, "sigmoid");
    if (sigmoid == nullptr || walk.OnlyReaderOf(sigmoid->outputs[0]) == nullptr) return std::nullopt;
    return Found{"log_sigmoid", {Walk::In(sigmoid, 0)}, {}};
  }
  if (root.op == "gt" && !Walk::In(&root, 1).valid()) {  // of flags as numbers
    const Layer* sum = walk.Operand(&root, 0, "sum");
    const Layer* numbers = walk.Operand(sum, 0, "to");
    const ValueId flags = Walk::In(numbers, 0);
    if (!flags.valid() || walk.layers()[flags].type != DType::kBool) return std::nullopt;
    Found found{"any", {flags}, {}};
    found.attributes.Set("dim", sum->attributes.Ints("dim"));
    found.attributes.Set("keepdim", sum->attributes.Int("keepdim", 0));
    return found;
  }
  if (root.op == "slice" && root.attributes.Int("step", 1) < 0) {
    ValueId x = Walk::In(&root, 0);
    for (const Layer* inner = walk.MakerOf(x); inner != nullptr && inner->op == "slice"; inner = walk.MakerOf(x)) {
      if (inner->attributes.Int("step", 1) >= 0) break;
      x = Walk::In(inner, 0);
    }
    return Found{"flip", {x}, {}};
  }
  if (root.op == "where") {
    const Layer* outside = walk.Operand(&root, 0, "bitwise_or");
    const Layer *above = walk.Operand(outside, 0, "gt"), *below = walk.Operand(outside, 1, "lt");
    const ValueId x = Walk::In(&root, 1);
    if (above == nullptr || Walk::In(above, 0) != x || Walk::In(below, 0) != x || Walk::In(&root, 2).valid())
      return std::nullopt;
    return Found{"hardshrink", {x}, {}};
  }
  if (root.op == "add") {
    const Layer *high = walk.Operand(&root, 0, "where"), *low = walk.Operand(&root, 1, "where");
    const Layer *above = walk.Operand(high, 0, "gt"), *below = walk.Operand(low, 0, "lt");
    const Layer *less = walk.Operand(high, 1, "sub"), *more = walk.Operand(low, 1, "add");
    if (above == nullptr || below == nullptr || less == nullptr || more == nullptr) return std::nullopt;
    const ValueId x = Walk::In(above, 0);
    if (Walk::In(below, 0) != x || Walk::In(less, 0) != x || Walk::In(more, 0) != x) return std::nullopt;
    return Found{"softshrink", {x}, {}};
  }
  if (root.op == "prelu") {
    const Layer* noise = walk.Operand(&root, 1, "bernoulli");
    return noise == nullptr ? std::nullopt : std::optional(Found{"rrelu", {Walk::In(&root, 0)}, {}});
  }
  return std::nullopt;
}

// Rows of a pad: a slice from the other end, the tensor, a slice from its beginning.
std::optional<Found> CircularPad(const Walk& walk, const Layer& cat) {
  if (cat.op != "cat" || FromDynamo(cat) || cat.inputs.size() < 2 || cat.inputs.size() > 3) return std::nullopt;
  const Layer* level = &cat;
  std::map<int64_t, std::pair<int64_t, int64_t>> pads;  // by axis
  ValueId x;
  while (level != nullptr && level->op == "cat" && level->inputs.size() <= 3) {
    const int64_t dim = level->attributes.Int("dim", 0);
    ValueId inner;
    for (const ValueId part : level->inputs) {
      const Layer* slice = walk.MakerOf(part);
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
      const Layer* slice = walk.MakerOf(part);
      const Dim width = ShapeOf(walk, part)[static_cast<int>(dim)];
      const int64_t start = slice->attributes.Int("start", 0);
      circular =
          circular && Walk::In(slice, 0) == inner && width.IsConstant() && (before ? start == -width.c0() : start == 0);
      (before ? rims.first : rims.second) = width.c0();
    }
    if (!circular) break;
    pads[dim] = rims;
    x = inner;
    level = walk.MakerOf(inner);
  }
  if (pads.empty()) return std::nullopt;
  const int rank = ShapeOf(walk, x).rank();
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
std::optional<Found> CosineSimilarity(const Walk& walk, const Layer& root) {
  if (root.op != "div" || FromDynamo(root)) return std::nullopt;
  const Layer* sum = walk.Operand(&root, 0, "sum");
  const Layer* product = walk.Operand(sum, 0, "mul");
  const Layer* squares = walk.Operand(walk.Operand(walk.Operand(&root, 1, "maximum"), 0, "sqrt"), 0, "mul");
  if (product == nullptr || squares == nullptr) return std::nullopt;
  for (const size_t side : {0, 1}) {
    const Layer* square = walk.Operand(walk.Operand(squares, side, "sum"), 0, "mul");
    if (square == nullptr || Walk::In(square, 0) != Walk::In(square, 1) ||
        Walk::In(square, 0) != Walk::In(product, side))
      return std::nullopt;
  }
  const std::vector<int64_t> dims = sum->attributes.Ints("dim");
  const Shape &left = ShapeOf(walk, Walk::In(product, 0)), &right = ShapeOf(walk, Walk::In(product, 1));
  if (dims.size() != 1 || left.rank() != right.rank()) return std::nullopt;
  Found found{"cosine_similarity", {Walk::In(product, 0), Walk::In(product, 1)}, {}};
  found.attributes.Set("dim", dims[0]);
  return found;
}

std::optional<Found> Variance(const Walk& walk, const Layer& root) {
  if (FromDynamo(root)) return std::nullopt;
  const Layer* last = &root;
  const bool deviation = root.op == "sqrt";
  if (deviation) last = walk.MakerOf(Walk::In(&root, 0));
  if (last != nullptr && last->op == "div")
    last = walk.Operand(walk.Operand(last, 0, "mul") == nullptr ? nullptr : last, 0, "mul");
  if (last != nullptr && last->op == "mul") last = walk.Operand(last, 0, "mean");
  if (last == nullptr || last->op != "mean") return std::nullopt;
  const Layer* square = walk.Operand(last, 0, "mul");
  const Layer* difference = walk.Operand(square, 0, "sub");
  if (difference == nullptr || Walk::In(square, 0) != Walk::In(square, 1)) return std::nullopt;
  const Layer* mean = walk.Operand(difference, 1, "mean");
  if (mean == nullptr || Walk::In(mean, 0) != Walk::In(difference, 0)) return std::nullopt;
  Found found{deviation ? "std" : "var", {Walk::In(mean, 0)}, {}};
  found.attributes.Set("dim", last->attributes.Ints("dim"));
  found.attributes.Set("keepdim", last->attributes.Int("keepdim", 0));
  return found;
}

// A batch norm without running statistics is given those of the batch, as nodes (symbolic_opset9.py, batch_norm).
std::optional<Found> BatchStatistics(const Walk& walk, const Layer& norm) {
  if (norm.op != "batch_norm" || FromDynamo(norm) || norm.inputs.size() < 5) return std::nullopt;
  if (walk.Operand(&norm, 3, "mean") == nullptr || !Walk::In(&norm, 4).valid()) return std::nullopt;
  Found found{"batch_norm", {norm.inputs.begin(), norm.inputs.begin() + 3}, norm.attributes};
  found.attributes.Set("training", int64_t{1});
  return found;
}

// The average over channels, a pooling of x * x with a depth of channels; or the condition whose branches squeeze it,
// where nobody chose one (graph/shapes/branches.h): how many channels it takes is not seen then, 5 as the class has it.
std::optional<Found> LocalResponseNorm(const Walk& walk, const Layer& div) {
  const Layer* power = div.op == "div" && !FromDynamo(div) ? walk.Operand(&div, 1, "pow") : nullptr;
  const Layer* scaled = walk.Operand(walk.Operand(power, 0, "add"), 0, "mul");
  const Layer* average = walk.MakerOf(walk.BehindViews(Walk::In(scaled, 0)));
  if (average == nullptr) return std::nullopt;
  if (average->op != "onnx::If") {
    const Layer* squares = walk.MakerOf(walk.BehindViews(Walk::In(average, 0)));
    if (!average->op.starts_with("avg_pool") || squares == nullptr || squares->op != "mul" ||
        Walk::In(squares, 0) != Walk::In(&div, 0) || Walk::In(squares, 1) != Walk::In(&div, 0))
      return std::nullopt;
  }
  Found found{"local_response_norm", {Walk::In(&div, 0)}, {}};
  if (const std::vector<int64_t> kernel = average->attributes.Ints("kernel_size"); !kernel.empty())
    found.attributes.Set("size", kernel.front());
  return found;
}

// Where the maximum was is counted along the whole image, as PyTorch does, by taking off a pool of windows of one
// (symbolic_opset9.py, _max_pool): the pool itself gave these places.
void GatherPlaces(const Walk& walk, std::map<size_t, Layer>* calls, std::set<size_t>* gone) {
  for (const Layer& sub : walk.layers().layers) {
    if (sub.op != "sub" || FromDynamo(sub)) continue;
    const Layer *pool = walk.MakerOf(Walk::In(&sub, 0)), *ones = walk.Operand(&sub, 1, "slice");
    while (ones != nullptr && ones->op == "slice") ones = walk.MakerOf(Walk::In(ones, 0));
    const bool pools = pool != nullptr && ones != nullptr && pool->op.rfind("max_pool", 0) == 0 &&
                       ones->op.find("max_pool") != std::string::npos && Walk::In(pool, 0) == Walk::In(ones, 0);
    if (!pools || pool->outputs.size() != 2 || pool->outputs[1] != Walk::In(&sub, 0)) continue;
    Layer call = *pool;
    call.outputs[1] = sub.outputs[0];
    calls->emplace(walk.PlaceOf(pool), std::move(call));
    gone->insert(walk.PlaceOf(&sub));
  }
}

// Of a reduction without places, whether it was max(dim)[0] rather than amax(dim), which keeps more: where the axis
// stays, as in CBAM (max_out, _ = torch.max(x, dim=1, keepdim=True)); over the points of PointNet (x = self.bn3(...); x
// = torch.max(x, 2)[0], models/pointnet_utils.py); over the neighbours of points, one axis of an activated map
// (torch.max(new_points, 2)[0], yanx27's models/pointnet2_utils.py; x.max(dim=-1)[0], WangYueFt/dgcnn's model.py).
bool HadPlaces(const Walk& walk, const Layer& layer, int64_t dim) {
  if (layer.attributes.Int("keepdim", 1) != 0) return true;
  const int rank = walk.layers()[Walk::In(&layer, 0)].shape.rank();
  if (rank != 4) return dim == 2 && rank == 3 && walk.Operand(&layer, 0, "batch_norm") != nullptr;
  constexpr std::string_view kMakers[] = {"batch_norm", "relu", "leaky_relu", "gelu", "silu"};
  return std::any_of(std::begin(kMakers), std::end(kMakers),
                     [&](std::string_view op) { return walk.Operand(&layer, 0, op) != nullptr; });
}

// max(dim) is two nodes, of which that of the places goes when nobody reads them (symbolic_helper.py, _max_helper).
void GatherMaxima(const Walk& walk, std::map<size_t, Layer>* calls, std::set<size_t>* gone) {
  std::map<std::pair<ValueId, int64_t>, const Layer*> places;  // by operand and axis
  for (const Layer& layer : walk.layers().layers) {
    const std::vector<int64_t> dims = layer.attributes.Ints("dim");
    if ((layer.op == "argmax" || layer.op == "argmin") && dims.size() == 1 && !FromDynamo(layer))
      places.emplace(std::pair(Walk::In(&layer, 0), layer.op == "argmax" ? dims[0] : ~dims[0]), &layer);
  }
  for (const Layer& layer : walk.layers().layers) {
    const std::vector<int64_t> dims = layer.attributes.Ints("dim");
    if ((layer.op != "amax" && layer.op != "amin") || dims.size() != 1 || FromDynamo(layer)) continue;
    const auto found = places.find({Walk::In(&layer, 0), layer.op == "amax" ? dims[0] : ~dims[0]});
    Layer call = layer;
    call.op = layer.op == "amax" ? "max" : "min";
    if (found == places.end() || found->second->attributes.Int("keepdim", 1) != layer.attributes.Int("keepdim", 1)) {
      if (HadPlaces(walk, layer, dims[0])) calls->emplace(walk.PlaceOf(&layer), std::move(call));
      continue;
    }
    call.outputs.push_back(found->second->outputs[0]);
    calls->emplace(walk.PlaceOf(std::min(&layer, found->second)), std::move(call));
    gone->insert(walk.PlaceOf(std::max(&layer, found->second)));
    places.erase(found);
  }
}

}  // namespace

void GatherDecomposedCalls(Layers* layers) {
  const Walk walk(*layers);
  std::map<size_t, Layer> calls;
  std::set<size_t> gone;
  GatherPlaces(walk, &calls, &gone);
  GatherMaxima(walk, &calls, &gone);
  for (const Layer& layer : layers->layers) {
    if (layer.outputs.size() != 1) continue;
    std::optional<Found> found;
    for (const auto& match :
         {LinearResize, NearestExact, AdaptivePool, AffineGrid, MaxUnpool, AlphaDropout, NanToNum, Cdist, CdistOfPower,
          Unfold, Columns, Activation, CircularPad, Variance, CosineSimilarity, BatchStatistics, LocalResponseNorm}) {
      if (!found) found = match(walk, layer);
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
    calls.emplace(walk.PlaceOf(&layer), std::move(call));
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
