#include "planner/report/script_seen.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "planner/report/parts/model_facts.h"
#include "planner/report/script_places.h"

namespace vramplan {
namespace {

// "a.pt, b.pt, c.pt and 2 more".
class Names {
 public:
  void Add(const std::string& path) {
    if (count_++ < kShown) text_ += (text_.empty() ? "" : ", ") + FileName(path);
  }
  bool empty() const { return count_ == 0; }
  std::string text() const {
    return count_ <= kShown ? text_ : text_ + " and " + std::to_string(count_ - kShown) + " more";
  }

 private:
  static constexpr int64_t kShown = 3;
  int64_t count_ = 0;
  std::string text_;
};

}  // namespace

std::optional<bool> Evaluated(const Recording& recording) {
  if (std::ranges::find(recording.marks, MarkKind::kForward, &Mark::kind) == recording.marks.end()) return std::nullopt;
  return std::ranges::any_of(EvaluationsOf(recording), std::identity());
}

std::string UnseenText(const ScriptReport& report) {
  const Recording& recording = report.recording;
  // Another process of the command may have done it.
  if (recording.end != "steps" || report.processes.size() > 1) return "";
  std::string text = "not seen: ";
  if (Evaluated(recording) == false) text += "an evaluation, ";
  if (recording.saved.empty()) text += "a checkpoint, ";
  if (!recording.waiting.empty())
    text += "a step of the optimizer made at " + LineText(recording.waiting.front()) + ", ";
  return text + "a later stage (--until-exit runs on)";
}

void NoteSaved(ScriptReport* report) {
  for (const bool held : {true, false}) {
    Names names;
    std::string place;
    for (const Recording::Saved& saved : report->recording.saved) {
      if (saved.held != held || saved.path.empty()) continue;
      names.Add(saved.path);
      if (place.empty()) place = LineText(saved.place);
    }
    if (names.empty()) continue;
    if (held) {
      report->notes.Add({"checkpoint-held", Severity::kNote, names.text(),
                         "was not written at " + place +
                             ": the existing file of that name is kept, because the new one would hold zeros",
                         ""});
    } else {
      report->notes.Add({"checkpoint-written", Severity::kWarning, names.text(),
                         "was written at " + place + ", and it holds zeros, because the card only pretends to compute",
                         "remove it, so that no training resumes from it"});
    }
  }
  Names stays;
  for (const Recording::Stays& each : report->recording.stays) stays.Add(each.path);
  if (!stays.empty()) {
    report->notes.Add({"file-stays", Severity::kNote, stays.text(),
                       "was removed or renamed at " + LineText(report->recording.stays.front().place) +
                           ", but is kept, because it existed before the run",
                       ""});
  }
}

}  // namespace vramplan
