// `vramplan sweep`: the step under every combination of a few options.
#include "planner/answers/sweep.h"

#include <algorithm>
#include <utility>

#include "planner/answers/spec_of_file.h"
#include "planner/cli/all_forms.h"
#include "planner/cli/settings.h"
#include "planner/cli/verbs.h"
#include "planner/picture/sweep_page.h"

namespace vramplan {
namespace {

// The command line of one combination: an option of that name, else a dim.
void Put(const SweepAxis& axis, const std::string& value, TypedOptions* typed) {
  const std::string flag = "--" + axis.name;
  if (TakesOption(Verb::kSweep, flag)) {
    std::erase_if(*typed, [&](const TypedOption& one) { return one.flag == flag; });
    typed->push_back({flag, value});
  } else {
    typed->push_back({"--dim", axis.name + "=" + value});
  }
}

Result<Options> OptionsAt(const Options& options, const std::vector<std::string>& values) {
  TypedOptions typed = options.typed;
  for (size_t a = 0; a < values.size(); ++a) Put(options.over[a], values[a], &typed);
  return Understand(Verb::kSweep, options.model, typed);
}

// An option that stands beside the axis of its name would be taken by no combination.
Status CheckAxes(const Options& options) {
  for (const SweepAxis& axis : options.over) {
    if (const std::string flag = "--" + axis.name; TakesSwitch(Verb::kSweep, flag))
      return Error{ErrorCode::kUsage, "--over", flag + " takes no value", "sweep with " + flag + " and without it"};
    for (const TypedOption& typed : options.typed) {
      const std::string name = typed.flag.substr(2);
      const bool same = name == axis.name || (IsBatchAxis(name) && IsBatchAxis(axis.name)) ||
                        (name == "dim" && typed.value.starts_with(axis.name + "="));
      if (!same) continue;
      return Error{ErrorCode::kUsage, typed.flag, "--over " + axis.name + " already gives its values",
                   "leave out " + typed.flag + " " + typed.value};
    }
  }
  return Done();
}

// What is said of all of them: the options that no axis changes.
Status AddSettings(const Options& options, const std::optional<ChosenDevice>& chosen, Swept* swept) {
  Result<Options> asked = OptionsAt(options, swept->first);
  if (!asked.ok()) return asked.error();
  static_cast<Question&>(*asked) = swept->asked;
  AnswerHead& head = swept->report.head;
  const TrainingSpec spec = SpecOf(*asked, chosen);
  head.spec = SpecRows(*asked, spec, head, chosen, ContextFor(*asked, chosen, spec));
  std::erase_if(head.spec, [&](const SpecRow& row) {
    return std::ranges::any_of(options.over, [&](const SweepAxis& axis) {
      return row.option == axis.name || (IsBatchAxis(row.option) && IsBatchAxis(axis.name)) ||
             (row.option == "dim" && row.text.starts_with(axis.name + "="));
    });
  });
  return Done();
}

}  // namespace

Result<Outcome> RunSweep(const Options& options, const Style& style, Probe* machine) {
  if (options.over.empty())
    return Error{ErrorCode::kUsage, "sweep", "nothing to change is given", "add --over batch=1:256:x2"};
  if (const Status good = CheckAxes(options); !good) return good.error();
  std::optional<ChosenDevice> chosen;
  if (AsksOfMany(options.gpu)) {
    if (const Result<std::vector<const Card*>> asked = CardsAsked(options); !asked.ok()) return asked.error();
  } else {
    Options known = options;  // with the precision of the model, which says what is assumed of a bare size
    if (const Status taken = TakeSpecOfFile(&known); !taken.ok()) known = options;
    Result<std::optional<ChosenDevice>> found = ChooseDevice(known, machine);
    if (!found.ok()) return found.error();
    chosen = *std::move(found);
  }
  const QuestionAt at = [&](const std::vector<std::string>& values) -> Result<Question> {
    Result<Options> asked = OptionsAt(options, values);
    if (!asked.ok()) return asked.error();
    const Question& question = *asked;
    return question;
  };
  Result<Swept> swept = SweepOf(options.over, at, chosen, AsksOfMany(options.gpu));
  if (!swept.ok()) return swept.error();
  if (const Status added = AddSettings(options, chosen, &*swept); !added) return added.error();
  const SweepReport& report = swept->report;
  switch (options.format) {
    case Format::kJson:
      return Outcome{.text = Print(ToJson(report))};
    case Format::kHtml:
      return Outcome{.text = PrintSweepPage(report)};
    case Format::kAll:
      return Outcome{.text = AllForms(ToJson(report), PrintSweep(report, style), PrintSweepPage(report))};
    case Format::kSvg: {
      Result<std::string> svg = PrintSweepSvg(report);
      if (!svg.ok()) return svg.error();
      return Outcome{.text = *std::move(svg)};
    }
    case Format::kCsv:
      return Outcome{.text = PrintSweepCsv(report), .notes = report.notes};
    default:
      return Outcome{.text = PrintSweep(report, style), .notes = report.notes};
  }
}

}  // namespace vramplan
