#include <algorithm>
#include <cmath>

#include "graph/base/text_table.h"
#include "planner/report/breakdown.h"
#include "planner/report/numbers.h"
#include "planner/report/plan.h"

namespace vramplan {
namespace {

using enum TextTable::Align;

std::string Percent(double part, bool sign = false) {
  return Formatted(sign ? "%+.1f %%" : "%.1f %%", std::abs(part) < 5e-4 ? 0 : 100 * part);
}

std::string Modules(const Plan& plan) {
  if (plan.checkpoint.empty()) return "none";
  std::string text = std::to_string(plan.checkpoint.size()) + (plan.checkpoint.size() == 1 ? " module" : " modules");
  if (plan.saved.empty()) return text;
  return text + ", " + std::to_string(plan.saved.size()) + (plan.saved.size() == 1 ? " call" : " calls") + " saved";
}

// "16 modules checkpointed, 40 calls saved"
std::string Checkpointed(const Plan& plan) {
  std::string text = Modules(plan);
  const size_t comma = text.find(',');
  return text.insert(std::min(comma, text.size()), " checkpointed");
}

std::string BatchInWords(const Plan& plan) {
  const std::string batch = std::to_string(plan.batch);
  return plan.accumulate > 1 ? batch + " x " + std::to_string(plan.accumulate) : batch;
}

Bytes Has(const PlanReport& report) { return report.device.available(); }
Bytes Needs(const PlanReport& report, const Plan& plan) { return DeviceBytes(plan.peak, report.device.context.likely); }

std::string Signed(Bytes bytes) { return bytes < Bytes() ? "-" + ToString(Bytes() - bytes) : ToString(bytes); }

std::string Verdict(const PlanReport& report) {
  const StepQuestion& question = report.question;
  const std::string file = FileName(question.model.file);
  if (!report.decision.chosen) {
    const std::string at = question.batch_given ? " at batch " + std::to_string(question.batch) : "";
    return file + " does not train" + at + " on " + CardText(report.device) + " with any plan that is allowed\n";
  }
  const Plan& plan = *report.decision.chosen;
  std::string line = file + " trains at batch " + BatchInWords(plan) + " on " + CardText(report.device) + " with " +
                     PlanInWords(plan, report.optimizer) + ": needs " + ToString(Needs(report, plan)) + " of " +
                     ToString(Has(report));
  if (!plan.checkpoint.empty()) line += "; checkpointing takes " + Percent(plan.overhead) + " more time";
  return line + "\n";
}

std::string Proof(const PlanReport& report, const Style& style) {
  const Plan& plan = *report.decision.chosen;
  std::string text = "replayed: batch " + std::to_string(plan.batch) + " fits";
  if (plan.first_failing_batch) text += ", batch " + std::to_string(*plan.first_failing_batch) + " does not";
  if (report.decision.most_of_any_plan) {
    text += "; no plan holds more than " + std::to_string(*report.decision.most_of_any_plan);
    text += " (model, optimizer state, input and output of " + report.decision.layer + ")";
  }
  text = Wrapped(text, style.width, "  ") + "\n";
  if (plan.checkpoint.empty()) return text;
  std::string time = "time (estimated from peak rates): overhead " + Percent(plan.overhead) +
                     (plan.saved.empty() ? ", no choice of modules has less than " : ", nothing has less than ") +
                     Percent(plan.bound) + ": gap " + Percent(plan.gap());
  if (plan.proved_optimal()) time += ", proved optimal for this order of operators";
  text += Wrapped(time, style.width, "  ") + "\n";
  if (report.ideal) {
    std::string ideal = "tensors: let go and made again one by one, no plan of this order takes less than " +
                        Percent(report.ideal->bound);
    if (report.ideal->overhead) ideal += "; one of " + Percent(*report.ideal->overhead) + " was found";
    text += Wrapped(ideal, style.width, "  ") + "\n";
  }
  std::string paths = "checkpointed:";
  for (const std::string& path : plan.checkpoint) paths += " " + path;
  text += Wrapped(paths, style.width, "  ") + "\n";
  if (plan.saved.empty()) return text;
  std::string calls = "saved inside:";
  for (const SavedCall& call : plan.saved) calls += " " + ToString(call);
  return text + Wrapped(calls, style.width, "  ") + "\n";
}

std::string Plans(const PlanReport& report, const Style& style) {
  TextTable table({{"plan"},
                   {"optimizer"},
                   {"checkpointing"},
                   {"batch", kRight},
                   {"needs there", kRight},
                   {"overhead", kRight},
                   {"time a sample", kRight}});
  const auto add = [&](const Plan& plan) {
    table.AddRow({std::string(Name(plan.precision)), std::string(Name(plan.optimizer_impl)), Modules(plan),
                  BatchInWords(plan), ToString(Needs(report, plan)), Percent(plan.overhead),
                  Percent(plan.SecondsASample() / report.decision.chosen->SecondsASample() - 1, true)});
  };
  add(*report.decision.chosen);
  for (const Plan& plan : report.decision.alternatives) add(plan);
  return table.Print(style.width);
}

std::string Rungs(const PlanReport& report, const Style& style) {
  const PlanLadder& ladder = report.ladder;
  TextTable table(
      {{"one change", kLeft, true}, {"saves", kRight}, {"largest batch", kRight}, {"time a sample", kRight}});
  for (const PlanRung& rung : ladder.rungs) {
    table.AddRow({rung.change, Signed(rung.saves), rung.batch == 0 ? "none" : std::to_string(rung.batch),
                  Percent(rung.time, true)});
  }
  if (table.empty()) return "";
  const Plan& start = ladder.start;
  std::string text = "as it is (" + PlanInWords(start, report.optimizer) + "): batch " + std::to_string(start.batch) +
                     " takes " + ToString(start.peak.peak.reserved) + " and the CUDA context, the largest batch is " +
                     (ladder.largest == 0 ? "none" : std::to_string(ladder.largest)) + "; of single changes:";
  return Wrapped(text, style.width, "") + "\n" + table.Print(style.width);
}

// What it would take.
std::string Sharding(const PlanReport& report, const Style& style) {
  const Bytes capacity = report.device.CapacityWith(report.device.context.likely);
  const StepParts& parts = report.parts;
  std::string text;
  const std::string alone = ExceedsAlone(parts, capacity);
  if (!alone.empty())
    text += Wrapped("alone more than the " + ToString(capacity) + " that the allocator may take: " + alone, style.width,
                    "  ") +
            "\n";
  text += Wrapped("parameters " + ToString(parts.parameters) + ", gradients " + ToString(parts.gradients) +
                      ", optimizer state " + ToString(parts.optimizer_state) + ", the rest " + ToString(parts.rest),
                  style.width, "  ") +
          "\n";
  const auto cards = CardsUnderZero(parts, capacity);
  std::string zero = "cards of this size under ZeRO:";
  for (size_t stage = 0; stage < cards.size(); ++stage) {
    zero += (stage == 0 ? " stage " : ", stage ") + std::to_string(stage + 1) + ": " +
            (cards[stage] ? std::to_string(*cards[stage]) : "no number of them");
  }
  text += zero + "\n";
  return text;
}

}  // namespace

std::string PlanInWords(const Plan& plan, const std::string& optimizer) {
  std::string words(Name(plan.precision));
  if (!optimizer.empty()) words += ", " + std::string(Name(plan.optimizer_impl)) + " " + optimizer;
  if (!plan.checkpoint.empty()) words += ", " + Checkpointed(plan);
  return words;
}

std::string PrintPlan(const PlanReport& report, const Style& style) {
  std::string text = Verdict(report);
  text += report.decision.chosen ? Proof(report, style) : Sharding(report, style);
  text += PrintSpec(report.question.spec, style);
  if (report.decision.chosen) text += "\n" + Plans(report, style);
  const std::string rungs = Rungs(report, style);
  if (!rungs.empty()) text += "\n" + rungs;
  if (report.next_card) {
    text += "the smallest card that holds batch " + std::to_string(report.question.batch) +
            " as it is: " + *report.next_card + "\n";
  }
  return text;
}

}  // namespace vramplan
