// Recurrent layers: RNN, GRU, LSTM.
#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

// X [S, B, I] gives Y [S, D, B, H] and the last states [D, B, H]; layout 1 has the batch first: [B, S, I], [B, S, D,
// H], [B, D, H] (onnx LSTM-14). D is 2 when bidirectional; H is hidden_size, or the last axis of the recurrence weights
// R [D, gates*H, H].
void Recurrent(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  const Shape& x = *n.ShapeOf(0);
  if (x.rank() != 3) return n.Fail(n.Describe(0) + " is not a batch of sequences of vectors");
  const bool batch_first = n.Int("layout", 0) != 0;
  const Dim directions = n.Text("direction", "forward") == "bidirectional" ? 2 : 1;
  Dim hidden = n.Int("hidden_size", 0);
  if (n.ShapeOf(2) && n.ShapeOf(2)->rank() == 3) {
    const Dim weights = n.ShapeOf(2)->FromEnd(1);
    if (!hidden.Is(0) && !n.Same(hidden, weights))
      return n.Fail("hidden_size is " + ToString(hidden) + ", but R is " + n.Describe(2));
    hidden = weights;
  }
  if (hidden.Is(0)) hidden = Dim::Unknown();
  const Dim steps = x[batch_first ? 1 : 0], batch = x[batch_first ? 0 : 1];
  n.SetShape(0, batch_first ? Shape{batch, steps, directions, hidden} : Shape{steps, directions, batch, hidden});
  const Shape state = batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  for (int i = 1; i < n.outputs(); ++i) n.SetShape(i, state);
}

constexpr RuleRow kRecurrentRows[] = {{"RNN", Recurrent}, {"GRU", Recurrent}, {"LSTM", Recurrent}};

}  // namespace

constinit const std::span<const RuleRow> kRecurrentRules(kRecurrentRows);

}  // namespace vramplan
