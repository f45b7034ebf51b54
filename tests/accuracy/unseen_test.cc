// Accuracy is a test: held-out models (tests/data/unseen), asked as a user asks (tests/support/look.h).
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "graph/base/ablation.h"
#include "graph/base/text.h"
#include "tests/support/expectation.h"
#include "tests/support/look.h"
#include "tests/support/sanitized.h"

namespace vramplan::testing {

TEST_CASE("accuracy: models that no rule had seen") {
  constexpr size_t kEvery = EveryNth(16);
  const Look look = LookAt(DataFolder() + "/unseen", kEvery);
  Expectation expectation("unseen");
  for (const auto& [question, said] : look.answers) {
    std::vector<std::string> lines;
    if (!said.empty()) lines.push_back(said);
    expectation.AddLines(question, lines);
  }
  CHECK(look.models.size() > 3);
  expectation.Check(kEvery == 1);
  CHECK(look.All(kIsSilent) <= look.All() / 50);
  CHECK(look.All(kIsRight) >= 3 * look.All() / 4);
  if (kEvery == 1) CheckWhole("unseen-summary", SummaryOf(look));
}

// For a folder that tests/first_look made, by hand: VRAMPLAN_LOOK=FOLDER vramplan_tests -tc='first look' --no-skip
TEST_CASE("first look" * doctest::skip()) {
  const char* folder = std::getenv("VRAMPLAN_LOOK");
  REQUIRE(folder != nullptr);
  Ablation measured{.left_out = {}, .notes = false, .acted = {}};
  const char* left_out = std::getenv("VRAMPLAN_LEAVE_OUT");
  for (const std::string_view rule : TextsIn(left_out == nullptr ? "" : left_out, ';'))
    measured.left_out.emplace_back(rule);
  if (left_out != nullptr) ablation = &measured;
  const Look look = LookAt(folder, 1);
  ablation = nullptr;
  CHECK(look.All() > 0);
  for (const auto& [question, said] : look.answers) std::printf("%s: %s\n", question.c_str(), said.c_str());
  std::printf("\n%s", SummaryOf(look).c_str());
}

}  // namespace vramplan::testing
