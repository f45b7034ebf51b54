#include "planner/report/script_seen.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "planner/report/parts/model_facts.h"
#include "planner/report/script_places.h"

namespace vramplan {
namespace {

// Nothing: no module told that its forward runs, as with torch.compile.
std::optional<bool> Evaluated(const Recording& recording) {
  if (std::ranges::find(recording.marks, MarkKind::kForward, &Mark::kind) == recording.marks.end()) return std::nullopt;
  return std::ranges::any_of(EvaluationsOf(recording), std::identity());
}

}  // namespace

std::string UnseenText(const ScriptReport& report) {
  const Recording& recording = report.recording;
  // Another process of the command may have done it.
  if (recording.end != "steps" || report.processes.size() > 1) return "";
  std::string text;
  if (Evaluated(recording) == false) text = "no evaluation ran";
  if (recording.saved.empty()) text += (text.empty() ? "" : ", ") + std::string("no checkpoint was written");
  return text.empty() ? "" : text + " (--until-exit runs on)";
}

void NoteSaved(ScriptReport* report) {
  for (const bool held : {true, false}) {
    std::string names, place;
    int64_t more = 0;
    constexpr int64_t kShown = 3;
    for (const Recording::Saved& saved : report->recording.saved) {
      if (saved.held != held || saved.path.empty()) continue;
      if (more++ < kShown) names += (names.empty() ? "" : ", ") + FileName(saved.path);
      if (place.empty()) place = LineText(saved.place);
    }
    if (names.empty()) continue;
    if (more > kShown) names += " and " + std::to_string(more - kShown) + " more";
    if (held) {
      report->notes.Add(
          {"checkpoint-held", Severity::kNote, names,
           "was not written at " + place + ": the file of that name stays, and the new one would hold zeros", ""});
    } else {
      report->notes.Add(
          {"checkpoint-written", Severity::kWarning, names,
           "was written at " + place + ", and what it holds was computed on a card that is not there: zeros",
           "remove it, so that no training goes on from it"});
    }
  }
}

Json NotSeenJson(const ScriptReport& report) {
  Json saved = Json::Array();
  for (const Recording::Saved& each : report.recording.saved) {
    Json row = Json::Object();
    row.Set("path", each.path).Set("held", each.held);
    saved.Push(std::move(row.Set("file", each.place.file).Set("line", each.place.line)));
  }
  const std::optional<bool> evaluated = Evaluated(report.recording);
  Json json = Json::Object();
  json.Set("evaluation", evaluated ? Json(*evaluated) : Json());
  return json.Set("saved", std::move(saved));
}

}  // namespace vramplan
