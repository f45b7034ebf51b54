#include "planner/spec/adapters.h"

#include <doctest/doctest.h>

#include "graph/layers/trained.h"

namespace vramplan {
namespace {

using Parameters = std::vector<std::pair<std::string, Shape>>;

Layers WithParameters(const Parameters& parameters) {
  Layers layers;
  for (const auto& [name, shape] : parameters) {
    layers.parameters.push_back(ValueId{static_cast<int32_t>(layers.values.size())});
    layers.values.push_back({.name = name, .type = DType::kFloat32, .shape = shape, .role = Role::kParameter});
  }
  return layers;
}

// Names and shapes as the library's classes have them; the sources stand in adapters.cc.
TEST_CASE("adapters are known by names and shapes together") {
  struct Row {
    const char* what;
    Parameters parameters;  // beside a base of fc.weight [64, 64]
    const char* patterns;   // "": none are found
  };
  const Row rows[] = {
      {"LoRA of peft",
       {{"q.base_layer.weight", {64, 64}}, {"q.lora_A.default.weight", {4, 64}}, {"q.lora_B.default.weight", {64, 4}}},
       "--frozen '*' --trainable '*lora_*'"},
      {"transposed, as TorchScript stores matrices",
       {{"q.lora_A.default.weight", {64, 4}}, {"q.lora_B.default.weight", {4, 64}}},
       "--frozen '*' --trainable '*lora_*'"},
      {"of a convolution",
       {{"c.lora_A.default.weight", {4, 16, 3, 3}}, {"c.lora_B.default.weight", {32, 4, 1, 1}}},
       "--frozen '*' --trainable '*lora_*'"},
      {"of an embedding",
       {{"e.lora_embedding_A.default", {4, 1000}}, {"e.lora_embedding_B.default", {64, 4}}},
       "--frozen '*' --trainable '*lora_*'"},
      {"loralib: on the layer itself",
       {{"q.lora_A", {4, 64}}, {"q.lora_B", {64, 4}}},
       "--frozen '*' --trainable '*lora_*'"},
      {"kohya", {{"q.lora_down.weight", {4, 64}}, {"q.lora_up.weight", {64, 4}}}, "--frozen '*' --trainable '*lora_*'"},
      {"torchtune", {{"q.lora_a.weight", {4, 64}}, {"q.lora_b.weight", {64, 4}}}, "--frozen '*' --trainable '*lora_*'"},
      {"LoHa",
       {{"q.hada_w1_a.default", {64, 4}}, {"q.hada_w1_b.default", {4, 64}}},
       "--frozen '*' --trainable '*hada_*'"},
      {"IA3", {{"q.ia3_l.default", {64, 1}}}, "--frozen '*' --trainable '*ia3_*'"},
      {"prompt tuning, with a classifier to save",
       {{"prompt_encoder.default.embedding.weight", {20, 64}}, {"classifier.modules_to_save.default.weight", {2, 64}}},
       "--frozen '*' --trainable '*prompt_encoder*' --trainable '*.modules_to_save.*'"},
      {"bottlenecks in two blocks",
       {{"b.0.adapter.down.weight", {8, 64}},
        {"b.0.adapter.up.weight", {64, 8}},
        {"b.1.adapter.down.weight", {8, 64}},
        {"b.1.adapter.up.weight", {64, 8}}},
       "--frozen '*' --trainable '*adapter*'"},
      {"adapter_down and adapter_up",
       {{"b.0.adapters.x.adapter_down.0.weight", {8, 64}},
        {"b.0.adapters.x.adapter_up.weight", {64, 8}},
        {"b.1.adapters.x.adapter_down.0.weight", {8, 64}},
        {"b.1.adapters.x.adapter_up.weight", {64, 8}}},
       "--frozen '*' --trainable '*adapter*'"},
      // Names alone.
      {"a pair that does not meet in few", {{"q.lora_A.weight", {64, 64}}, {"q.lora_B.weight", {64, 64}}}, ""},
      {"a pair that does not meet", {{"q.lora_A.weight", {4, 64}}, {"q.lora_B.weight", {64, 8}}}, ""},
      {"half a pair", {{"q.lora_A.weight", {4, 64}}}, ""},
      {"an adapter that is no bottleneck",
       {{"a.adapter.0.weight", {64, 64}},
        {"a.adapter.1.weight", {64, 64}},
        {"b.adapter.0.weight", {64, 64}},
        {"b.adapter.1.weight", {64, 64}}},
       ""},
      {"one adapter between two parts", {{"adapter.down.weight", {8, 64}}, {"adapter.up.weight", {64, 8}}}, ""},
      {"a matrix called ia3_l", {{"q.ia3_l.default", {64, 64}}}, ""},
      // Shapes alone.
      {"a bottleneck", {{"b.0.down.weight", {8, 64}}, {"b.0.up.weight", {64, 8}}}, ""},
      {"nothing", {}, ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    Parameters all = row.parameters;
    all.insert(all.begin(), {"fc.weight", Shape{64, 64}});
    const Layers layers = WithParameters(all);
    const std::optional<Adapters> found = FindAdapters(layers);
    CHECK((found ? ToString(found->patterns) : "") == row.patterns);
  }
}

const Parameters kLora = {{"m.q.base_layer.weight", {64, 64}},
                          {"m.q.lora_A.default.weight", {4, 64}},
                          {"m.q.lora_B.default.weight", {64, 4}},
                          {"m.classifier.modules_to_save.default.weight", {2, 64}}};

TEST_CASE("the base is frozen with a note, and modules to save have their original beside them") {
  Layers layers = WithParameters(kLora);
  Notes notes;
  const FrozenBase base = AssumeFrozenBase({}, &layers, &notes);
  CHECK(ToString(base.patterns) == "--frozen '*' --trainable '*lora_*' --trainable '*.modules_to_save.*'");
  std::string text;
  for (const ValueId id : layers.parameters)
    text += layers[id].name + (IsTrained(layers, id) ? " trained\n" : " frozen\n");
  CHECK(text ==
        "m.q.base_layer.weight frozen\n"
        "m.q.lora_A.default.weight trained\n"
        "m.q.lora_B.default.weight trained\n"
        "m.classifier.original_module.weight frozen\n"
        "m.classifier.modules_to_save.default.weight trained\n");
  REQUIRE(notes.all().size() == 1);
  const Note& note = notes.all()[0];
  CHECK(note.code == "assumed-frozen");
  CHECK(note.subject == "m.q.lora_A.default.weight");
  CHECK(note.text ==
        "assumed: everything but low-rank pairs, as lora_A and lora_B of LoRA (1) is frozen: 640 of 4864 parameters "
        "are trained (--frozen '*' --trainable '*lora_*' --trainable '*.modules_to_save.*'); the frozen originals of "
        "modules_to_save, which the file lacks, are added (1)");
  CHECK(note.text.starts_with("assumed: " + base.text));
}

// An export of model.eval() by TorchScript: y = base_layer(x) * onnx::Mul_7.
TEST_CASE("scales of IA3 that an export folded are parameters again") {
  Layers layers =
      WithParameters({{"m.q.base_layer.weight", {64, 64}}, {"m.q.base_layer.bias", {64}}, {"m.fc.weight", {64, 64}}});
  layers.modules = {{},
                    {.path = "m.q", .parent = ModuleId{0}},
                    {.path = "m.q.base_layer", .parent = ModuleId{1}},
                    {.path = "m.fc", .parent = ModuleId{0}}};
  const auto multiply = [&](const char* name, ModuleId module, const Shape& shape) {
    const ValueId id{static_cast<int32_t>(layers.values.size())};
    layers.values.push_back({.name = name, .type = DType::kFloat32, .shape = shape, .role = Role::kBuffer});
    layers.buffers.push_back(id);
    layers.layers.push_back({.op = "mul", .name = name, .inputs = {ValueId(), id}, .module = module});
  };
  multiply("onnx::Mul_7", ModuleId{1}, {64});
  multiply("onnx::Mul_8", ModuleId{1}, {1});   // a literal
  multiply("onnx::Mul_9", ModuleId{3}, {64});  // of a module that peft does not wrap
  Notes notes;
  const FrozenBase base = AssumeFrozenBase({}, &layers, &notes);
  CHECK(ToString(base.patterns) == "--frozen '*' --trainable '*ia3_*'");
  std::string text;
  for (const ValueId id : layers.parameters)
    text += layers[id].name + (IsTrained(layers, id) ? " trained\n" : " frozen\n");
  CHECK(text ==
        "m.q.base_layer.weight frozen\n"
        "m.q.base_layer.bias frozen\n"
        "m.q.ia3_l.default trained\n"
        "m.fc.weight frozen\n");
  CHECK(layers.buffers.size() == 2);
  CHECK(notes.Has("assumed-frozen"));
}

TEST_CASE("what the user says about every parameter leaves nothing to assume") {
  Layers layers = WithParameters(kLora);
  Notes notes;
  CHECK(AssumeFrozenBase({{"*", true}}, &layers, &notes).patterns.empty());
  CHECK(notes.all().empty());
  CHECK(CountTrained(layers).frozen == 128);  // the original
  CHECK(AssumeFrozenBase({{"*base_layer*", true}}, &layers, &notes).patterns.size() == 3);
  CHECK(notes.Has("assumed-frozen"));
}

}  // namespace
}  // namespace vramplan
