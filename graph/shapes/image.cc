// Operators on images: Resize, Upsample, DepthToSpace, SpaceToDepth, GridSample, AffineGrid, CenterCropPad.
#include <algorithm>
#include <cmath>

#include "graph/shapes/arithmetic.h"
#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

// floor(length * scale) (onnx Resize-19); with the batch inside, only whole factors are exact.
Dim Scaled(Dim length, double scale) {
  if (scale == 1) return length;
  if (!(scale > 0 && scale < 1e9)) return Dim::Unknown();
  if (scale == std::floor(scale)) return length * Dim(static_cast<int64_t>(scale));
  if (!length.IsConstant()) return Dim::Unknown();
  const double scaled = std::floor(static_cast<double>(length.c0()) * scale);
  return scaled < 9e15 ? Dim(static_cast<int64_t>(scaled)) : Dim::Overflow();
}

void ByScales(NodeInference& n, const std::vector<double>& scales, const std::vector<int>& axes) {
  Shape out = *n.ShapeOf(0);
  if (scales.size() != axes.size())
    return n.Fail("it has " + std::to_string(scales.size()) + " scales for " + n.Describe(0));
  for (size_t i = 0; i < axes.size(); ++i) out[axes[i]] = Scaled(out[axes[i]], scales[i]);
  n.SetShape(0, out);
}

void BySizes(NodeInference& n, const std::vector<Dim>& sizes, const std::vector<int>& axes) {
  Shape out = *n.ShapeOf(0);
  const Shape in = out;
  if (sizes.size() != axes.size())
    return n.Fail("it has " + std::to_string(sizes.size()) + " sizes for " + n.Describe(0));
  const std::string policy = n.Text("keep_aspect_ratio_policy", "stretch");
  for (size_t i = 0; i < axes.size(); ++i) {
    Dim size = sizes[i];
    // Nothing scales the batch: the number on axis 0 is the baked one.
    if (axes[i] == 0 && in[0].known() && !in[0].IsConstant() && size.IsConstant())
      size = n.Same(in[0], size).value_or(size);
    out[axes[i]] = size;
  }
  if (policy != "stretch") {  // one scale for all axes, rounded half up (onnx Resize-18)
    double scale = 0;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (!in[axes[i]].IsConstant() || !sizes[i].IsConstant() || in[axes[i]].c0() < 1) {
        for (int axis : axes) out[axis] = Dim::Unknown();
        return n.SetShape(0, out);
      }
      const double one = static_cast<double>(sizes[i].c0()) / static_cast<double>(in[axes[i]].c0());
      scale = i == 0 ? one : policy == "not_larger" ? std::min(scale, one) : std::max(scale, one);
    }
    for (int axis : axes) {
      const double length = std::floor(scale * static_cast<double>(in[axis].c0()) + 0.5);
      out[axis] = length < 9e15 ? Dim(static_cast<int64_t>(length)) : Dim::Overflow();
    }
  }
  n.SetShape(0, out);
}

std::vector<int> AllAxes(int rank) {
  std::vector<int> axes;
  for (int i = 0; i < rank; ++i) axes.push_back(i);
  return axes;
}

// X, roi, scales, sizes (opset 11 on); X, scales (opset 10). Exactly one of scales and sizes is not empty.
void Resize(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  const int rank = n.ShapeOf(0)->rank();
  std::vector<int> axes = AllAxes(rank);
  if (n.node().attributes.Has("axes")) {
    axes.clear();
    for (int64_t a : n.Ints("axes")) {
      const auto axis = n.Axis(a, rank);
      if (!axis) return;
      axes.push_back(*axis);
    }
  }
  const bool old = n.opset() == 10 || n.inputs() == 2;
  const int scales_input = old ? 1 : 2;
  const auto empty = [&](int input) {
    return !n.Has(input) || (n.ShapeOf(input) && n.ShapeOf(input)->Elements().Is(0));
  };
  Shape unknown = *n.ShapeOf(0);
  for (int axis : axes) unknown[axis] = Dim::Unknown();
  if (!old && !empty(3)) {
    const auto sizes = n.Target(3);
    return sizes ? BySizes(n, *sizes, axes) : n.SetShape(0, unknown);
  }
  const auto scales = n.Reals(scales_input);
  if (!scales || empty(scales_input)) return n.SetShape(0, unknown);
  ByScales(n, *scales, axes);
}

// Resize's forerunner: scales as an attribute (opset 7) or input 1 (9).
void Upsample(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  const int rank = n.ShapeOf(0)->rank();
  const auto* given = n.node().attributes.Get<std::vector<double>>("scales");
  const auto scales = given != nullptr ? std::optional(*given) : n.Reals(1);
  if (!scales) return n.SetShape(0, std::vector<Dim>(static_cast<size_t>(rank), Dim::Unknown()));
  ByScales(n, *scales, AllAxes(rank));
}

void DepthToSpace(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  const Shape& x = *n.ShapeOf(0);
  const int64_t block = n.Int("blocksize", 0);
  if (x.rank() != 4 || block < 1) return n.Fail("it moves blocks of " + std::to_string(block) + " of " + n.Describe(0));
  const auto depth = Quotient(x[1], Dim(block) * Dim(block));
  if (!depth && x[1].known()) return n.Fail("the channels of " + n.Describe(0) + " are not a multiple of its block");
  n.SetShape(0, Shape{x[0], depth.value_or(Dim::Unknown()), x[2] * Dim(block), x[3] * Dim(block)});
}

void SpaceToDepth(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  const Shape& x = *n.ShapeOf(0);
  const int64_t block = n.Int("blocksize", 0);
  if (x.rank() != 4 || block < 1) return n.Fail("it moves blocks of " + std::to_string(block) + " of " + n.Describe(0));
  n.SetShape(0, Shape{x[0], x[1] * Dim(block) * Dim(block), FloorDivide(x[2], block), FloorDivide(x[3], block)});
}

// X [N, C, ...] sampled at grid [N, ..., k] (onnx GridSample-20).
void GridSample(NodeInference& n) {
  if (!n.ShapeOf(0) || !n.ShapeOf(1)) return;
  const Shape& x = *n.ShapeOf(0);
  const Shape& grid = *n.ShapeOf(1);
  if (x.rank() < 3 || grid.rank() != x.rank()) return n.Fail(n.Describe(1) + " is no grid for " + n.Describe(0));
  Shape out{x[0], x[1]};
  for (int i = 1; i + 1 < grid.rank(); ++i) out.Append(grid[i]);
  n.SetShape(0, out);
}

// theta [N, k, k+1] and size [N, C, ...] give the grid [N, ..., k] (onnx AffineGrid-20).
void AffineGrid(NodeInference& n) {
  const auto size = n.Target(1);
  if (!size || size->size() < 4) return;
  std::vector<Dim> out{(*size)[0]};
  out.insert(out.end(), size->begin() + 2, size->end());
  out.push_back(static_cast<int64_t>(size->size()) - 2);
  n.SetShape(0, out);
}

void CenterCropPad(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  Shape out = *n.ShapeOf(0);
  std::vector<int64_t> axes = n.Ints("axes");
  if (!n.node().attributes.Has("axes")) {
    for (int i = 0; i < out.rank(); ++i) axes.push_back(i);
  }
  const auto sizes = n.Target(1);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = n.Axis(axes[i], out.rank());
    if (!axis) return;
    out[*axis] = sizes && i < sizes->size() ? (*sizes)[i] : Dim::Unknown();
  }
  n.SetShape(0, out);
}

constexpr RuleRow kImageRows[] = {
    {"Resize", Resize},
    {"Upsample", Upsample},
    {"DepthToSpace", DepthToSpace},
    {"SpaceToDepth", SpaceToDepth},
    {"GridSample", GridSample},
    {"AffineGrid", AffineGrid},
    {"CenterCropPad", CenterCropPad},
};

}  // namespace

constinit const std::span<const RuleRow> kImageRules(kImageRows);

}  // namespace vramplan
