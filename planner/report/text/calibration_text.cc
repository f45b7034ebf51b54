#include <algorithm>
#include <cmath>

#include "graph/base/text_table.h"
#include "planner/report/calibration.h"
#include "planner/report/parts/model_facts.h"
#include "planner/report/probe.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

using enum TextTable::Align;

// "240 GB/s", "7.00 TFLOP/s".
std::string RateText(double rate, bool bytes) {
  return Formatted(bytes ? "%.0f GB/s" : "%#.3g TFLOP/s", rate / (bytes ? 1e9 : 1e12));
}

std::string Against(double measured, double said) { return Formatted("%+.0f %%", 100 * (measured / said - 1)); }

std::string CalibrationVerdict(const CalibrationReport& report) {
  const Profile& profile = report.made.profile;
  std::string line = profile.name + " measured";
  const char* before = ": ";
  const auto add = [&](const std::string& text) {
    line += before + text;
    before = ", ";
  };
  if (profile.context) add("a context with libraries takes " + ToString(profile.context->likely));
  if (profile.rates) {
    add("copies at " + RateText(profile.rates->bandwidth, true));
    add("fp32 at " + RateText(profile.rates->fp32, false));
  }
  return line + "\nprofile: " + report.file;
}

std::string PrintAgainst(const CalibrationReport& report, const Style& style) {
  const Profile& profile = report.made.profile;
  TextTable table({{"", kLeft, true}, {"measured", kRight}, {"catalogue", kRight}, {"", kRight}});
  const auto add_rate = [&](const char* name, double measured, double said, bool bytes) {
    table.AddRow({name, RateText(measured, bytes), said > 0 ? RateText(said, bytes) : "not known",
                  said > 0 ? Against(measured, said) : ""});
  };
  if (profile.context) {
    table.AddRow({"CUDA context and libraries", ToString(profile.context->likely), ToString(report.said.likely),
                  Against(static_cast<double>(profile.context->likely.count()),
                          static_cast<double>(report.said.likely.count()))});
  }
  const std::optional<Card>& card = report.catalogue;
  table.AddRow(
      {"usable", ToString(profile.usable), card ? ToString(card->usable) : "not known",
       card ? Against(static_cast<double>(profile.usable.count()), static_cast<double>(card->usable.count())) : ""});
  if (profile.rates) {
    Rates said;
    bool known = false;
    if (card) said = RatesOf(*card, &known);
    if (!known) said = Rates();
    add_rate("copies", profile.rates->bandwidth, said.bandwidth, true);
    add_rate("fp32", profile.rates->fp32, said.fp32, false);
    add_rate("half", profile.rates->half, said.half, false);
  }
  return table.Print(style.width);
}

std::string PrintMemory(const Calibration& made, const Style& style) {
  const MeasuredMemory& memory = *made.profile.memory;
  TextTable table({{"allocations", kLeft, true}, {"bytes", kRight}});
  table.AddRow({"free before", ToString(made.staircase.free)});
  table.AddRow({"granularity", ToString(memory.granularity)});
  table.AddRow({"largest block", ToString(memory.largest)});
  table.AddRow({"in all", ToString(memory.reachable)});
  table.AddRow({"margin that was left alone", ToString(memory.margin)});
  return table.Print(style.width);
}

std::string PrintFits(const std::vector<FittedRate>& fits, const Style& style) {
  TextTable table(
      {{"fits", kLeft, true}, {"rate", kRight}, {"launch", kRight}, {"residual", kRight}, {"samples", kRight}});
  for (const FittedRate& fit : fits) {
    // Below a tenth of a percent there is nothing to read; rounding would print either sign of nothing.
    const double residual = fit.residual < 5e-4 ? 0 : 100 * fit.residual;
    table.AddRow({fit.what, RateText(fit.rate, fit.what == "copy"), Formatted("%.1f us", fit.launch * 1e6),
                  Formatted("%.1f %%", residual), std::to_string(fit.samples)});
  }
  return table.Print(style.width);
}

std::string ConvolutionsText(const CalibrationReport& report) {
  const std::vector<MeasuredConvolution>& all = report.made.profile.convolutions;
  Bytes largest;
  for (const MeasuredConvolution& one : all) largest = std::max(largest, one.workspace);
  return "convolutions of " + FileName(report.model) + ": " + std::to_string(all.size()) +
         " calls, the largest workspace " + ToString(largest);
}

}  // namespace

std::string PrintCalibration(const CalibrationReport& report, const Style& style) {
  const Calibration& made = report.made;
  std::string text = CalibrationVerdict(report) + "\n\n" + PrintAgainst(report, style) + "\n" +
                     PrintLoads("loads", made.profile.loads.value_or(MeasuredLoads()), style.width, 2) + "\n" +
                     PrintMemory(made, style);
  if (!made.profile.fits.empty()) text += "\n" + PrintFits(made.profile.fits, style);
  if (!made.profile.convolutions.empty()) text += "\n" + Wrapped(ConvolutionsText(report), style.width, "  ") + "\n";
  if (!made.unknown.empty()) text += "\n";
  for (const std::string& line : made.unknown) text += Indented("not known: " + line, style);
  return text;
}

}  // namespace vramplan
