#include <algorithm>

#include "graph/base/text_table.h"
#include "planner/report/fit.h"
#include "planner/report/parts/bottleneck.h"
#include "planner/report/parts/breakdown.h"
#include "planner/report/verdict.h"
#include "planner/report/writing/numbers.h"
#include "planner/report/writing/sparkline.h"

namespace vramplan {
std::string LargestText(const LargestBatch& largest) {
  if (largest.largest_batch == 0) return "no batch";
  return std::to_string(largest.largest_batch) + (largest.first_failing_batch ? "" : " or more");
}

std::string BatchesText(const LargestBatch& of, int64_t safe) {
  const int64_t largest = of.largest_batch;
  if (largest == 0) return "no batch fits";
  if (!of.first_failing_batch && safe == largest) return "any batch up to " + std::to_string(largest) + " is safe";
  const std::string at_most = "up to " + LargestText(of) + " may fit";
  if (safe == 0) return "no batch is safe, " + at_most;
  if (safe == largest) return "batch " + std::to_string(safe) + " is safe and the largest that fits";
  return "batch " + std::to_string(safe) + " is safe, " + at_most;
}

namespace {

using enum TextTable::Align;

std::string Does(Mode mode) {
  return mode == Mode::kTrain   ? "trains"
         : mode == Mode::kEval  ? "evaluates"
         : mode == Mode::kServe ? "serves"
                                : "infers";
}

Bytes Has(const CardFit& card) { return card.device.available(); }

// Why the likely value may not be the last word.
std::string TightText(const CardFit& card) {
  const Bytes over = Bytes() - card.MarginAt(card.band.device().high);
  // Cached blocks that are given back in time can make up for it, but not as blocks of the right size.
  std::string text = over > Bytes() ? "tight: it may need " + ToString(over) + " too much"
                                    : "tight: what is free may be too scattered";
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

// "batch 4", "4 sequences".
std::string InWords(const Fit& fit, int64_t batch) { return BatchText(fit.head.mode, batch); }

std::string WhatIfText(const Fit& fit, const WhatIf& other) {
  std::string text = "with " + other.setting + "=" + other.conf + ":";
  const bool verdict = other.verdict != fit.card.verdict;
  if (verdict) text += " " + std::string(Name(other.verdict)) + " instead of " + std::string(Name(fit.card.verdict));
  if (other.largest_batch != fit.card.largest.largest_batch) {
    text += std::string(verdict ? "," : "") + " up to " + InWords(fit, other.largest_batch) + " may fit instead of " +
            std::to_string(fit.card.largest.largest_batch);
  }
  return text;
}

// Another verdict, or room for a twentieth more samples.
bool IsMuchBetter(const WhatIf& other, const CardFit& card) {
  const int64_t now = card.largest.largest_batch;
  return other.verdict != card.verdict || other.largest_batch - now > now / 20;
}

// "3 sequences of 8192 tokens are safe and the most that fit".
std::string SequencesText(const Fit& fit) {
  const CardFit& card = fit.card;
  const int64_t largest = card.largest.largest_batch, safe = card.safe_batch;
  const std::string length = fit.serving ? " of " + std::to_string(fit.serving->tokens) + " tokens" : "";
  if (largest == 0) return "not one sequence" + length + " fits";
  const std::string at_most = "up to " + LargestText(card.largest) + " may fit";
  if (safe == 0) return "not one sequence" + length + " is safe, " + at_most;
  return InWords(fit, safe) + length + (safe == 1 ? " is safe" : " are safe") +
         (safe == largest ? std::string(safe == 1 ? " and all that fits" : " and the most that fit") : ", " + at_most);
}

// "; 1 of up to 26880 tokens is safe".
std::string LongestText(const Fit& fit) {
  if (!fit.serving || fit.serving->longest == 0) return "";
  return "; " + std::to_string(fit.serving->sequences) + " of up to " + std::to_string(fit.serving->longest) +
         (fit.serving->sequences == 1 ? " tokens is safe" : " tokens are safe");
}

std::string FailsText(const Fit& fit, const Bottleneck& at) {
  const bool several = fit.head.mode == Mode::kServe && at.batch > 1;
  return InWords(fit, at.batch) + (several ? " fail " : " fails ") + WhenText(at) + ": ";
}

std::string PrintBottleneck(const Fit& fit, const Bottleneck& at) { return FailsText(fit, at) + RequestText(at); }

// On one line, without the tensor.
std::string PrintBriefly(const Fit& fit, const Bottleneck& at, int width) {
  const std::string text =
      FailsText(fit, at) + "no room for " + ToString(at.bytes) + (at.node.empty() ? " of " : " at ");
  constexpr int kLeastName = 20;
  return text +
         Shortened(at.node.empty() ? at.tensor : at.node, std::max(kLeastName, width - static_cast<int>(text.size())));
}

std::string PrintLadder(const Fit& fit, const Style& style) {
  TextTable table({{"precision"}, {"checkpointing"}, {"largest that may fit", kRight}, {"needs there", kRight}});
  for (const LadderRow& row : fit.ladder) {
    table.AddRow({std::string(Name(row.precision)), CheckpointingText(row), LargestText(row.largest),
                  row.largest.peak ? ToString(DeviceBytes(*row.largest.peak, fit.card.device.context.likely)) : ""});
  }
  return table.Print(style.width);
}

// "with amp-fp16 up to batch 73 may fit, with fp16 up to 74".
std::string OtherPrecisions(const Fit& fit) {
  std::string text;
  const std::vector<SpecRow>& spec = fit.head.spec;
  const auto asked =
      std::find_if(spec.begin(), spec.end(), [](const SpecRow& row) { return row.option == "precision"; });
  for (const LadderRow& row : fit.ladder) {
    const std::string name(Name(row.precision));
    if (asked == spec.end() || asked->text == name || !fit.head.model.has_batch) continue;
    text += text.empty() ? "with " : ", with ";
    text += name;
    if (row.largest.largest_batch == 0) {
      text += " no batch fits";
    } else {
      const bool first = text.find(" up to ") == std::string::npos, serves = fit.head.mode == Mode::kServe;
      text += (first && !serves ? " up to batch " : " up to ") + LargestText(row.largest);
      if (first && serves) text += " sequences";
      if (text.find(" may fit") == std::string::npos) text += " may fit";
    }
  }
  return text;
}

// The step at the batch asked for, and the batches up to those that fail, from a bar on.
std::string PrintFitCourses(const Fit& fit, int room, const Style& style) {
  size_t mark = 0;
  for (size_t i = 0; i < fit.over_batch.size(); ++i) {
    const int64_t batch = fit.last_batch * static_cast<int64_t>(i + 1) / static_cast<int64_t>(fit.over_batch.size());
    if (batch <= fit.card.largest.largest_batch) mark = i + 1;
  }
  return PrintCourses({{StepsText(fit.head.mode), &fit.over_step},
                       {fit.head.mode == Mode::kServe ? "1 to " + InWords(fit, fit.last_batch)
                                                      : "batch 1 to " + std::to_string(fit.last_batch),
                        &fit.over_batch, mark}},
                      room, style);
}

}  // namespace

std::string VerdictLine(const Fit& fit) {
  const AnswerHead& head = fit.head;
  const CardFit& card = fit.card;
  const bool fits = card.verdict != Verdict::kDoesNotFit;
  const bool has_batch = head.model.has_batch;
  const std::string file = FileName(head.model.file), at_batch = " at batch " + std::to_string(head.batch);
  const std::string needs = ToString(card.Needs()) + " of " + ToString(Has(card));
  if (fit.kept) {
    return file + " " + Does(head.mode) + at_batch + " on " + PlaceText(head, card.device) + " until batch " +
           std::to_string(fit.kept->full - 1) + " of its loop: the graph of each batch is kept, " +
           ToString(fit.kept->each) + ", and the card is full in batch " + std::to_string(fit.kept->full) +
           "; two need " + needs;
  }
  // The question is how large a batch may be.
  if (has_batch && head.mode == Mode::kServe && !head.batch_given) {
    const std::string on = (fits ? " serves on " : " does not serve on ") + CardText(card.device) + ": ";
    return file + on + SequencesText(fit) + "; " + (fit.card.safe_batch > 0 ? "1" : InWords(fit, 1)) + " needs " +
           needs + LongestText(fit);
  }
  if (has_batch && !head.batch_given && fits) {
    return file + " " + Does(head.mode) + " on " + PlaceText(head, card.device) + ": " +
           BatchesText(card.largest, card.safe_batch) + "; batch " + std::to_string(head.batch) + " needs " + needs;
  }
  return StepVerdictText(head, card.verdict, card.device, card.band) +
         (!has_batch                  ? ""
          : head.mode == Mode::kServe ? "; " + SequencesText(fit) + LongestText(fit)
                                      : "; " + BatchesText(card.largest, card.safe_batch));
}

std::string PrintServing(const Serving& serving, const Style& style) {
  std::string text = "\n" + PrintServingRows(serving.rows, style);
  text += "  " + Counted(serving.sequences, "sequence");
  if (serving.longest == 0) return text + " of " + std::to_string(kServedStep) + " tokens: not safe\n";
  text += " of up to " + std::to_string(serving.longest) + " tokens: safe";
  if (serving.most && *serving.most == serving.longest) text += " (the model has no more positions)";
  return text + "\n";
}

std::string CheckpointingText(const LadderRow& row) {
  return row.checkpointed == 0 ? "none" : Counted(static_cast<int64_t>(row.checkpointed), "module");
}

std::string PrintServingRows(const std::vector<Serving::Row>& rows, const Style& style) {
  TextTable table({{"tokens of a sequence", kRight}, {"sequences safe", kRight}, {"may fit", kRight}});
  for (const Serving::Row& row : rows)
    table.AddRow({std::to_string(row.tokens), std::to_string(row.safe), std::to_string(row.largest)});
  return table.Print(style.width);
}

std::string RemedyText(const Remedy& remedy, const AnswerHead& head) {
  const Mode mode = head.mode;
  std::string text = "with " + remedy.options + (remedy.verdict == Verdict::kTight ? " it is tight: " : " it fits: ") +
                     ToString(remedy.needs);
  if (!head.model.has_batch) return text;
  if (remedy.safe_batch == 0) return text + ", up to " + BatchText(mode, remedy.largest_batch) + " may fit";
  text += ", " + BatchText(mode, remedy.safe_batch) +
          (mode == Mode::kServe && remedy.safe_batch > 1 ? " are safe" : " is safe");
  return text;
}

std::string PrintFit(const Fit& fit, const Style& style) {
  const AnswerHead& head = fit.head;
  const CardFit& card = fit.card;
  std::string text = VerdictLine(fit) + "\n" + PrintAssumptions(fit.assumptions, style, card.safe_batch > 0);
  const auto add = [&](const std::string& line) {
    if (!line.empty()) text += Indented(line, style);
  };
  if (card.verdict == Verdict::kTight) add(TightText(card));
  add(RoomyText(card));
  // Of a loop that keeps graphs no batch is safe: the first line says how long it runs.
  if (card.largest.bottleneck && !fit.kept) {
    const Bottleneck& refused = *card.largest.bottleneck;
    add(style.verbose ? PrintBottleneck(fit, refused) : PrintBriefly(fit, refused, style.width - 2));
  }
  add(PoolText(card.device, card.Needs()));
  for (const Remedy& remedy : fit.remedies) add(RemedyText(remedy, head));
  if (style.verbose && !fit.kept) {
    for (const WhatIf& other : fit.what_if) add(WhatIfText(fit, other));
  } else if (!fit.kept) {
    const auto best = std::ranges::max_element(fit.what_if, {}, &WhatIf::largest_batch);
    if (best != fit.what_if.end() && IsMuchBetter(*best, card)) add(WhatIfText(fit, *best));
  }
  text += PrintSpec(head.spec, style) + "\n";
  if (fit.serving) text += PrintServing(*fit.serving, style).substr(1) + "\n";
  std::vector<BreakdownColumn> columns = {{InWords(fit, head.batch), &card.peak}};
  if (card.largest.peak && card.largest.largest_batch != head.batch) {
    columns.push_back({InWords(fit, card.largest.largest_batch), &*card.largest.peak});
  }
  std::string below;
  if (const std::string others = style.verbose || fit.kept ? "" : OtherPrecisions(fit); !others.empty())
    below = "\n" + Wrapped(others, style.width, "  ") + "\n";
  below += PrintSuggestions(fit.assumptions, style);
  text += PrintBreakdown(columns, card.device.context.likely, style, RoomLeft(text + below, style));
  text += PrintFitCourses(fit, RoomLeft(text + below, style), style);
  if (fit.host) text += "\n" + PrintHost(*fit.host, style);
  if (!style.verbose) return text + below;
  if (const std::string band = PrintBand(card.band, style); !band.empty()) text += "\n" + band;
  text += "\npeak: " + PrintPlace(card.peak, fit.place) + "\n\n";
  text += PrintLayers(fit.layers, head.mode, 10, style);
  if (fit.ladder.size() > 1) text += "\n" + PrintLadder(fit, style);
  return text + below;
}

const CardFit* SmallestThatFits(const FitMatrix& matrix) {
  const CardFit* smallest = nullptr;
  for (const CardFit& card : matrix.cards) {
    if (card.verdict != Verdict::kDoesNotFit && (smallest == nullptr || card < *smallest)) smallest = &card;
  }
  return smallest;
}

std::string PrintFitMatrix(const FitMatrix& matrix, const Style& style) {
  const AnswerHead& head = matrix.head;
  const auto fits = [](const CardFit& card) { return card.verdict != Verdict::kDoesNotFit; };
  const auto count = std::count_if(matrix.cards.begin(), matrix.cards.end(), fits);
  const CardFit* smallest = SmallestThatFits(matrix);
  std::string text = FileName(head.model.file) + " " + Does(head.mode) + " at batch " + std::to_string(head.batch) +
                     " on " + std::to_string(count) + " of " + std::to_string(matrix.cards.size()) + " cards";
  if (head.ranks > 1) text += ", taken " + std::to_string(head.ranks) + " at a time";
  if (smallest != nullptr)
    text += SmallestText(smallest->device.name, smallest->Needs(), Has(*smallest), smallest->verdict);
  text += "\n" + PrintSpec(head.spec, style) + "\n";
  TextTable table({{"--gpu"},
                   {"card", kLeft, true},
                   {"usable", kRight},
                   {"needs", kRight},
                   {"verdict"},
                   {"safe batch", kRight},
                   {"may fit", kRight}});
  for (const CardFit& card : matrix.cards) {
    table.AddRow({card.id, card.device.name, ToString(Has(card)), ToString(card.Needs()),
                  std::string(Name(card.verdict)), card.safe_batch > 0 ? std::to_string(card.safe_batch) : "none",
                  LargestText(card.largest)});
  }
  return text + table.Print(style.width);
}

}  // namespace vramplan
