// tests/data/operators/operators.csv: one call of one operator a row, with what PyTorch 2.10 asked of its allocator in
// the notation of tests/support/one_operator.h (the column `call` is what ran).
#include <doctest/doctest.h>

#include <sstream>

#include "planner/semantics/table.h"
#include "tests/support/one_operator.h"
#include "tests/support/truth.h"

namespace vramplan::testing {
namespace {

// An allocator's history does not say that a block became a .grad.
std::string WithoutTags(const std::string& events) {
  std::istringstream stream(events);
  std::string text;
  for (std::string word; stream >> word;) {
    if (word.find('=') == std::string::npos) text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

TEST_CASE("operators: the recorded table") {
  const auto rows = ReadCsv(DataFolder() + "/operators/operators.csv");
  REQUIRE(rows.size() > 200);
  for (const auto& row : rows) {
    const std::string title =
        row.at("op") + " (" + row.at("attributes") + ") " + row.at("inputs") + ": " + row.at("call");
    CAPTURE(title);
    if (eager::FindRule(row.at("op")) == nullptr) {
      FAIL_CHECK("no row in the table of operators");
      continue;
    }
    const OperatorEvents ours = EventsOf({row.at("op").c_str(), row.at("attributes").c_str(), row.at("inputs").c_str(),
                                          row.at("outputs").c_str(), "", "", "", ""});
    CHECK(ours.forward == row.at("forward"));
    CHECK(ours.kept == row.at("kept"));
    CHECK(WithoutTags(ours.backward) == row.at("backward"));
  }
}

}  // namespace
}  // namespace vramplan::testing
