// What each rule is worth: leaves out one after another, asks the held-out files again on which it acted, and prints
// what became of their answers. By hand, and slow; tests/ablate starts it and makes the table of docs/ablation.md.
//
//   VRAMPLAN_ABLATE=FOLDER[:FOLDER..] [VRAMPLAN_KINDS=lifetime,pass] vramplan_tests -tc=ablation --no-skip
//   VRAMPLAN_LEAVE_OUT='lifetime parts;pass copy-masks' VRAMPLAN_LOOK=FOLDER vramplan_tests -tc='first look' --no-skip
#include "graph/base/ablation.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "graph/base/text.h"
#include "graph/lift/match/source.h"
#include "graph/lift/passes.h"
#include "tests/support/look.h"

namespace vramplan::testing {
namespace {

struct AskedRow {
  PackedModels* files;
  Row row;
  Likely likely;
  Look look;  // with all rules
};

std::string Words(const char* variable) {
  const char* words = std::getenv(variable);
  return words == nullptr ? "" : words;
}

// Rules that are rows of a table, whether they act or not.
std::set<std::string> RulesOfTables() {
  std::set<std::string> rules;
  for (const GraphPass& pass : GraphPasses()) rules.insert("pass " + std::string(pass.name));
  for (const LayersPass& pass : LayersPasses()) rules.insert("pass " + std::string(pass.name));
  for (const PatternRow& row : AllPatterns()) rules.insert("match " + row.name);
  return rules;
}

int Sum(const Counts& counts) { return std::accumulate(counts.begin(), counts.end(), 0); }

// What leaving a rule out changes, of the rows on which it acted.
struct Change {
  std::set<std::string> models, changed;
  Counts before = {}, after = {};

  void Add(const AskedRow& asked, const Look& without) {
    models.insert(asked.row.at("model"));
    for (size_t kind = 0; kind < kClasses.size(); ++kind) {
      before[kind] += asked.look.All(static_cast<Class>(kind));
      after[kind] += without.All(static_cast<Class>(kind));
    }
    if (without.counts != asked.look.counts) changed.insert(asked.row.at("model"));
  }
  int More(std::initializer_list<Class> kinds) const {
    int more = 0;
    for (const Class kind : kinds) more += after[kind] - before[kind];
    return more;
  }
  void Print(const std::string& rule) const {
    std::printf("%s\t%zu\t%d\t%+d\t%+d\t%+d\t", rule.c_str(), models.size(), Sum(before), More({kIsRight}),
                More({kIsTold, kIsWarned, kIsNamed}), More({kIsSilent, kIsRefused}));
    for (const std::string& model : changed) std::printf("%s ", model.c_str());
    std::printf("\n");
    std::fflush(stdout);
  }
};

// What an answer is likely to be, without what else it may be.
Likely LikelyAlone(AskedRow& asked) {
  ablation->likely_only = true;
  Likely likely = LikelyOf(*asked.files, asked.row);
  ablation->likely_only = false;
  return likely;
}

}  // namespace

// A rule that leaves an answer's likely peak as it is leaves the answer: it is not asked whole again. An assumption is
// left out of the answer that has it.
TEST_CASE("ablation" * doctest::skip()) {
  Ablation measured;
  ablation = &measured;
  std::vector<std::unique_ptr<PackedModels>> folders;
  std::vector<AskedRow> all;
  const std::string words = Words("VRAMPLAN_ABLATE"), kinds = Words("VRAMPLAN_KINDS");
  const size_t every = Words("VRAMPLAN_EVERY").empty() ? 1 : std::stoul(Words("VRAMPLAN_EVERY"));
  REQUIRE(!words.empty());
  std::map<std::string, std::vector<size_t>> by_rule;
  Look whole;
  for (const std::string& rule : RulesOfTables()) by_rule[rule];
  for (const std::string_view folder : TextsIn(words, ':')) {
    folders.push_back(std::make_unique<PackedModels>(std::string(folder) + "/models"));
    const std::vector<Row> rows = ReadCsv(std::string(folder) + "/truth.csv");
    for (size_t r = 0; r < rows.size(); r += every) {
      AskedRow asked{folders.back().get(), rows[r], {}, {}};
      measured.acted.clear();
      measured.notes = true;
      asked.likely = LikelyAlone(asked);
      measured.notes = false;
      asked.likely.codes = LikelyOf(*asked.files, asked.row).codes;
      asked.look = LookAtRow(*asked.files, asked.row);
      whole.Add(asked.look);
      for (const std::string& rule : measured.acted) by_rule[rule].push_back(all.size());
      for (const std::string& code : asked.likely.codes) by_rule["ambiguity " + code].push_back(all.size());
      all.push_back(std::move(asked));
    }
  }
  std::printf("asked: %d answers of %zu models: %d right, %d bounded, %d silent or refused\n", whole.All(),
              whole.models.size(), whole.All(kIsRight), whole.All(kIsTold) + whole.All(kIsWarned) + whole.All(kIsNamed),
              whole.All(kIsSilent) + whole.All(kIsRefused));
  for (const auto& [rule, places] : by_rule) {
    const std::string kind = rule.substr(0, rule.find(' '));
    if (!kinds.empty() && !Contains(TextsIn(kinds, ','), std::string_view(kind))) continue;
    Change change;
    for (const size_t place : places) {
      AskedRow& asked = all[place];
      if (kind == "ambiguity") {
        change.Add(asked, LookAtRow(*asked.files, asked.row, rule.substr(kind.size() + 1)));
        continue;
      }
      measured.left_out = {rule};
      const bool same = LikelyAlone(asked).requested == asked.likely.requested;
      change.Add(asked, same ? asked.look : LookAtRow(*asked.files, asked.row));
      measured.left_out.clear();
    }
    change.Print(rule);
  }
  ablation = nullptr;
}

}  // namespace vramplan::testing
