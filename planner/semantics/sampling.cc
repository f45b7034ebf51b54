// Sampling by a grid of places, and the grid of an affine map.
#include "planner/semantics/blas.h"
#include "planner/semantics/pointwise.h"
#include "planner/semantics/table.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

// grid_sampler_2d, _3d: keep input and grid; the gradient of the grid is made wanted or not (cuda/GridSampler.cu).
void GridSample(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::grid_sampler");
  const Tensor &x = c.In(0), &grid = c.In(1);
  Tensor out = e.Empty(c.OutShape(), x->dtype);
  if (GradNode* node = e.Record("GridSampler2DBackward0", {x, grid}, {out})) {
    node->Save(grid).Save(x);
    node->Backward([](GradContext& g) {
      Tensor grad_input = g.Needs(0) ? g.e.Empty(g.saved(1)->sizes, g.saved(1)->dtype) : Tensor();
      Tensor grad_grid = g.e.EmptyLike(g.saved(0));
      g.Set(0, std::move(grad_input));
      if (g.Needs(1)) g.Set(1, std::move(grad_grid));
    });
  }
  c.Return(std::move(out));
}

// AffineGridGenerator.cpp, make_base_grid_4D and _5D: every place as (x, y, 1), written axis by axis from a linspace,
// which is scaled where the corners are not aligned.
Tensor BaseGrid(Eager& e, const Shape& grid, DType type, bool align_corners) {
  Shape sizes = grid;
  const int last = grid.rank() - 1;
  sizes[last] = Dim(grid.rank() - 1);
  Tensor base = e.Empty(sizes, type);
  for (int axis = last - 1; axis >= 1; --axis) {
    Tensor line = e.Empty(Shape{grid[axis]}, type);
    if (align_corners) continue;
    Tensor product = e.EmptyLike(line), ratio = e.EmptyLike(line);
    line = Tensor();
    product = Tensor();
  }
  return base;
}

// A product of the places with the map; the backward makes the places again.
void AffineGrid(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::affine_grid_generator");
  const Tensor& theta = c.In(0);
  const Shape grid = c.OutShape();
  const bool align_corners = c.Int("align_corners") != 0;
  const bool amp = IsAutocast(e.spec().precision);
  const DType lower = e.spec().precision == Precision::kAmpBf16 ? DType::kBFloat16 : DType::kFloat16;
  Dim places(1);
  for (int i = 1; i + 1 < grid.rank(); ++i) places = places * grid[i];
  const Shape rows{grid[0], places, Dim(grid.rank() - 1)};
  Tensor out;
  {
    const Tensor base = BaseGrid(e, grid, theta->dtype, align_corners);
    const Tensor map = amp ? ToType(e, e.Alias(theta), lower) : e.Alias(theta);
    const Tensor flat = Reshape(e, base, rows);
    const Tensor left = amp ? ToType(e, flat, lower) : flat;
    const Tensor product = Bmm(e, left, Transpose(e, map, 1, 2));
    out = e.Alias(Reshape(e, product, grid));
  }
  if (GradNode* node = e.Record("AffineGridGeneratorBackward0", {theta}, {out})) {
    node->Backward([grid, rows, align_corners](GradContext& g) {
      const Tensor base = BaseGrid(g.e, grid, g.grad()->dtype, align_corners);
      const Tensor transposed = Transpose(g.e, Reshape(g.e, base, rows), 1, 2);
      const Tensor flat = Reshape(g.e, g.grad(), Shape{rows[0], rows[1], Dim(grid.rank() - 2)});
      g.Set(0, Transpose(g.e, Bmm(g.e, transposed, flat), 1, 2));
    });
  }
  c.Return(std::move(out));
}

}  // namespace

std::vector<OpRule> SamplingRules() {
  return {{"grid_sample", GridSample, Cast::kPromote},
          {"grid_sampler", GridSample, Cast::kPromote},
          {"affine_grid", AffineGrid}};
}

}  // namespace vramplan::eager
