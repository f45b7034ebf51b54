// Accuracy is a test: models that no rule had seen (tests/data/unseen), asked as a user asks. What is off must have
// been said: an assumption with two ends that hold the truth (told), or a warning (warned). What is off without either
// is silent.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/asked.h"
#include "tests/support/expectation.h"
#include "tests/support/packed_models.h"
#include "tests/support/truth.h"

namespace vramplan::testing {
namespace {

constexpr double kRight = 0.01;
constexpr std::array<const char*, 5> kClasses = {"right", "told", "warned", "silent", "refused"};

struct Judgement {
  size_t kind = 4;  // of kClasses
  int64_t requested = 0;
  std::string by;  // the code of what told or warned
};

bool Holds(Bytes low, Bytes high, double truth) {
  return static_cast<double>(low.count()) <= truth * (1 + kRight) &&
         static_cast<double>(high.count()) >= truth * (1 - kRight);
}

// What may be frozen, checkpointed or a loss in training alone holds nearly anything: it tells nothing of a model where
// nothing is.
bool IsOfAnother(const Assumption& assumption, const std::string& model) {
  const std::string& code = assumption.code;
  return code == "all-trained" || code == "nothing-checkpointed" || code == "loss-in-evaluation" ||
         (code == "backbone" && model != "hand_bert_frozen");
}

Judgement Judged(const Estimate& estimate, const std::string& model, double truth) {
  Judgement answer{3, estimate.peak.peak.requested.count(), ""};
  const double error = static_cast<double>(answer.requested) / truth - 1;
  if (std::abs(error) <= kRight) return {0, answer.requested, ""};
  std::vector<Assumption> said = estimate.assumptions;
  std::erase_if(said, [&](const Assumption& assumption) { return IsOfAnother(assumption, model); });
  for (const Assumption& assumption : said) {
    if (Holds(assumption.low, assumption.high, truth)) return {1, answer.requested, assumption.code};
  }
  if (const auto [low, high] = Together(said); Holds(low, high, truth)) return {1, answer.requested, "together"};
  for (const Note& note : estimate.notes.all()) {
    if (note.severity != Severity::kWarning) continue;
    const std::string text = note.text + " " + note.hint;
    if (text.find("high side") != std::string::npos && error < 0) continue;
    if (text.find("as 0 B") != std::string::npos && error > 0) continue;
    return {2, answer.requested, note.code};
  }
  return answer;
}

Judgement JudgedAnswer(const std::string& file, const Row& row) {
  const Result<Estimate> estimate = Asked(file, row, row.at("loss"));
  return estimate.ok() ? Judged(*estimate, row.at("model"), static_cast<double>(Count(row, "requested"))) : Judgement();
}

// A line of shares for each kind of file, and one for all.
std::string SummaryOf(const std::map<std::string, std::array<int, 5>>& counts, size_t models) {
  std::string text = std::to_string(models) + " models, requested peak against PyTorch's own counters\n\n" +
                     "file           answers   right    told  warned  silent  refused\n";
  for (const auto& [name, of] : counts) {
    int all = 0;
    for (const int count : of) all += count;
    char line[128];
    std::snprintf(line, sizeof line, "%-14s %7d  %5.1f %%  %4.1f %%  %4.1f %%  %4.1f %%   %4.1f %%\n", name.c_str(),
                  all, 100.0 * of[0] / all, 100.0 * of[1] / all, 100.0 * of[2] / all, 100.0 * of[3] / all,
                  100.0 * of[4] / all);
    text += line;
  }
  return text;
}

constexpr std::array<const char*, 4> kVariants = {"dynamo-train", "ts-train", "dynamo-eval", "ts-eval"};

struct Look {
  std::map<std::string, std::array<int, 5>> counts;  // by kind of file, and of both
  std::set<std::string> models;
  std::vector<std::pair<std::string, std::string>> answers;  // the question, and what was not right about its answer

  int All(size_t kind) const {
    const auto both = counts.find("all");
    return both == counts.end() ? 0 : both->second[kind];
  }
  int All() const { return All(0) + All(1) + All(2) + All(3) + All(4); }
};

// Asks each file of `folder`/models about each row of `folder`/truth.csv, or of every so many rows.
Look LookAt(const std::string& folder, size_t every) {
  Look look;
  const std::vector<Row> rows = ReadCsv(folder + "/truth.csv");
  PackedModels files(folder + "/models");
  for (size_t r = 0; r < rows.size(); r += every) {
    const Row& row = rows[r];
    for (const char* variant : kVariants) {
      const std::string graph = row.at("model") + "." + variant + ".onnx";
      const std::string* const file = files.PathOf(graph);
      if (file == nullptr) continue;  // the exporter could not write it, or was not asked to
      const Judgement answer = JudgedAnswer(*file, row);
      for (const char* name : {"all", variant}) ++look.counts[name][answer.kind];
      look.models.insert(row.at("model"));
      std::string said;
      if (answer.kind > 0) {
        const double truth = static_cast<double>(Count(row, "requested"));
        char error[32];
        std::snprintf(error, sizeof error, "%+.2f %%", 100 * (static_cast<double>(answer.requested) / truth - 1));
        said = std::string(kClasses[answer.kind]) + (answer.kind < 4 ? std::string(" ") + error : "") +
               (answer.by.empty() ? "" : " " + answer.by);
      }
      look.answers.emplace_back(graph + " batch " + row.at("batch") + ", " + row.at("precision") + " " + row.at("mode"),
                                said);
    }
  }
  return look;
}

}  // namespace

TEST_CASE("accuracy: models that no rule had seen") {
#ifdef __SANITIZE_ADDRESS__
  constexpr size_t kEvery = 16;  // sanitizers make an answer ten times slower
#else
  constexpr size_t kEvery = 1;
#endif
  const Look look = LookAt(DataFolder() + "/unseen", kEvery);
  Expectation expectation("unseen");
  for (const auto& [question, said] : look.answers) {
    std::vector<std::string> lines;
    if (!said.empty()) lines.push_back(said);
    expectation.AddLines(question, lines);
  }
  CHECK(look.models.size() > 3);
  expectation.Check(kEvery == 1);
  CHECK(look.All(3) <= look.All() / 50);
  CHECK(look.All(0) >= 3 * look.All() / 4);
  if (kEvery == 1) CheckWhole("unseen-summary", SummaryOf(look.counts, look.models.size()));
}

// For a folder that tests/first_look made, by hand: VRAMPLAN_LOOK=FOLDER vramplan_tests -tc='first look' --no-skip
TEST_CASE("first look" * doctest::skip()) {
  const char* folder = std::getenv("VRAMPLAN_LOOK");
  REQUIRE(folder != nullptr);
  const Look look = LookAt(folder, 1);
  CHECK(look.All() > 0);
  for (const auto& [question, said] : look.answers) std::printf("%s: %s\n", question.c_str(), said.c_str());
  std::printf("\n%s", SummaryOf(look.counts, look.models.size()).c_str());
}

}  // namespace vramplan::testing
