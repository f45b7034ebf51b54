#include "planner/report/parts/layer_table.h"

#include <algorithm>
#include <numeric>

#include "graph/base/check.h"
#include "graph/base/text_table.h"
#include "graph/layers/trained.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

// Collects the columns that the timeline knows. Row `layers.size()` is for what no layer asked for.
class Collector {
 public:
  Collector(const Timeline& timeline, const Layers& layers, int64_t batch, std::vector<LayerRow>* rows)
      : timeline_(timeline),
        layers_(layers),
        batch_(batch),
        rows_(*rows),
        temporary_(rows->size()),
        category_(timeline.blocks.size()),
        alive_(timeline.blocks.size()) {}

  void Run() {
    for (const Event& event : timeline_.events) {
      const bool last_step = event.step == timeline_.steps;
      switch (event.kind) {
        case EventKind::kAllocate:
        case EventKind::kRetag:
          if (event.kind == EventKind::kRetag) Remove(event.block);
          category_[Index(event.block)] = event.category;
          Add(event.block, last_step);
          break;
        case EventKind::kFree:
          Remove(event.block);
          break;
        case EventKind::kAfterForward:
          if (last_step) TakeDown(Category::kActivations, &LayerRow::saved);
          break;
        case EventKind::kAfterBackward:
          if (last_step) TakeDown(Category::kGradients, &LayerRow::gradients);
          break;
        case EventKind::kStepEnd:
          if (last_step) TakeDown(Category::kOptimizerState, &LayerRow::optimizer_state);
          break;
        case EventKind::kBeforeLoss:
        case EventKind::kBeforeZeroGrad:
        case EventKind::kAfterZeroGrad:
        case EventKind::kEmptyCache:
          break;
      }
    }
  }

 private:
  static size_t Index(BlockId block) { return static_cast<size_t>(block.value); }
  size_t RowOf(BlockId block) const {
    const Origin& origin = timeline_[block].origin;
    const int32_t layer = origin.owner >= 0 ? origin.owner : origin.layer;
    return layer >= 0 && static_cast<size_t>(layer) < layers_.layers.size() ? static_cast<size_t>(layer)
                                                                            : rows_.size() - 1;
  }
  Bytes SizeOf(BlockId block) const { return timeline_[block].bytes.At(batch_); }

  void Add(BlockId block, bool last_step) {
    alive_[Index(block)] = true;
    if (category_[Index(block)] != Category::kTemporaries) return;
    const size_t row = RowOf(block);
    temporary_[row] += SizeOf(block);
    if (last_step) rows_[row].peak_temporary = std::max(rows_[row].peak_temporary, temporary_[row]);
  }
  void Remove(BlockId block) {
    alive_[Index(block)] = false;
    if (category_[Index(block)] == Category::kTemporaries) temporary_[RowOf(block)] -= SizeOf(block);
  }

  // In order of birth.
  std::vector<BlockId> Alive(Category category) const {
    std::vector<BlockId> blocks;
    for (size_t i = 0; i < alive_.size(); ++i) {
      if (alive_[i] && category_[i] == category) blocks.push_back({static_cast<int32_t>(i)});
    }
    return blocks;
  }

  void TakeDown(Category category, Bytes LayerRow::*column) {
    for (const BlockId block : Alive(category)) rows_[RowOf(block)].*column += SizeOf(block);
  }

  const Timeline& timeline_;
  const Layers& layers_;
  const int64_t batch_;
  std::vector<LayerRow>& rows_;
  std::vector<Bytes> temporary_;    // now, by row
  std::vector<Category> category_;  // now, by block
  std::vector<bool> alive_;         // by block
};

// People know their modules, not the exporter's node names.
const std::string& Label(const LayerRow& row) { return row.module.empty() ? row.name : row.module; }

}  // namespace

std::vector<LayerRow> LayerTable(const Timeline& timeline, const Layers& layers, const TrainingSpec& spec,
                                 int64_t batch) {
  std::vector<LayerRow> rows(layers.layers.size() + 1);
  const auto size_of = [&](ValueId id) {
    const Value& value = layers[id];
    return value.shape.known() ? SizeExpr::Of(TypeInRun(value.type, spec), value.shape.Elements()).At(batch) : Bytes();
  };
  std::vector<bool> counted(layers.values.size()), parameter(layers.values.size());
  for (const ValueId id : layers.parameters) parameter[static_cast<size_t>(id.value)] = true;  // frozen ones, too
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    const Layer& layer = layers.layers[l];
    LayerRow& row = rows[l];
    row.name = layer.name;
    row.op = layer.op;
    if (layer.module.valid()) row.module = layers[layer.module].path;
    if (!layer.outputs.empty() && layer.outputs[0].valid()) row.output = size_of(layer.outputs[0]);
    for (const ValueId id : layer.inputs) {
      if (!id.valid() || counted[static_cast<size_t>(id.value)]) continue;
      counted[static_cast<size_t>(id.value)] = true;
      if (!IsStored(layers[id])) continue;
      (parameter[static_cast<size_t>(id.value)] ? row.parameters : row.buffers) += size_of(id);
    }
  }
  LayerRow& outside = rows.back();
  outside.name = "(outside layers)";
  for (const ValueId id : layers.parameters) {
    if (!counted[static_cast<size_t>(id.value)]) outside.parameters += size_of(id);
  }
  for (const ValueId id : layers.buffers) {
    if (!counted[static_cast<size_t>(id.value)]) outside.buffers += size_of(id);
  }
  Collector(timeline, layers, batch, &rows).Run();
  LayerRow nothing;
  nothing.name = outside.name;
  if (rows.back() == nothing) rows.pop_back();
  return rows;
}

LayerRow SumOf(const std::vector<LayerRow>& rows) {
  LayerRow sum;
  sum.name = "sum";
  for (const LayerRow& row : rows) {
    sum.parameters += row.parameters;
    sum.buffers += row.buffers;
    sum.saved += row.saved;
    sum.output += row.output;
    sum.gradients += row.gradients;
    sum.optimizer_state += row.optimizer_state;
    sum.peak_temporary += row.peak_temporary;
  }
  return sum;
}

std::string PrintLayers(const std::vector<LayerRow>& rows, Mode mode, int most, const Style& style) {
  using enum TextTable::Align;
  const bool train = mode == Mode::kTrain;
  const auto states = [](const LayerRow& row) {
    return row.parameters + row.buffers + row.gradients + row.optimizer_state;
  };
  // What a layer adds to the step: in training what it keeps, in inference what it makes.
  const auto weight = [&](const LayerRow& row) { return states(row) + (train ? row.saved : row.output); };
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return weight(rows[a]) > weight(rows[b]); });
  std::vector<LayerRow> printed, others;
  for (const size_t i : order) (printed.size() < static_cast<size_t>(most) ? printed : others).push_back(rows[i]);
  if (!others.empty()) {
    LayerRow rest = SumOf(others);
    rest.name = Counted(static_cast<int64_t>(others.size()), "other");
    printed.push_back(rest);
  }
  TextTable table({{"biggest layers", kLeft, true},
                   {"op", kLeft, true},
                   {train ? "states" : "parameters", kRight},
                   {train ? "saved" : "output", kRight},
                   {"temporary", kRight}});
  for (size_t i = 0; i < printed.size(); ++i) {
    const LayerRow& row = printed[i];
    const bool several = i == printed.size() - 1 && !others.empty();
    // Temporaries of different layers, and outputs in inference, do not live together: their sums would say nothing.
    table.AddRow({Label(row), row.op, ToString(states(row)),
                  train     ? ToString(row.saved)
                  : several ? ""
                            : ToString(row.output),
                  several ? "" : ToString(row.peak_temporary)});
  }
  const LayerRow sum = SumOf(printed);
  CHECK(sum == SumOf(rows));
  table.AddRule();
  table.AddRow({"sum", "", ToString(states(sum)), train ? ToString(sum.saved) : "", ""});
  return table.Print(style.width);
}

}  // namespace vramplan
