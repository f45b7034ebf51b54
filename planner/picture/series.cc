#include "planner/picture/series.h"

#include <algorithm>
#include <limits>
#include <set>

#include "graph/base/check.h"
#include "planner/solver/bottleneck.h"

namespace vramplan {
namespace {

// The name of the first parameter or buffer of the layer that has this size.
const std::string* StoredOfSize(const Layers& layers, const Layer& layer, Bytes bytes) {
  for (const ValueId id : layer.inputs) {
    if (!id.valid()) continue;
    const Value& value = layers[id];
    if (value.role != Role::kParameter && value.role != Role::kBuffer) continue;
    if (value.shape.known() && SizeExpr::Of(value.type, value.shape.Elements()).At(1) == bytes) return &value.name;
  }
  return nullptr;
}

BlockWords WordsOf(const Timeline& timeline, const Layers& layers, int64_t batch, size_t event) {
  const Block& block = timeline[timeline.events[event].block];
  const Origin& origin = block.origin;
  const int32_t index = origin.owner >= 0 ? origin.owner : origin.layer;
  if (index < 0 || static_cast<size_t>(index) >= layers.layers.size())
    return {*origin.op != '\0' ? std::string(origin.op) : std::string(Name(block.category)), ""};
  const Layer& layer = layers.layers[static_cast<size_t>(index)];
  BlockWords words;
  if (layer.module.valid()) words.module = layers[layer.module].path;
  const std::string* stored = StoredOfSize(layers, layer, block.bytes.At(batch));
  switch (block.category) {
    case Category::kParameters:
    case Category::kBuffers:
      words.what = stored != nullptr ? *stored : std::string(Name(block.category)) + " of " + layer.name;
      break;
    case Category::kGradients:
      words.what = "gradient of " + (stored != nullptr ? *stored : layer.name);
      break;
    case Category::kOptimizerState:
      words.what = "optimizer state of " + (stored != nullptr ? *stored : layer.name);
      break;
    default:
      words.what = DescribeAllocation(timeline, layers, batch, event).tensor;
  }
  return words;
}

// Goes through the events once and keeps what is live: by category, by size.
class Sweep {
 public:
  explicit Sweep(const Subject& subject)
      : subject_(subject), now_(subject.timeline.blocks.size()), birth_(subject.timeline.blocks.size()) {}

  void Play(size_t event) {
    const Event& at = subject_.timeline.events[event];
    if (!at.block.valid()) return;
    const auto block = static_cast<size_t>(at.block.value);
    const Bytes bytes = subject_.timeline[at.block].bytes.At(subject_.batch);
    if (now_[block]) {
      categories[static_cast<size_t>(*now_[block])] -= bytes;
      by_size_.erase({Bytes() - bytes, block});
      ended_.push_back(block);
      now_[block].reset();
    }
    if (at.kind == EventKind::kFree) return;
    if (at.kind == EventKind::kAllocate) {
      now_[block] = subject_.timeline[at.block].category;
      birth_[block] = event;
    } else {
      now_[block] = at.category;
    }
    categories[static_cast<size_t>(*now_[block])] += bytes;
    if (bytes > Bytes()) by_size_.insert({Bytes() - bytes, block});
  }

  // The largest blocks that are live, with what changed since the last call: those that ended, or became another
  // category.
  template <typename Ended, typename Live>
  void Look(size_t most, const Ended& ended, const Live& live) {
    for (const size_t block : ended_) ended(block);
    ended_.clear();
    for (const auto& [size, block] : by_size_) {
      if (most-- == 0) break;
      live(block, Bytes() - size, *now_[block], birth_[block]);
    }
  }

  std::array<Bytes, kCategories> categories{};

 private:
  const Subject& subject_;
  std::vector<std::optional<Category>> now_;    // by block
  std::vector<size_t> birth_;                   // the event
  std::set<std::pair<Bytes, size_t>> by_size_;  // sizes below zero: the largest first
  std::vector<size_t> ended_;
};

Phase SpanPhase(const Event& event) { return event.phase == Phase::kRecompute ? Phase::kBackward : event.phase; }

}  // namespace

Bytes SeriesColumn::allocated() const {
  Bytes sum = slack;
  for (const Bytes bytes : categories) sum += bytes;
  return sum;
}

Subject SubjectOf(const Timeline& timeline, const Layers& layers, int64_t batch, const AllocatorConfig& config,
                  Bytes capacity) {
  const auto words = [&timeline, &layers, batch](size_t event) { return WordsOf(timeline, layers, batch, event); };
  return {timeline, batch, config, capacity, 2, words};
}

Subject SubjectOf(const Record& record, const PlayedRecord& played, const AllocatorConfig& config, Bytes capacity) {
  const auto words = [&record, &played](size_t event) -> BlockWords {
    const RecordRow& row = record.rows[played.rows[event]];
    std::string place = PlaceText(record, row.block);
    if (place.empty()) place = Name(record.blocks[static_cast<size_t>(row.block)].category);
    return {std::move(place), row.module >= 0 ? record.modules[static_cast<size_t>(row.module)] : ""};
  };
  return {played.timeline, 1, config, capacity, std::numeric_limits<int>::max(), words};
}

MemorySeries SeriesOf(const Subject& subject, const Peak& peak, size_t most_columns, size_t named_a_column) {
  const Timeline& timeline = subject.timeline;
  const std::vector<Levels> levels = LevelsOver(timeline, subject.batch, subject.config, subject.capacity);
  int last_step = std::max(subject.last_step, peak.moment.step);
  // Some runs still reserve more in a later step, where free memory lies in other pieces.
  for (auto step = peak.steps.rbegin(); step != peak.steps.rend(); ++step) {
    if (step->peak.reserved < peak.peak.reserved) break;
    if (step + 1 == peak.steps.rend() || (step + 1)->peak.reserved < peak.peak.reserved)
      last_step = std::max(last_step, step->step);
  }
  const auto in_picture = [&](size_t event) {
    const int step = timeline.events[event].step;
    return (step >= 1 && step <= last_step) || event == peak.moment.event;
  };
  size_t begin = 0, end = levels.size();
  while (begin < end && !in_picture(begin)) ++begin;
  while (end > begin && !in_picture(end - 1)) --end;

  MemorySeries series;
  Sweep sweep(subject);
  for (size_t i = 0; i < begin; ++i) sweep.Play(i);
  const size_t stretch = std::max<size_t>(1, (end - begin + most_columns - 1) / most_columns);
  std::vector<int64_t> known(timeline.blocks.size(), -1);  // into series.blocks, while it is live there
  for (size_t from = begin; from < end; from += stretch) {
    const size_t to = std::min(end, from + stretch), c = series.columns.size();
    SeriesColumn column;
    column.event = from;
    for (size_t i = from; i < to; ++i) {
      if (levels[i].allocated > levels[column.event].allocated) column.event = i;
      column.reserved = std::max(column.reserved, levels[i].reserved);
    }
    for (size_t i = from; i < to; ++i) {
      sweep.Play(i);
      if (i != column.event) continue;
      column.categories = sweep.categories;
      column.slack = levels[i].allocated - levels[i].requested;
      CHECK(column.allocated() == levels[i].allocated);
      sweep.Look(
          named_a_column,
          [&](size_t block) {
            if (known[block] >= 0) series.blocks[static_cast<size_t>(known[block])].to = c;
            known[block] = -1;
          },
          [&](size_t block, Bytes bytes, Category category, size_t birth) {
            if (known[block] >= 0) return;
            known[block] = static_cast<int64_t>(series.blocks.size());
            series.blocks.push_back({c, 0, bytes, category, subject.words(birth)});
          });
    }
    const Event& at = timeline.events[column.event];
    const SeriesSpan span{at.step, SpanPhase(at), c, c + 1};
    if (!series.spans.empty() && series.spans.back().step == span.step && series.spans.back().phase == span.phase) {
      ++series.spans.back().to;
    } else {
      series.spans.push_back(span);
    }
    if (from <= peak.moment.event && peak.moment.event < to) series.peak = c;
    series.columns.push_back(column);
  }
  for (SeriesBlock& block : series.blocks) block.to = block.to == 0 ? series.columns.size() : block.to;
  for (const SeriesColumn& column : series.columns)
    CHECK(column.allocated() <= series.columns[series.peak].allocated());
  return series;
}

std::vector<std::optional<Category>> CategoriesAfter(const Timeline& timeline, size_t event) {
  std::vector<std::optional<Category>> now(timeline.blocks.size());
  for (size_t i = 0; i <= event && i < timeline.events.size(); ++i) {
    const Event& at = timeline.events[i];
    if (!at.block.valid()) continue;
    std::optional<Category>& category = now[static_cast<size_t>(at.block.value)];
    if (at.kind == EventKind::kFree) {
      category.reset();
    } else {
      category = at.kind == EventKind::kAllocate ? timeline[at.block].category : at.category;
    }
  }
  return now;
}

}  // namespace vramplan
