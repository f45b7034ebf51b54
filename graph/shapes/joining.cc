// Operators that put tensors together, repeat them, take them apart or surround them: Concat, Split, Tile, Pad.
#include <algorithm>

#include "graph/shapes/folding.h"
#include "graph/shapes/rebatch.h"
#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

template <typename T>
std::vector<T> Joined(const std::vector<const std::vector<T>*>& parts, const std::vector<int64_t>& lengths,
                      int64_t outer, int64_t inner) {
  std::vector<T> out;
  for (int64_t o = 0; o < outer; ++o) {
    for (size_t p = 0; p < parts.size(); ++p) {
      const auto begin = parts[p]->begin() + o * lengths[p] * inner;
      out.insert(out.end(), begin, begin + lengths[p] * inner);
    }
  }
  return out;
}

void FoldConcat(NodeInference& n, int axis) {
  const auto out = FoldableDims(*n.Out(0).shape);
  if (!out) return;
  std::vector<const std::vector<Dim>*> integers;
  std::vector<const std::vector<double>*> reals;
  std::vector<int64_t> lengths;
  std::vector<std::vector<Dim>> unknown;  // stands for parts that are not known
  unknown.reserve(static_cast<size_t>(n.inputs()));
  bool any = false;
  for (int i = 0; i < n.inputs(); ++i) {
    const TensorFacts& in = n.In(i);
    const auto dims = FoldableDims(*in.shape);
    if (!dims) return;
    int64_t count = 1;
    for (int64_t d : *dims) count *= d;
    lengths.push_back((*dims)[static_cast<size_t>(axis)]);
    any = any || in.integers;
    if (in.reals) reals.push_back(&*in.reals);
    if (!in.integers) unknown.emplace_back(static_cast<size_t>(count), Dim::Unknown());
    integers.push_back(in.integers ? &*in.integers : &unknown.back());
  }
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < out->size(); ++i) {
    if (static_cast<int>(i) < axis) outer *= (*out)[i];
    if (static_cast<int>(i) > axis) inner *= (*out)[i];
  }
  if (static_cast<int>(reals.size()) == n.inputs()) {
    n.Out(0).reals = Joined(reals, lengths, outer, inner);
  } else if (IsFloating(n.In(0).type)) {  // whole-numbered reals beside others: as reals, when all are plain numbers
    std::vector<std::vector<double>> all;
    for (int i = 0; i < n.inputs(); ++i) {
      const auto values = n.Reals(i);
      if (!values) break;
      all.push_back(*values);
    }
    if (static_cast<int>(all.size()) == n.inputs() && !reals.empty()) {
      std::vector<const std::vector<double>*> parts;
      for (const auto& values : all) parts.push_back(&values);
      n.Out(0).reals = Joined(parts, lengths, outer, inner);
    } else if (any && reals.empty()) {
      n.SetIntegers(0, Joined(integers, lengths, outer, inner));
    }
  } else if (any) {
    n.SetIntegers(0, Joined(integers, lengths, outer, inner));
  }
}

void Concat(NodeInference& n) {
  for (int i = 0; i < n.inputs(); ++i) {
    if (!n.ShapeOf(i)) return;
  }
  if (n.inputs() == 0) return n.Fail("it has no inputs");
  Shape out = *n.ShapeOf(0);
  const auto axis = n.Axis(n.Int("axis", n.opset() < 4 ? 1 : 0), out.rank());
  if (!axis) return;
  for (int i = 1; i < n.inputs(); ++i) {
    const Shape& in = *n.ShapeOf(i);
    const auto contradict = [&] { n.Fail(n.Describe(i) + " cannot be concatenated with " + n.Describe(0)); };
    if (in.rank() != out.rank()) return contradict();
    for (int a = 0; a < in.rank(); ++a) {
      if (a == *axis) {
        out[a] = out[a] + in[a];
        continue;
      }
      const auto same = n.Same(out[a], in[a]);
      if (!same) return contradict();
      out[a] = *same;
    }
  }
  n.SetShape(0, out);
  bool contents = false;
  for (int i = 0; i < n.inputs(); ++i) contents = contents || n.In(i).integers || n.In(i).reals;
  if (contents) FoldConcat(n, *axis);
}

// a, b = net(torch.cat([a, b])).chunk(2), which an export of batch 2 writes as parts of 2 and 2 of an axis of 2*B: parts
// of the same shares that vary with it. Nothing where the axis is no multiple of the batch, or the parts are none.
std::optional<std::vector<Dim>> PartsOfBatch(const Dim& length, const std::vector<Dim>& given) {
  if (!length.known() || length.IsConstant() || length.c0() != 0 || length.c2() != 0) return std::nullopt;
  int64_t sum = 0;
  for (const Dim& part : given) {
    if (!part.IsConstant() || part.c0() < 0) return std::nullopt;
    sum += part.c0();
  }
  if (sum == 0 || sum % length.c1() != 0) return std::nullopt;
  const int64_t batch = sum / length.c1();  // of the export
  std::vector<Dim> parts;
  for (const Dim& part : given) {
    if (part.c0() % batch != 0) return std::nullopt;
    parts.push_back(Dim(part.c0() / batch) * Dim::Batch());
  }
  return parts;
}

// Lengths come from the input (opset 13), the attribute
// "split" (before), or equal parts, of which the last is smaller when they do not divide (num_outputs, opset 18).
void Split(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  const Shape& in = *n.ShapeOf(0);
  const auto axis = n.Axis(n.Int("axis", 0), in.rank());
  if (!axis) return;
  const Dim length = in[*axis];
  const int count = n.outputs();
  std::vector<Dim> parts(static_cast<size_t>(count), Dim::Unknown());
  if (n.Has(1) || n.node().attributes.Has("split")) {
    std::vector<Dim> given;
    if (n.Has(1)) {
      if (const auto* values = n.Integers(1)) given = *values;
    } else {
      for (int64_t d : n.Ints("split")) given.push_back(d);
    }
    if (!given.empty()) {
      if (given.size() != parts.size()) {
        return n.Fail("it names " + std::to_string(given.size()) + " lengths for " + std::to_string(count) +
                      " outputs");
      }
      Dim sum(0);
      for (const Dim& d : given) sum = sum + d;
      if (sum.known() && length.known() && sum != length) {
        if (const auto of_batch = PartsOfBatch(length, given)) {
          given = *of_batch;
          n.NoteRebatched("its parts of axis " + std::to_string(*axis) + " vary with the batch");
        } else if (count == 1 && n.Same(sum, length)) {
          given[0] = length;
        } else {
          return n.Fail("its lengths do not add up to axis " + std::to_string(*axis) + " of " + n.Describe(0));
        }
      }
      parts = given;
    }
  } else if (length.known()) {
    const int64_t pieces = std::max<int64_t>(n.Int("num_outputs", count), 1);
    const auto equal = Quotient(length, Dim(pieces));
    const Dim size = equal ? *equal : CeilDivide(length, pieces);
    for (int i = 0; i < count; ++i) parts[static_cast<size_t>(i)] = size;
    if (!equal && count == pieces) parts.back() = length - size * Dim(pieces - 1);
    if (!equal && n.opset() != 0 && n.opset() < 18) {
      return n.Fail("axis " + std::to_string(*axis) + " of " + n.Describe(0) + " does not split into " +
                    std::to_string(pieces));
    }
  }
  int64_t offset = 0;
  const auto dims = FoldableDims(in);
  for (int i = 0; i < count; ++i) {
    Shape out = in;
    out[*axis] = parts[static_cast<size_t>(i)].known() ? parts[static_cast<size_t>(i)] : n.Undecided(length);
    n.SetShape(i, out);
    const auto part = FoldableDims(out);
    if (!n.In(0).integers || !dims || !part) continue;
    const std::vector<int64_t> strides = Strides(*dims);
    const int64_t start = offset;
    offset += (*part)[static_cast<size_t>(*axis)];
    if (offset > (*dims)[static_cast<size_t>(*axis)]) continue;
    n.SetIntegers(i, Strided(*n.In(0).integers, *part, start * strides[static_cast<size_t>(*axis)], strides));
  }
}

void Tile(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  const Shape& in = *n.ShapeOf(0);
  auto repeats = n.Target(1);
  if (!repeats) return n.SetShape(0, std::vector<Dim>(static_cast<size_t>(in.rank()), Dim::Unknown()));
  if (static_cast<int>(repeats->size()) != in.rank())
    return n.Fail("it does not have one repeat per axis of " + n.Describe(0));
  if (in.rank() > 0 && in[0].Is(1)) *repeats = WithLeadingBatch(n, *repeats);
  Shape out;
  for (int i = 0; i < in.rank(); ++i) out.Append(in[i] * (*repeats)[static_cast<size_t>(i)]);
  n.SetShape(0, out);
  if (n.In(0).integers && in.rank() == 1 && FoldableDims(out)) {
    std::vector<Dim> values;
    for (int64_t r = 0; r < (*repeats)[0].c0(); ++r) {
      values.insert(values.end(), n.In(0).integers->begin(), n.In(0).integers->end());
    }
    n.SetIntegers(0, std::move(values));
  }
}

// pads = [begin of each axis, end of each axis], of the axes named by input 3 (opset 18) or all; negative pads crop.
void Pad(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  Shape out = *n.ShapeOf(0);
  std::vector<int> axes;
  for (int i = 0; i < out.rank(); ++i) axes.push_back(i);
  if (n.Has(3)) {
    const auto named = n.Axes(3, out.rank());
    if (!named) {
      for (int i = 0; i < out.rank(); ++i) out[i] = Dim::Unknown();
      return n.SetShape(0, out);
    }
    axes = *named;
  }
  std::vector<Dim> pads(axes.size() * 2, Dim::Unknown());
  if (const auto* given = n.Integers(1)) {
    pads = *given;
  } else if (!n.Has(1)) {
    pads.clear();
    for (int64_t p : n.Ints(n.node().attributes.Has("pads") ? "pads" : "paddings")) pads.push_back(p);
  }
  if (pads.size() != axes.size() * 2) {
    return n.Fail("it has " + std::to_string(pads.size()) + " pads for " + std::to_string(axes.size()) + " axes");
  }
  for (size_t i = 0; i < axes.size(); ++i) out[axes[i]] = out[axes[i]] + pads[i] + pads[i + axes.size()];
  n.SetShape(0, out);
}

constexpr RuleRow kJoiningRows[] = {{"Concat", Concat}, {"Split", Split}, {"Tile", Tile}, {"Pad", Pad}};

}  // namespace

constinit const std::span<const RuleRow> kJoiningRules(kJoiningRows);

}  // namespace vramplan
