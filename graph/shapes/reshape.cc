// Operators that give the same elements another shape: Reshape, Flatten, Squeeze, Unsqueeze, Transpose, Expand.
#include <algorithm>
#include <numeric>

#include "graph/shapes/folding.h"
#include "graph/shapes/rebatch.h"
#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

void KeepContents(NodeInference& n) {
  if (n.meets_bounds() && n.Out(0).shape->Elements() != n.ShapeOf(0)->Elements()) return;
  n.Out(0).integers = n.In(0).integers;
  n.Out(0).reals = n.In(0).reals;
}

Dim ProductWithout(const std::vector<Dim>& dims, int except) {
  Dim product(1);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (static_cast<int>(i) != except) product = product * dims[i];
  }
  return product;
}

// [B, 3] to [2, 1, -1]: 3*B elements are no rows of 2, so the 2 was the batch; so it is once the file has shown that 2.
bool LeadsWithTracedBatch(const NodeInference& n, const Shape& in, const std::vector<Dim>& target, int hole) {
  if (hole == 0 || in.rank() == 0 || in[0] != Dim::Batch() || target[0].c0() < 2) return false;
  const Dim rest = ProductWithout(target, hole);
  return n.baked_batch() == target[0].c0() || !Quotient(in.Elements(), rest);
}

// The target with the baked batch put back; nothing when it holds no baked batch.
std::optional<std::vector<Dim>> Reopened(NodeInference& n, const Shape& in, const std::vector<Dim>& target, int hole) {
  const Dim elements = in.Elements();
  if (!elements.known() || elements.IsConstant()) return std::nullopt;
  const Dim rest = ProductWithout(target, hole);
  if (!rest.IsConstant() || rest.c0() <= 0) return std::nullopt;
  for (size_t i = 0; i < target.size(); ++i) {
    if (static_cast<int>(i) != hole && !target[i].IsConstant()) return std::nullopt;
  }
  // With -1 in a file that has a symbolic batch, the -1 is the batch, or takes it; unless the first axis was traced
  // into a number, as TorchScript does with len(x) and int(x.shape[0]).
  if (hole >= 0 && !n.reopened() && !LeadsWithTracedBatch(n, in, target, hole)) return std::nullopt;
  const auto batch = n.reopened() ? n.baked_batch() : hole >= 0 ? target[0].c0() : BatchAt(elements, rest.c0());
  if (!batch) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const Dim& d : target) numbers.push_back(d.c0());
  const int64_t all = elements.At(*batch);
  if (hole >= 0) numbers[static_cast<size_t>(hole)] = all / rest.c0();
  if (hole >= 0 ? all % rest.c0() != 0 : all != rest.c0()) return std::nullopt;
  const auto before = *batch == 1 ? RowsBeforeBatch(n) : std::nullopt;
  auto result = Rebatched(in, numbers, *batch, before);
  if (!result || !n.AcceptBakedBatch(*batch)) return std::nullopt;
  for (size_t i = 0; i < target.size(); ++i) {
    if (static_cast<int>(i) == hole || (*result)[i] == target[i]) continue;
    n.NoteRebatched("axis " + std::to_string(i) + " of its constant shape, " + ToString(target[i]) + ", became " +
                    ToString((*result)[i]));
  }
  return result;
}

// 0 copies the input's axis unless allowzero; -1 takes what is left (onnx Reshape-14). One length that is not known is
// found like -1.
void Reshape(NodeInference& n) {
  std::vector<Dim> target;
  if (n.Has(1)) {
    const auto given = n.Target(1);
    if (!given) return;
    target = *given;
  } else {
    for (int64_t d : n.Ints("shape")) target.push_back(d);  // before opset 5
  }
  const auto& in = n.ShapeOf(0);
  const bool zero_copies = n.Int("allowzero", 0) == 0;
  const auto show = [&] {
    std::string text = "[";
    for (const Dim& d : target) text += (text.size() > 1 ? ", " : "") + ToString(d);
    return text + "]";
  };
  const std::string asked = show();
  int hole = -1, holes = 0;
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i].Is(0) && zero_copies) {
      if (in && static_cast<int>(i) >= in->rank())
        return n.Fail("it copies axis " + std::to_string(i) + " of " + n.Describe(0));
      target[i] = in ? (*in)[static_cast<int>(i)] : Dim::Unknown();
    } else if (target[i].Is(-1)) {
      if (hole >= 0) return n.Fail("its shape " + asked + " has -1 twice");
      hole = static_cast<int>(i);
      ++holes;
      target[i] = Dim::Unknown();
    } else if (target[i].IsConstant() && target[i].c0() < 0) {
      return n.Fail("its shape " + asked + " has a negative length");
    }
  }
  if (holes == 0) {  // a single unknown length follows from the others, too
    for (size_t i = 0; i < target.size(); ++i) {
      if (target[i].known()) continue;
      hole = static_cast<int>(i);
      ++holes;
    }
  }
  if (target.size() > Shape::kMaxRank) return n.SetShape(0, target);
  const Dim elements = in ? in->Elements() : Dim::Unknown();
  const Dim rest = ProductWithout(target, hole);
  if (!in || !elements.known() || holes > 1 || !rest.known()) {
    if (elements.overflowed() || rest.overflowed())
      return n.Fail("the elements of its shape " + asked + " are overflowing");
    return n.SetShape(0, target);
  }
  if (const auto reopened = Reopened(n, *in, target, hole)) {
    n.SetShape(0, *reopened);
    return;
  }
  const std::string contradiction = n.Describe(0) + " cannot become " + asked;
  if (hole >= 0) {
    auto left = Quotient(elements, rest);
    if (!left && n.meets_bounds()) left = BoundOfQuotient(elements, rest);
    if (!left && elements.IsConstant() && rest.IsConstant() && !rest.Is(0)) return n.Fail(contradiction);
    target[static_cast<size_t>(hole)] = left ? *left : Dim::Unknown();
  } else if (!n.meets_bounds() && ((!elements.IsConstant() && rest.IsConstant()) || !n.Same(elements, rest))) {
    return n.Fail(contradiction);
  }
  n.SetShape(0, target);
  if (n.Out(0).shape->known()) KeepContents(n);
}

void Flatten(NodeInference& n) {
  if (!n.ShapeOf(0)) return n.SetShape(0, Shape{Dim::Unknown(), Dim::Unknown()});
  const Shape& in = *n.ShapeOf(0);
  const int64_t given = n.Int("axis", 1);
  if (given < -in.rank() || given > in.rank())
    return n.Fail("axis " + std::to_string(given) + " is outside of " + n.Describe(0));
  const int axis = static_cast<int>(given < 0 ? given + in.rank() : given);
  Dim front(1), back(1);
  for (int i = 0; i < in.rank(); ++i) (i < axis ? front : back) = (i < axis ? front : back) * in[i];
  n.SetShape(0, Shape{front, back});
  KeepContents(n);
}

void Squeeze(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  const Shape& in = *n.ShapeOf(0);
  std::vector<bool> drop(static_cast<size_t>(in.rank()), false);
  if (n.AxesGiven(1)) {
    const auto axes = n.Axes(1, in.rank());
    if (!axes) return;
    for (int axis : *axes) {
      // squeeze(dim) of another length than 1 does nothing in PyTorch, and is written all the same (onnxscript 0.7,
      // torch_lib/ops/core.py, aten_squeeze_dim).
      const bool from_torch = n.node().provenance.fx_node.find("aten.squeeze.dim") != std::string::npos;
      if (from_torch && in[axis].IsConstant() && !in[axis].Is(1)) continue;
      if (in[axis].known() && !in[axis].Is(1) && !n.meets_bounds()) {  // a bound: what it bounds must be 1
        const bool batch = !in[axis].IsConstant();
        return n.Fail("it removes axis " + std::to_string(axis) + " of " + n.Describe(0) + ", whose length is " +
                          (batch ? "the batch" : "not 1"),
                      batch && n.reopened() ? "--batch-dim none keeps the batch of the file" : "");
      }
      drop[static_cast<size_t>(axis)] = true;
    }
  } else {
    for (int i = 0; i < in.rank(); ++i) {
      if (!in[i].known()) return;
      drop[static_cast<size_t>(i)] = in[i].Is(1);
    }
  }
  Shape out;
  for (int i = 0; i < in.rank(); ++i) {
    if (!drop[static_cast<size_t>(i)]) out.Append(in[i]);
  }
  n.SetShape(0, out);
  KeepContents(n);
}

void Unsqueeze(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  const Shape& in = *n.ShapeOf(0);
  const auto given = n.Has(1) ? n.ConstantInts(1) : std::optional(n.Ints("axes"));
  if (!given) return;
  const int64_t rank = in.rank() + static_cast<int64_t>(given->size());
  if (rank > Shape::kMaxRank) return n.SetShape(0, std::vector<Dim>(static_cast<size_t>(rank)));
  const auto axes = n.Axes(1, static_cast<int>(rank));
  if (!axes) return;
  std::vector<bool> fresh(static_cast<size_t>(rank), false);
  for (int axis : *axes) fresh[static_cast<size_t>(axis)] = true;
  if (std::count(fresh.begin(), fresh.end(), true) != static_cast<int64_t>(axes->size()))
    return n.Fail("its axes repeat");
  Shape out;
  int next = 0;
  for (bool one : fresh) out.Append(one ? Dim(1) : in[next++]);
  n.SetShape(0, out);
  KeepContents(n);
}

void Transpose(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  const Shape& in = *n.ShapeOf(0);
  std::vector<int64_t> perm = n.Ints("perm");
  if (perm.empty()) {
    for (int i = in.rank(); i-- > 0;) perm.push_back(i);
  }
  std::vector<bool> seen(static_cast<size_t>(in.rank()), false);
  const bool right_size = static_cast<int>(perm.size()) == in.rank();
  Shape out;
  for (int64_t p : perm) {
    if (!right_size || p < 0 || p >= in.rank() || seen[static_cast<size_t>(p)]) {
      return n.Fail("its perm is not a permutation of the axes of " + n.Describe(0));
    }
    seen[static_cast<size_t>(p)] = true;
    out.Append(in[static_cast<int>(p)]);
  }
  n.SetShape(0, out);
  if (!n.In(0).integers && !n.In(0).reals) return;
  const auto from = FoldableDims(in), to = FoldableDims(out);
  if (!from || !to) return;
  const std::vector<int64_t> own = Strides(*from);
  std::vector<int64_t> strides;
  for (int64_t p : perm) strides.push_back(own[static_cast<size_t>(p)]);
  if (n.In(0).integers) n.SetIntegers(0, Strided(*n.In(0).integers, *to, 0, strides));
  if (n.In(0).reals) n.Out(0).reals = Strided(*n.In(0).reals, *to, 0, strides);
}

// Broadcast both ways (onnx Expand-13).
void Expand(NodeInference& n) {
  const auto target = n.Target(1);
  if (!target || !n.ShapeOf(0)) return;
  for (const Dim& d : *target) {
    if (d.IsConstant() && d.c0() < 0) return n.Fail("its shape has a negative length");
  }
  const Shape& in = *n.ShapeOf(0);
  const bool fresh = in.rank() < static_cast<int>(target->size()) || (in.rank() > 0 && in[0].Is(1));
  const auto shape = n.BroadcastShapes(in, Shape(fresh ? WithLeadingBatch(n, *target) : *target));
  if (!shape) return;
  n.SetShape(0, *shape);
  const auto dims = FoldableDims(*shape);
  if (!dims) return;
  if (n.In(0).integers) {
    if (auto values = WholeValues(n, 0, *dims)) n.SetIntegers(0, std::move(*values));
  } else if (n.In(0).reals) {
    n.Out(0).reals = RealValues(n, 0, *dims);
  }
}

constexpr RuleRow kReshapeRows[] = {
    {"Reshape", Reshape},     {"Flatten", Flatten}, {"Squeeze", Squeeze},
    {"Unsqueeze", Unsqueeze}, {"Expand", Expand},   {"Transpose", Transpose},
};

}  // namespace

constinit const std::span<const RuleRow> kReshapeRules(kReshapeRows);

}  // namespace vramplan
