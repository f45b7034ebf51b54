#include "graph/shapes/rounds.h"

#include <doctest/doctest.h>

#include "graph/shapes/bounds.h"
#include "tests/support/onnx_text.h"

namespace vramplan {
namespace {

// The shapes of y and, when there is one, z; behind them "!" when there was a note.
std::string Shapes(const std::string& text, bool bounds) {
  const Graph graph = GraphFromText(text);
  Notes notes;
  auto binding = Bind(graph, {}, &notes);
  if (!binding.ok()) return ToString(binding.error());
  if (bounds) TakeBounds(&*binding);
  const auto shapes = Infer(graph, *binding, &notes);
  if (!shapes.ok()) return ToString(shapes.error());
  std::string shown;
  for (const TensorId id : graph.outputs) {
    const auto& shape = (*shapes)[id].shape;
    shown += (shown.empty() ? "" : " ") + (shape ? ToString(*shape) : std::string("?"));
  }
  return shown + (notes.all().empty() ? "" : "!");
}

// y is the state behind the last round of `body`, which makes b of a [batch, 9] (and of x, the same).
std::string Loop(const std::string& trips, const std::string& condition, const std::string& body, bool bounds) {
  return Shapes(
      "agraph (float[batch, 9] x, int64 data, bool c) => (float[p, q] y) "
      "<int64 five = {5}, int64 none = {0}, int64 endless = {9223372036854775807}> {\n y = Loop (" +
          trips + ", " + condition +
          ", x) <body = round (int64 i, bool go, float[m, k] a) => (bool more, float[r, s] b) {\n" +
          "more = Identity (go)\n" + body + "}>\n}",
      bounds);
}

TEST_CASE("a state that grows by the same in every round is as long as the rounds make it") {
  const std::string more = "b = Concat <axis = 1> (a, x)\n";
  for (const bool bounds : {false, true}) {
    CHECK(Loop("five", "", more, bounds) == "[B, 54]");
    CHECK(Loop("none", "", more, bounds) == "[B, ?]!");
    CHECK(Loop("data", "", more, bounds) == "[B, ?]!");
    CHECK(Loop("endless", "c", more, bounds) == "[B, ?]!");
    CHECK(Loop("five", "", "b = Concat <axis = 1> (a, a)\n", bounds) == "[B, ?]!");  // twice as long each time
  }
  CHECK(Loop("five", "c", more, false) == "[B, ?]!");
  CHECK(Loop("five", "c", more, true) == "[B, 54]!");  // the condition may stop it earlier
}

TEST_CASE("a state that is another behind the first round, and then stays") {
  const std::string chosen = "n = NonZero (x)\n b = Cast <to = 1> (n)\n";
  CHECK(Loop("five", "", chosen, false) == "[?, ?]!");
  CHECK(Loop("five", "", chosen, true) == "[2, 9*B]!");
  CHECK(Loop("data", "", chosen, true) == "[B + 2, 9*B]!");  // it may not run at all: x
  const std::string summed = "two = Constant <value = int64[1] {1}> ()\n b = ReduceSum <keepdims = 1> (a, two)\n";
  CHECK(Loop("five", "", summed, false) == "[B, 1]");
  CHECK(Loop("data", "", summed, false) == "[B, ?]!");
  CHECK(Loop("data", "", summed, true) == "[B, 9]!");
}

TEST_CASE("a state of a scan") {
  constexpr const char* kScan = R"(
    agraph (float[batch, 9] x) => (float[n] y, float[9, k] z) <float[1] first = {1}> {
      y, z = Scan <num_scan_inputs = 1, scan_input_axes = [1],
          body = round (float[m] a, float[batch] column) => (float[r] b, float[s] o) {
        b = Concat <axis = 0> (a, column)
        n = NonZero (column)
        t = Transpose (n)
        o = GatherND (column, t)
      }> (first, x)
    })";
  CHECK(Shapes(kScan, false) == "[9*B + 1] [9, ?]!");
  CHECK(Shapes(kScan, true) == "[9*B + 1] [9, B]!");
}

}  // namespace
}  // namespace vramplan
