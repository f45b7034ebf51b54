#include <doctest/doctest.h>

#include "graph/lift/torchscript/passes.h"

namespace vramplan {
namespace {

// The note's subject for lists of modules whose paths are given; empty: none.
std::string Skipped(std::initializer_list<const char*> paths, const char* parameter = "other.weight") {
  Layers layers;
  for (const char* path : paths) layers.modules.push_back({.path = path, .class_name = "", .parent = {}});
  layers.values.push_back({.name = parameter, .type = DType::kFloat32, .shape = {}, .role = Role::kParameter});
  layers.parameters = {ValueId{0}};
  Notes notes;
  NoteSkippedLayers(layers, &notes);
  return notes.all().empty() ? "" : notes.all().front().subject;
}

TEST_CASE("a hole among layers that are alike is a layer that was left out") {
  CHECK(Skipped({"", "m.layers.0", "m.layers.0.attn", "m.layers.0.fc1", "m.layers.0.fc2", "m.layers.3",
                 "m.layers.3.attn", "m.layers.3.fc1", "m.layers.3.fc2.act"}) == "m.layers.1, m.layers.2");
  CHECK(Skipped({"layers.1.attn", "layers.1.fc1", "layers.1.fc2", "layers.2.attn", "layers.2.fc1", "layers.2.fc2"}) ==
        "layers.0");
}

TEST_CASE("one layer that is left, where the other half of the model has more") {
  const auto encoder = [](const char* other) {
    return Skipped({"m.enc.layers.1.attn", "m.enc.layers.1.norm", "m.enc.layers.1.act", "m.enc.layers.1.fc1",
                    "m.enc.layers.1.fc2", "m.dec.layers.0.attn", other});
  };
  CHECK(encoder("m.dec.layers.1.attn") == "m.enc.layers.0");
  CHECK(encoder("m.dec.blocks.1.attn") == "");
}

TEST_CASE("no hole: all are there, a declared layer that nobody calls, lists of other things") {
  CHECK(Skipped({"l.0.attn", "l.0.fc1", "l.0.fc2", "l.1.attn", "l.1.fc1", "l.1.fc2"}) == "");
  CHECK(Skipped({"m.l.0.a", "m.l.0.b", "m.l.0.c", "m.l.2.a", "m.l.2.b", "m.l.2.c"}, "l.1.a.weight") == "");
  CHECK(Skipped({"m.l.0.a", "m.l.0.b", "m.l.0.c", "m.l.2.a", "m.l.2.b", "m.l.2.c"}, "m.l.1.a.weight") == "");
  CHECK(Skipped({"l.0.conv", "l.0.bn", "l.2.conv", "l.2.bn"}) == "");            // what has no nodes between
  CHECK(Skipped({"l.0.a", "l.0.b", "l.0.c", "l.2.a", "l.2.b", "l.2.d"}) == "");  // not alike
  CHECK(Skipped({"s.0.1.a", "s.0.1.b", "s.0.1.c", "s.0.2.a", "s.0.2.b", "s.0.2.c"}) == "");  // HRNet's fuse_layers
  CHECK(Skipped({"l.5.a", "l.5.b", "l.5.c", "x.0", "l.a.b", "l.99999999999999.a"}) == "");   // alone
}

TEST_CASE("an encoder of which the decoder reads the first maps alone") {
  const auto notes_of = [](bool listed, const char* decoder) {
    Layers layers;
    const auto add = [&](const std::string& name, Role role) {
      const ValueId id = layers.Add({.name = name, .type = DType::kFloat32, .shape = Shape{8}, .role = role});
      if (role == Role::kParameter) layers.parameters.push_back(id);
      return id;
    };
    const ValueId x = add("x", Role::kInput), y = add("y", Role::kActivation);
    const ValueId first = add("encoder.layer1.weight", Role::kParameter);
    if (listed) add("encoder.layer4.weight", Role::kParameter);
    layers.layers.push_back(
        {.op = "mul", .name = "y", .inputs = {x, first, add(decoder, Role::kParameter)}, .outputs = {y}});
    Notes notes;
    NoteUnrunStages(layers, &notes);
    return notes.all().size();
  };
  CHECK(notes_of(false, "decoder.psp.blocks.0.weight") == 1);
  CHECK(notes_of(true, "decoder.psp.blocks.0.weight") == 0);
  CHECK(notes_of(false, "decoder.blocks.0.weight") == 0);
}

}  // namespace
}  // namespace vramplan
