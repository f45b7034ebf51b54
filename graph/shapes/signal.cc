// Signals: DFT, STFT, MelWeightMatrix, and NonMaxSuppression, whose output only data decides.
#include "graph/shapes/folding.h"

namespace vramplan {
namespace {

// x [.., length, 1 or 2] gives [.., length', 2]; one-sided: length/2 + 1. The axis is an attribute before opset 20,
// input 2 after.
void Dft(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  Shape out = *n.ShapeOf(0);
  if (out.rank() < 2) return n.Fail(n.Describe(0) + " has no axis to transform");
  const bool old = n.opset() != 0 && n.opset() < 20;
  Dim given = old ? Dim(n.Int("axis", 1)) : n.Has(2) ? ScalarOf(n, 2) : Dim(-2);
  const bool inverse = n.Int("inverse", 0) != 0, one_sided = n.Int("onesided", 0) != 0;
  if (!given.IsConstant()) {  // only a length or one side makes an axis other than it was
    for (int i = 0; (n.Has(1) || one_sided) && i < out.rank(); ++i) out[i] = Dim::Unknown();
    out[out.rank() - 1] = inverse && one_sided ? 1 : 2;
    return n.SetShape(0, out);
  }
  const auto axis = n.Axis(given.c0(), out.rank());
  if (!axis) return;
  if (n.Has(1)) {
    out[*axis] = ScalarOf(n, 1);
  } else if (one_sided && inverse) {
    out[*axis] = Dim(2) * (out[*axis] - Dim(1));
  }
  if (one_sided && !inverse) out[*axis] = FloorDivide(out[*axis], 2) + Dim(1);
  out[out.rank() - 1] = inverse && one_sided ? 1 : 2;
  n.SetShape(0, out);
}

// signal [B, length, 1 or 2] gives [B, (length - frame)/step + 1, frame/2 + 1 or frame, 2] (onnx STFT-17).
void Stft(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  const Shape& signal = *n.ShapeOf(0);
  if (signal.rank() < 2) return n.Fail(n.Describe(0) + " is not a batch of signals");
  const auto& window = n.ShapeOf(2);
  const Dim frame = n.Has(3) ? ScalarOf(n, 3) : window && window->rank() == 1 ? (*window)[0] : Dim::Unknown();
  const Dim frames = FloorDivide(signal[1] - frame, ScalarOf(n, 1)) + Dim(1);
  const Dim bins = n.Int("onesided", 1) != 0 ? FloorDivide(frame, 2) + Dim(1) : frame;
  n.SetShape(0, Shape{signal[0], frames, bins, 2});
}

// [dft_length/2 + 1, mel bins]
void MelWeightMatrix(NodeInference& n) {
  n.Out(0).type = DTypeFromOnnx(static_cast<int32_t>(n.Int("output_datatype", 1))).value_or(DType::kFloat32);
  n.SetShape(0, Shape{FloorDivide(ScalarOf(n, 1), 2) + Dim(1), ScalarOf(n, 0)});
}

// Rows (batch, class, box): of each batch and class of scores [B, classes, boxes] as many as max_output_boxes_per_class
// says, 0 by default, and no more than there are boxes (onnx NonMaxSuppression-11).
void NonMaxSuppression(NodeInference& n) {
  n.SetShape(0, Shape{Dim::Unknown(), 3});
  const Dim most = n.Has(2) ? ScalarOf(n, 2) : Dim(0);
  if (most.Is(0)) n.SetShape(0, Shape{0, 3});
  if (!n.ShapeOf(1) || n.ShapeOf(1)->rank() != 3 || most.Is(0)) return;
  const Shape& scores = *n.ShapeOf(1);
  const Dim kept = most.known() ? Minimum(most, scores[2]) : scores[2];
  n.SetShape(0, Shape{n.Undecided(scores[0] * scores[1] * (kept.known() ? kept : scores[2])), 3});
}

constexpr RuleRow kSignalRows[] = {
    {"DFT", Dft},
    {"STFT", Stft},
    {"MelWeightMatrix", MelWeightMatrix, Type::kRule},
    {"NonMaxSuppression", NonMaxSuppression, Type::kInt64},
};

}  // namespace

constinit const std::span<const RuleRow> kSignalRules(kSignalRows);

}  // namespace vramplan
