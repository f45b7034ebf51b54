#include "graph/facts/read_program.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace vramplan {
namespace {

using nlohmann::json;
using Argument = RecordedArgument;

json Program() {
  return json::parse(R"({
    "values": [["float32", [8, 3]], ["float32", [[0, 1], 3]], ["float32", [[0, 1], 8]], ["bool", [[1, 2, 3]]]],
    "stored": [["fc.weight", 0]], "loose": [], "given": [["x", 1]], "returned": [2],
    "modules": [["fc", "mine.Linear", -1], ["fc.act", "mine.Act", 0]],
    "calls": [["aten.linear.default", 0, ["%1", "%0", null], [2]],
              ["aten.topk.default", 1, ["%2", 5, 0.5, true, "floor", [1, "%2"]], [null, 3], {"dim": -1}]],
    "ends": [[2, -1], [3, 1]]})");
}

TEST_CASE("program: every part") {
  const std::optional<RecordedProgram> program = ReadProgram(Program());
  REQUIRE(program.has_value());
  RecordedProgram expected;
  expected.values = {{DType::kFloat32, {8, 3}},
                     {DType::kFloat32, {Dim::Batch(), 3}},
                     {DType::kFloat32, {Dim::Batch(), 8}},
                     {DType::kBool, {Dim::Polynomial(1, 2, 3)}}};
  expected.stored = {{"fc.weight", 0}};
  expected.given = {{"x", 1}};
  expected.returned = {2};
  expected.modules = {{"fc", "mine.Linear", -1}, {"fc.act", "mine.Act", 0}};
  const auto value = [](int64_t number) { return Argument{.kind = Argument::Kind::kValue, .integer = number}; };
  expected.calls = {
      {"aten.linear.default", 0, {value(1), value(0), {}}, {2}, {}},
      {"aten.topk.default",
       1,
       {value(2),
        {.kind = Argument::Kind::kInt, .integer = 5},
        {.kind = Argument::Kind::kReal, .real = 0.5},
        {.kind = Argument::Kind::kBool, .integer = 1},
        {.kind = Argument::Kind::kText, .text = "floor"},
        {.kind = Argument::Kind::kList, .items = {{.kind = Argument::Kind::kInt, .integer = 1}, value(2)}}},
       {-1, 3},
       {{"dim", {.kind = Argument::Kind::kInt, .integer = -1}}}}};
  expected.ends = {{2, -1}, {3, 1}};
  CHECK(*program == expected);
}

TEST_CASE("program: what names nothing is refused") {
  struct Row {
    const char* why;
    const char* path;
    const char* value;
  };
  const Row rows[] = {
      {"a value that is not there", "/returned/0", "4"},
      {"a value before it is made", "/calls/0/2/0", "\"%2\""},
      {"no number", "/calls/0/2/0", "\"%x\""},
      {"a result that is there already", "/calls/0/3/0", "1"},
      {"a result twice", "/calls/1/3/1", "2"},
      {"a module that is not there", "/calls/0/1", "2"},
      {"a parent behind its child", "/modules/0/2", "1"},
      {"a call that is not there", "/ends/0/1", "2"},
      {"an end before the first call", "/ends/0/1", "-2"},
      {"a type", "/values/0/0", "\"float33\""},
      {"nine axes", "/values/0/1", "[1, 1, 1, 1, 1, 1, 1, 1, 1]"},
      {"a cube of the batch", "/values/0/1/0", "[0, 0, 0, 1]"},
      {"a length", "/values/0/1/0", "1.5"},
      {"no list", "/calls", "{}"},
      {"keywords", "/calls/1/4", "[]"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.why);
    json program = Program();
    program[json::json_pointer(row.path)] = json::parse(row.value);
    CHECK(!ReadProgram(program).has_value());
  }
  json program = Program();
  program.erase("loose");
  CHECK(!ReadProgram(program).has_value());
  CHECK(!ReadProgram(json::array()).has_value());
}

}  // namespace
}  // namespace vramplan
