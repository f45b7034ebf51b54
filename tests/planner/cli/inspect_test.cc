// `vramplan inspect FILE --why NODE`.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/command_line.h"

namespace vramplan::testing {
namespace {

constexpr char kFile[] = " tests/data/zoo/efficientnet_b0.ts-train.onnx --why ";

TEST_CASE("inspect --why: the call that holds a node, and where the rules that are asked first fail") {
  const std::string said = Do("inspect" + std::string(kFile) + "/features/features.0/features.0.2/Mul").out;
  CHECK(said.find("/features/features.0/features.0.2/Mul (Mul)\n  is part of silu(") == 0);
  CHECK(said.find("not by Div") != std::string::npos);
  CHECK(said.find("Sigmoid, not by Add") != std::string::npos);
  CHECK(said.find(": made a call of it\n") != std::string::npos);
}

TEST_CASE("inspect: a hint about an option of another verb says so") {
  const Said text = Do("inspect MODELS/unet.onnx"), json = Do("inspect MODELS/unet.onnx --format json");
  for (const std::string& said : {text.err, json.out}) {
    CHECK(said.find("of vramplan fit: --inplace off assumes") != std::string::npos);
    CHECK(said.find("\"hint\": \"--inplace") == std::string::npos);
  }
}

TEST_CASE("inspect --why: a node inside a form, a node that the exporter named, a tensor's name") {
  struct Row {
    const char *line, *says;
  };
  const Row rows[] = {
      {"tests/data/zoo/efficientnet_b0.ts-train.onnx --why /features/features.0/features.0.2/Sigmoid",
       "No rule was asked about it"},
      {"tests/data/zoo/efficientnet_b0.dynamo-train.onnx --why node_silu", "as the exporter says"},
      {"tests/data/zoo/efficientnet_b0.ts-train.onnx --why /features/features.0/features.0.2/Mul_output_0",
       "is part of silu("},
      {"models/gpt_small.onnx --dim sequence=8 --why /h.0/Shape", "is part of no call"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.line);
    CHECK(Do("inspect " + std::string(row.line)).out.find(row.says) != std::string::npos);
  }
  CHECK(Do("inspect" + std::string(kFile) + "/features/features.0/features.0.2/Mul --format json")
            .out.find("\"rule\": \"activation") != std::string::npos);
}

TEST_CASE("inspect --why: what there is not") {
  struct Row {
    const char *line, *says;
  };
  const Row rows[] = {
      {"inspect tests/data/zoo/efficientnet_b0.ts-train.onnx --why Mul", "nodes are Mul, the first is"},
      {"inspect tests/data/zoo/efficientnet_b0.ts-train.onnx --why /features/features.0/features.0.2/Mull",
       "did you mean /features/features.0/features.0.2/Mul"},
      {"inspect models/gpt_small.onnx --why Erf", "is not bound"},
      {"inspect gpt2 --why Mul", "its calls were recorded, and no rule chose them"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.line);
    const Said said = Do(row.line);
    CHECK(said.exit_code != 0);
    CHECK(said.err.find(row.says) != std::string::npos);
  }
}

// BertModel has no loss, so there is no training to show.
TEST_CASE("inspect: a named model that is recorded in inference alone is shown so") {
  const Said said = Do("inspect all-minilm-l6-v2");
  CHECK(said.exit_code == 0);
  CHECK(said.out.find(" of 0 calls") == std::string::npos);
  CHECK(said.out.find("22713216 parameters") != std::string::npos);
  CHECK(said.out.find("cross_entropy") == std::string::npos);
}

}  // namespace
}  // namespace vramplan::testing
