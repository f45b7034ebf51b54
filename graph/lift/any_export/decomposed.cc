#include "graph/lift/any_export/decomposed.h"

#include <utility>

#include "graph/base/ablation.h"
#include "graph/layers/edit.h"

namespace vramplan {

DecomposedTable::DecomposedTable(std::vector<DecomposedRow> rows) : given_(std::move(rows)) {
  rows_.reserve(given_.size());  // by_root_ points into them
  for (const DecomposedRow& row : given_) {
    rows_.push_back(
        {Form(row.form), ParseCall(row.call), row.call + std::string(" of ") + row.form, row.exporter, row.finish});
    for (const std::string_view op : rows_.back().form.roots()) by_root_[op].push_back(rows_.size() - 1);
  }
}

std::optional<Layer> DecomposedTable::CallAt(const Uses& uses, size_t place) const {
  const Layer& root = uses.layers().layers[place];
  const auto found = by_root_.find(root.op);
  if (found == by_root_.end() || root.outputs.size() != 1) return std::nullopt;
  const LayerCalls calls(uses);
  for (const size_t index : found->second) {
    const Row& row = rows_[index];
    if (row.exporter != Exporter::kAny && (row.exporter == Exporter::kDynamo) != FromDynamo(root)) continue;
    Layer call;
    Match match;
    const auto accept = [&](const Match& one) {
      const DecomposedMatch words{uses, one};
      call = CallInPlaceOf(root, row.call.op, {});
      for (const CallText::Input& input : row.call.inputs) {
        const ValueId id = words[input.name];
        call.inputs.push_back(input.mark == '~' ? uses.BehindViews(id) : id);
      }
      return row.finish == nullptr || row.finish(words, &call);
    };
    if (IsLeftOut("form", row.name) || !row.form.Matches(calls, static_cast<int32_t>(place), &match, accept)) continue;
    NoteThatItActed("form", row.name);
    return call;
  }
  return std::nullopt;
}

}  // namespace vramplan
