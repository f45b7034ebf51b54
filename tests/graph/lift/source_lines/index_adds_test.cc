#include <doctest/doctest.h>

#include <string>

#include "graph/lift/source_lines/passes.h"

namespace vramplan {
namespace {

// x.index_put((None, i), y, accumulate=True), as the dynamo exporter writes x.index_add(1, i, y); `line`: the source
// line of its node, empty for a file without lines.
Layers Written(const std::string& line) {
  Layers layers;
  for (const Role role : {Role::kInput, Role::kInput, Role::kInput, Role::kActivation})
    layers.values.push_back({std::to_string(layers.values.size()), DType::kFloat32, Shape{Dim(4)}, role});
  layers.values[1].type = DType::kInt64;
  layers.modules.push_back({});
  Layer put;
  put.op = "index_put";
  put.name = "index_put";
  put.inputs = {ValueId{0}, ValueId(), ValueId{1}, ValueId{2}};
  put.outputs = {ValueId{3}};
  put.attributes.Set("accumulate", int64_t{1});
  put.nodes = {NodeId{0}};
  layers.layers.push_back(put);
  if (!line.empty()) layers.source = {{{"net.py", "forward", line, 7}}, {{0}}};
  return layers;
}

TEST_CASE("index_put with accumulate: the source line tells whether it was index_add") {
  struct Row {
    const char* line;
    const char* op;
    bool noted;
  };
  for (const Row& row :
       {Row{"out = out.index_add(1, i, y)", "index_add", false}, Row{"out.index_add_(1, i, y)", "index_add", false},
        Row{"out = out.index_put((None, i), y, accumulate=True)", "index_put", false}, Row{"", "index_add", true}}) {
    CAPTURE(row.line);
    Layers layers = Written(row.line);
    Notes notes;
    NameIndexAdds(&layers, &notes);
    CHECK(layers.layers[0].op == row.op);
    CHECK(notes.Has("assumed-index-add") == row.noted);
    if (layers.layers[0].op != "index_add") continue;
    CHECK(layers.layers[0].inputs == std::vector<ValueId>{ValueId{0}, ValueId{1}, ValueId{2}});
    CHECK(layers.layers[0].attributes.Int("dim", -1) == 1);
  }
}

TEST_CASE("what overwrites, or writes where a mask is true, stays an index_put") {
  Layers mask = Written("");
  mask.values[1].type = DType::kBool;
  NameIndexAdds(&mask, nullptr);
  CHECK(mask.layers[0].op == "index_put");
  Layers overwrites = Written("out.index_add_(1, i, y)");
  overwrites.layers[0].attributes.Set("accumulate", int64_t{0});
  NameIndexAdds(&overwrites, nullptr);
  CHECK(overwrites.layers[0].op == "index_put");
}

}  // namespace
}  // namespace vramplan
