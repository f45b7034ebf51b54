#include "planner/timeline/checkpointed_calls.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

// enc: two blocks, the second called twice; dec: one block. A container m.enc.blocks is never called. m.enc.extra has a
// parameter and no operator.
//
//   x -> enc.norm -> enc.blocks.0 (fc, act) -> enc.blocks.1 (act) -> enc.blocks.1 (act) -> dec.blocks.0 (fc, add with
//   enc.norm's)
struct Fixture {
  Fixture() {
    const ModuleId root = Call("", ModuleId()), model = Call("m", root), enc = Call("m.enc", model);
    x = Value("x", Role::kInput);
    norm = Run(Call("m.enc.norm", enc), {x});
    const ModuleId first = Call("m.enc.blocks.0", enc);
    fc = Run(Call("m.enc.blocks.0.fc", first), {norm, Value("m.enc.blocks.0.fc.weight", Role::kParameter)});
    act = Run(Call("m.enc.blocks.0.act", first), {fc});
    one = Run(Call("m.enc.blocks.1", enc), {act});
    two = Run(Call("m.enc.blocks.1", enc), {one});
    const ModuleId dec = Call("m.dec", model), last = Call("m.dec.blocks.0", dec);
    out = Run(Call("m.dec.blocks.0.proj", last), {two});
    sum = Run(last, {out, norm, Value("half", Role::kConstant)});
    layers.parameters = {ValueId{2}, Value("m.enc.extra.weight", Role::kParameter)};
  }
  ModuleId Call(const char* path, ModuleId parent) {
    layers.modules.push_back({path, "", parent});
    return ModuleId{static_cast<int32_t>(layers.modules.size()) - 1};
  }
  ValueId Value(const char* name, Role role) {
    layers.values.push_back({name, DType::kFloat32, Shape{Dim(4)}, role});
    return ValueId{static_cast<int32_t>(layers.values.size()) - 1};
  }
  ValueId Run(ModuleId module, std::vector<ValueId> inputs) {
    Layer layer;
    layer.op = "relu";
    layer.module = module;
    layer.inputs = std::move(inputs);
    layer.outputs = {Value("", Role::kActivation)};
    layers.layers.push_back(layer);
    return layer.outputs[0];
  }
  std::vector<CheckpointedCall> Found(const std::vector<std::string>& paths) const {
    const auto found = FindCheckpointedCalls(layers, paths);
    REQUIRE(found.ok());
    return *found;
  }

  Layers layers;
  ValueId x, norm, fc, act, one, two, out, sum;
};

TEST_CASE("a call's layers, and what it uses that was made outside") {
  const Fixture f;
  CHECK(f.Found({}).empty());
  // Parameters and literals are no arguments; the model's input is.
  CHECK(f.Found({"m.enc.blocks.0"}) == std::vector<CheckpointedCall>{{ModuleId{4}, -1, {1, 2}, {f.norm}}});
  CHECK(f.Found({"m.dec"}) == std::vector<CheckpointedCall>{{ModuleId{9}, -1, {5, 6}, {f.two, f.norm}}});
  CHECK(f.Found({"norm"}) == std::vector<CheckpointedCall>{{ModuleId{3}, -1, {0}, {f.x}}});
}

TEST_CASE("every call of a module; inner calls know the one around them; a path given twice counts once") {
  const Fixture f;
  CHECK(f.Found({"enc.blocks.1"}) ==
        std::vector<CheckpointedCall>{{ModuleId{7}, -1, {3}, {f.act}}, {ModuleId{8}, -1, {4}, {f.one}}});
  CHECK(f.Found({"fc", "m.enc", "m.enc.blocks.0.fc", "enc"}) ==
        std::vector<CheckpointedCall>{{ModuleId{2}, -1, {0, 1, 2, 3, 4}, {f.x}}, {ModuleId{5}, 0, {1}, {f.norm}}});
}

TEST_CASE("paths: as in the file, or without leading components where that is unique") {
  const Fixture f;
  for (const char* path : {"m.enc.blocks.0.act", "enc.blocks.0.act", "blocks.0.act", "act", "m", "blocks.1"}) {
    CAPTURE(std::string(path));
    CHECK(FindCheckpointedCalls(f.layers, {path}).ok());
  }
  const struct {
    const char *typed, *text, *hint;
  } rows[] = {
      {"blocks.0", "\"blocks.0\" names 2 modules", "type --checkpoint m.enc.blocks.0 or m.dec.blocks.0"},
      {"locks.0.act", "\"locks.0.act\" is not a module of the model", "did you mean blocks.0.act or blocks.0.fc?"},
      {"nrom", "\"nrom\" is not a module of the model", "did you mean norm?"},
      {"transformer", "\"transformer\" is not a module of the model", "type --checkpoint m.enc.norm"},
      {"enc.blocks", "\"enc.blocks\" only holds modules and is never called",
       "type --checkpoint m.enc.blocks.0 or m.enc.blocks.1"},
      {"m.enc.extra", "\"m.enc.extra\" runs no operator in this file", "type --checkpoint m.enc.norm"},
      {"extra", "\"extra\" runs no operator in this file", "type --checkpoint m.enc.norm"},
      {"", "the model itself is not checkpointed", "type --checkpoint m.enc.norm"},
  };
  for (const auto& row : rows) {
    CAPTURE(std::string(row.typed));
    const auto found = FindCheckpointedCalls(f.layers, {"m.enc.norm", row.typed});
    REQUIRE_FALSE(found.ok());
    CHECK(found.error().code == ErrorCode::kUsage);
    CHECK(found.error().subject == "--checkpoint");
    CHECK(found.error().text == row.text);
    CHECK(found.error().hint == row.hint);
  }
}

TEST_CASE("a file without module names says so") {
  Layers bare;
  bare.modules = {{"", "", ModuleId()}};
  bare.layers.resize(1);
  bare.layers[0].module = ModuleId{0};
  const auto found = FindCheckpointedCalls(bare, {"layer1"});
  REQUIRE_FALSE(found.ok());
  CHECK(found.error().text == "the file names no modules");
}

}  // namespace
}  // namespace vramplan
