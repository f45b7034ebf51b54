#include <algorithm>
#include <cmath>
#include <span>

#include "graph/base/text_table.h"
#include "planner/report/parts/breakdown.h"
#include "planner/report/plan.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

using enum TextTable::Align;

std::string PercentText(double part, bool sign = false) {
  return Formatted(sign ? "%+.1f %%" : "%.1f %%", std::abs(part) < 5e-4 ? 0 : 100 * part);
}

std::string Modules(const Plan& plan) {
  if (plan.checkpoint.empty()) return "none";
  const std::string text =
      plan.every_layer ? "every layer" : Counted(static_cast<int64_t>(plan.checkpoint.size()), "module");
  return plan.saved.empty() ? text : text + ", " + Counted(static_cast<int64_t>(plan.saved.size()), "call") + " saved";
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

Bytes PlanHas(const PlanReport& report) { return report.device.available(); }
Bytes PlanNeeds(const PlanReport& report, const Plan& plan) {
  return DeviceBytes(plan.peak, report.device.context.likely);
}

// "with amp-fp16, fused adam, 4 modules checkpointed: it needs 7.98 GiB of 8.00 GiB".
std::string NeedsText(const PlanReport& report, const Plan& plan) {
  return "with " + PlanInWords(plan, report.optimizer) + ": it needs " + ToString(PlanNeeds(report, plan)) + " of " +
         ToString(PlanHas(report));
}
std::string TimeText(const Plan& plan) {
  return plan.checkpoint.empty() ? "" : "; checkpointing takes " + PercentText(plan.overhead) + " more time";
}

std::string VerdictText(const PlanReport& report) {
  const AnswerHead& head = report.head;
  const std::string file = FileName(head.model.file);
  if (!report.decision.chosen) {
    const std::string at = head.batch_given ? " at batch " + std::to_string(head.batch) : "";
    return file + " does not train" + at + " on " + PlaceText(head, report.device) + ": no plan that you allow fits\n";
  }
  const Plan& plan = *report.decision.chosen;
  std::string line =
      file + " training at batch " + BatchInWords(plan) + " (" + PlanInWords(plan, report.optimizer) + ") " +
      CardVerdictText(report.on.verdict, PlaceText(head, report.device), report.on.band.device(), PlanHas(report));
  if (report.largest.largest_batch > 0) line += "; " + BatchesText(report.largest, report.safe_batch);
  return line + TimeText(plan) + "\n";
}

std::string Proof(const PlanReport& report, const Style& style) {
  const Plan& plan = *report.decision.chosen;
  std::string text = "proved by replay: batch " + std::to_string(plan.batch) +
                     (report.on.verdict == Verdict::kTight ? " may fit" : " fits");
  if (plan.first_failing_batch) text += ", batch " + std::to_string(*plan.first_failing_batch) + " does not";
  if (report.decision.most_of_any_plan) {
    text += "; no plan can hold more than batch " + std::to_string(*report.decision.most_of_any_plan);
    text += " (model, optimizer state, input and output of " + report.decision.layer + ")";
  }
  text = Indented(text, style);
  if (plan.checkpoint.empty()) return text;
  std::string time = "time, estimated from peak rates: checkpointing takes " + PercentText(plan.overhead) + " more; " +
                     (plan.saved.empty() ? "any choice of modules takes at least " : "any choice takes at least ") +
                     PercentText(plan.bound) + ", so the gap is " + PercentText(plan.gap());
  if (plan.proved_optimal()) time += " (proved optimal for this order of operators)";
  text += Indented(time, style);
  if (report.ideal) {
    std::string ideal =
        "lower bound for any recomputation in this order, tensor by tensor: " + PercentText(report.ideal->bound) +
        " more time";
    if (report.ideal->overhead) ideal += "; a schedule of " + PercentText(*report.ideal->overhead) + " was found";
    text += Indented(ideal, style);
  }
  if (plan.every_layer)
    return text + Indented("checkpointed: every layer, as the library's own switch does (--checkpoint all)", style);
  constexpr size_t kPrinted = 16;  // a large model has dozens, all of which are in the code and in the JSON
  std::string paths = "checkpointed:";
  const bool all = style.verbose || plan.checkpoint.size() <= kPrinted + 1;
  for (const std::string& path : std::span(plan.checkpoint).first(all ? plan.checkpoint.size() : kPrinted))
    paths += " " + path;
  if (!all) paths += " and " + std::to_string(plan.checkpoint.size() - kPrinted) + " more (--verbose names them)";
  text += Indented(paths, style);
  if (plan.saved.empty()) return text;
  std::string calls = "saved inside:";
  for (const SavedCall& call : plan.saved) calls += " " + ToString(call);
  return text + Indented(calls, style);
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
                  BatchInWords(plan), ToString(PlanNeeds(report, plan)), PercentText(plan.overhead),
                  PercentText(plan.SecondsASample() / report.decision.chosen->SecondsASample() - 1, true)});
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
    table.AddRow({rung.change, SignedText(rung.saves), rung.batch == 0 ? "none" : std::to_string(rung.batch),
                  PercentText(rung.time, true)});
  }
  if (table.empty()) return "";
  const Plan& start = ladder.start;
  std::string text =
      "without a plan (" + PlanInWords(start, report.optimizer) + "), batch " + std::to_string(start.batch) +
      " takes " + ToString(start.peak.peak.reserved) + " and the CUDA context, and " +
      (ladder.largest == 0 ? "no batch fits" : "batch " + std::to_string(ladder.largest) + " is the largest") +
      "; one change at a time:";
  return Wrapped(text, style.width, "") + "\n" + table.Print(style.width);
}

// What would do, where no plan holds the batch.
std::string Otherwise(const PlanReport& report, const Style& style) {
  const Bytes capacity = report.device.CapacityWith(report.device.context.likely);
  const StepParts& parts = report.parts;
  std::string text;
  const auto add = [&](const std::string& line) { text += Indented(line, style); };
  if (report.instead) {
    const Plan& plan = *report.instead;
    add("instead: " + std::to_string(plan.accumulate) + " micro-batches of " + std::to_string(plan.batch) +
        " an optimizer step (--batch " + std::to_string(plan.batch) + " --accumulate " +
        std::to_string(plan.accumulate) + ") " + NeedsText(report, plan) + TimeText(plan));
  }
  if (report.next_card) {
    add("the smallest card that holds batch " + std::to_string(report.head.batch) + " as it is: " + *report.next_card);
  } else {
    add("no card of the catalogue holds batch " + std::to_string(report.head.batch) + " as it is");
  }
  const std::string alone = ExceedsAlone(parts, capacity), zero = ZeroInWords(parts, capacity);
  if (!alone.empty() && zero.find(alone) == std::string::npos)
    add(alone + ", and the allocator may take " + ToString(capacity));
  if (report.remedies.empty()) add(zero);  // it is about the step as it is
  add("in all: parameters " + ToString(parts.parameters) + ", gradients " + ToString(parts.gradients) +
      ", optimizer state " + ToString(parts.optimizer_state) + ", the rest " + ToString(parts.rest));
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
  std::string text = VerdictText(report) + PrintAssumptions(report.assumptions, style, report.safe_batch > 0);
  for (const Remedy& remedy : report.remedies) {
    // What plan chooses itself it does not take.
    const bool of_fit = remedy.options.find("--checkpoint") != remedy.options.npos;
    text += Indented((of_fit ? "by vramplan fit, " : "") + RemedyText(remedy, report.head), style);
  }
  text += report.decision.chosen ? Proof(report, style) : Otherwise(report, style);
  text += PrintSpec(report.head.spec, style);
  if (report.decision.chosen) text += "\n" + Plans(report, style);
  const std::string rungs = Rungs(report, style);
  if (!rungs.empty()) text += "\n" + rungs;
  if (report.decision.chosen && report.next_card) {
    text += "the smallest card that holds batch " + std::to_string(report.head.batch) +
            " as it is: " + *report.next_card + "\n";
  }
  return text + PrintSuggestions(report.assumptions, style);
}

}  // namespace vramplan
