#include "planner/report/writing/fields.h"

#include <doctest/doctest.h>

#include "tests/support/json_schema.h"

namespace vramplan {
namespace {

enum class Colour : uint8_t { kRed, kBlue };
std::string_view Name(Colour colour) { return colour == Colour::kRed ? "red" : "blue"; }

struct Corner {
  int64_t x = 0;
  Bytes size;
};
struct Shade {
  Corner corner;
  std::optional<Corner> far;
  std::optional<bool> round;
  std::vector<Corner> others;
  std::map<std::string, double> shares;
  Colour colour = Colour::kBlue;
  int64_t Twice() const { return 2 * corner.x; }
};

}  // namespace

template <>
struct Described<Corner> {
  static constexpr const char* kName = "corner";
  static Fields<Corner> Make() { return Fields<Corner>().Has("x", "", &Corner::x).Has("size", "of it", &Corner::size); }
};

namespace {

// What paths lead through.
struct Picture {
  const Shade* shade = nullptr;
  std::optional<Shade> copy;
  size_t count = 0;
  Corner Outer() const { return {9, Bytes()}; }
};
struct Framed : Picture {};
struct CornerOf {
  const Corner* corner;
};

std::string_view LengthOf(const Corner& corner) { return corner.x < 5 ? "short" : "long"; }

}  // namespace

template <>
struct Described<CornerOf> {
  static constexpr const char* kName = "";
  static Fields<CornerOf> Make() { return Fields<CornerOf>().Has("x", "", &CornerOf::corner, &Corner::x); }
};
template <>
struct Described<Picture> {
  static constexpr const char* kName = "";
  static Fields<Picture> Make() {
    using P = Picture;
    return Fields<P>()
        .Has("x", "through a pointer", &P::shade, &Shade::corner, &Corner::x)
        .Has("twice", "", &P::shade, &Shade::Twice)
        .Has("length", "", &P::shade, &Shade::corner, LengthOf)
        .Has("outer", "of what a function gives", &P::Outer, &Corner::x)
        .Has("corner", "null: no copy", Where(&P::copy, &Shade::corner, As<CornerOf>))
        .Has("far", "null: no copy, or none of it", Where(&P::copy, &Shade::far))
        .May("round", "left out: no copy; null: none of it", Where(&P::copy, &Shade::round, OrNull))
        .Has("count", "", &P::count);
  }
};
template <>
struct Described<Framed> {
  static constexpr const char* kName = "";
  static Fields<Framed> Make() { return Fields<Framed>().All<Picture>().Has("again", "", &Framed::count); }
};

template <>
struct Described<Shade> {
  static constexpr const char *kName = "", *kAnswer = "shade", *kTitle = "a test";
  static Fields<Shade> Make() {
    return Fields<Shade>()
        .All<Corner>(&Shade::corner)
        .Has("far", "null: none", &Shade::far)
        .May("round", "", &Shade::round)
        .Has("others", "", &Shade::others)
        .Has("shares", "", &Shade::shares)
        .Has("colour", "", &Shade::colour)
        .Has("twice", "", &Shade::Twice);
  }
};

namespace {

const Shade kEmptyShade{.corner = {1, Bytes::KiB(1)}};
const Shade kFullShade{.corner = {1, Bytes::KiB(1)},
                       .far = Corner{2, Bytes()},
                       .round = true,
                       .others = {{3, Bytes()}},
                       .shares = {{"a", 0.5}},
                       .colour = Colour::kRed};

TEST_CASE("fields: what is written of a struct") {
  CHECK_EQ(
      PrintCompact(AnswerJson(kEmptyShade)),
      R"({"schema":"vramplan.shade/1","x":1,"size":1024,"far":null,"others":[],"shares":{},"colour":"blue","twice":2})");
  CHECK_EQ(PrintCompact(JsonOf(kFullShade)),
           R"({"x":1,"size":1024,"far":{"x":2,"size":0},"round":true,)"
           R"("others":[{"x":3,"size":0}],"shares":{"a":0.5},"colour":"red","twice":2})");
}

TEST_CASE("fields: a path reads what lies behind members, functions, pointers and optionals") {
  const std::string behind = R"({"x":1,"twice":2,"length":"short","outer":9,)";
  Framed framed;
  framed.shade = &kEmptyShade;
  CHECK_EQ(PrintCompact(JsonOf(framed)), behind + R"("corner":null,"far":null,"count":0,"again":0})");
  framed.copy = kEmptyShade;
  CHECK_EQ(PrintCompact(JsonOf(framed)), behind + R"("corner":{"x":1},"far":null,"round":null,"count":0,"again":0})");
  framed.copy = kFullShade;
  CHECK_EQ(PrintCompact(JsonOf(framed)),
           behind + R"("corner":{"x":1},"far":{"x":2,"size":0},"round":true,"count":0,"again":0})");
}

TEST_CASE("fields: the schema has the types of what is read, and holds what is written") {
  const Json schema = AnswerSchema<Shade>();
  CHECK_EQ(testing::ViolationOf(schema, AnswerJson(kEmptyShade)), "");
  CHECK_EQ(testing::ViolationOf(schema, AnswerJson(kFullShade)), "");
  CHECK_EQ(testing::ViolationOf(schema, JsonOf(kFullShade)), "/schema: is missing");
  const std::string text = PrintSchema(schema);
  for (const char* line : {R"("required":["schema","x","size","far","others","shares","colour","twice"])",
                           R"("far":{"anyOf":[{"$ref":"#/$defs/corner"},{"type":"null"}],"description":"null: none"})",
                           R"("round":{"type":"boolean"})"}) {
    CHECK(PrintCompact(schema).find(line) != std::string::npos);
    CHECK(text.size() > PrintCompact(schema).size());
  }
}

}  // namespace
}  // namespace vramplan
