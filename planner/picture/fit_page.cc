#include "planner/picture/fit_page.h"

#include <algorithm>

#include "planner/picture/estimate_page.h"
#include "planner/picture/table.h"
#include "planner/report/parts/bottleneck.h"
#include "planner/report/parts/breakdown.h"

namespace vramplan {
namespace {

std::string Batches(const LargestBatch& largest) {
  if (largest.largest_batch == 0) return "none";
  return std::to_string(largest.largest_batch) + (largest.first_failing_batch ? "" : " or more");
}

std::string SafeText(const CardFit& card) { return card.safe_batch == 0 ? "none" : std::to_string(card.safe_batch); }

// What other precisions and settings of the allocator allow.
Markup DrawOthers(const Fit& fit) {
  Markup body;
  if (!fit.head.model.has_batch) return body;
  int64_t most = 1;
  for (const LadderRow& row : fit.ladder) most = std::max(most, row.largest.largest_batch);
  for (const WhatIf& other : fit.what_if) most = std::max(most, other.largest_batch);
  std::vector<BarRow> rows;
  const auto add = [&](const std::string& change, const std::string& batch, int64_t largest, const std::string& needs) {
    rows.push_back({{change, batch, needs}, static_cast<double>(largest) / static_cast<double>(most), ""});
  };
  for (const LadderRow& row : fit.ladder) {
    add(std::string(Name(row.precision)), Batches(row.largest), row.largest.largest_batch,
        row.largest.peak ? ToString(DeviceBytes(*row.largest.peak, fit.card.device.context.likely)) : "");
  }
  for (const WhatIf& other : fit.what_if)
    add(other.setting + "=" + other.conf, std::to_string(other.largest_batch), other.largest_batch, "");
  if (rows.size() < 2) return body;
  AddBarTable({{"with", false}, {"largest batch that may fit", true}, {"needs there", true}}, rows, &body);
  return body;
}

Markup DrawHost(const HostMemory& host) {
  Markup body;
  const auto add = [&](const char* title, std::vector<BandRow> rows) {
    rows.push_back({"RAM", SumOfBands(rows)});
    std::vector<std::vector<std::string>> cells;
    for (const auto& [name, band] : rows)
      cells.push_back({name, ToString(band.low), ToString(band.likely), ToString(band.high)});
    AddTable({{title, false}, {"low", true}, {"likely", true}, {"high", true}}, cells, &body);
  };
  add("beside the card", host.beside);
  add("the whole step on the CPU", host.on_cpu);
  return body;
}

}  // namespace

Mood MoodOf(Verdict verdict) {
  return verdict == Verdict::kFits ? Mood::kGood : verdict == Verdict::kTight ? Mood::kTight : Mood::kBad;
}

std::string BadgeOf(Verdict verdict) { return SpokenName(verdict); }

std::string PrintFitPage(const Fit& fit, const StepPictures& pictures, const BatchChart& batches) {
  const AnswerHead& head = fit.head;
  const CardFit& card = fit.card;
  Page page;
  page.verb = "fit";
  page.title = pictures.chart.title;
  page.verdict = VerdictLine(fit);
  page.mood = MoodOf(card.verdict);
  page.badge = BadgeOf(card.verdict);
  if (head.model.has_batch) {
    page.tiles = {{SafeText(card), "safe batch"}, {Batches(card.largest), "largest that may fit"}};
  }
  page.tiles.push_back({ToString(card.Needs()), "needed at batch " + std::to_string(head.batch)});
  page.tiles.push_back({ToString(card.device.available()), "on " + CardText(card.device)});
  if (const std::string roomy = RoomyText(card); !roomy.empty()) page.said.push_back(roomy + ".");
  if (card.largest.bottleneck) {
    const Bottleneck& at = *card.largest.bottleneck;
    page.said.push_back("Batch " + std::to_string(at.batch) + " fails " + WhenText(at) + ": " + RequestText(at) + ".");
  }
  if (const std::string pool = PoolText(card.device, card.Needs()); !pool.empty()) page.said.push_back(pool);
  AddPictures(pictures, &page);
  page.Add("By batch", "Which batches the card holds.", DrawBatches(batches));
  std::vector<PeakColumn> columns = {{"batch " + std::to_string(head.batch), &card.peak}};
  if (card.largest.peak && card.largest.largest_batch != head.batch)
    columns.push_back({"batch " + std::to_string(card.largest.largest_batch), &*card.largest.peak});
  page.Add("Where the bytes go", "", DrawBreakdown(columns, card.device.context.likely));
  page.Add("What else would fit", "The largest batch with another precision or setting.", DrawOthers(fit));
  page.Add("Segments at the peak", "", pictures.segments);
  if (fit.host) page.Add("The host's RAM", fit.host->cause, DrawHost(*fit.host));
  AddStepTables(head, card.band, fit.layers, fit.assumptions, fit.notes, &page);
  return PrintPage(page);
}

std::string PrintFitMatrixPage(const FitMatrix& matrix) {
  const AnswerHead& head = matrix.head;
  const auto fits = [](const CardFit& card) { return card.verdict != Verdict::kDoesNotFit; };
  const auto count = std::ranges::count_if(matrix.cards, fits);
  Page page;
  page.verb = "fit";
  page.title = FileName(head.model.file) + " on several cards";
  page.verdict = page.title + ": batch " + std::to_string(head.batch) + " fits on " + std::to_string(count) + " of " +
                 std::to_string(matrix.cards.size());
  page.mood = count > 0 ? Mood::kGood : Mood::kBad;
  std::vector<BarRow> rows;
  for (const CardFit& card : matrix.cards) {
    const double share = static_cast<double>(card.Needs().count()) /
                         static_cast<double>(std::max<int64_t>(1, card.device.available().count()));
    const Mood mood = MoodOf(card.verdict);
    rows.push_back({{card.device.name, ToString(card.device.available()), ToString(card.Needs()), BadgeOf(card.verdict),
                     SafeText(card), Batches(card.largest)},
                    share,
                    mood == Mood::kGood    ? "good"
                    : mood == Mood::kTight ? "tight"
                                           : "bad"});
  }
  Markup body;
  AddBarTable(
      {{"card", false}, {"usable", true}, {"needs", true}, {"verdict", false}, {"safe batch", true}, {"may fit", true}},
      rows, &body);
  page.Add("Cards", "The bar is the share of the card that the step needs.", std::move(body));
  page.Add("What it rests on", "", DrawSpec(head.spec));
  page.Add("Notes", "", DrawNotes(matrix.notes));
  return PrintPage(page);
}

}  // namespace vramplan
