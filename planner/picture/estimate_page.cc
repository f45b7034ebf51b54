#include "planner/picture/estimate_page.h"

#include <algorithm>

#include "planner/picture/fit_page.h"
#include "planner/picture/table.h"
#include "planner/report/parts/breakdown.h"
#include "planner/report/parts/layer_table.h"

namespace vramplan {
namespace {

// The biggest layers; the others are one row.
Markup DrawLayers(std::vector<LayerRow> rows, Mode mode) {
  constexpr size_t kMost = 15;
  Markup body;
  const auto weight = [](const LayerRow& row) {
    return row.parameters + row.gradients + row.optimizer_state + row.saved + row.peak_temporary;
  };
  const LayerRow sum = SumOf(rows);
  std::ranges::stable_sort(rows, [&](const LayerRow& a, const LayerRow& b) { return weight(a) > weight(b); });
  std::vector<LayerRow> rest;
  if (rows.size() > kMost) {
    rest.assign(rows.begin() + kMost, rows.end());
    rows.resize(kMost);
  }
  const bool train = mode == Mode::kTrain;
  std::vector<TableColumn> columns = {{"layer", false}, {"operator", false}, {"parameters", true}, {"output", true}};
  if (train) columns.insert(columns.end(), {{"saved", true}, {"gradients", true}, {"optimizer state", true}});
  std::vector<std::vector<std::string>> cells;
  const auto add = [&](const LayerRow& row, const std::string& name, const std::string& op) {
    cells.push_back({name, op, ToString(row.parameters), ToString(row.output)});
    if (!train) return;
    for (const Bytes bytes : {row.saved, row.gradients, row.optimizer_state}) cells.back().push_back(ToString(bytes));
  };
  for (const LayerRow& row : rows) add(row, row.module.empty() ? row.name : row.module, row.op);
  if (!rest.empty()) add(SumOf(rest), std::to_string(rest.size()) + " more", "");
  add(sum, "sum", "");
  AddTable(columns, cells, &body);
  return body;
}

}  // namespace

Markup DrawBand(const DeviceBand& band) {
  Markup body;
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const char* name, const Band& row) {
    rows.push_back({name, ToString(row.low), ToString(row.likely), ToString(row.high)});
  };
  add("reserved", band.reserved);
  if (band.convolutions) add("cuDNN workspaces", *band.convolutions);
  add("CUDA context, kernels", band.context);
  add("on the device", band.device());
  AddTable({{"", false}, {"low", true}, {"likely", true}, {"high", true}}, rows, &body);
  return body;
}

void AddStepTables(const AnswerHead& head, const DeviceBand& band, const std::vector<LayerRow>& layers,
                   const std::vector<Assumption>& assumptions, const Notes& notes, Page* page) {
  page->Add("How sure it is", "The bytes on the device, low, likely and high.", DrawBand(band));
  if (!layers.empty()) page->Add("Layers", "The biggest ones.", DrawLayers(layers, head.mode));
  Markup asked = DrawSpec(head.spec);
  asked.Append(DrawAssumptions(assumptions));
  page->Add("What it rests on", "", std::move(asked));
  page->Add("Notes", "", DrawNotes(notes));
}

std::string PrintEstimatePage(const Estimate& estimate, const StepPictures& pictures, const BatchChart& batches) {
  const AnswerHead& head = estimate.head;
  const Bytes device = DeviceBytes(estimate.peak, estimate.context.likely);
  Page page;
  page.verb = "estimate";
  page.title = TitleOf(head, head.batch, estimate.device);
  page.verdict = VerdictLine(estimate);
  if (estimate.device) {
    page.mood = MoodOf(estimate.verdict);
    page.badge = BadgeOf(estimate.verdict);
  }
  page.tiles = {{ToString(estimate.peak.peak.requested), "requested"},
                {ToString(estimate.peak.peak.allocated), "allocated"},
                {ToString(estimate.peak.peak.reserved), "reserved"},
                {ToString(device), "on the device"}};
  page.said = {"The peak is in " + pictures.chart.place + "."};
  if (const std::string roomy = RoomyText(estimate); !roomy.empty()) page.said.push_back(roomy + ".");
  AddPictures(pictures, &page);
  page.Add("Where the bytes go", "", DrawBreakdown({{"bytes", &estimate.peak}}, estimate.context.likely));
  page.Add("By batch", "", DrawBatches(batches));
  page.Add("Segments at the peak", "", pictures.segments);
  AddStepTables(head, estimate.band, estimate.layers, estimate.assumptions, estimate.notes, &page);
  return PrintPage(page);
}

}  // namespace vramplan
