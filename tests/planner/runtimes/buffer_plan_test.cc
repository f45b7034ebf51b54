#include "planner/runtimes/buffer_plan.h"

#include <doctest/doctest.h>

#include <string>

#include "planner/runtimes/given_graph.h"
#include "tests/support/onnx_text.h"
#include "tests/support/truth.h"

namespace vramplan {
namespace {

Layers Given(const char* text) {
  const Graph graph = GraphFromText(text);
  Notes notes;
  const auto binding = Bind(graph, {}, &notes);
  REQUIRE(binding.ok());
  const auto shapes = Infer(graph, *binding, &notes);
  REQUIRE(shapes.ok());
  return GivenGraph(graph, *shapes, &notes);
}

// "a own, b in a, y output": what each layer makes.
std::string Text(const Layers& given) {
  const BufferPlan plan = PlanBuffers(given);
  std::string text;
  for (const Layer& layer : given.layers) {
    for (const ValueId out : layer.outputs) {
      const BufferPlan::Value& value = plan[out];
      text += (text.empty() ? "" : ", ") + given[out].name;
      if (value.kind == BufferPlan::Kind::kOwn) text += " own";
      if (value.kind == BufferPlan::Kind::kOutput) text += " output";
      if (value.kind == BufferPlan::Kind::kShared) text += " in " + given[value.owner].name;
    }
  }
  return text;
}

TEST_CASE("who shares whose buffer") {
  struct Row {
    const char* name;
    const char* graph;
    const char* plan;
  };
  const Row rows[] = {
      {"a kernel that may write in place, and the only reader",
       "agraph (float[batch, 8] x) => (float[batch, 8] y) {\n a = Exp (x)\n b = Relu (a)\n y = Exp (b)\n }",
       "a own, b in a, y output"},
      {"somebody else reads what it would write over",
       "agraph (float[batch, 8] x) => (float[batch, 8] y) {\n a = Exp (x)\n b = Relu (a)\n y = Add (a, b)\n }",
       "a own, b own, y output"},
      {"a kernel that may not",
       "agraph (float[batch, 8] x) => (float[batch, 8] y) {\n a = Exp (x)\n b = Exp (a)\n y = Exp (b)\n }",
       "a own, b own, y output"},
      {"what the caller gave is never written over, but a flat view of it is the same memory",
       "agraph (float[batch, 8] x) => (float[batch, 8] y) {\n a = Relu (x)\n g = Flatten (x)\n y = Add (a, g)\n }",
       "g in x, a own, y output"},
      {"a dead buffer of this shape",
       "agraph (float[batch, 8] x) => (float[batch, 8] y) {\n a = Exp (x)\n b = Exp (a)\n c = Exp (b)\n y = Exp (c)\n "
       "}",
       "a own, b own, c in a, y output"},
      {"as many bytes in another shape are not the same",
       "agraph (float[4, 8] x) => (float[8, 4] y) {\n a = Exp (x)\n b = Transpose (a)\n c = Exp (b)\n y = Exp (c)\n }",
       "a own, b own, c own, y output"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    CHECK(Text(Given(row.graph)) == row.plan);
  }
}

TEST_CASE("the last reader of a buffer counts, through whatever name") {
  const Layers given = Given(
      "agraph (float[batch, 8] x) => (float[batch, 8] y) {\n a = Exp (x)\n b = Relu (a)\n c = Exp (b)\n"
      " d = Add (b, c)\n y = Exp (d)\n }");
  const BufferPlan plan = PlanBuffers(given);
  const ValueId a = given.layers[0].outputs[0];
  CHECK(plan[a].kind == BufferPlan::Kind::kOwn);
  CHECK(plan[a].last_reader == 3);  // Add reads b, which lies in a
}

TEST_CASE("kernels that write in place, as ONNX Runtime 1.31 was seen to have them") {
  const auto rows = testing::ReadCsv(testing::DataFolder() + "/onnxruntime/in_place.csv");
  REQUIRE(rows.size() == 72);
  for (const testing::Row& row : rows) {
    CAPTURE(row.at("operator"));
    Layer layer;
    layer.op = row.at("operator");
    CHECK((InPlaceOf(layer) == InPlace::kNo) == (row.at("buffers") == "2"));
  }
}

}  // namespace
}  // namespace vramplan
