#include "planner/picture/explain_page.h"

#include <algorithm>

#include "planner/picture/table.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

Markup DrawShares(const ExplainReport& report) {
  Markup body;
  if (!report.message.capacity) return body;
  const auto capacity = static_cast<double>(report.message.capacity->count());
  std::vector<BarRow> rows;
  const auto add = [&](const char* name, Bytes bytes, const char* color) {
    const double share = capacity > 0 ? static_cast<double>(bytes.count()) / capacity : 0;
    rows.push_back({{name, ToString(bytes), Formatted("%.1f %%", 100 * share)}, share, color});
  };
  for (const ShareRow& row : ShareRows(report)) add(row.name, row.bytes, row.color);
  if (rows.empty()) return body;
  if (report.message.tried) add("what was asked for", *report.message.tried, "bad");
  AddBarTable({{"when it failed", false}, {"bytes", true}, {"of the card", true}}, rows, &body);
  return body;
}

}  // namespace

std::string PrintExplainPage(const ExplainReport& report, const std::optional<StepPictures>& pictures) {
  Page page;
  page.verb = "explain";
  page.title = pictures ? pictures->chart.title : "out of memory";
  page.Say(PrintExplain(report, kWholeLines));
  page.mood = Mood::kBad;
  page.badge = std::string(Name(report.cause));
  std::ranges::replace(page.badge, '-', ' ');
  const OutOfMemory& message = report.message;
  const auto tile = [&](const std::optional<Bytes>& bytes, const char* text) {
    if (bytes) page.tiles.push_back({ToString(*bytes), text});
  };
  tile(message.tried, "asked for");
  tile(message.free, "free");
  tile(message.allocated, "allocated by PyTorch");
  tile(message.capacity, "the card");
  page.Add("The card when it failed", "By the numbers of the message.", DrawShares(report));
  if (pictures) AddPictures(*pictures, &page);
  if (report.step && !report.step->plan.empty()) {
    Markup command;
    command.Open("pre").Element("code", {}, report.step->plan).Close();
    page.Add(report.step->head.mode == Mode::kTrain ? "What to change" : "What fits there",
             "This command says it:", std::move(command));
  }
  if (report.served) {
    Markup command;
    command.Open("pre").Element("code", {}, report.served->command).Close();
    page.Add("What vLLM does with it", report.served->verdict + ". This command says more:", std::move(command));
  }
  if (pictures) page.Add("Segments at the peak", "As if the card had no end.", pictures->segments);
  if (report.step) page.Add("What it rests on", "", DrawSpec(report.step->head.spec));
  page.Add("Notes", "", DrawNotes(report.notes));
  return PrintPage(page);
}

}  // namespace vramplan
