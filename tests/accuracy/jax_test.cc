// JAX's stand-in against what XLA's allocator held at its peak on a real H200 (tests/data/truth/real/h200/jax.csv; four
// models of models/ written again in JAX by tests/card/jax_steps.py, fp32, jit of the whole step).
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/command_line.h"
#include "tests/support/truth.h"

namespace vramplan::testing {
namespace {

TEST_CASE("accuracy: steps of JAX on a real H200 take from 19.5 % less to 5 % more than the stand-in says") {
  const std::vector<Row> rows = ReadCsv(DataFolder() + "/truth/real/h200/jax.csv");
  CHECK(rows.size() == 12);
  for (const Row& row : rows) {
    const std::string line = "estimate MODELS/" + row.at("model") + ".onnx --framework jax --batch " + row.at("batch") +
                             " --optimizer " + row.at("optimizer") + " --donate " +
                             (row.at("donate") == "1" ? "on" : "off") + " --format json" +
                             (row.at("model") == "gpt_small" ? " --dim sequence=512" : "");
    CAPTURE(line);
    const Said said = Do(line);
    REQUIRE(said.exit_code == 0);
    const std::string key = "\"requested\": ";
    const double ours = std::stod(said.out.substr(said.out.find(key, said.out.find("\"peak\"")) + key.size()));
    const double peak = std::stod(row.at("peak"));
    CHECK(ours / peak > 0.95);
    CHECK(ours / peak < 1.196);
  }
}

}  // namespace
}  // namespace vramplan::testing
