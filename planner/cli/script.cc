// `vramplan run`: a script on a pretend card, and what it took.
#include <fstream>
#include <iterator>

#include "planner/cli/all_forms.h"
#include "planner/cli/step_alone.h"
#include "planner/cli/verbs.h"
#include "planner/cli/write_file.h"
#include "planner/picture/script_page.h"
#include "planner/record/record.h"
#include "planner/report/request.h"
#include "planner/report/run_answer.h"
#include "planner/scripts/next_run.h"
#include "planner/scripts/runs.h"
#include "planner/scripts/search.h"
#include "planner/scripts/varied.h"

namespace vramplan {
namespace {

constexpr int kFitsNot = 3;

// --write-back: the number into the file of --largest-in, and nothing else of it changed.
Status WriteBack(const ScriptWishes& wishes, int64_t largest) {
  const ScriptWishes::Key& in = *wishes.largest_in;
  std::ifstream file(in.file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Result<std::string> changed = WithKey(in.file, text, in.key, std::to_string(largest));
  if (!changed.ok()) return changed.error();
  return WriteFile({.path = in.file, .force = true, .option = "--write-back"}, *changed);
}

// --record: the requests of the run that is reported; of one that died, those of the run on a card that is never full.
Status WriteRecord(const FileToWrite& file, ScriptReport* report) {
  if (report->next) return WriteFile(file, PrintRecord(report->next->record));
  if (!report->moment.before_history) {
    if (report->oom) {
      report->notes.Add({"record-until-death", Severity::kWarning, file.path,
                         "ends where memory ran out: what the script would have asked for then is not in it",
                         "record it with a larger --gpu"});
    }
    return WriteFile(file, PrintRecord(RecordOf(report->recording, report->card.cudnn)));
  }
  report->notes.Add({"not-recorded", Severity::kWarning, file.path,
                     "was not written: the history of allocations is not whole", "run fewer steps with --steps"});
  return Done();
}

// What is drawn of a run: its record, with the card that was named.
struct DrawnRun {
  Record record;
  std::string title;
  std::optional<Device> card;
  ContextBand context;
  StepPictures Pictures() const { return RecordPictures(record, title, card, context, AllocatorConfig()); }
  std::string Alone(Format format) const {
    return RecordAlone(format, record, title, card, context, AllocatorConfig());
  }
};
DrawnRun DrawnRunOf(const ScriptReport& report) {
  const std::optional<Device> card = report.card_given ? std::optional(report.device) : std::nullopt;
  return {RecordOf(report.recording, report.card.cudnn), ScriptName(report.command) + (card ? " on " + card->name : ""),
          card, report.device.context};
}

bool Fits(const VariedRun& run) {
  return run.largest ? run.largest->largest.has_value() : run.report.verdict != Verdict::kDoesNotFit;
}

std::string PrintedAs(Format format, const RunAnswer& answer, const Style& style) {
  if (format == Format::kJson) return Print(ToJson(answer));
  if (format != Format::kHtml && format != Format::kAll) return PrintRun(answer, style);
  std::optional<StepPictures> pictures;
  if (!answer.is_table) pictures = DrawnRunOf(answer.first().report).Pictures();
  std::string page = PrintRunPage(answer, pictures ? &*pictures : nullptr);
  return format == Format::kHtml ? page : AllForms(ToJson(answer), PrintRun(answer, style), std::move(page));
}

}  // namespace

Result<Outcome> RunScript(const Options& given, const Style& style, Probe* machine) {
  Options options = given;
  const bool real = options.script.wishes.real;
  CardFacts facts;
  if (real) {
    const Result<CardFacts> here = PickCard("auto", machine);
    if (!here.ok()) return here.error();
    facts = *here;
    if (options.gpu.empty() && !options.gpu_memory) options.gpu = "auto";
  }
  const FileToWrite record{.path = options.record, .force = options.force, .option = "--record"};
  if (!options.record.empty()) {
    if (const Status may = CheckFileToWrite(record); !may) return may.error();
  }
  if (IsOfOne(options.format) && options.script.wishes.IsTable()) {
    return Error{ErrorCode::kUsage, "--format",
                 "svg, snapshot and request are of one run, and --vary and a list of --gpus make several",
                 "type --format html"};
  }
  const Result<ScriptRuns> runs = ScriptRuns::On(options, options.script, machine);
  if (!runs.ok()) return runs.error();
  std::vector<VariedRun> varied;
  for (const ScriptValues& values : Combinations(options.script.wishes)) {
    std::string text;
    for (const auto& [name, value] : values) text += (text.empty() ? "" : ", ") + name + "=" + value;
    if (!text.empty()) TellProgress("running with " + text);
    Result<VariedRun> run = RunWith(*runs, options.script, values);
    if (!run.ok()) {
      Error error = run.error();
      if (!text.empty()) error.subject += " with " + text;
      return error;
    }
    varied.push_back(*std::move(run));
  }
  if (const Status used = CheckVaried(options.script, varied); !used) return used.error();
  RunAnswer answer{.runs = std::move(varied), .is_table = options.script.wishes.IsTable()};
  VariedRun& first = answer.runs.front();
  if (!answer.is_table && !real && !first.largest)
    first.report.next = NextOf(*runs, options, options.script, first.values, first.report);
  if (!options.record.empty()) {
    if (const Status recorded = WriteRecord(record, &first.report); !recorded) return recorded.error();
  }
  if (real && !answer.is_table) {
    TellProgress("running on " + facts.name);
    Result<ScriptReport> there = runs->RunOnRealCard(first.values);
    if (!there.ok()) return there.error();
    answer.real = RealRun{facts.name, *std::move(there)};
  } else if (options.script.wishes.tries && !answer.is_table) {
    answer.tried = Try(*runs, first.values);
  } else if (first.largest && first.largest->largest && options.script.wishes.write_back) {
    const Status written = WriteBack(options.script.wishes, *first.largest->largest);
    if (!written) return written.error();
  }
  Outcome outcome{.text = PrintedAs(options.format, answer, style), .notes = answer.notes()};
  outcome.exit_code = std::ranges::any_of(answer.runs, Fits) ? 0 : kFitsNot;
  if (options.format == Format::kRequest) {
    const std::string text = PrintScript(first.report, kWholeLines);
    outcome.text =
        PrintRequest({text.substr(0, text.find('\n')), first.report.band.device(), std::nullopt, first.report.gpus});
  }
  if (IsStepAlone(options.format)) outcome.text = DrawnRunOf(first.report).Alone(options.format);
  if (IsPicture(options.format) || options.format == Format::kJson) outcome.notes = Notes();
  return outcome;
}

}  // namespace vramplan
