// The domain com.microsoft.nchwc: convolutions whose channels lie in blocks, which ONNX Runtime writes into files that
// it optimized for one processor (core/graph/contrib_ops/nchwc_schema_defs.cc). Channels are counted one by one, blocks
// filled up.
#include "graph/shapes/rule.h"
#include "graph/shapes/window.h"

namespace vramplan {
namespace {

// The kernel's channels are filled up to whole blocks and need not be the input's.
void NchwcConv(NodeInference& n) {
  if (!n.ShapeOf(0) || !n.ShapeOf(1)) return;
  const Shape& x = *n.ShapeOf(0);
  const Shape& w = *n.ShapeOf(1);
  if (x.rank() != 4 || w.rank() != 4 || !w[2].IsConstant() || !w[3].IsConstant())
    return n.Fail(n.Describe(1) + " is not a kernel for " + n.Describe(0));
  const auto window = WindowOf(n, 2, {w[2].c0(), w[3].c0()});
  if (!window) return;
  n.SetShape(0, Shape{x[0], w[0], Slid(*window, 0, x[2], false), Slid(*window, 1, x[3], false)});
}

// [N, channels, H, W], or with channels_last [N, H, W, channels].
void ReorderOutput(NodeInference& n) {
  if (!n.ShapeOf(0) || n.ShapeOf(0)->rank() != 4) return;
  const Shape& x = *n.ShapeOf(0);
  const Dim channels = n.Int("channels", 0);
  n.SetShape(0, n.Int("channels_last", 0) != 0 ? Shape{x[0], x[2], x[3], channels} : Shape{x[0], channels, x[2], x[3]});
}

void ReorderInput(NodeInference& n) {
  if (!n.ShapeOf(0) || n.ShapeOf(0)->rank() != 4) return;
  const Shape& x = *n.ShapeOf(0);
  n.SetShape(0, n.Int("channels_last", 0) != 0 ? Shape{x[0], x[3], x[1], x[2]} : x);
}

void NchwcGlobalPool(NodeInference& n) {
  if (n.ShapeOf(0) && n.ShapeOf(0)->rank() == 4) n.SetShape(0, Shape{(*n.ShapeOf(0))[0], (*n.ShapeOf(0))[1], 1, 1});
}

void NchwcPool(NodeInference& n) { PoolOf(n); }

void NchwcUpsample(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  Shape out = *n.ShapeOf(0);
  const std::vector<int64_t> scales = n.Ints("scales");
  for (int i = 0; i < out.rank(); ++i)
    out[i] =
        static_cast<int>(scales.size()) == out.rank() ? out[i] * Dim(scales[static_cast<size_t>(i)]) : Dim::Unknown();
  n.SetShape(0, out);
}

constexpr RuleRow kMicrosoftNchwcRows[] = {
    {"AveragePool", NchwcPool},         {"Conv", NchwcConv},         {"GlobalAveragePool", NchwcGlobalPool},
    {"GlobalMaxPool", NchwcGlobalPool}, {"MaxPool", NchwcPool},      {"ReorderInput", ReorderInput},
    {"ReorderOutput", ReorderOutput},   {"Upsample", NchwcUpsample},
};

}  // namespace

constinit const std::span<const RuleRow> kNchwcRules(kMicrosoftNchwcRows);

}  // namespace vramplan
