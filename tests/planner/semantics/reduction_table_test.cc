// tests/data/operators/reductions.csv: random reductions, permuted, sliced and broadcast, with what PyTorch 2.10 asked
// its allocator for beside the outputs.
#include <doctest/doctest.h>

#include <sstream>

#include "planner/semantics/reduce_config.h"
#include "tests/support/truth.h"

namespace vramplan {
namespace {

std::vector<int64_t> Numbers(const std::string& text) {
  std::istringstream stream(text);
  std::vector<int64_t> numbers;
  for (int64_t n = 0; stream >> n;) numbers.push_back(n);
  return numbers;
}

eager::Ints IntsOf(const std::string& text) {
  eager::Ints ints;
  for (int64_t n : Numbers(text)) ints[ints.n++] = n;
  return ints;
}

eager::ReduceKernel KernelOf(const std::string& op, const std::string& type) {
  const int width = type == "float64" ? 8 : (type == "float32" ? 4 : 2);
  eager::ReduceKernel kernel{width, width, std::max(width, 4), 4, width > 2};
  if (op == "amax") kernel.accumulator_bytes = width;
  if (op == "argmax" || op == "max") kernel.accumulator_bytes = 16;
  if (op == "argmax") kernel.output_bytes = 8;
  if (op == "var") {
    kernel.accumulator_bytes = width == 8 ? 32 : 16;
    kernel.values_per_load = 2;
  }
  return kernel;
}

TEST_CASE("scratch of reductions: the recorded table") {
  const auto rows = testing::ReadCsv(testing::DataFolder() + "/operators/reductions.csv.gz");
  REQUIRE(rows.size() > 800);
  for (const auto& row : rows) {
    const std::string& capability = row.at("capability");
    CAPTURE(capability + " " + row.at("type") + " " + row.at("op") + " [" + row.at("lengths") + "] [" +
            row.at("strides") + "] over " + row.at("axes"));
    TrainingSpec spec;
    spec.capability = {capability[0] - '0', capability[2] - '0'};
    spec.multiprocessors = static_cast<int>(testing::Count(row, "multiprocessors"));
    std::vector<int> axes;
    for (int64_t axis : Numbers(row.at("axes"))) axes.push_back(static_cast<int>(axis));
    const auto blocks = eager::ConfigureReduction(IntsOf(row.at("lengths")), IntsOf(row.at("strides")), axes,
                                                  KernelOf(row.at("op"), row.at("type")), eager::CardOf(spec));
    CHECK(blocks.partial.count() == testing::Count(row, "partial"));
    CHECK(blocks.semaphores.count() == testing::Count(row, "semaphores"));
  }
}

}  // namespace
}  // namespace vramplan
