// The table of operators, row by row: each is listed in planner/semantics/OPERATORS.md with its file, what autocast
// does and a source that names a file of the framework; and each was recorded.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "planner/semantics/table.h"
#include "tests/support/truth.h"

namespace vramplan::testing {
namespace {

const std::string kSemantics = std::string(VRAMPLAN_SOURCE_DIR) + "/planner/semantics/";

std::vector<eager::OpRule> AllRules() {
  std::vector<eager::OpRule> rules;
  for (const auto family :
       {eager::ActivationRules,  eager::AdapterRules,      eager::AttentionRules,    eager::BlasRules,
        eager::ConvolutionRules, eager::CopyRules,         eager::CreationRules,     eager::DistanceRules,
        eager::DropoutRules,     eager::EmbeddingBagRules, eager::FunctionRules,     eager::FusedAttentionRules,
        eager::IndexRules,       eager::LigerRules,        eager::LossRules,         eager::MarginLossRules,
        eager::NormRules,        eager::PadRules,          eager::ParametrizedRules, eager::PointwiseRules,
        eager::PoolingRules,     eager::QuantizationRules, eager::RecurrentRules,    eager::ReductionRules,
        eager::ComplexRules,     eager::CtcRules,          eager::RegionRules,       eager::ResizeRules,
        eager::SamplingRules,    eager::ScanRules,         eager::SelectionRules,    eager::UnaryRules,
        eager::ViewRules}) {
    const std::vector<eager::OpRule> more = family();
    rules.insert(rules.end(), more.begin(), more.end());
  }
  return rules;
}

// A row of planner/semantics/OPERATORS.md: | file | `operator` | autocast | source |
struct Listed {
  std::string file, autocast, source;
};
std::map<std::string, Listed> ListedOperators() {
  static const std::regex kRow(R"(\| (\w+\.cc) \| `([^`]+)` \| ([^|]+) \| (.+) \|)");
  std::ifstream file(kSemantics + "OPERATORS.md");
  std::map<std::string, Listed> rows;
  std::smatch cells;
  for (std::string line; std::getline(file, line);) {
    if (std::regex_match(line, cells, kRow)) rows.emplace(cells[2], Listed{cells[1], cells[3], cells[4]});
  }
  return rows;
}

// Files of PyTorch by their path ("derivatives.yaml: relu" for tools/autograd/derivatives.yaml), or a library's module.
bool NamesFiles(const std::string& source) {
  static const std::regex kSource(
      R"((derivatives\.yaml: \w+(, \w+)*|)"
      R"((aten/src/ATen(/[\w.]+)+|torch(/[\w.]+)+|tools/autograd(/[\w.]+)+|(transformers|bitsandbytes|peft|liger), \w+\.py|torchvision, \w+\.cu|\w+\.cpp))"
      R"((, [\w/]+\.(cpp|cu|cuh|h|py))*(: .+)?))");
  std::istringstream parts(source);
  for (std::string part; std::getline(parts, part, ';');) {
    if (!std::regex_match(part.substr(part.find_first_not_of(' ')), kSource)) return false;
  }
  return !source.empty();
}

std::string TextOf(eager::Cast cast) {
  switch (cast) {
    case eager::Cast::kNone:
      return "as given";
    case eager::Cast::kLower:
      return "to the lower type";
    case eager::Cast::kFloat32:
      return "to fp32";
    case eager::Cast::kPromote:
      return "to the widest";
  }
  return "";
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
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

TEST_CASE("what a source is") {
  CHECK(NamesFiles("aten/src/ATen/native/Activation.cpp; derivatives.yaml: relu"));
  CHECK(NamesFiles("transformers, modeling_llama.py: hidden_states.to(torch.float32)"));
  for (const char* none : {"", ".", "measured.", "somewhere in aten", "aten/src/ATen/native/Activation.cpp; seen."})
    CHECK_FALSE_MESSAGE(NamesFiles(none), none);
}

TEST_CASE("operators: every row of the table has a source and was recorded") {
  const std::map<std::string, Listed> listed = ListedOperators();
  const std::set<std::string> recorded = Recorded();
  std::set<std::string> known;
  for (const eager::OpRule& rule : AllRules()) {
    const std::string op(rule.op);
    CAPTURE(op);
    CHECK_MESSAGE(known.insert(op).second, "two rows for one operator");
    const auto row = listed.find(op);
    REQUIRE_MESSAGE(row != listed.end(), "no row in planner/semantics/OPERATORS.md");
    CHECK_MESSAGE(ReadText(kSemantics + row->second.file).find('"' + op + '"') != std::string::npos,
                  "its rule is not in " << row->second.file);
    CHECK_MESSAGE(NamesFiles(row->second.source), "names no file: " << row->second.source);
    CHECK(row->second.autocast == TextOf(rule.cast));
    CHECK_MESSAGE(recorded.count(op) == 1, "nothing recorded in tests/data/operators");
    CHECK(eager::FindRule(op) != nullptr);
  }
  for (const auto& [op, row] : listed) CHECK_MESSAGE(known.count(op) == 1, op << " is in OPERATORS.md only");
}

}  // namespace
}  // namespace vramplan::testing
