#include "planner/allocator/trace_diff.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <sstream>

namespace vramplan {
namespace {

constexpr int64_t kTraceDiffMiB = int64_t{1} << 20;

// "+a2 +b1.5/1.2 -a2 |backward +c1@MulBackward0": births and deaths of blocks by letter, in MiB, after a slash what was
// asked for, after an @ the autograd node; |PHASE begins a phase. Capital letters: blocks from before.
Trace TraceText(const std::string& text) {
  Trace trace;
  std::istringstream words(text);
  std::string phase = "forward";
  std::map<char, int64_t> numbers;
  int64_t level = 100 * kTraceDiffMiB;
  for (std::string word; words >> word;) {
    if (word[0] == '|') {
      phase = word.substr(1);
      continue;
    }
    TraceEvent event;
    event.birth = word[0] == '+';
    event.phase = phase;
    const char letter = word[1];
    if (event.birth) numbers[letter] = static_cast<int64_t>(numbers.size());
    if (letter >= 'a') event.block = numbers.at(letter);
    const size_t at = word.find('@'), slash = word.find('/');
    event.bytes = Bytes::Of(static_cast<int64_t>(std::stod(word.substr(2)) * kTraceDiffMiB));
    if (slash != std::string::npos)
      event.asked = Bytes::Of(static_cast<int64_t>(std::stod(word.substr(slash + 1)) * kTraceDiffMiB));
    if (at != std::string::npos) event.autograd_node = word.substr(at + 1);
    level += event.birth ? event.bytes.count() : -event.bytes.count();
    event.allocated_after = Bytes::Of(level);
    trace.push_back(event);
  }
  return trace;
}

using Hunks = std::vector<TraceHunk>;

TEST_CASE("hunks: what is only ours, only theirs; close ones are one") {
  const struct {
    const char *ours, *recorded;
    Hunks hunks;
  } rows[] = {
      {"+a1 +b2 -a1", "+a1 +b2 -a1", {}},
      {"+a1 +b2 -b2 +c3 +d4 +e5 -c3", "+a1 +c3 +d4 +e5 -c3", {{1, 1, 2, 0}}},
      {"+a1 +b2 +c3", "+a1 +b2 +c3 -a1", {{3, 3, 0, 1}}},
      {"+x9 +a1 +b2", "+a1 +b2", {{0, 0, 1, 0}}},
      {"+a1 +b2 +c3 +d4", "+a1 +b5 +c3 +d6", {{1, 1, 3, 3}}},  // one event between them
      {"+a1 +b2 +c3 +e1 +f2 +d4", "+a1 +b5 +c3 +e1 +f2 +d6", {{1, 1, 1, 1}, {5, 5, 1, 1}}},
      {"+a1 |backward +b2", "+a1 |loss +b2", {{1, 1, 1, 1}}},
      {"+a1", "+b2", {{0, 0, 1, 1}}},
  };
  for (const auto& row : rows) {
    CAPTURE(row.ours);
    const TraceComparison comparison = CompareTraces(TraceText(row.ours), TraceText(row.recorded));
    CHECK(comparison.hunks == row.hunks);
    CHECK(comparison.equal() == row.hunks.empty());
  }
}

// The length of the longest common part, slowly.
size_t CommonLength(const Trace& a, const Trace& b) {
  std::vector<std::vector<size_t>> best(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = a.size(); i-- > 0;) {
    for (size_t j = b.size(); j-- > 0;) {
      const bool same = a[i].birth == b[j].birth && a[i].bytes == b[j].bytes && a[i].phase == b[j].phase;
      best[i][j] = same ? 1 + best[i + 1][j + 1] : std::max(best[i + 1][j], best[i][j + 1]);
    }
  }
  return best[0][0];
}

TEST_CASE("the common part is the longest one, on random streams") {
  std::mt19937 dice(7);
  for (int round = 0; round < 300; ++round) {
    std::string ours, recorded;
    for (std::string* text : {&ours, &recorded}) {
      const unsigned length = 1 + dice() % 24;
      for (unsigned i = 0; i < length; ++i) *text += " +a" + std::to_string(1 + dice() % 4);
    }
    const Trace a = TraceText(ours), b = TraceText(recorded);
    // Hunks that are close are one, so count what is outside of them: each hunk hides at most what it joined.
    const TraceComparison comparison = CompareTraces(a, b);
    size_t x = 0, y = 0, outside = 0;
    for (const TraceHunk& hunk : comparison.hunks) {
      REQUIRE(hunk.ours - x == hunk.recorded - y);
      for (; x < hunk.ours; ++x, ++y, ++outside) REQUIRE(a[x].bytes == b[y].bytes);
      x += hunk.ours_count;
      y += hunk.recorded_count;
    }
    REQUIRE(a.size() - x == b.size() - y);
    for (; x < a.size(); ++x, ++y, ++outside) REQUIRE(a[x].bytes == b[y].bytes);
    size_t inside = 0;
    for (const TraceHunk& hunk : comparison.hunks) {
      inside += CommonLength(
          Trace(a.begin() + static_cast<long>(hunk.ours), a.begin() + static_cast<long>(hunk.ours + hunk.ours_count)),
          Trace(b.begin() + static_cast<long>(hunk.recorded),
                b.begin() + static_cast<long>(hunk.recorded + hunk.recorded_count)));
    }
    CHECK(outside + inside == CommonLength(a, b));
  }
}

TEST_CASE("streams that have nothing in common, longer than one round of the search, end") {
  Trace ours, recorded;
  TraceEvent event = TraceText("+a1")[0];
  for (int i = 0; i < 5000; ++i) {
    event.bytes = Bytes::Of(1000 + i);
    ours.push_back(event);
    event.bytes = Bytes::Of(100000 + i);
    recorded.push_back(event);
  }
  recorded.push_back(ours.back());  // but for the last one
  const TraceComparison comparison = CompareTraces(ours, recorded);
  REQUIRE(comparison.hunks.size() == 1);
  CHECK(comparison.hunks[0].recorded_count >= 5000);
}

TEST_CASE("the same tensor in a block with other slack is no difference of its own") {
  // 1.2 MiB asked: a block of up to 2.2 MiB is not split.
  const auto slack = [](const char* ours, const char* recorded) {
    const TraceComparison comparison = CompareTraces(TraceText(ours), TraceText(recorded));
    CHECK(comparison.hunks.empty() == (comparison.slack.size() == 1));
    CHECK(!comparison.equal());
    return comparison.hunks.empty();
  };
  CHECK(slack("+a1.2/1.2", "+a2.2"));
  CHECK(slack("+a2/1.2", "+a1.2"));
  CHECK(!slack("+a1.2/1.2", "+a2.5"));  // the rest would have been split off
  CHECK(!slack("+a1.2/1.2", "+a1"));    // too small for it
  CHECK(!slack("+a0.5/0.5", "+a0.6"));  // the small pool has no slack
  CHECK(!slack("+a1.2/1.2@MulBackward0", "+a2@AddBackward0"));
  const TraceComparison comparison = CompareTraces(TraceText("+a1.2/1.2 +b3"), TraceText("+a2 +c4"));
  REQUIRE(comparison.differences.size() == 1);  // of b and c alone
  CHECK(comparison.differences[0].ours.largest == Bytes::MiB(3));
}

TEST_CASE("differences by phase and operator: names do not matter, sizes do") {
  const TraceComparison comparison =
      CompareTraces(TraceText("+a1 +b2 -a1 |backward +c4@MulBackward0 +d4@MulBackward0 +e3@ToCopyBackward0 -B8"),
                    TraceText("+a1 +b2 |backward +c4@MulBackward0 +e3@CloneBackward0 -a1 -C6"));
  const auto side = [](int64_t count, int64_t mib) {
    return OperatorDifference::Side{count, Bytes::MiB(count * mib), Bytes::MiB(mib)};
  };
  using Side = OperatorDifference::Side;
  const std::vector<OperatorDifference> expected = {
      {"backward", false, "old", side(1, 8), side(1, 6)},
      {"backward", true, "MulBackward0", side(1, 4), Side()},
      {"backward", false, "", Side(), side(1, 1)},  // of what has no operator in this text
      {"forward", false, "", side(1, 1), Side()},
  };
  CHECK(comparison.differences == expected);
}

TEST_CASE("agreement of large blocks, births and deaths apart; levels") {
  const TraceComparison comparison =
      CompareTraces(TraceText("+a1 +b0.01 |backward +c2 -a1"), TraceText("+a1 |backward +c2 +d1 |update -a1"));
  CHECK(comparison.births == TraceAgreement{Bytes::MiB(3), Bytes::MiB(3), Bytes::MiB(4)});
  CHECK(comparison.births.Share() == 0.75);
  CHECK(comparison.deaths == TraceAgreement{Bytes(), Bytes::MiB(1), Bytes::MiB(1)});
  CHECK(comparison.recorded.before == Bytes::MiB(100));
  CHECK(comparison.recorded.peak == Bytes::MiB(104));
  CHECK(comparison.recorded.peak_event == 2);
  CHECK(comparison.recorded.after == Bytes::MiB(103));
  CHECK(TraceAgreement().Share() == 1);
}

TEST_CASE("deaths that take another block of the same size are counted, not differences") {
  const TraceComparison comparison = CompareTraces(TraceText("+a1 +b1 -a1 -b1"), TraceText("+a1 +b1 -b1 -a1"));
  CHECK(comparison.equal());
  CHECK(comparison.swapped == 2);
  CHECK(comparison.first_swapped == EventPair{2, 2});
  CHECK(CompareTraces(TraceText("-A1"), TraceText("-B1")).swapped == 0);
  CHECK(CompareTraces(TraceText("+a1 -A1"), TraceText("+a1 -a1")).swapped == 1);
}

}  // namespace
}  // namespace vramplan
