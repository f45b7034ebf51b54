#include <doctest/doctest.h>

#include "graph/shapes/infer.h"
#include "tests/support/onnx_text.h"

namespace vramplan {
namespace {

// What Infer says of this graph at this sequence: the shape of y, or the error.
std::string At(int64_t sequence, std::string_view text) {
  const Graph graph = GraphFromText(text);
  Notes notes;
  const auto binding = Bind(graph, {.dims = {{"sequence", sequence}}}, &notes);
  REQUIRE(binding.ok());
  const Result<Shapes> shapes = Infer(graph, *binding, &notes);
  if (!shapes.ok()) return shapes.error().text + ": " + shapes.error().hint;
  return ToString(*(*shapes)[TensorNamed(graph, "y")].shape);
}

constexpr const char* kHead =
    "agraph (int64[batch, sequence] ids) => (float[batch, sequence, 2] y)\n"
    "    <float[4, 2] wpe = {0, 0, 0, 0, 0, 0, 0, 0}, int64 zero = {0}, int64 one = {1}, int64 two = {2},\n"
    "     int64[1] front = {0}, int64[1] second = {1}, int64[1] minus = {-1}> {\n"
    "  lengths = Shape (ids)\n"
    "  length = Gather (lengths, one)\n"
    "  upto = Unsqueeze (length, front)\n";

TEST_CASE("a length beyond a position table is refused, and which one is not") {
  const struct {
    const char* what;
    std::string nodes;
    int64_t most;
  } rows[] = {
      // self.wpe(torch.arange(ids.shape[1]))
      {"a range", "  at = Range (zero, length, one)\n  y = Gather (wpe, at)\n}", 4},
      {"and views of it",
       "  r = Range (zero, length, one)\n  u = Unsqueeze (r, front)\n  at = Expand (u, lengths)\n"
       "  y = Gather (wpe, at)\n}",
       4},
      // modeling_opt.py: rows 0 and 1 are for padding
      {"a range from the second row on",
       "  r = Range (zero, length, one)\n  at = Add (r, two)\n  y = Gather (wpe, at)\n}", 2},
      // modeling_opt.py: cumsum(mask) * mask - 1 + 2 of a mask of ones
      {"positions counted from a mask of ones",
       "  mask = ConstantOfShape <value = int64[1] {1}> (lengths)\n  sums = CumSum (mask, one)\n"
       "  kept = Mul (sums, mask)\n  from = Sub (kept, one)\n  at = Add (from, two)\n  y = Gather (wpe, at)\n}",
       2},
  };
  for (const auto& [what, nodes, most] : rows) {
    CAPTURE(what);
    CHECK(At(most, kHead + nodes).ends_with(", 2]"));
    for (const int64_t sequence : {most + 1, int64_t{100}}) {
      const std::string said = At(sequence, kHead + nodes);
      CHECK(said.starts_with("the position table has 4 rows (wpe), and "));
      CHECK(said.ends_with(": --dim sequence=" + std::to_string(most) + " or less"));
    }
  }
  // What data decides is not refused: ids, or a mask of them.
  CHECK(At(100, std::string(kHead) + "  y = Gather (wpe, ids)\n}") == "[B, 100, 2]");
  CHECK(At(100, std::string(kHead) + "  sums = CumSum (ids, one)\n  y = Gather (wpe, sums)\n}") == "[B, 100, 2]");
}

TEST_CASE("the first rows of a stored table are asked for, and it has fewer") {
  // position_embeddings = self.pos_embed[:, :length]; y = x + position_embeddings
  const std::string text =
      std::string(
          "agraph (float[batch, sequence, 2] x) => (float[batch, sequence, 2] y)\n"
          "    <float[1, 4, 2] table = {0, 0, 0, 0, 0, 0, 0, 0}, int64 one = {1}, int64[1] front = {0},\n"
          "     int64[1] second = {1}> {\n") +
      "  lengths = Shape (x)\n  length = Gather (lengths, one)\n  upto = Unsqueeze (length, front)\n"
      "  some = Slice (table, front, upto, second)\n  y = Add (x, some)\n}";
  CHECK(At(3, text) == "[B, 3, 2]");
  CHECK(At(4, text) == "[B, 4, 2]");
  CHECK(At(1000, text) == "the position table has 4 rows (table), and 1,000 are read: --dim sequence=4 or less");
}

}  // namespace
}  // namespace vramplan
