#include <algorithm>

#include "graph/base/text_table.h"
#include "planner/report/parts/breakdown.h"
#include "planner/report/validate.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

using enum TextTable::Align;

std::string Off(const LevelRow& row) {
  if (!row.predicted || !row.seen || *row.predicted == Bytes()) return "";
  const auto predicted = static_cast<double>(row.predicted->count());
  const double share = (static_cast<double>(row.seen->count()) - predicted) / predicted;
  return share == 0 ? "0 %" : Formatted("%+.2f %%", 100 * share);
}

std::string Batch(int64_t batch, bool at_end) {
  return batch == 0 ? "none" : std::to_string(batch) + (at_end ? " or more" : "");
}

std::string BatchAndCard(const ValidateReport& report) {
  std::string text = FileName(report.head.model.file);
  if (report.head.model.has_batch) text += " at batch " + std::to_string(report.prediction.batch);
  return text + " on " + report.device.name;
}

Bytes Predicted(const Prediction& of) { return DeviceBytes(of.peak, of.context.likely); }

std::string ValidateFirstLine(const ValidateReport& report) {
  const Observation& seen = *report.seen;
  std::string line = BatchAndCard(report) + ": " + std::string(Name(report.judgement.agreement));
  if (report.judgement.agreement == Agreement::kStopped) return line;
  if (seen.run.end == CardTry::End::kRan) {
    const std::optional<Bytes> device = seen.outside ? seen.outside : seen.inside;
    const LevelRow row{"device", Predicted(report.prediction), device};
    if (device) {
      line += ": " + ToString(*device) + " on the card, " + ToString(*row.predicted) + " predicted (" + Off(row) + ")";
    } else {
      line += ": " + ToString(seen.run.peak.peak.reserved) + " reserved on the card";
    }
  } else {
    line += ": it fails there";
  }
  if (report.head.model.has_batch) {
    const bool at_end = !seen.found.failed;
    line += "; largest batch " + Batch(seen.found.largest, at_end && !seen.found.stopped) + ", " +
            Batch(report.prediction.largest.likely, report.prediction.at_end) + " predicted";
  }
  return line;
}

std::string PrintValidateLevels(const ValidateReport& report, const Style& style) {
  const bool ran = report.seen->run.end == CardTry::End::kRan;
  TextTable table({{ran ? "at the peak" : "highest until it ended", kLeft, true},
                   {"predicted", kRight},
                   {"observed", kRight},
                   {"off", kRight}});
  for (const LevelRow& row : LevelRows(report.prediction, *report.seen)) {
    table.AddRow({row.level, row.predicted ? ToString(*row.predicted) : "", OrNotSaid(row.seen), Off(row)});
  }
  return table.Print(style.width);
}

std::string PrintContext(const ValidateReport& report) {
  const ContextSeen& context = report.seen->context;
  const auto library = [](const char* name, const std::optional<Bytes>& bytes) {
    return std::string(", ") + name + (bytes ? " " + ToString(*bytes) : " not installed");
  };
  return "context: bare " + OrNotSaid(context.bare) + ", first kernel " + ToString(context.kernel) +
         library("cuBLAS", context.cublas) + library("cuDNN", context.cudnn) + "; predicted " +
         ToString(report.prediction.context.low) + " to " + ToString(report.prediction.context.high) + " (" +
         report.prediction.context.source + ")";
}

std::string PrintMoments(const CardTry& run, const Style& style) {
  TextTable table({{"moment"}, {"reserved", kRight}, {"free, from inside", kRight}, {"used, from outside", kRight}});
  for (const CardMoment& moment : run.moments) {
    if (moment.kind == CardMoment::Kind::kSegment) continue;
    table.AddRow(
        {std::string(Name(moment.kind)), ToString(moment.reserved), ToString(moment.free), OrNotSaid(moment.used)});
  }
  return table.Print(style.width);
}

std::string PrintWritten(const CardTry& run) {
  TimedWork all;
  std::string phases;
  for (size_t phase = 0; phase < run.written.size(); ++phase) {
    const TimedWork& part = run.written[phase];
    if (part.work == 0) continue;
    phases += (phases.empty() ? "" : ", ") + std::string(Name(static_cast<Phase>(phase))) + " " +
              Formatted("%.4g ms", 1e3 * part.seconds);
    all.work += part.work;
    all.seconds += part.seconds;
  }
  if (run.blocks == 0) return "";
  std::string text = "every byte of " + std::to_string(run.blocks) +
                     " blocks was written: " + ToString(Bytes::Of(static_cast<int64_t>(all.work))) + " in " +
                     Formatted("%.4g ms", 1e3 * all.seconds);
  if (all.seconds > 0) text += " (" + Formatted("%.4g GB/s", all.work / all.seconds / 1e9) + ")";
  return text + ": " + phases;
}

std::string PrintBatches(const ValidateReport& report) {
  const Prediction& prediction = report.prediction;
  std::string text = "predicted " + Batch(prediction.largest.likely, prediction.at_end);
  if (prediction.largest.low != prediction.largest.high) {
    text += " (" + std::to_string(prediction.largest.high) + " to " + std::to_string(prediction.largest.low) +
            " by the band of the context)";
  }
  if (report.seen && !report.seen->found.stopped && report.seen->largest_predicted != prediction.largest.likely)
    text += ", " + Batch(report.seen->largest_predicted, false) + " with the context as it was seen";
  return text;
}

std::string PrintTries(const ValidateReport& report, const Style& style) {
  const Observation& seen = *report.seen;
  std::string text = "largest batch: " + PrintBatches(report) + "; on the card ";
  if (seen.found.stopped) {
    text += "not found";
  } else {
    text += Batch(seen.found.largest, !seen.found.failed);
  }
  std::string tried;
  for (const int64_t batch : seen.found.tried) tried += (tried.empty() ? "" : " ") + std::to_string(batch);
  if (!tried.empty()) text += " (tried " + tried + ")";
  std::string printed = Wrapped(text, style.width, "  ") + "\n";
  const CardTry* failed = nullptr;
  for (const CardTry& one : seen.tries) {
    if (one.end != CardTry::End::kRan && (failed == nullptr || one.batch <= failed->batch)) failed = &one;
  }
  if (failed != nullptr) printed += Indented(Describe(*failed), style);
  return printed;
}

std::string PrintLimits(const ValidateReport& report) {
  std::string text = ToString(report.limits.margin) + " of the free memory is left for others (--reserve)";
  if (report.limits.most != Bytes::Max())
    text += "; the replay takes at most " + ToString(report.limits.most) + " (--max-bytes)";
  return text;
}

std::string PrintLeft(const ValidateReport& report) {
  if (!report.left_behind) return "all of it was released; the driver does not say how much is in use now";
  if (*report.left_behind < kNoticeable) return "all of it was given back";
  return "after it " + ToString(*report.left_behind) +
         " more are used than before: others took it, or the driver keeps it";
}

std::string PrintDryRun(const ValidateReport& report, const Style& style) {
  const Prediction& prediction = report.prediction;
  const Bytes reserved = prediction.peak.peak.reserved;
  std::string text = BatchAndCard(report) + ": would take " + ToString(Predicted(prediction)) +
                     " of it: " + ToString(reserved) + " for segments, " + ToString(prediction.context.likely) +
                     " for a CUDA context\n";
  text += PrintSpec(report.head.spec, style);
  const auto line = [&](const std::string& said) { text += Wrapped(said, style.width, "  ") + "\n"; };
  line(std::to_string(report.allocations) + " allocations of " + std::to_string(prediction.peak.steps.size()) +
       (report.head.mode == Mode::kTrain ? " steps" : " forwards") + "; " + ToString(report.written) + " are written");
  if (report.head.model.has_batch) {
    line("then it would search for the largest batch: " + PrintBatches(report) +
         "; that one and the next take two tries, or at most " + std::to_string(report.most_tries) +
         " if the card disagrees");
  }
  line(PrintLimits(report));
  line("a dry run: nothing was taken");
  return text;
}

}  // namespace

std::vector<LevelRow> LevelRows(const Prediction& prediction, const Observation& seen) {
  const Levels& predicted = prediction.peak.peak;
  const Levels& counted = seen.run.peak.peak;
  return {{"requested", predicted.requested, counted.requested},
          {"allocated", predicted.allocated, counted.allocated},
          {"reserved", predicted.reserved, counted.reserved},
          {"reserved, as free memory fell", predicted.reserved, seen.run.FellInside()},
          {"CUDA context and kernels", prediction.context.likely, seen.context.total()},
          {"device, from inside", Predicted(prediction), seen.inside},
          {"device, from outside (NVML)", Predicted(prediction), seen.outside}};
}

std::string PrintValidate(const ValidateReport& report, const Style& style) {
  if (!report.seen) return PrintDryRun(report, style);
  const CardTry& run = report.seen->run;
  std::string text = ValidateFirstLine(report) + "\n";
  const auto line = [&](const std::string& said) {
    if (!said.empty()) text += Wrapped(said, style.width, "  ") + "\n";
  };
  line(report.judgement.reason);
  const std::string description = Describe(run);
  if (run.end == CardTry::End::kFull && report.judgement.reason.find(description) == std::string::npos)
    line(description);
  text += PrintSpec(report.head.spec, style) + "\n";
  text += PrintValidateLevels(report, style) + "\n";
  line(PrintContext(report));
  text += PrintMoments(run, style) + "\n";
  if (report.head.model.has_batch) text += PrintTries(report, style);
  line(PrintWritten(run));
  if (run.driver > Bytes()) line("the driver took " + ToString(run.driver) + " beyond the segments");
  if (run.others >= kNoticeable || Bytes() - run.others >= kNoticeable) {
    line("other programs " + std::string(run.others > Bytes() ? "took " : "gave back ") +
         ToString(run.others > Bytes() ? run.others : Bytes() - run.others) +
         " meanwhile; the numbers do not include it");
  }
  line(PrintLimits(report));
  line(PrintLeft(report));
  return text;
}

}  // namespace vramplan
