#include <algorithm>

#include "graph/base/text_table.h"
#include "planner/report/bottleneck.h"
#include "planner/report/breakdown.h"
#include "planner/report/fit.h"

namespace vramplan {
namespace {

using enum TextTable::Align;

std::string Does(Mode mode, bool third_person) {
  if (mode == Mode::kTrain) return third_person ? "trains" : "train";
  if (mode == Mode::kEval) return third_person ? "evaluates" : "evaluate";
  return third_person ? "infers" : "infer";
}

Bytes Needs(const CardFit& card) { return DeviceBytes(card.peak, card.device.context.likely); }
Bytes Has(const CardFit& card) { return card.device.available(); }

// "TIGHT: ...": what would have to be true for it not to fit.
std::string TightText(const CardFit& card) {
  const Bytes high = card.band.device().high;
  const Bytes over = Bytes() - card.MarginAt(high);
  std::string text = "TIGHT: it fits with the likely " + ToString(Needs(card)) + ", but it may take " + ToString(high);
  // Cached blocks that are given back in time can make up for it, but not as blocks of the right size.
  text += over > Bytes() ? ", " + ToString(over) + " too much" : ", which is too scattered to fit";
  const char* before = ": ";
  const auto reason = [&](const char* what, const Band& band) {
    if (band.high == band.likely) return;
    text += before + std::string(what) + " " + ToString(band.high) + " instead of " + ToString(band.likely);
    before = ", ";
  };
  reason("reserved", card.band.reserved);
  if (card.band.convolutions) reason("cuDNN workspaces", *card.band.convolutions);
  reason("CUDA context", card.band.context);
  return text;
}

std::string WhatIfText(const Fit& fit, const WhatIf& other) {
  std::string text = "with " + other.setting + "=" + other.conf + ":";
  const bool verdict = other.verdict != fit.card.verdict;
  if (verdict) text += " " + std::string(Name(other.verdict)) + " instead of " + std::string(Name(fit.card.verdict));
  if (other.largest_batch != fit.card.largest.largest_batch) {
    text += std::string(verdict ? "," : "") + " largest batch " + std::to_string(other.largest_batch) + " instead of " +
            std::to_string(fit.card.largest.largest_batch);
  }
  return text;
}

std::string LargestText(const LargestBatch& largest) {
  if (largest.largest_batch == 0) return "none";
  return std::to_string(largest.largest_batch) + (largest.first_failing_batch ? "" : " or more");
}

std::string PrintBottleneck(const Bottleneck& at) {
  return "batch " + std::to_string(at.batch) + " fails " + WhenText(at) + ": " + RequestText(at);
}

std::string PrintLadder(const Fit& fit, const Style& style) {
  TextTable table({{"precision"}, {"checkpointing"}, {"largest batch", kRight}, {"needs there", kRight}});
  for (const LadderRow& row : fit.ladder) {
    table.AddRow({std::string(Name(row.precision)), CheckpointingText(row), LargestText(row.largest),
                  row.largest.peak ? ToString(DeviceBytes(*row.largest.peak, fit.card.device.context.likely)) : ""});
  }
  return table.Print(style.width);
}

}  // namespace

std::string_view Name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits:
      return "fits";
    case Verdict::kTight:
      return "tight";
    case Verdict::kDoesNotFit:
      return "does-not-fit";
  }
  return "";
}

std::string VerdictLine(const Fit& fit) {
  const StepQuestion& question = fit.question;
  const CardFit& card = fit.card;
  const bool fits = card.verdict != Verdict::kDoesNotFit;
  std::string line = FileName(question.model.file) +
                     (fits ? " " + Does(question.mode, true) : " does not " + Does(question.mode, false));
  const bool not_even_one = !fits && !question.batch_given;
  if (question.model.has_batch && !not_even_one) line += " at batch " + std::to_string(question.batch);
  line += " on " + CardText(card.device);
  if (question.model.has_batch && not_even_one) line += ", not even at batch " + std::to_string(question.batch);
  line += ": needs " + ToString(Needs(card)) + " of " + ToString(Has(card));
  if (fits) {
    line += " (" + std::string(Name(card.verdict)) + ", " + ToString(Has(card) - Needs(card)) + " free)";
  } else {
    line += " (" + ToString(Needs(card) - Has(card)) + " too much)";
  }
  if (question.model.has_batch && (fits || question.batch > 1)) line += "; largest batch " + LargestText(card.largest);
  return line;
}

std::string CheckpointingText(const LadderRow& row) {
  if (row.checkpointed == 0) return "none";
  return std::to_string(row.checkpointed) + (row.checkpointed == 1 ? " module" : " modules");
}

std::string PrintFit(const Fit& fit, const Style& style) {
  const StepQuestion& question = fit.question;
  const CardFit& card = fit.card;
  std::string text = VerdictLine(fit) + "\n";
  if (card.verdict == Verdict::kTight) {
    text += Wrapped(TightText(card), style.width, "  ") + "\n";
  }
  if (card.largest.bottleneck) text += Wrapped(PrintBottleneck(*card.largest.bottleneck), style.width, "  ") + "\n";
  if (const std::string pool = PoolText(card.device, Needs(card)); !pool.empty())
    text += Wrapped(pool, style.width, "  ") + "\n";
  for (const WhatIf& other : fit.what_if) text += Wrapped(WhatIfText(fit, other), style.width, "  ") + "\n";
  text += PrintSpec(question.spec, style) + "\n";
  std::vector<BreakdownColumn> columns = {{"batch " + std::to_string(question.batch), &card.peak}};
  if (card.largest.peak && card.largest.largest_batch != question.batch) {
    columns.push_back({"batch " + std::to_string(card.largest.largest_batch), &*card.largest.peak});
  }
  text += PrintBreakdown(columns, card.device.context.likely, style);
  if (const std::string band = PrintBand(card.band, style); !band.empty()) text += "\n" + band;
  text += "\npeak: " + PrintPlace(card.peak, fit.place) + "\n\n";
  text += PrintLayers(fit.layers, question.mode, 10, style);
  if (fit.ladder.size() > 1) text += "\n" + PrintLadder(fit, style);
  return text;
}

std::string PrintFitMatrix(const FitMatrix& matrix, const Style& style) {
  const StepQuestion& question = matrix.question;
  const auto fits = [](const CardFit& card) { return card.verdict != Verdict::kDoesNotFit; };
  const auto count = std::count_if(matrix.cards.begin(), matrix.cards.end(), fits);
  const auto smallest = std::find_if(matrix.cards.begin(), matrix.cards.end(), fits);
  std::string text = FileName(question.model.file) + " " + Does(question.mode, true) + " at batch " +
                     std::to_string(question.batch) + " on " + std::to_string(count) + " of " +
                     std::to_string(matrix.cards.size()) + " cards";
  if (smallest != matrix.cards.end()) {
    text += "; the smallest is " + smallest->device.name + ": needs " + ToString(Needs(*smallest)) + " of " +
            ToString(Has(*smallest));
  }
  text += "\n" + PrintSpec(question.spec, style) + "\n";
  TextTable table({{"--gpu"},
                   {"card", kLeft, true},
                   {"usable", kRight},
                   {"needs", kRight},
                   {"verdict"},
                   {"largest batch", kRight}});
  for (const CardFit& card : matrix.cards) {
    table.AddRow({card.id, card.device.name, ToString(Has(card)), ToString(Needs(card)),
                  std::string(Name(card.verdict)), LargestText(card.largest)});
  }
  return text + table.Print(style.width);
}

}  // namespace vramplan
