#include "planner/report/script.h"

#include <algorithm>
#include <cstdlib>

#include "planner/record/played.h"
#include "planner/report/parts/model_facts.h"
#include "planner/report/record.h"
#include "planner/report/script_places.h"
#include "planner/report/script_seen.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

// Which exceptions mean that the card was full: torch.OutOfMemoryError since 2.5, torch.cuda.OutOfMemoryError before;
// libraries raise their own when cudaMalloc failed.
bool IsOutOfMemory(const Recording& recording) {
  return recording.failure.find("OutOfMemoryError") != std::string::npos ||
         recording.failure_text.find("out of memory") != std::string::npos;
}

void NoteRefusals(ScriptReport* report) {
  const size_t times = report->recording.refusals.size();
  if (report->oom && report->recording.limit < 1) {
    report->notes.Add({"own-limit", Severity::kWarning, FileName(report->oom->place.file),
                       "the script limits itself to " + Formatted("%.3g %%", 100 * report->recording.limit) +
                           " of the card by set_per_process_memory_fraction",
                       "without that call the answer is for the whole card"});
  }
  if (const auto& last = report->recording.last; last && last->retries > 0 && times == 0) {
    report->notes.Add({"cache-given-back", Severity::kNote, "",
                       "PyTorch gave its cache back " + std::to_string(last->retries) +
                           " times because the card was full: a step takes longer then",
                       "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True may avoid it"});
  }
}

// Whether a step was made after the last refusal, or a whole forward.
bool GoesOn(const Recording& recording) {
  if (static_cast<int64_t>(recording.steps.size()) > recording.refusals.back().steps) return true;
  int inside = 0;
  bool tells = false, whole = false;
  for (const HistoryEvent& event : recording.history) {
    if (event.kind == HistoryKind::kRefused) whole = false, inside = 0;
    if (event.kind == HistoryKind::kEnter) tells = true, ++inside;
    if (event.kind == HistoryKind::kLeave && inside > 0 && --inside == 0) whole = true;
  }
  return whole || (!tells && recording.steps.empty());
}

// A search for a batch size does so.
void NoteCaught(ScriptReport* report) {
  const std::vector<RecordedRefusal>& refusals = report->recording.refusals;
  const auto& [last, failed] = *report->survived;
  const CodePlace& place = last.place.file.empty() ? failed.place : last.place;
  report->notes.Add({"out-of-memory-caught", Severity::kWarning, LineText(place),
                     "the script ran out of memory " +
                         (refusals.size() == 1 ? "once " : std::to_string(refusals.size()) + " times, the last time ") +
                         WhenText(failed) + ", where " + ToString(last.asked) + " more did not fit, and went on",
                     "the figures are of what then succeeded"});
}

// Two whole forwards or more with gradients, and nobody asks for them.
void NoteInference(ScriptReport* report) {
  const std::vector<Mark>& marks = report->recording.marks;
  const auto has = [&](MarkKind kind) { return std::ranges::find(marks, kind, &Mark::kind) != marks.end(); };
  const auto keeps = [](const Mark& mark) {
    return mark.kind == MarkKind::kForward || mark.kind == MarkKind::kForwardOfEval;
  };
  const auto forwards = std::ranges::count_if(marks, keeps);
  if (has(MarkKind::kBackward) || has(MarkKind::kUpdate) || forwards < 2 + std::ssize(report->recording.refusals))
    return;
  const CodePlace& place = std::ranges::find_if(marks, keeps)->place;
  report->notes.Add(
      {"inference-with-gradients", Severity::kWarning, LineText(place),
       "the forward keeps what a backward would need, and none comes: torch.no_grad() around it frees that", ""});
}

void NoteEvaluation(ScriptReport* report) {
  const HighMoment& moment = report->moment;
  if (!moment.keeps_graphs || moment.of_graphs == Bytes()) return;
  const CodePlace& place = report->oom ? report->oom->place : moment.place;
  report->notes.Add({"evaluation-with-gradients", Severity::kWarning,
                     FileName(place.file) + ":" + std::to_string(place.line),
                     "an evaluation computes with gradients: torch.no_grad() around it would free up to " +
                         ToString(moment.of_graphs),
                     "a sum of losses keeps their graphs too: add loss.item()"});
}

void NoteLibrary(ScriptReport* report) {
  std::string names;
  constexpr size_t kShown = 5;
  const std::vector<std::string>& uncovered = report->card.uncovered;
  for (size_t i = 0; i < std::min(uncovered.size(), kShown); ++i) names += (i == 0 ? "" : ", ") + uncovered[i];
  if (uncovered.size() > kShown) names += " and " + std::to_string(uncovered.size() - kShown) + " more";
  if (!uncovered.empty()) {
    report->notes.Add({"uncovered", Severity::kWarning, names,
                       "was called, but the pretend card does not know it, so its results were not written",
                       "please report it"});
  }
  std::string libraries;
  for (const std::string& library : report->card.workspaces) libraries += (libraries.empty() ? "" : ", ") + library;
  if (!libraries.empty()) {
    report->notes.Add({"workspaces-not-counted", Severity::kWarning, libraries,
                       "the workspaces are not counted: a real card needs more while these functions run", ""});
  }
  for (const std::string& module : report->card.static_runtimes) {
    report->notes.Add({"static-runtime", Severity::kWarning, module,
                       "has the CUDA runtime linked into it, which a pretend card cannot serve",
                       "build it with --cudart=shared"});
  }
  for (const std::string& fault : report->recording.faults)
    report->notes.Add({"hook-fault", Severity::kWarning, fault, "went wrong in the hook, not in the script", ""});
}

void NoteHost(ScriptReport* report) {
  if (!report->recording.on_host) return;
  const Recording::OnHost& host = *report->recording.on_host;
  std::string text = std::to_string(host.ran) + " operators on small tensors ran on the host too, " +
                     std::to_string(host.unknown) +
                     " did not: what goes into them is large, random or follows from such";
  for (size_t i = 0; i < host.failed.size(); ++i) text += (i == 0 ? "; the host cannot run " : ", ") + host.failed[i];
  report->notes.Add({"values-on-host", Severity::kNote, "--values host", text, ""});
}

void NoteValues(ScriptReport* report) {
  constexpr size_t kShown = 3;
  const std::vector<ByValue>& values = report->recording.by_value;
  for (size_t i = 0; i < std::min(values.size(), kShown); ++i) {
    const ByValue& value = values[i];
    std::string text = value.what + " gives a shape that depends on values, which are zeros here";
    if (report->recording.on_host)
      text = value.what + ": the host does not know it, it is read as zeros, and a shape may come from it";
    if (i + 1 == kShown && values.size() > kShown)
      text += "; the same holds for " + std::to_string(values.size() - kShown) + " of the other lines";
    report->notes.Add({"value-dependent", Severity::kWarning,
                       FileName(value.place.file) + ":" + std::to_string(value.place.line), text,
                       report->recording.on_host ? "check what these lines make of real values"
                                                 : "--values host computes small tensors on the host"});
  }
}

// A context for each process on the card.
ContextBand ContextsOf(const Device& device, const ScriptReport& report) {
  ContextBand band = device.context;
  for (int64_t i = 1; report.together && i < report.together->contexts; ++i) {
    band.low += device.context.low;
    band.likely += device.context.likely;
    band.high += device.context.high;
  }
  return band;
}

DeviceBand CountedBand(const Device& device, const ScriptReport& report) {
  const Bytes reserved = report.together ? report.together->bytes : report.recording.peak().reserved;
  ReservedEnds ends;
  ends.uncertain = report.card.cudnn;
  ends.high = reserved;
  return BandOf(reserved, ends, ContextsOf(device, report));
}

// What the command's environment sets; the defaults where it cannot be read.
AllocatorConfig ConfigOfEnvironment() {
  for (const char* name : {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"}) {
    const char* text = std::getenv(name);
    if (text == nullptr) continue;
    const Result<AllocatorConfig> config = ParseAllocatorConfig(text);
    if (config.ok()) return *config;
  }
  return {};
}

bool Tells(const Recording& recording) {
  return std::ranges::find(recording.history, HistoryKind::kTag, &HistoryEvent::kind) != recording.history.end();
}

// The counters are the run's. That it ran shows that it fits at the likely values.
void DecideVerdict(const Record& record, ScriptReport* report) {
  report->band = CountedBand(report->device, *report);
  report->verdict = report->oom ? Verdict::kDoesNotFit : Verdict::kFits;
  if (report->oom || !report->card_given) return;
  const OnCard on = VerdictOn(report->device, *report, RecordedRun(record));
  const bool shown = !report->together;
  report->verdict = shown && on.verdict == Verdict::kDoesNotFit ? Verdict::kTight : on.verdict;
  if (on.verdict == Verdict::kFits) KeepWithin(report->device.available(), &report->band);
  if (!shown) return;
  // Nothing was given back: a larger card makes no difference.
  const bool same = report->recording.last && report->recording.last->retries == 0;
  const Bytes here = report->band.device().likely;
  report->on_a_larger_card = same ? here : std::max(here, on.OnALargerCard());
}

}  // namespace

OnCard VerdictOn(const Device& device, const ScriptReport& report, const RecordedRun& run) {
  const bool whole = !report.moment.before_history;
  if (whole && !report.together) return VerdictOfRecord(run, device, ConfigOfEnvironment());
  // Each process was refused only what the card does not have: that all of them find room is not shown by the run.
  OnCard on;
  on.band = CountedBand(device, report);
  on.roomy = on.peak.peak.reserved = on.band.reserved.likely;
  const Band needs = on.band.device();
  const Bytes has = device.available();
  on.verdict = needs.likely > has ? Verdict::kDoesNotFit : needs.high > has ? Verdict::kTight : Verdict::kFits;
  return on;
}

std::optional<Peak> ReplayedPeak(const Recording& recording, bool cudnn) {
  if (!Tells(recording) || MomentOf(recording).before_history) return std::nullopt;
  return Replay(Played(RecordOf(recording, cudnn)).timeline, 1, AllocatorConfig(), Bytes::Max());
}

std::string ScriptName(const std::vector<std::string>& command) {
  for (const std::string& word : command) {
    if (word.ends_with(".py") || word.ends_with(".sh") || word.ends_with(".ipynb")) return FileName(word);
  }
  std::string name;
  for (size_t i = 0; i < std::min<size_t>(command.size(), 3); ++i) name += (i == 0 ? "" : " ") + command[i];
  return name;
}

void Conclude(ScriptReport* report) {
  Recording& recording = report->recording;
  const bool stopped_by_us = recording.stopped_by_us();
  // A script may catch the error, print it, and end.
  const bool gave_up = recording.failure.empty() && report->exit_code.value_or(0) != 0;
  const bool ended_by_it = !stopped_by_us && (IsOutOfMemory(recording) || gave_up);
  if (!recording.refusals.empty()) {
    report->caught = !ended_by_it && !GoesOn(recording) && (!stopped_by_us || recording.steps.empty());
    if (ended_by_it || report->caught) {
      report->oom = recording.refusals.back();
    } else {
      report->survived.emplace(recording.refusals.back(), MomentOfRefusal(recording));
      NoteCaught(report);
      recording = Succeeded(recording);
    }
  }
  const Record record = RecordOf(recording, report->card.cudnn);
  const std::vector<HeldKind> kinds = KindsOf(record);
  report->moment = report->oom ? MomentOfRefusal(recording, kinds) : MomentOf(recording, kinds);
  // A thread of PyTorch's has no line of Python: that of the backward is its.
  if (report->oom && report->oom->place.file.empty()) report->oom->place = report->moment.place;
  DecideVerdict(record, report);
  NoteRefusals(report);
  NoteEvaluation(report);
  NoteInference(report);
  NoteLibrary(report);
  NoteValues(report);
  NoteHost(report);
  NoteSaved(report);
  if (report->moment.before_history) {
    report->notes.Add({"history-lost", Severity::kWarning, "",
                       "the history of allocations is not whole: who holds the peak is incomplete",
                       "run fewer steps with --steps"});
  }
}

}  // namespace vramplan
