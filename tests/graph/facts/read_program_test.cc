#include <doctest/doctest.h>

#include <string>

#include "graph/facts/read_facts.h"

namespace vramplan {
namespace {

using Argument = RecordedArgument;

const std::string kProgram = R"({
    "values": [["float32", [8, 3]], ["float32", [[0, 1], 3]], ["float32", [[0, 1], 8]], ["bool", [[1, 2, 3]]]],
    "stored": [["fc.weight", 0]], "loose": [], "given": [["x", 1]], "returned": [2],
    "modules": [["fc", "mine.Linear", -1], ["fc.act", "mine.Act", 0]],
    "calls": [["aten.linear.default", 0, ["%1", "%0", null], [2]],
              ["aten.topk.default", 1, ["%2", 5, 0.5, true, "floor", [1, "%2"]], [null, 3], {"dim": -1}]],
    "ends": [[2, -1], [3, 1]]})";

// The program of facts whose "train" is this text; nothing: it is malformed.
std::optional<RecordedProgram> ReadProgramRead(const std::string& program) {
  const Result<Facts> facts = ReadFacts(R"({"schema": "vramplan.facts/1", "programs": {"train": )" + program + "}}");
  if (facts.ok()) return facts->training_program;
  CHECK(ToString(facts.error()).find("\"programs\" must be values, calls and ends that name each other") !=
        std::string::npos);
  return std::nullopt;
}

std::string With(const std::string& part, const std::string& instead) {
  std::string program = kProgram;
  const size_t at = program.find(part);
  REQUIRE_MESSAGE(at != std::string::npos, part);
  return program.replace(at, part.size(), instead);
}

TEST_CASE("program: every part") {
  const std::optional<RecordedProgram> program = ReadProgramRead(kProgram);
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

TEST_CASE("program: the first call of the script's loss") {
  CHECK_EQ(ReadProgramRead(kProgram)->loss, RecordedProgram::kAbsent);
  CHECK_EQ(ReadProgramRead(With(R"("modules": [)", R"("loss": 1, "modules": [)"))->loss, 1);
}

TEST_CASE("program: what names nothing is refused") {
  struct Row {
    const char* why;
    const char* part;
    const char* instead;
  };
  const Row rows[] = {
      {"a value that is not there", R"("returned": [2])", R"("returned": [4])"},
      {"a value before it is made", R"(["%1", "%0", null])", R"(["%2"])"},
      {"no number", R"(["%1", "%0", null])", R"(["%x"])"},
      {"a result that is there already", "null], [2]]", "null], [1]]"},
      {"a result twice", "[null, 3], {", "[2], {"},
      {"a module that is not there", R"("aten.linear.default", 0)", R"("aten.linear.default", 2)"},
      {"a parent behind its child", R"("mine.Linear", -1)", R"("mine.Linear", 1)"},
      {"a call that is not there", "[3, 1]]", "[3, 2]]"},
      {"an end before the first call", "[3, 1]]", "[3, -3]]"},
      {"a type", R"("bool")", R"("bull")"},
      {"nine axes", "[8, 3]", "[1, 1, 1, 1, 1, 1, 1, 1, 1]"},
      {"a cube of the batch", "[1, 2, 3]", "[0, 0, 0, 1]"},
      {"a length", "[8, 3]", "[8, 1.5]"},
      {"no list", R"("modules": [)", R"("modules": 1, "x": [)"},
      {"keywords", R"({"dim": -1})", "[]"},
      {"a loss behind the last call", R"("modules": [)", R"("loss": 2, "modules": [)"},
      {"a part that is missing", R"("loose": [], )", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.why);
    CHECK(!ReadProgramRead(With(row.part, row.instead)).has_value());
  }
}

TEST_CASE("program: a function names what it makes, reads and keeps, and its backward has a place for each") {
  const std::string backward = R"({"values": [["float32", [8]], ["float32", [8]]], "stored": [], "loose": [],
      "given": [["", 0], ["", 1]], "returned": [1], "modules": [], "calls": [], "ends": []})";
  const std::string topk =
      R"(["aten.topk.default", 1, ["%2", 5, 0.5, true, "floor", [1, "%2"]], [null, 3], {"dim": -1}])";
  const auto with = [&](const std::string& call) {
    std::string program = With(topk, call);
    return program.insert(program.find("\"calls\""), R"("backwards": [)" + backward + "], ");
  };
  const std::string good = R"(["vramplan.function", 0, [["%2"], ["%1"], ["%0"]], [3], {"backward": 0}])";
  const std::optional<RecordedProgram> program = ReadProgramRead(with(good));
  REQUIRE(program.has_value());
  CHECK(program->backwards.size() == 1);
  CHECK(program->calls[1].target == kFunctionTarget);
  for (const char* call : {
           R"(["vramplan.function", 0, [["%2"], ["%1"]], [3], {"backward": 0}])",
           R"(["vramplan.function", 0, [["%2"], "%1", ["%0"]], [3], {"backward": 0}])",
           R"(["vramplan.function", 0, [["%2", "%2"], ["%1"], ["%0"]], [3], {"backward": 0}])",
           R"(["vramplan.function", 0, [[1], ["%1"], ["%0"]], [3], {"backward": 0}])",
           R"(["vramplan.function", 0, [["%2"], ["%1"], []], [3], {"backward": 0}])",
           R"(["vramplan.function", 0, [["%2"], ["%1", null], ["%0"]], [3], {"backward": 0}])",
           R"(["vramplan.function", 0, [["%2"], ["%1"], ["%0"]], [3], {"backward": 1}])",
           R"(["vramplan.function", 0, [["%2"], ["%1"], ["%0"]], [3], {"backward": "no"}])",
       }) {
    CAPTURE(call);
    CHECK(!ReadProgramRead(with(call)).has_value());
  }
}

}  // namespace
}  // namespace vramplan
