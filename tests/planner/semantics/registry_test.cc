// The table of operators, row by row: each has a source in planner/semantics/OPERATORS.md, and something recorded.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "planner/semantics/table.h"
#include "tests/support/truth.h"

namespace vramplan::testing {
namespace {

std::vector<eager::OpRule> AllRules() {
  std::vector<eager::OpRule> rules;
  for (const auto family :
       {eager::ActivationRules,   eager::AttentionRules, eager::BlasRules,         eager::ConvolutionRules,
        eager::CopyRules,         eager::CreationRules,  eager::DistanceRules,     eager::DropoutRules,
        eager::EmbeddingBagRules, eager::IndexRules,     eager::LossRules,         eager::MarginLossRules,
        eager::NormRules,         eager::PadRules,       eager::ParametrizedRules, eager::PointwiseRules,
        eager::PoolingRules,      eager::RecurrentRules, eager::ReductionRules,    eager::ResizeRules,
        eager::SamplingRules,     eager::ScanRules,      eager::SelectionRules,    eager::UnaryRules,
        eager::ViewRules}) {
    const std::vector<eager::OpRule> more = family();
    rules.insert(rules.end(), more.begin(), more.end());
  }
  return rules;
}

// Operator -> source, of the table's rows.
std::map<std::string, std::string> Sources() {
  std::ifstream file(std::string(VRAMPLAN_SOURCE_DIR) + "/planner/semantics/OPERATORS.md");
  std::map<std::string, std::string> sources;
  for (std::string line; std::getline(file, line);) {
    const size_t begin = line.find('`'), end = line.find('`', begin + 1), bars = line.rfind("| ", line.size() - 3);
    if (line.rfind("| ", 0) != 0 || begin == std::string::npos || end == std::string::npos) continue;
    sources.emplace(line.substr(begin + 1, end - begin - 1), line.substr(bars + 2));
  }
  return sources;
}

std::set<std::string> Recorded() {
  const std::string folder = DataFolder() + "/operators";
  std::set<std::string> operators;
  for (const Row& row : ReadCsv(folder + "/operators.csv")) operators.insert(row.at("op"));
  if (!ReadCsv(folder + "/attention.csv.gz").empty()) operators.insert("scaled_dot_product_attention");
  std::set<std::string> graphs;
  for (const Row& row : ReadCsv(folder + "/models.csv.gz")) graphs.insert(row.at("model") + "." + row.at("graph"));
  for (const std::string& graph : graphs) {
    const auto layers = LayersOf(folder + "/models/" + graph + ".onnx", "");
    REQUIRE(layers.ok());
    for (const Layer& layer : layers->layers) operators.insert(layer.op);
  }
  return operators;
}

TEST_CASE("operators: every row of the table has a source and was recorded") {
  const std::map<std::string, std::string> sources = Sources();
  const std::set<std::string> recorded = Recorded();
  std::set<std::string> known;
  for (const eager::OpRule& rule : AllRules()) {
    const std::string op(rule.op);
    CAPTURE(op);
    CHECK_MESSAGE(known.insert(op).second, "two rows for one operator");
    const auto source = sources.find(op);
    CHECK_MESSAGE(source != sources.end(), "no row in planner/semantics/OPERATORS.md");
    if (source != sources.end()) CHECK(source->second.find('.') != std::string::npos);  // names a file
    CHECK_MESSAGE(recorded.count(op) == 1, "nothing recorded in tests/data/operators");
    CHECK(eager::FindRule(op) != nullptr);
  }
  for (const auto& [op, source] : sources) CHECK_MESSAGE(known.count(op) == 1, op << " is in OPERATORS.md only");
}

}  // namespace
}  // namespace vramplan::testing
