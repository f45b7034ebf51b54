#include "planner/picture/plan_page.h"

#include <algorithm>
#include <cmath>

#include "planner/picture/estimate_page.h"
#include "planner/picture/fit_page.h"
#include "planner/picture/table.h"
#include "planner/report/estimate.h"
#include "planner/report/parts/breakdown.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

std::string SharesText(double part) { return Formatted("%+.1f %%", std::abs(part) < 5e-4 ? 0 : 100 * part); }

std::string LessText(Bytes saves) {
  return saves < Bytes() ? ToString(Bytes() - saves) + " more" : ToString(saves) + " less";
}

std::string OrNone(int64_t batch) { return batch == 0 ? "none" : std::to_string(batch); }

// One change at a time, with the batch that it allows.
Markup DrawRungs(const PlanLadder& ladder) {
  Markup body;
  if (ladder.rungs.empty()) return body;
  int64_t most = std::max<int64_t>(1, ladder.largest);
  for (const PlanRung& rung : ladder.rungs) most = std::max(most, rung.batch);
  const auto share = [&](int64_t batch) { return static_cast<double>(batch) / static_cast<double>(most); };
  std::vector<BarRow> rows = {{{"as it is", "", "", "", OrNone(ladder.largest)}, share(ladder.largest), "module"}};
  for (const PlanRung& rung : ladder.rungs) {
    rows.push_back({{rung.change, rung.option, LessText(rung.saves), SharesText(rung.time), OrNone(rung.batch)},
                    share(rung.batch),
                    ""});
  }
  AddBarTable({{"one change", false},
               {"as typed", false},
               {"bytes at the peak", true},
               {"time a sample", true},
               {"largest batch", true}},
              rows, &body);
  return body;
}

Markup DrawPlans(const PlanReport& report) {
  Markup body;
  const std::optional<Plan>& chosen = report.decision.chosen;
  if (!chosen) return body;
  const Bytes has = report.device.available();
  std::vector<BarRow> rows;
  const auto add = [&](const Plan& plan, const std::string& color) {
    const Bytes needs = DeviceBytes(plan.peak, report.device.context.likely);
    std::string batch = std::to_string(plan.batch);
    if (plan.accumulate > 1) batch += " x " + std::to_string(plan.accumulate);
    rows.push_back({{PlanInWords(plan, report.optimizer), batch, SharesText(plan.overhead),
                     SharesText(plan.SecondsASample() / chosen->SecondsASample() - 1), ToString(needs)},
                    static_cast<double>(needs.count()) / static_cast<double>(std::max<int64_t>(1, has.count())),
                    color});
  };
  add(*chosen, "good");
  for (const Plan& plan : report.decision.alternatives) add(plan, "module");
  AddBarTable({{"plan", false}, {"batch", true}, {"recomputation", true}, {"time a sample", true}, {"needs", true}},
              rows, &body);
  return body;
}

}  // namespace

std::string PrintPlanPage(const PlanReport& report, const StepPictures& pictures) {
  Page page;
  page.verb = "plan";
  page.title = pictures.chart.title;
  page.Say(PrintPlan(report, kWholeLines));
  const std::optional<Plan>& plan = report.decision.chosen;
  page.mood = plan ? MoodOf(report.on.verdict) : Mood::kBad;
  page.badge = plan ? BadgeOf(report.on.verdict) : "no plan fits";
  if (plan) {
    page.tiles = {{std::to_string(plan->batch) + (plan->accumulate > 1 ? " x " + std::to_string(plan->accumulate) : ""),
                   "batch of the plan"},
                  {report.safe_batch > 0 ? std::to_string(report.safe_batch) : "none", "safe with its settings"},
                  {ToString(DeviceBytes(plan->peak, report.device.context.likely)), "needed"},
                  {ToString(report.device.available()), "on " + CardText(report.device)}};
  } else {
    page.tiles = {{ToString(report.device.available()), "on " + CardText(report.device)}};
  }
  page.Add("One change at a time",
           "Sorted by what it costs in time; the bar is the largest batch with that change alone.",
           DrawRungs(report.ladder));
  page.Add("Plans", "The chosen one, and the others that fit; the bar is the share of the card.", DrawPlans(report));
  AddPictures(pictures, &page);
  if (plan) {
    std::vector<PeakColumn> columns = {{"with the plan", &plan->peak}};
    page.Add("Where the bytes go", "", DrawBreakdown(columns, report.device.context.likely));
  }
  page.Add("Segments at the peak", "", pictures.segments);
  AddStepTables(report.head, report.on.band, {}, report.assumptions, report.notes, &page);
  return PrintPage(page);
}

}  // namespace vramplan
