// Padding: a new tensor; reflection and replication keep their input, although only its sizes matter.
#include "planner/semantics/pointwise.h"
#include "planner/semantics/table.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

// to.copy_(from), `to` a view: on the tape of what it looks at (Eager::Overwrite).
void CopyInto(Eager& e, const Tensor& to, const Tensor& from) {
  const Tensor written = e.Overwrite(to);
  if (GradNode* node = e.Record("CopyBackwards", {to, from}, {written})) {
    node->Backward([](GradContext& g) {  // of what was there before: zeros
      if (g.Needs(1)) g.Set(1, g.grad());
      if (g.Needs(0)) g.Set(0, g.e.EmptyLike(g.grad()));
    });
  }
}

// PadNd.cpp, _pad_circular_symint: the input is copied into the middle, then of the last axis the left and the right
// rim from the other side, and so on to the first.
void PadCircular(Call& c) {
  Eager& e = c.e;
  const Tensor& x = c.In(0);
  const std::vector<int64_t> pads = c.Ints("pad");
  const int axes = static_cast<int>(pads.size() / 2), rank = x->dim();
  Tensor out = e.Empty(c.OutShape(), x->dtype);
  {
    Tensor middle = out, from = x;
    for (int i = 0; i < axes; ++i) {
      const int axis = rank - axes + i;
      middle = Slice(e, middle, axis, x->sizes[axis], 1);
      from = Slice(e, from, axis, x->sizes[axis], 1);
    }
    CopyInto(e, middle, from);
  }
  for (int i = 0; i < axes; ++i) {
    for (const size_t side : {0U, 1U}) {
      const int64_t width = pads[2 * static_cast<size_t>(i) + side];
      if (width <= 0) continue;
      const int axis = rank - 1 - i;
      const Tensor rim = Slice(e, out, axis, Dim(width), 1), opposite = Slice(e, out, axis, Dim(width), 1);
      CopyInto(e, rim, opposite);
    }
  }
  c.Return(std::move(out));
}

// A pad of nothing copies like any other (PadNd.cpp: constant_pad_nd ends in clone), and so does its gradient. What the
// others keep: derivatives.yaml.
void Pad(Call& c) {
  OpScope scope(c.e, "aten::pad");
  const std::string mode = c.layer.attributes.Text("mode", "constant");
  const Tensor& x = c.In(0);
  const size_t pads = c.Ints("pad").size();
  if (mode == "circular" && pads >= 2 && pads % 2 == 0 && static_cast<int>(pads / 2) < x->dim()) return PadCircular(c);
  const bool keeps_input = mode != "constant";
  Tensor out = c.e.Empty(c.OutShape(), x->dtype);
  if (GradNode* node = c.e.Record(keeps_input ? "ReflectionPad2DBackward0" : "ConstantPadNdBackward0", {x}, {out})) {
    if (keeps_input) node->Save(x);
    node->Backward([sizes = x->sizes](GradContext& g) { g.Set(0, g.e.Empty(sizes, g.grad()->dtype)); });
  }
  c.Return(std::move(out));
}

}  // namespace

std::vector<OpRule> PadRules() { return {{"pad", Pad}}; }

}  // namespace vramplan::eager
