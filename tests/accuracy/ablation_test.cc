// What each rule is worth: leaves out one after another, asks the held-out files again on which it acted, and the
// development models, and prints what became of their answers. By hand, and slow; tests/ablate starts it and makes the
// table of docs/ablation.md.
//
//   VRAMPLAN_ABLATE=FOLDER[:FOLDER..] [VRAMPLAN_KINDS=lifetime,pass] vramplan_tests -tc=ablation --no-skip
//   VRAMPLAN_ABLATE=FOLDER VRAMPLAN_TOGETHER='lifetime parts;pass copy-masks' ...: one row, without all of these
//   VRAMPLAN_LEAVE_OUT='lifetime parts;pass copy-masks' VRAMPLAN_LOOK=FOLDER vramplan_tests -tc='first look' --no-skip
#include "graph/base/ablation.h"

#include <doctest/doctest.h>

#include <algorithm>
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
#include "tests/support/development.h"
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
  void Print(const std::string& rule, const std::string& development) const {
    std::printf("%s\t%zu\t%d\t%+d\t%+d\t%+d\t", rule.c_str(), models.size(), Sum(before), More({kIsRight}),
                More({kIsTold, kIsWarned, kIsNamed}), More({kIsSilent, kIsRefused}));
    for (const std::string& model : changed) std::printf("%s ", model.c_str());
    std::printf("\t%s", development.c_str());
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

struct AskedDevelopment {
  DevelopmentFile file;
  std::vector<double> errors = {};  // with all rules
};

// Of the development models on which a rule acted: "t5_small.ts-train 4 of 9 +3.2 %", the answers that change and what
// the worst of them gains in error.
std::string ChangesOf(const std::vector<AskedDevelopment>& all, const std::vector<size_t>& places) {
  std::string changes;
  for (const size_t place : places) {
    const auto& [file, errors] = all[place];
    const std::vector<double> without = ErrorsOf(file);
    size_t changed = 0;
    double worse = -1;
    for (size_t row = 0; row < errors.size(); ++row) {
      if (without[row] == errors[row]) continue;
      ++changed;
      worse = std::max(worse, without[row] - errors[row]);
    }
    if (changed == 0) continue;
    char text[128];
    std::snprintf(text, sizeof text, "%s %zu of %zu %+.2f %%;", file.name.c_str(), changed, errors.size(), 100 * worse);
    changes += text;
  }
  return changes;
}

}  // namespace

// A rule that leaves an answer's likely peak as it is leaves the answer: it is not asked whole again. An assumption is
// left out of the answers that have it.
TEST_CASE("ablation" * doctest::skip()) {
  Ablation measured;
  ablation = &measured;
  std::vector<std::unique_ptr<PackedModels>> folders;
  std::vector<AskedRow> all;
  const std::string words = Words("VRAMPLAN_ABLATE"), kinds = Words("VRAMPLAN_KINDS");
  const std::string together = Words("VRAMPLAN_TOGETHER");
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
  std::vector<AskedDevelopment> development;
  std::map<std::string, std::vector<size_t>> by_rule_in_development;
  for (DevelopmentFile& file : DevelopmentFiles()) {
    measured.acted.clear();
    measured.notes = true;
    std::vector<double> errors = ErrorsOf(file);
    measured.notes = false;
    for (const std::string& rule : measured.acted) by_rule_in_development[rule].push_back(development.size());
    development.push_back({std::move(file), std::move(errors)});
  }
  for (const auto& [rule, places] : by_rule_in_development) by_rule[rule];
  std::printf("asked: %d answers of %zu models: %d right, %d bounded, %d silent or refused\n", whole.All(),
              whole.models.size(), whole.All(kIsRight), whole.All(kIsTold) + whole.All(kIsWarned) + whole.All(kIsNamed),
              whole.All(kIsSilent) + whole.All(kIsRefused));
  const auto leave_out = [&](const std::string& shown, const std::vector<std::string>& rules,
                             const std::vector<size_t>& places, const std::vector<size_t>& development_places) {
    Change change;
    measured.left_out = rules;
    const bool told =
        std::ranges::any_of(rules, [](const std::string& rule) { return rule.starts_with("ambiguity "); });
    for (const size_t place : places) {
      AskedRow& asked = all[place];
      const bool same = !told && LikelyAlone(asked).requested == asked.likely.requested;
      change.Add(asked, same ? asked.look : LookAtRow(*asked.files, asked.row));
    }
    change.Print(shown, ChangesOf(development, development_places));
    measured.left_out.clear();
  };
  if (!together.empty()) {
    std::vector<std::string> rules;
    std::set<size_t> places, development_places;
    for (const std::string_view rule : TextsIn(together, ';')) {
      rules.emplace_back(rule);
      places.insert(by_rule[rules.back()].begin(), by_rule[rules.back()].end());
      const std::vector<size_t>& more = by_rule_in_development[rules.back()];
      development_places.insert(more.begin(), more.end());
    }
    leave_out("together", rules, {places.begin(), places.end()},
              {development_places.begin(), development_places.end()});
  }
  for (const auto& [rule, places] : by_rule) {
    const std::string kind = rule.substr(0, rule.find(' '));
    if (!together.empty() || (!kinds.empty() && !Contains(TextsIn(kinds, ','), std::string_view(kind)))) continue;
    leave_out(rule, {rule}, places, by_rule_in_development[rule]);
  }
  ablation = nullptr;
}

}  // namespace vramplan::testing
