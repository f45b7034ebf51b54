// MemorySeries: memory over the steps of a run in a few hundred columns, so that a picture of it stays small however
// long the run is. A column stands for a stretch of events, and shows the moment of it with the most memory: no peak is
// lost.
//
//   events    +4 +4 -4 +8 -8 | +2 -2        columns   {12 MiB, at the third allocation}, {6 MiB}
//
// Invariant: the column `peak` is the highest, and its event is the moment that Replay found.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "planner/allocator/replay.h"
#include "planner/record/played.h"

namespace vramplan {

// What a block is called, and the module it belongs to; both may be empty.
struct BlockWords {
  std::string what, module;
  bool operator==(const BlockWords&) const = default;
};

struct SeriesColumn {
  size_t event = 0;                             // the moment that it shows
  std::array<Bytes, kCategories> categories{};  // requested
  Bytes slack;                                  // of blocks; with the categories: allocated
  Bytes reserved;                               // the most within the stretch
  Bytes allocated() const;
};

// Columns [from, to) of one phase; recomputation belongs to the backward.
struct SeriesSpan {
  int step = 0;
  Phase phase = Phase::kSetup;
  size_t from = 0, to = 0;
  bool operator==(const SeriesSpan&) const = default;
};

// A block that is among the largest in some column. It is live in the columns [from, to).
struct SeriesBlock {
  size_t from = 0, to = 0;
  Bytes bytes;
  Category category = Category::kTemporaries;
  BlockWords words;
};

struct MemorySeries {
  std::vector<SeriesColumn> columns;
  std::vector<SeriesSpan> spans;
  std::vector<SeriesBlock> blocks;
  size_t peak = 0;
};

// What is drawn: the steps up to `last_step`, or to the one that reserves the most, of a timeline, at one batch, as an
// allocator serves it.
struct Subject {
  const Timeline& timeline;
  int64_t batch = 1;
  const AllocatorConfig& config;
  Bytes capacity = Bytes::Max();
  int last_step = 2;
  std::function<BlockWords(size_t event)> words;  // of the allocation there
};

// Of a model's step.
Subject SubjectOf(const Timeline& timeline, const Layers& layers, int64_t batch, const AllocatorConfig& config,
                  Bytes capacity = Bytes::Max());

// Of a script's run: all of it. A block is called by the line that asked for it.
Subject SubjectOf(const Record& record, const PlayedRecord& played, const AllocatorConfig& config,
                  Bytes capacity = Bytes::Max());

// `peak`: of the same replay.
MemorySeries SeriesOf(const Subject& subject, const Peak& peak, size_t most_columns = 640, size_t named_a_column = 8);

// The category of each block after this event, by BlockId; nothing: it is not live.
std::vector<std::optional<Category>> CategoriesAfter(const Timeline& timeline, size_t event);

}  // namespace vramplan
