#include "planner/answers/plan.h"

#include "planner/answers/emitted.h"
#include "planner/cli/all_forms.h"
#include "planner/cli/recorded.h"
#include "planner/cli/settings.h"
#include "planner/cli/step_alone.h"
#include "planner/cli/verbs.h"
#include "planner/picture/plan_page.h"

namespace vramplan {

Result<Outcome> RunPlan(const Options& options, const Style& style, Probe* machine) {
  if (IsRecord(options.file)) return RunRecorded(options, style, machine);
  const Result<std::optional<ChosenDevice>> chosen = ChooseDevice(options, machine);
  if (!chosen.ok()) return chosen.error();
  const ChosenDevice& on = **chosen;
  Result<Prepared> prepared = Prepare(options);
  if (!prepared.ok()) return prepared.error();
  prepared->notes.Append(on.notes);
  Notes notes = std::move(prepared->notes);
  PlanWishes wishes = options.wishes;
  if (options.named != nullptr && WrapsEveryOrNone(options.emit)) wishes.choice = ModuleChoice::kEveryOrNone;
  Result<PlannedStep> planned = PlanOf(options, on, *std::move(prepared), wishes, IsBrief(options), std::move(notes));
  if (!planned.ok()) return planned.error();
  PlanReport& report = planned->report;
  const std::optional<Plan>& plan = report.decision.chosen;
  report.head.spec = SpecRows(options, SpecOn(on, options.spec), report.head, on, on.device.context);
  // Those the plan chooses.
  std::erase_if(report.head.spec, [](const SpecRow& row) {
    return !row.given && (row.option == "batch" || row.option == "precision" || row.option == "optimizer-impl" ||
                          row.option == "accumulate" || row.option == "mode");
  });
  std::optional<std::string> stream;
  if (plan && options.emit != Emit::kNone) {
    Result<std::string> snippet =
        EmittedPlan(options.emit, options, planned->prepared, *plan, planned->spec, on.device);
    if (!snippet.ok()) return snippet.error();
    if (options.format != Format::kAll && options.EmitsToOutput())
      return Outcome{*snippet, 0, report.notes, std::nullopt};
    stream = *std::move(snippet);
  }
  const int exit_code = plan ? 0 : kExitDoesNotFit;
  if (options.format == Format::kJson) return Outcome{Print(ToJson(report)), exit_code, Notes(), std::move(stream)};
  if (!IsPicture(options.format)) return Outcome{PrintPlan(report, style), exit_code, report.notes, std::move(stream)};
  Notes already_told;
  const Result<Timeline> step = LayOut(planned->prepared, planned->spec, planned->batch, &already_told);
  if (!step.ok()) return step.error();
  const DrawnStep drawn{planned->prepared, report.head,       *step,    planned->batch, planned->spec,
                        options.allocator, on.device.context, on.device};
  if (IsStepAlone(options.format))
    return Outcome{StepAlone(options.format, drawn), exit_code, Notes(), std::move(stream)};
  std::string page = PrintPlanPage(report, DrawnPictures(drawn));
  if (options.format == Format::kAll)
    page = AllForms(ToJson(report), PrintPlan(report, style), std::move(page), stream.value_or(""));
  return Outcome{std::move(page), exit_code, Notes(),
                 options.format == Format::kAll ? std::nullopt : std::move(stream)};
}

}  // namespace vramplan
