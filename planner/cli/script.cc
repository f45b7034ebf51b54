// `vramplan run`: a script on a pretend card, and what it took.
#include "planner/report/script.h"

#include <fstream>
#include <iterator>

#include "planner/cli/all_forms.h"
#include "planner/cli/step_alone.h"
#include "planner/cli/verbs.h"
#include "planner/cli/write_file.h"
#include "planner/picture/script_page.h"
#include "planner/record/record.h"
#include "planner/report/request.h"
#include "planner/report/script_search.h"
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
  VariedRun& first = varied.front();
  const bool all = options.format == Format::kAll;
  const bool json = options.format == Format::kJson, page = options.format == Format::kHtml || all;
  const bool table = options.script.wishes.IsTable();
  if (!table && !real && !first.largest)
    first.report.next = NextOf(*runs, options, options.script, first.values, first.report);
  if (!options.record.empty()) {
    if (const Status recorded = WriteRecord(record, &first.report); !recorded) return recorded.error();
  }
  std::optional<StepPictures> pictures;
  if (page && !table) pictures = DrawnRunOf(first.report).Pictures();
  Outcome outcome;
  outcome.exit_code = std::ranges::any_of(varied, Fits) ? 0 : kFitsNot;
  if (table) {
    outcome.text = json ? Print(ToJson(varied)) : page ? PrintVariedPage(varied) : PrintVaried(varied, style);
    if (all) outcome.text = AllForms(ToJson(varied), PrintVaried(varied, style), std::move(outcome.text));
    for (const VariedRun& run : varied) outcome.notes.Append(run.report.notes);
  } else if (real) {
    TellProgress("running on " + facts.name);
    const Result<ScriptReport> there = runs->RunOnRealCard(first.values);
    if (!there.ok()) return there.error();
    const Style whole = page ? kWholeLines : style;
    const std::string text = PrintReal(first.report, *there, facts.name, whole);
    outcome.text = json   ? Print(RealJson(first.report, *there, facts.name))
                   : page ? PrintScriptPage(first.report, *pictures, text)
                          : text;
    if (all) outcome.text = AllForms(RealJson(first.report, *there, facts.name), text, std::move(outcome.text));
    outcome.notes = first.report.notes;
  } else if (options.script.wishes.tries) {
    const std::vector<ScriptTried> tried = Try(*runs, first.values);
    outcome.text = json   ? Print(ToJson(tried, first.report))
                   : page ? PrintTriedPage(tried, first.report, *pictures)
                          : PrintTried(tried, first.report, style);
    if (all)
      outcome.text =
          AllForms(ToJson(tried, first.report), PrintTried(tried, first.report, style), std::move(outcome.text));
    outcome.notes = first.report.notes;
  } else if (first.largest) {
    if (options.script.wishes.write_back && first.largest->largest) {
      const Status written = WriteBack(options.script.wishes, *first.largest->largest);
      if (!written) return written.error();
    }
    outcome.text = json   ? Print(ToJson(*first.largest, first.report))
                   : page ? PrintLargestPage(*first.largest, first.report, *pictures)
                          : PrintLargest(*first.largest, first.report, style);
    if (all) {
      outcome.text = AllForms(ToJson(*first.largest, first.report), PrintLargest(*first.largest, first.report, style),
                              std::move(outcome.text));
    }
    outcome.notes = first.report.notes;
  } else {
    outcome.text = json   ? Print(ToJson(first.report))
                   : page ? PrintScriptPage(first.report, *pictures, PrintScript(first.report, kWholeLines))
                          : PrintScript(first.report, style);
    if (all) outcome.text = AllForms(ToJson(first.report), PrintScript(first.report, style), std::move(outcome.text));
    outcome.notes = first.report.notes;
  }
  if (options.format == Format::kRequest) {
    const std::string answer = PrintScript(first.report, kWholeLines);
    outcome.text = PrintRequest(
        {answer.substr(0, answer.find('\n')), first.report.band.device(), std::nullopt, first.report.gpus});
  }
  if (IsStepAlone(options.format)) outcome.text = DrawnRunOf(first.report).Alone(options.format);
  if (IsPicture(options.format)) outcome.notes = Notes();
  if (json) outcome.notes = Notes();
  return outcome;
}

}  // namespace vramplan
