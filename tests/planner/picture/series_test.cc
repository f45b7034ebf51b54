#include "planner/picture/series.h"

#include <doctest/doctest.h>

#include "planner/picture/held.h"
#include "tests/support/timelines.h"

using namespace vramplan;

namespace {

// 4096 B of parameters; an activation of 1 MiB, a temporary of 2 MiB at the top of step 1, and again in step 2.
Timeline TwoSteps() {
  return TimelineText(
      "setup + 0 parameters 4096\n"
      "forward + 1 activations 1048576\n"
      "forward + 2 temporaries 2097152\n"
      "forward - 2\n"
      "forward |\n"
      "backward + 3 gradients 4096\n"
      "backward - 1\n"
      "backward |\n"
      "update + 4 optimizer_state 8192\n"
      "update - 3\n"
      "update |\n"
      "forward + 5 activations 1048576\n"
      "forward + 6 temporaries 2097152\n"
      "forward - 6\n"
      "forward |\n"
      "backward - 5\n"
      "backward |\n"
      "update |\n");
}

Subject SubjectOfText(const Timeline& timeline, const AllocatorConfig& config) {
  return {timeline, 1, config, Bytes::Max(), 2, [&timeline](size_t event) {
            const int32_t block = timeline.events[event].block.value;
            return BlockWords{"block " + std::to_string(block), block % 2 == 1 ? "net.layers.0" : "net.layers.1"};
          }};
}

}  // namespace

TEST_CASE("series: no peak is lost, however few the columns") {
  const Timeline timeline = TwoSteps();
  const AllocatorConfig config;
  const Subject subject = SubjectOfText(timeline, config);
  const Peak peak = Replay(timeline, 1, config, Bytes::Max());
  for (const size_t most : {1, 2, 3, 5, 640}) {
    CAPTURE(most);
    const MemorySeries series = SeriesOf(subject, peak, most);
    REQUIRE(series.columns.size() <= most);
    CHECK_EQ(series.columns[series.peak].event, peak.moment.event);
    CHECK_EQ(series.columns[series.peak].categories, peak.moment.categories);
    CHECK_EQ(series.columns[series.peak].allocated(), peak.peak.allocated);
    Bytes reserved;
    for (const SeriesColumn& column : series.columns) reserved = std::max(reserved, column.reserved);
    CHECK_EQ(reserved, peak.peak.reserved);
    // The spans are the columns, one after the other.
    size_t next = 0;
    for (const SeriesSpan& span : series.spans) {
      CHECK_EQ(span.from, next);
      next = span.to;
    }
    CHECK_EQ(next, series.columns.size());
  }
}

TEST_CASE("series: the blocks that are named are live where they are said to be") {
  const Timeline timeline = TwoSteps();
  const AllocatorConfig config;
  const MemorySeries series = SeriesOf(SubjectOfText(timeline, config), Replay(timeline, 1, config, Bytes::Max()));
  // A column an event: the setup is before the first.
  REQUIRE_EQ(series.columns.size(), timeline.events.size() - 1);
  std::vector<std::string> live;
  for (const SeriesBlock& block : series.blocks) {
    if (block.from <= series.peak && series.peak < block.to) live.push_back(block.words.what);
  }
  // The peak is in the forward of step 2, beside the optimizer's state.
  CHECK_EQ(series.spans[3], SeriesSpan{2, Phase::kForward, 10, 14});
  CHECK_EQ(series.peak, 11);
  CHECK_EQ(live, std::vector<std::string>{"block 0", "block 4", "block 5", "block 6"});
  for (size_t c = 0; c < series.columns.size(); ++c) {
    CAPTURE(c);
    Bytes named, all;
    for (const SeriesBlock& block : series.blocks) named += block.from <= c && c < block.to ? block.bytes : Bytes();
    for (const Bytes bytes : series.columns[c].categories) all += bytes;
    CHECK_EQ(named, all);  // fewer than eight are live at any time
  }
}

TEST_CASE("held: the tree sums to the peak, and lists of modules keep their names") {
  const Timeline timeline = TwoSteps();
  const AllocatorConfig config;
  const Peak peak = Replay(timeline, 1, config, Bytes::Max());
  const HeldNode root = HeldAt(SubjectOfText(timeline, config), peak.moment);
  CHECK_EQ(root.bytes, peak.moment.levels.requested);
  CHECK_EQ(root.blocks, 4);
  REQUIRE_EQ(root.children.size(), 1);
  const HeldNode& list = root.children[0];
  CHECK_EQ(list.name, "net.layers");  // each has but one child
  REQUIRE_EQ(list.children.size(), 2);
  CHECK_EQ(list.children[0].name, "layers.1");  // the largest first
  CHECK_EQ(list.children[0].bytes, Bytes::Of(4096 + 8192 + 2097152));
  CHECK_EQ(list.children[1].name, "layers.0");
  REQUIRE_EQ(list.children[1].children.size(), 1);
  CHECK_EQ(list.children[1].children[0].name, "activations");
  CHECK_EQ(list.children[1].children[0].category, Category::kActivations);
}
