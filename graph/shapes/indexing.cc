// Operators that pick elements, or write some: Gather and its kin, Slice, Scatter and its kin, TopK, NonZero, OneHot,
// Trilu.
#include <algorithm>
#include <optional>
#include <utility>

#include "graph/shapes/folding.h"
#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

void FoldGather(NodeInference& n, int axis) {
  const TensorFacts& data = n.In(0);
  if ((!data.integers && !data.reals) || !n.Integers(1)) return;
  const auto dims = FoldableDims(*data.shape), out = FoldableDims(*n.Out(0).shape);
  const auto indices = n.ConstantInts(1);
  if (!dims || !out || !indices) return;
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; ++i) outer *= (*dims)[static_cast<size_t>(i)];
  for (size_t i = static_cast<size_t>(axis) + 1; i < dims->size(); ++i) inner *= (*dims)[i];
  const int64_t length = (*dims)[static_cast<size_t>(axis)];
  std::vector<size_t> order;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t index : *indices) {
      if (index < -length || index >= length) {
        return n.Fail("its index " + std::to_string(index) + " is outside of " + n.Describe(0));
      }
      const int64_t place = index < 0 ? index + length : index;
      for (int64_t i = 0; i < inner; ++i) order.push_back(static_cast<size_t>((o * length + place) * inner + i));
    }
  }
  if (data.integers) {
    std::vector<Dim> values;
    for (size_t from : order) values.push_back((*data.integers)[from]);
    n.SetIntegers(0, std::move(values));
  } else {
    std::vector<double> values;
    for (size_t from : order) values.push_back((*data.reals)[from]);
    n.Out(0).reals = std::move(values);
  }
}

void Gather(NodeInference& n) {
  if (!n.ShapeOf(0) || !n.ShapeOf(1)) return;
  const Shape& data = *n.ShapeOf(0);
  const auto axis = n.Axis(n.Int("axis", 0), data.rank());
  if (!axis) return;
  std::vector<Dim> out(data.begin(), data.begin() + *axis);
  out.insert(out.end(), n.ShapeOf(1)->begin(), n.ShapeOf(1)->end());
  out.insert(out.end(), data.begin() + *axis + 1, data.end());
  n.SetShape(0, out);
  if (n.Out(0).shape) FoldGather(n, *axis);
}

// The output looks like the indices.
void GatherElements(NodeInference& n) { n.Out(0).shape = n.ShapeOf(1); }

// indices [.., k] pick slices of data: batch axes, then indices' without the last, then data's beyond batch_dims + k.
void GatherND(NodeInference& n) {
  if (!n.ShapeOf(0) || !n.ShapeOf(1)) return;
  const Shape& data = *n.ShapeOf(0);
  const Shape& indices = *n.ShapeOf(1);
  if (indices.rank() == 0) return n.Fail("its indices are a scalar");
  const Dim last = indices.FromEnd(1);
  if (!last.IsConstant()) return;
  const int64_t batch = n.Int("batch_dims", 0);
  if (batch < 0 || batch >= indices.rank() || last.c0() < 0 || batch > data.rank() || last.c0() > data.rank() - batch) {
    return n.Fail(n.Describe(1) + " cannot index " + n.Describe(0));
  }
  std::vector<Dim> out(indices.begin(), indices.end() - 1);
  out.insert(out.end(), data.begin() + batch + last.c0(), data.end());
  // Stored indices of every sample: mask[batch_index, 0, 0, keys] in a file whose batch was fixed.
  const bool samples = batch == 0 && last.c0() > 0 && indices.rank() > 1 && data[0] == Dim::Batch();
  if (samples && n.reopened() && out[0].Is(*n.baked_batch())) {
    out[0] = Dim::Batch();
    n.NoteRebatched("axis 0 of its indices, " + std::to_string(*n.baked_batch()) + ", is taken as the batch");
  }
  n.SetShape(0, out);
}

constexpr int64_t kEndless = (int64_t{1} << 31) - 1;  // exporters write INT_MAX or INT64_MAX for "to the end"

// Start and count of the slice [start:end:step] of an axis, as numpy clamps them. Unknown where it depends on the
// batch.
struct Cut {
  Dim start = Dim::Unknown(), count = Dim::Unknown();
};

Cut CutOf(Dim length, Dim start, Dim end, int64_t step) {
  if (!length.known()) return {};
  const auto place = [&](Dim at, Dim low, Dim high) {  // negative counts from the end; then clamped to [low, high]
    if (!at.known()) return Dim::Unknown();
    if (at.IsConstant() && at.c0() >= kEndless) return high;
    if (at.IsConstant() && at.c0() <= -kEndless) return low;
    if (AlwaysAtLeast(Dim(-1), at)) at = at + length;
    if (AlwaysAtLeast(at, high)) return high;
    if (AlwaysAtLeast(low, at)) return low;
    return AlwaysAtLeast(at, low) && AlwaysAtLeast(high, at) ? at : Dim::Unknown();
  };
  Cut cut;
  if (step > 0) {
    cut.start = place(start, 0, length);
    cut.count = CeilDivide(place(end, 0, length) - cut.start, step);
  } else {
    cut.start = place(start, 0, length - Dim(1));
    cut.count = CeilDivide(cut.start - place(end, -1, length - Dim(1)), -step);
  }
  if (AlwaysAtLeast(0, cut.count)) cut.count = 0;
  return cut;
}

// table[:length] of a stored table that is shorter: what numpy gives then is not what the model wants.
void RememberIfShort(NodeInference& n, Dim rows, Dim start, Dim end, int64_t step) {
  const TensorId table = n.node().inputs[0];
  const bool computed = n.Has(2) && !n.graph()[n.node().inputs[2]].stored;
  if (!n.graph()[table].stored || !computed || !start.Is(0) || step != 1) return;
  if (!rows.IsConstant() || !end.IsConstant() || end.c0() <= rows.c0() || end.c0() >= kEndless) return;
  n.RememberShort({n.graph()[table].name, rows.c0(), end.c0()});
}

void Slice(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  Shape out = *n.ShapeOf(0);
  const Shape in = out;
  const bool attributes = !n.Has(1);  // opset 1
  const auto lengths = [&](int input, const char* name) -> std::optional<std::vector<Dim>> {
    if (!attributes) return n.Target(input);
    const std::vector<int64_t> given = n.Ints(name);
    return std::vector<Dim>(given.begin(), given.end());
  };
  const auto starts = lengths(1, "starts"), ends = lengths(2, "ends");
  const auto unknown = [&] {
    std::vector<Dim> most;
    for (const Dim& length : in) most.push_back(n.Undecided(length));
    n.SetShape(0, most);
  };
  if (!starts || !ends) return unknown();
  if (starts->size() != ends->size()) return n.Fail("it does not have as many starts as ends");
  std::vector<int> axes;
  if (n.AxesGiven(3)) {
    const auto given = n.Axes(3, in.rank());
    if (!given) return unknown();
    axes = *given;
  } else {
    for (int i = 0; i < static_cast<int>(starts->size()); ++i) axes.push_back(i);
  }
  std::vector<int64_t> steps(axes.size(), 1);
  if (n.Has(4)) {
    const auto given = n.ConstantInts(4);
    if (!given) return unknown();
    steps = *given;
  }
  if (axes.size() != starts->size() || steps.size() != starts->size() || static_cast<int>(axes.size()) > in.rank()) {
    return n.Fail("its starts, ends, axes and steps do not match");
  }
  std::vector<Dim> begin(static_cast<size_t>(in.rank()), Dim(0));
  std::vector<int64_t> stride_of(static_cast<size_t>(in.rank()), 1);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] == 0 || steps[i] < -kEndless) return n.Fail("its step is " + std::to_string(steps[i]));
    const Dim length = in[axes[i]];
    Dim end = (*ends)[i];
    // [0:8] of an axis that was 8 when the file was exported with that batch: all of it.
    if (n.reopened() && length.known() && !length.IsConstant() && (*starts)[i].Is(0) &&
        end.Is(length.At(*n.baked_batch()))) {
      n.NoteRebatched("its end " + ToString(end) + " on axis " + std::to_string(axes[i]) +
                      " is taken as the whole axis");
      end = length;
    }
    RememberIfShort(n, length, (*starts)[i], end, steps[i]);
    const Cut cut = CutOf(length, (*starts)[i], end, steps[i]);
    out[axes[i]] = cut.count.known() ? cut.count : n.Undecided(length);
    begin[static_cast<size_t>(axes[i])] = cut.start;
    stride_of[static_cast<size_t>(axes[i])] = steps[i];
  }
  n.SetShape(0, out);
  if (!n.In(0).integers && !n.In(0).reals) return;
  const auto from = FoldableDims(in), to = FoldableDims(out);
  if (!from || !to) return;
  std::vector<int64_t> strides = Strides(*from);
  int64_t offset = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    if (!begin[i].IsConstant()) return;
    offset += begin[i].c0() * strides[i];
    strides[i] *= stride_of[i];
  }
  if (n.In(0).integers) n.SetIntegers(0, Strided(*n.In(0).integers, *to, offset, strides));
  if (n.In(0).reals) n.Out(0).reals = Strided(*n.In(0).reals, *to, offset, strides);
}

// Data is copied and written into (Scatter before opset 11, TensorScatter).
void Scatter(NodeInference& n) { n.Out(0).shape = n.ShapeOf(0); }

// The same; of a list of lengths the result is known too (TorchScript's index_copy writes one length into a shape).
void ScatterElements(NodeInference& n) {
  Scatter(n);
  const std::vector<Dim>*data = n.Integers(0), *places = n.Integers(1), *written = n.Integers(2);
  if (data == nullptr || places == nullptr || written == nullptr || written->size() < places->size()) return;
  if (!n.ShapeOf(0) || n.ShapeOf(0)->rank() != 1 || n.node().attributes.Text("reduction", "none") != "none") return;
  std::vector<Dim> lengths = *data;
  for (size_t i = 0; i < places->size(); ++i) {
    const Dim place = (*places)[i];
    const auto size = static_cast<int64_t>(lengths.size());
    if (!place.IsConstant() || place.c0() < -size || place.c0() >= size) return;
    lengths[static_cast<size_t>(place.c0() < 0 ? place.c0() + size : place.c0())] = (*written)[i];
  }
  n.SetIntegers(0, std::move(lengths));
}

void TopK(NodeInference& n) {
  if (n.outputs() > 1) n.Out(1).type = DType::kInt64;
  if (!n.ShapeOf(0)) return;
  Shape out = *n.ShapeOf(0);
  const auto axis = n.Axis(n.Int("axis", -1), out.rank());
  if (!axis) return;
  const Dim k = n.Has(1) ? ScalarOf(n, 1) : Dim(n.Int("k", 1));
  out[*axis] = k.known() ? k : n.Undecided(out[*axis]);
  n.SetShape(0, out);
  n.SetShape(1, out);
}

// As many columns as there are non-zero elements: known only when the contents are.
void NonZero(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  const int64_t rank = n.ShapeOf(0)->rank();
  Dim count = Dim::Unknown();
  if (const auto* values = n.Integers(0)) {
    count = Dim(0);
    for (const Dim& v : *values)
      count = count + (AlwaysAtLeast(v, 1) || AlwaysAtLeast(-1, v) ? Dim(1) : v.Is(0) ? Dim(0) : Dim::Unknown());
  }
  if (!count.known()) count = n.Undecided(n.ShapeOf(0)->Elements());
  n.SetShape(0, Shape{rank, count});
  if (rank != 1 || !count.IsConstant() || !n.ConstantInts(0)) return;
  std::vector<Dim> places;
  const auto values = *n.ConstantInts(0);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) places.push_back(static_cast<int64_t>(i));
  }
  n.SetIntegers(0, std::move(places));
}

// indices' shape with a new axis of `depth` (onnx OneHot-11); the values decide the type.
void OneHot(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  const int rank = n.ShapeOf(0)->rank();
  const auto axis = n.Axis(n.Int("axis", -1), rank + 1);
  if (!axis) return;
  std::vector<Dim> out(n.ShapeOf(0)->begin(), n.ShapeOf(0)->end());
  out.insert(out.begin() + *axis, ScalarOf(n, 1));
  n.SetShape(0, out);
  // Repeats of one axis: torch.repeat_interleave makes OneHot([dim + 1], rank, [1, n]) of them (symbolic_opset9.py).
  const auto places = n.ConstantInts(0), depth = n.ConstantInts(1);
  const std::vector<Dim>* values = n.Integers(2);
  if (!places || places->size() != 1 || !depth || depth->size() != 1 || values == nullptr || values->size() != 2)
    return;
  if ((*depth)[0] < 0 || (*depth)[0] > Shape::kMaxRank) return;
  std::vector<Dim> contents(static_cast<size_t>((*depth)[0]), (*values)[0]);
  const int64_t place = (*places)[0] < 0 ? (*places)[0] + (*depth)[0] : (*places)[0];
  if (place >= 0 && place < (*depth)[0]) contents[static_cast<size_t>(place)] = (*values)[1];
  n.SetIntegers(0, std::move(contents));
}

// The first input and its "axis"; without that attribute, its elements in a row. Nothing: not known, or an error.
std::optional<std::pair<Shape, int>> AlongAxis(NodeInference& n) {
  if (!n.ShapeOf(0)) return std::nullopt;
  const Shape& shape = *n.ShapeOf(0);
  if (!n.node().attributes.Has("axis")) return std::pair(Shape{shape.Elements()}, 0);
  const auto axis = n.Axis(n.Int("axis", 0), shape.rank());
  if (!axis) return std::nullopt;
  return std::pair(shape, *axis);
}

// The rows that `condition` picks, or, without an axis, the elements: as many as it has true values.
void Compress(NodeInference& n) {
  auto along = AlongAxis(n);
  if (!along) return;
  auto& [out, axis] = *along;
  const auto condition = n.ConstantInts(1);
  if (condition) {
    out[axis] = static_cast<int64_t>(condition->size()) -
                static_cast<int64_t>(std::count(condition->begin(), condition->end(), 0));
  } else {
    const Dim rows = n.ShapeOf(1) && n.ShapeOf(1)->rank() == 1 ? Minimum(out[axis], (*n.ShapeOf(1))[0]) : out[axis];
    out[axis] = n.Undecided(rows.known() ? rows : out[axis]);
  }
  n.SetShape(0, out);
}

// values, first index of each, inverse index, counts; at most as many as there are elements, or slices along the axis.
void Unique(NodeInference& n) {
  for (int i = 1; i < n.outputs(); ++i) n.Out(i).type = DType::kInt64;
  for (int i = 1; i < n.outputs(); ++i) n.SetShape(i, Shape{Dim::Unknown()});
  auto along = AlongAxis(n);
  if (!along) return;
  auto& [out, axis] = *along;
  const Dim length = out[axis];
  out[axis] = length.Is(0) || length.Is(1) ? length : n.Undecided(length);
  n.SetShape(0, out);
  n.SetShape(1, Shape{out[axis]});
  n.SetShape(2, Shape{length});
  n.SetShape(3, Shape{out[axis]});
}

constexpr RuleRow kIndexingRows[] = {
    {"Gather", Gather},
    {"GatherElements", GatherElements},
    {"GatherND", GatherND},
    {"Slice", Slice},
    {"Scatter", Scatter},
    {"ScatterElements", ScatterElements},
    {"ScatterND", Scatter},
    {"TensorScatter", Scatter},
    {"TopK", TopK},
    {"NonZero", NonZero, Type::kInt64},
    {"OneHot", OneHot, Type::kThirdInput},
    {"Compress", Compress},
    {"Unique", Unique},
    {"Trilu", SameShape},
    {"CumSum", SameShape},
    {"CumProd", SameShape},
    {"ReverseSequence", SameShape},
};

}  // namespace

constinit const std::span<const RuleRow> kIndexingRules(kIndexingRows);

}  // namespace vramplan
