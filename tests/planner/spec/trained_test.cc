#include "planner/spec/trained.h"

#include <doctest/doctest.h>

#include "graph/layers/trained.h"

namespace vramplan {
namespace {

Layers WithParameters(const std::vector<std::string>& names) {
  Layers layers;
  for (const std::string& name : names) {
    layers.parameters.push_back(ValueId{static_cast<int32_t>(layers.values.size())});
    layers.values.push_back({.name = name, .type = DType::kFloat32, .shape = {8}, .role = Role::kParameter});
  }
  return layers;
}

// "10": the first is trained, the second frozen.
std::string TrainedText(const Layers& layers) {
  std::string text;
  for (const ValueId id : layers.parameters) text += IsTrained(layers, id) ? '1' : '0';
  return text;
}

// Those of Python's fnmatch.fnmatchcase; each row was run there (3.12).
TEST_CASE("globs") {
  struct Row {
    const char* glob;
    const char* name;
    bool matches;
  };
  constexpr Row kRows[] = {
      {"*", "fc.weight", true},
      {"*", "", true},
      {"", "", true},
      {"", "a", false},
      {"fc.*", "fc.weight", true},
      {"fc.*", "fc", false},
      {"fc*", "fc", true},
      {"*.weight", "a.b.weight", true},
      {"*.weight", "a.b.weight_g", false},
      {"layer?.0.bn1.*", "layer4.0.bn1.bias", true},
      {"layer?.0.bn1.*", "layer10.0.bn1.bias", false},
      {"layer[34].*", "layer3.0", true},
      {"layer[34].*", "layer2.0", false},
      {"layer[!34].*", "layer2.0", true},
      {"layer[!34].*", "layer3.0", false},
      {"layer[1-3].*", "layer2.0", true},
      {"layer[1-3].*", "layer4.0", false},
      {"a[]b]c", "a]c", true},
      {"a[]b]c", "abc", true},
      {"a[b", "a[b", true},
      {"a[b", "ab", false},
      {"*lora_*", "base_model.model.query.lora_A.default.weight", true},
      {"*a*a*a", "aaaa", true},
      {"*a*b*a", "aaaa", false},
      {"FC.*", "fc.weight", false},
      {"a.c", "abc", false},
  };
  for (const Row& row : kRows) CHECK_MESSAGE(MatchesGlob(row.glob, row.name) == row.matches, row.glob, " ", row.name);
}

TEST_CASE("the last pattern that matches decides, the others stay as they are") {
  struct Row {
    std::vector<TrainedPattern> patterns;
    const char* trained;  // of conv1.weight, bn1.weight, fc.weight, fc.bias
  };
  const Row rows[] = {
      {{}, "1111"},
      {{{"fc.*", false}}, "1100"},
      {{{"*", false}, {"fc.*", true}}, "0011"},
      {{{"fc.*", true}, {"*", false}}, "0000"},
      {{{"*", false}, {"fc.*", true}, {"*.bias", false}}, "0010"},
      {{{"module.fc.*", false}}, "1100"},        // DistributedDataParallel
      {{{"_orig_mod.conv1.*", false}}, "0111"},  // torch.compile
  };
  for (const Row& row : rows) {
    Layers layers = WithParameters({"conv1.weight", "bn1.weight", "fc.weight", "fc.bias"});
    REQUIRE(ApplyTrained(row.patterns, &layers, nullptr).ok());
    CHECK_MESSAGE(TrainedText(layers) == row.trained, ToString(row.patterns));
  }
}

TEST_CASE("names with the path of a wrapper in front are matched with and without it") {
  struct Row {
    const char* glob;
    const char* trained;
  };
  constexpr Row kRows[] = {{"conv1.*", "011"}, {"m.conv1.*", "011"},      {"a.m.conv1.*", "011"}, {"a.conv1.*", ""},
                           {"m.*", "000"},     {"module.conv1.*", "011"}, {"*.weight", "001"}};
  for (const Row& row : kRows) {
    Layers layers = WithParameters({"a.m.conv1.weight", "a.m.fc.weight", "a.m.fc.bias"});
    const Status applied = ApplyTrained({{row.glob, false}}, &layers, nullptr);
    CHECK_MESSAGE((applied.ok() ? TrainedText(layers) : "") == row.trained, row.glob);
  }
  CHECK(SharedPrefix(WithParameters({"a.m.conv1.weight", "a.m.fc.weight"})) == "a.m.");
  CHECK(SharedPrefix(WithParameters({"conv1.weight", "fc.weight"})) == "");
  CHECK(SharedPrefix(WithParameters({"m.conv1.weight", "onnx::MatMul_3", "m.fc.weight"})) == "m.");
}

TEST_CASE("a pattern that matches nothing names what is near") {
  struct Row {
    const char* glob;
    const char* hint;
  };
  constexpr Row kRows[] = {
      {"bacbone.*", "did you mean backbone?"},
      {"*.layer1.conv.weigth", "did you mean layer1.conv.weight?"},
      {"*clasifier*", "did you mean classifier?"},
      {"zzzzzzzzz", "vramplan inspect FILE --dump parameters lists the names"},
  };
  for (const Row& row : kRows) {
    Layers layers = WithParameters({"backbone.layer1.conv.weight", "layer1.conv.weight", "classifier.weight"});
    const Status applied = ApplyTrained({{"*", false}, {row.glob, true}}, &layers, nullptr);
    REQUIRE_FALSE(applied.ok());
    CHECK(applied.error().code == ErrorCode::kUsage);
    CHECK(applied.error().subject == "--trainable");
    CHECK(applied.error().text == "\"" + std::string(row.glob) + "\" matches no parameter");
    CHECK(applied.error().hint == row.hint);
  }
}

TEST_CASE("parameters without a name of the model are told, unless a pattern reached them") {
  for (const char* glob : {"fc.*", "*", "onnx::*"}) {
    Layers layers = WithParameters({"fc.weight", "onnx::MatMul_7"});
    Notes notes;
    REQUIRE(ApplyTrained({{glob, false}}, &layers, &notes).ok());
    CHECK_MESSAGE(notes.Has("unnamed-parameters") == (std::string(glob) == "fc.*"), glob);
  }
}

TEST_CASE("integers stay frozen") {
  Layers layers = WithParameters({"fc.weight", "fc.zero_point"});
  layers.values[1].type = DType::kInt8;
  REQUIRE(ApplyTrained({{"*", true}}, &layers, nullptr).ok());
  CHECK(TrainedText(layers) == "10");
  const TrainedCount count = CountTrained(layers);
  CHECK(count.trained == 8);
  CHECK(count.frozen == 8);
  CHECK(count.trained_tensors == 1);
  CHECK(count.frozen_tensors == 1);
}

TEST_CASE("whether the patterns decide for every parameter") {
  const Layers layers = WithParameters({"m.conv.weight", "m.fc.weight"});
  CHECK(DecideAll({{"*", false}, {"fc.*", true}}, layers));
  CHECK(DecideAll({{"conv.*", false}, {"fc.*", true}}, layers));
  CHECK_FALSE(DecideAll({{"fc.*", true}}, layers));
  CHECK_FALSE(DecideAll({}, layers));
}

}  // namespace
}  // namespace vramplan
