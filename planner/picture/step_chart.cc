#include "planner/picture/step_chart.h"

#include <algorithm>
#include <array>
#include <map>

#include "planner/picture/parts.h"
#include "planner/picture/plot.h"

namespace vramplan {
namespace {

using PartBytes = std::array<Bytes, kParts>;

PartBytes PartsOf(const SeriesColumn& column, Bytes context) {
  PartBytes parts{};
  for (size_t c = 0; c < kCategories; ++c) parts[c] = column.categories[c];
  parts[kSlackPart] = column.slack;
  parts[kUnusedPart] = column.reserved - column.allocated();
  parts[kContextPart] = context;
  return parts;
}

// What the steps put on the card: allocated and the context; reserved and the context.
Bytes Held(const SeriesColumn& column, Bytes context) { return column.reserved + context; }

Bytes Highest(const StepChart& chart) {
  Bytes highest = chart.card.value_or(Bytes());
  for (const SeriesColumn& column : chart.series.columns) highest = std::max(highest, Held(column, chart.context));
  return highest;
}

// A line in steps, one column after the other.
std::string StepPath(const std::vector<int64_t>& heights) {
  std::string path;
  for (size_t c = 0; c < heights.size(); ++c) {
    if (c > 0 && heights[c] == heights[c - 1]) continue;
    path += c == 0 ? "M0 " + std::to_string(heights[c]) : "H" + std::to_string(c) + "V" + std::to_string(heights[c]);
  }
  return path + "H" + std::to_string(heights.size());
}

struct DrawnPlot {
  std::array<bool, kParts> used{};
  Markup svg;
};

// The stack, the highest boundary first, so that each lower part covers what is below it.
DrawnPlot DrawStack(const StepChart& chart, const ByteScale& scale) {
  const std::vector<SeriesColumn>& columns = chart.series.columns;
  DrawnPlot drawn;
  std::vector<Bytes> sums(columns.size());
  std::vector<std::string> paths(kStacked.size());
  for (size_t layer = 0; layer < kStacked.size(); ++layer) {
    std::vector<int64_t> heights;
    for (size_t c = 0; c < columns.size(); ++c) {
      const Bytes part = PartsOf(columns[c], chart.context)[kStacked[layer]];
      drawn.used[kStacked[layer]] |= part > Bytes();
      sums[c] += part;
      heights.push_back(scale.Y(sums[c]));
    }
    paths[layer] = StepPath(heights) + "V" + std::to_string(kPlotHeight) + "H0Z";
  }
  for (size_t layer = kStacked.size(); layer-- > 0;) {
    if (!drawn.used[kStacked[layer]]) continue;
    drawn.svg.Open("path", {{"class", PartClass(kStacked[layer])}, {"d", paths[layer]}});
    drawn.svg.Element("title", {}, Parts()[kStacked[layer]].name).Close();
  }
  std::vector<int64_t> reserved;
  reserved.reserve(columns.size());
  for (const SeriesColumn& column : columns) reserved.push_back(scale.Y(Held(column, chart.context)));
  drawn.svg.Open("path", {{"class", "reserved"}, {"d", StepPath(reserved)}});
  drawn.svg.Element("title", {}, "reserved by PyTorch, with the context").Close();
  drawn.used[kUnusedPart] = true;
  return drawn;
}

std::string SpanName(const SeriesSpan& span) {
  return span.phase == Phase::kSetup ? "before step 1" : std::string(Name(span.phase));
}

// The steps, each with its first and last column.
struct StepRange {
  int step = 0;
  size_t from = 0, to = 0;
};
std::vector<StepRange> StepsOf(const MemorySeries& series) {
  std::vector<StepRange> steps;
  for (const SeriesSpan& span : series.spans) {
    if (steps.empty() || steps.back().step != span.step) steps.push_back({span.step, span.from, span.to});
    steps.back().to = span.to;
  }
  return steps;
}
std::string StepName(int step, bool train) {
  if (step == 0) return "setup";
  return (train ? "step " : "forward ") + std::to_string(step);
}

void AddAxis(const StepChart& chart, Markup* to) {
  const auto columns = static_cast<double>(chart.series.columns.size());
  const auto place = [&](size_t from, size_t end) {
    return "left:" + PercentOf(static_cast<double>(from), columns) +
           ";width:" + PercentOf(static_cast<double>(end - from), columns);
  };
  to->Open("div", {{"class", "spans"}});
  for (const SeriesSpan& span : chart.series.spans) {
    constexpr double kNarrow = 0.19;  // "backward" needs so much of a phone
    const bool narrow = static_cast<double>(span.to - span.from) < kNarrow * columns;
    to->Element("span",
                {{"class", "span " + std::string(Name(span.phase)) + (narrow ? " narrow" : "")},
                 {"style", place(span.from, span.to)}},
                chart.train ? SpanName(span) : "");
  }
  to->Close().Open("div", {{"class", "spans steps"}});
  for (const StepRange& step : StepsOf(chart.series)) {
    to->Element("span", {{"class", "span"}, {"style", place(step.from, step.to)}}, StepName(step.step, chart.train));
  }
  to->Close();
}

void AddLegend(const std::array<bool, kParts>& used, Markup* to) {
  to->Open("ul", {{"class", "legend"}});
  for (size_t layer = kStacked.size(); layer-- > 0;) {
    if (!used[kStacked[layer]]) continue;
    to->Open("li")
        .Element("i", {{"class", PartClass(kStacked[layer])}}, "")
        .Text(Parts()[kStacked[layer]].name)
        .Close();
  }
  to->Open("li").Element("i", {{"class", "reserved-key"}}, "").Text("reserved").Close().Close();
}

Json DataOf(const StepChart& chart) {
  std::map<std::string, int64_t> numbers;
  Json names = Json::Array();
  const auto number = [&](const std::string& name) {
    const auto [at, is_new] = numbers.try_emplace(name, static_cast<int64_t>(numbers.size()));
    if (is_new) names.Push(name);
    return at->second;
  };
  Json columns = Json::Array();
  for (const SeriesColumn& column : chart.series.columns) {
    Json row = Json::Array();
    for (const Bytes bytes : PartsOf(column, chart.context)) row.Push(bytes);
    columns.Push(std::move(row));
  }
  Json blocks = Json::Array();
  for (const SeriesBlock& block : chart.series.blocks) {
    Json row = Json::Array();
    row.Push(static_cast<int64_t>(block.from)).Push(static_cast<int64_t>(block.to)).Push(block.bytes);
    row.Push(static_cast<int64_t>(block.category)).Push(number(block.words.what)).Push(number(block.words.module));
    blocks.Push(std::move(row));
  }
  Json spans = Json::Array();
  for (const SeriesSpan& span : chart.series.spans) {
    const std::string name = StepName(span.step, chart.train) + (chart.train ? ", " + SpanName(span) : "");
    Json row = Json::Array();
    row.Push(static_cast<int64_t>(span.from)).Push(static_cast<int64_t>(span.to)).Push(name);
    spans.Push(std::move(row));
  }
  Json parts = Json::Array();
  for (const Part& part : Parts()) parts.Push(part.name);
  Json data = Json::Object();
  data.Set("columns", std::move(columns))
      .Set("blocks", std::move(blocks))
      .Set("names", std::move(names))
      .Set("spans", std::move(spans))
      .Set("parts", std::move(parts))
      .Set("peak", static_cast<int64_t>(chart.series.peak));
  return data;
}

// The highest moment of each phase, for readers without a picture.
void AddChartTable(const StepChart& chart, Markup* to) {
  to->Open("details", {{"class", "as-table"}}).Element("summary", {}, "as a table");
  to->Open("div", {{"class", "scroll"}}).Open("table").Open("thead").Open("tr");
  for (const char* header : {"step", "phase", "allocated, at its highest", "reserved"})
    to->Element("th", {{"scope", "col"}}, header);
  to->Close().Close().Open("tbody");
  for (const SeriesSpan& span : chart.series.spans) {
    Bytes allocated, reserved;
    for (size_t c = span.from; c < span.to; ++c) {
      allocated = std::max(allocated, chart.series.columns[c].allocated());
      reserved = std::max(reserved, chart.series.columns[c].reserved);
    }
    to->Open("tr").Element("td", {}, StepName(span.step, chart.train)).Element("td", {}, SpanName(span));
    to->Element("td", {{"class", "n"}}, ToString(allocated))
        .Element("td", {{"class", "n"}}, ToString(reserved))
        .Close();
  }
  to->Close().Close().Close().Close();
}

std::string PeakText(const StepChart& chart) {
  return "peak " + ToString(chart.series.columns[chart.series.peak].allocated()) + " allocated";
}

// What the mark in the plot stands at, where the context lies below everything.
std::string MarkText(const StepChart& chart) {
  if (chart.context == Bytes()) return PeakText(chart);
  const Bytes stands_at = chart.series.columns[chart.series.peak].allocated() + chart.context;
  return PeakText(chart) + ", " + ToString(stands_at) + " with the context";
}

// "Tesla T4: 14.56 GiB", "a card of 8.00 GiB".
std::string CardText(const StepChart& chart) {
  const std::string size = ToString(*chart.card);
  return chart.card_name.ends_with(size) ? chart.card_name : chart.card_name + ": " + size;
}

}  // namespace

Markup DrawStep(const StepChart& chart) {
  Markup page;
  const MemorySeries& series = chart.series;
  if (series.columns.empty()) return page;
  const ByteScale scale(Highest(chart));
  const auto columns = static_cast<double>(series.columns.size());
  const DrawnPlot drawn = DrawStack(chart, scale);
  page.Open("figure", {{"class", "chart step"}, {"id", "step"}});
  AddLegend(drawn.used, &page);
  AddAxisTitle(kUpwards, "bytes on the device", &page);
  page.Open("div", {{"class", "plot"},
                    {"tabindex", "0"},
                    {"role", "slider"},
                    {"aria-label", "memory over the step; the arrow keys move along it"},
                    {"aria-valuemin", "1"},
                    {"aria-valuemax", std::to_string(series.columns.size())},
                    {"aria-valuenow", std::to_string(series.peak + 1)},
                    {"aria-valuetext", PeakText(chart) + ", " + chart.place}});
  AddGrid(scale, &page);
  page.Open("svg", {{"viewBox", "0 0 " + std::to_string(series.columns.size()) + " " + std::to_string(kPlotHeight)},
                    {"preserveAspectRatio", "none"},
                    {"aria-hidden", "true"}});
  page.Append(drawn.svg).Close();
  if (chart.card) AddLimit(scale, *chart.card, CardText(chart), &page);
  const SeriesColumn& peak = series.columns[series.peak];
  const double at = (static_cast<double>(series.peak) + 0.5) / columns;
  AddFlag(at, scale, peak.allocated() + chart.context, MarkText(chart), &page);
  page.Close();
  AddAxis(chart, &page);
  AddAxisTitle(kAcross, "allocations and frees, in order", &page);
  page.Element(
      "figcaption", {},
      "Each column is a stretch of allocations and frees, in order, and shows its highest moment. The peak is in " +
          chart.place + "; nvidia-smi shows up to " + ToString(chart.device) + " over the run.");
  AddChartTable(chart, &page);
  page.Data("step-data", DataOf(chart)).Close();
  return page;
}

std::string DrawStepSvg(const StepChart& chart) {
  constexpr int kWidth = kSvgWidth, kLeft = 76, kRight = 24, kTop = 72, kPlot = 380, kHeight = kSvgHeight;
  constexpr int kInner = kWidth - kLeft - kRight;
  const MemorySeries& series = chart.series;
  const ByteScale scale(Highest(chart));
  const auto columns = static_cast<double>(std::max<size_t>(1, series.columns.size()));
  const auto y = [&](Bytes bytes) { return std::to_string(kTop + kPlot * scale.Y(bytes) / kPlotHeight); };
  const auto x = [&](double column) { return std::to_string(kLeft + static_cast<int>(kInner * column / columns)); };
  const DrawnPlot drawn = DrawStack(chart, scale);
  Markup svg;
  BeginSvg(chart.title + ": " + PeakText(chart), &svg);
  svg.Element("text", {{"class", "title"}, {"x", std::to_string(kLeft)}, {"y", "28"}}, chart.title);
  svg.Element("text", {{"class", "soft"}, {"x", std::to_string(kLeft)}, {"y", "50"}},
              MarkText(chart) + ", in " + chart.place);
  for (const Bytes tick : scale.ticks()) {
    svg.Empty("line", {{"class", "grid"},
                       {"x1", std::to_string(kLeft)},
                       {"x2", std::to_string(kWidth - kRight)},
                       {"y1", y(tick)},
                       {"y2", y(tick)}});
    svg.Element(
        "text",
        {{"class", "soft"}, {"x", std::to_string(kLeft - 8)}, {"y", y(tick)}, {"dy", "4"}, {"text-anchor", "end"}},
        TickText(tick));
  }
  // The titles of the axes.
  AddSvgAxisTitle(kTop + kPlot / 2, "bytes on the device", &svg);
  svg.Element("text",
              {{"class", "soft"},
               {"x", std::to_string(kWidth - kRight)},
               {"y", std::to_string(kHeight - 6)},
               {"text-anchor", "end"}},
              "allocations and frees, in order");
  svg.Open("svg", {{"x", std::to_string(kLeft)},
                   {"y", std::to_string(kTop)},
                   {"width", std::to_string(kInner)},
                   {"height", std::to_string(kPlot)},
                   {"viewBox", "0 0 " + std::to_string(series.columns.size()) + " " + std::to_string(kPlotHeight)},
                   {"preserveAspectRatio", "none"}});
  svg.Append(drawn.svg).Close();
  if (chart.card) {
    svg.Empty("line", {{"class", "limit"},
                       {"x1", std::to_string(kLeft)},
                       {"x2", std::to_string(kWidth - kRight)},
                       {"y1", y(*chart.card)},
                       {"y2", y(*chart.card)}});
    svg.Element("text",
                {{"class", "limit-text"}, {"x", std::to_string(kLeft + 6)}, {"y", y(*chart.card)}, {"dy", "-5"}},
                CardText(chart));
  }
  if (!series.columns.empty()) {
    svg.Empty("circle", {{"class", "peak"},
                         {"cx", x(static_cast<double>(series.peak) + 0.5)},
                         {"cy", y(series.columns[series.peak].allocated() + chart.context)},
                         {"r", "5"}});
  }
  for (const SeriesSpan& span : series.spans) {
    svg.Empty("line", {{"class", "grid"},
                       {"x1", x(static_cast<double>(span.from))},
                       {"x2", x(static_cast<double>(span.from))},
                       {"y1", std::to_string(kTop)},
                       {"y2", std::to_string(kTop + kPlot + 24)}});
    constexpr double kRoomOfName = 0.07;
    if (static_cast<double>(span.to - span.from) < kRoomOfName * columns) continue;
    svg.Element("text",
                {{"x", x(static_cast<double>(span.from + span.to) / 2)},
                 {"y", std::to_string(kTop + kPlot + 18)},
                 {"text-anchor", "middle"}},
                SpanName(span));
  }
  for (const StepRange& step : StepsOf(series)) {
    svg.Element("text",
                {{"class", "soft"},
                 {"x", x(static_cast<double>(step.from + step.to) / 2)},
                 {"y", std::to_string(kTop + kPlot + 38)},
                 {"text-anchor", "middle"}},
                StepName(step.step, chart.train));
  }
  constexpr int kKeysALine = 5;
  int key = 0;
  for (size_t layer = kStacked.size(); layer-- > 0;) {
    if (!drawn.used[kStacked[layer]]) continue;
    const int left = kLeft + key % kKeysALine * (kInner / kKeysALine), top = kTop + kPlot + 66 + key / kKeysALine * 22;
    svg.Empty("rect", {{"class", PartClass(kStacked[layer])},
                       {"x", std::to_string(left)},
                       {"y", std::to_string(top - 10)},
                       {"width", "12"},
                       {"height", "12"},
                       {"rx", "2"}});
    svg.Element("text", {{"x", std::to_string(left + 18)}, {"y", std::to_string(top)}}, Parts()[kStacked[layer]].name);
    ++key;
  }
  svg.Close();
  return svg.text() + "\n";
}

}  // namespace vramplan
