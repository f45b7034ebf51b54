
#include "graph/base/text_table.h"
#include "planner/report/watch.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

using enum TextTable::Align;

std::string WatchFirstLine(const WatchReport& report) {
  const Watched& seen = report.result.busiest();
  std::string line = report.run;
  if (seen.source == WatchSource::kNothing) {
    line += " was not seen on " + report.card;
  } else {
    line += " took " + ToString(seen.peak) + " on " + report.card;
  }
  if (!report.prediction) return line;
  const Bytes predicted = report.prediction->device_likely;
  line += ", " + ToString(predicted) + " predicted for " + FileName(report.estimate->head.model.file) + " at batch " +
          std::to_string(report.estimate->head.batch);
  if (seen.source == WatchSource::kNothing) return line;
  const double share =
      100.0 * static_cast<double>((seen.peak - predicted).count()) / static_cast<double>(predicted.count());
  line += " (" + Formatted("%+.1f %%", share) + "): ";
  if (report.explanation.place == Explanation::Place::kInside) return line + "inside the band";
  return line + std::string(Name(report.explanation.place)) + " the band, explained by: " + report.explanation.level;
}

std::string WatchEndText(const WatchReport& report) {
  const Watched& seen = report.result.busiest();
  std::string text = std::to_string(seen.samples) + " looks in " + Formatted("%.1f s", seen.seconds) + "; ";
  switch (report.result.end) {
    case WatchResult::End::kOver:
      text += "the process ended";
      break;
    case WatchResult::End::kTime:
      text += "the time was up, and the process goes on";
      break;
    case WatchResult::End::kInterrupted:
      text += "interrupted";
      break;
    case WatchResult::End::kFailed:
      text += "stopped: " + report.result.error->subject + ": " + report.result.error->text;
      break;
  }
  if (report.exit_code) text += " with exit code " + std::to_string(*report.exit_code);
  if (report.signal) text += " by signal " + std::to_string(*report.signal);
  return text;
}

std::string SourceText(const Watched& seen) {
  if (seen.source == WatchSource::kProcesses) return "";
  if (seen.source == WatchSource::kNothing) {
    return "the driver names no process of the run, and what is used did not rise (a container without process names, "
           "WSL, missing rights, or the run uses no card)";
  }
  return "the driver does not say what the processes of the run hold (a container without process names, WSL, or "
         "missing rights): shown is what is used on the card minus " +
         ToString(*seen.before) + " that was used before";
}

// What is used at the peak, row by row; the sum is what the driver says.
std::string PrintWatchProcesses(const Watched& seen, const Style& style) {
  if (seen.source != WatchSource::kProcesses) return "";
  TextTable table({{"process", kLeft, true},
                   {"pid", kRight},
                   {"first seen", kRight},
                   {"highest", kRight},
                   {"at the peak", kRight}});
  Bytes sum;
  for (const WatchedProcess& process : seen.processes) {
    table.AddRow({(process.ours ? "" : "other: ") + (process.name.empty() ? "(no name)" : process.name),
                  std::to_string(process.pid), OrNotSaid(process.first), OrNotSaid(process.highest),
                  ToString(process.at_peak)});
    sum += process.at_peak;
  }
  if (seen.used_at_peak) {
    table.AddRow({"the driver and unnamed processes", "", "", "", ToString(*seen.used_at_peak - sum)});
    table.AddRule();
    table.AddRow({"used on the card", "", "", "", ToString(*seen.used_at_peak)});
  }
  return table.Print(style.width) + "\n";
}

std::string PrintPrediction(const WatchReport& report, const Style& style) {
  const WatchPrediction& prediction = *report.prediction;
  const Bytes reserved = prediction.device_likely - prediction.context_likely;
  TextTable table({{"predicted", kLeft}, {"low", kRight}, {"likely", kRight}, {"high", kRight}});
  table.AddRow({"allocated", "", ToString(prediction.levels.allocated), ""});
  table.AddRow({"reserved, not allocated", "", ToString(reserved - prediction.levels.allocated), ""});
  table.AddRow({"CUDA context and kernels", ToString(prediction.context_low), ToString(prediction.context_likely),
                ToString(prediction.context_high)});
  table.AddRule();
  table.AddRow({"on the device", ToString(prediction.device_low), ToString(prediction.device_likely),
                ToString(prediction.device_high)});
  return table.Print(style.width) + "\n";
}

}  // namespace

WatchPrediction PredictionOf(const Estimate& estimate) {
  WatchPrediction prediction;
  prediction.levels = estimate.peak.peak;
  prediction.context_low = estimate.band.context.low;
  prediction.context_likely = estimate.band.context.likely;
  prediction.context_high = estimate.band.context.high;
  const Band device = estimate.band.device();
  prediction.device_low = device.low;
  prediction.device_likely = device.likely;
  prediction.device_high = device.high;
  prediction.weights = estimate.head.model.parameter_bytes + estimate.head.model.buffer_bytes;
  return prediction;
}

std::string PrintWatch(const WatchReport& report, const Style& style) {
  const Watched& seen = report.result.busiest();
  std::string text = WatchFirstLine(report) + "\n";
  const auto line = [&](const std::string& said) {
    if (!said.empty()) text += "  " + Wrapped(said, style.width - 2, "  ") + "\n";
  };
  if (report.prediction && report.explanation.place != Explanation::Place::kInside) line(report.explanation.text);
  line(WatchEndText(report));
  line(SourceText(seen));
  if (seen.there_before) line("it was on the card before the first look: what it held at its start is not known");
  if (report.estimate) text += PrintSpec(report.estimate->head.spec, style);
  text += "\n" + PrintWatchProcesses(seen, style);
  if (report.prediction) text += PrintPrediction(report, style);
  for (const Watched& card : report.result.cards) {
    if (&card == &seen || card.source != WatchSource::kProcesses) continue;
    line("card " + std::to_string(card.card) + ": the run took " + ToString(card.peak) + " there");
  }
  if (!report.saved.empty())
    line("a context of " + ToString(*report.saved_context) + " is in the profile now: " + report.saved);
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

}  // namespace vramplan
