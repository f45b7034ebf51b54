// `vramplan diff`: estimate of two models, or two answers that were kept, beside each other.
#include "planner/report/diff.h"

#include <fstream>
#include <utility>

#include "planner/allocator/stream.h"
#include "planner/answers/spec_of_file.h"
#include "planner/cli/estimate_step.h"
#include "planner/cli/verbs.h"
#include "planner/picture/diff_page.h"

namespace vramplan {
namespace {

// Whether an answer was kept there, gzipped or not. Models begin with other bytes.
bool IsAnswer(const std::string& file) {
  if (file == "-") return false;
  std::ifstream stream(file, std::ios::binary);
  char first = 0;
  stream >> first;
  return first == '{' || first == '\x1f';
}

Result<DiffSide> SideOfAnswer(const std::string& file) {
  const Result<std::string> text = ReadStream(file);
  if (!text.ok()) return text.error();
  const Result<Json> answer = ParseJson(file, *text);
  if (!answer.ok()) return answer.error();
  return SideOf(file, *answer);
}

Result<DiffSide> SideOfModel(const std::string& file, const Options& options, const std::optional<ChosenDevice>& chosen,
                             Diff* diff) {
  Options asked = options;
  asked.model = file;
  if (const Status taken = TakeSpecOfFile(&asked); !taken.ok()) return taken.error();
  Result<Estimate> estimate = EstimateStep(asked, chosen);
  if (!estimate.ok()) return estimate.error();
  diff->spec = estimate->head.spec;
  diff->notes.Append(estimate->notes);
  return SideOf(file, ToJson(*estimate));
}

}  // namespace

Result<Outcome> RunDiff(const Options& options, const Style& style, Probe* machine) {
  const Result<std::optional<ChosenDevice>> chosen = ChooseDevice(options, machine);
  if (!chosen.ok()) return chosen.error();
  Diff diff;
  diff.budget = options.growth;
  for (const auto& [file, side] : {std::pair(options.file, &diff.before), {options.compare, &diff.after}}) {
    Result<DiffSide> read = IsAnswer(file) ? SideOfAnswer(file) : SideOfModel(file, options, *chosen, &diff);
    if (!read.ok()) return read.error();
    *side = *std::move(read);
  }
  Outcome outcome{.exit_code = diff.within() ? 0 : kExitDoesNotFit, .notes = diff.notes};
  if (options.format == Format::kJson) {
    outcome.text = Print(ToJson(diff));
    outcome.notes = {};
  } else if (options.format == Format::kHtml) {
    outcome.text = PrintDiffPage(diff);
    outcome.notes = {};
  } else {
    outcome.text = options.format == Format::kMarkdown ? PrintDiffMarkdown(diff) : PrintDiff(diff, style);
  }
  return outcome;
}

}  // namespace vramplan
