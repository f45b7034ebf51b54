#include "planner/cli/doubts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "planner/allocator/replay.h"
#include "planner/runtimes/runtime.h"
#include "planner/timeline/name_ends.h"

namespace vramplan {
namespace {

// Of 291 models outside the accuracy list, exported without source lines and measured (PyTorch 2.10, 1,086 rows): the
// requested peak lies between the ends in 92 % of the rows, where they are one in 85 %.
constexpr const char* kMeasuredBetween = "92 %";

// Told is what is more than this share of the likely peak.
constexpr int64_t kTold = 100;

struct Ends {
  Bytes low, high;
};

// The likely peak and those of `others`, of which none is told to anybody.
Result<Ends> EndsOf(const std::vector<Result<Timeline>>& others, int64_t batch, const AllocatorConfig& config,
                    Bytes likely) {
  Ends ends{likely, likely};
  for (const Result<Timeline>& timeline : others) {
    if (!timeline.ok()) return timeline.error();
    const Bytes requested = Replay(*timeline, batch, config, Bytes::Max()).peak.requested;
    ends.low = std::min(ends.low, requested);
    ends.high = std::max(ends.high, requested);
  }
  return ends;
}

bool Matters(const Ends& ends, Bytes likely) { return (ends.high - ends.low).count() >= likely.count() / kTold; }

Status NoteNames(const Layers& layers, const TrainingSpec& spec, int64_t batch, const AllocatorConfig& config,
                 Bytes likely, Notes* notes) {
  if (!NamesAreGuessed(layers, spec)) return Done{};
  Notes already_told;
  std::vector<Result<Timeline>> others;
  for (const Naming naming : {Naming::kFewest, Naming::kMost})
    others.push_back(ScheduleAs(naming, layers, spec, batch, &already_told));
  const Result<Ends> ends = EndsOf(others, batch, config, likely);
  if (!ends.ok()) return ends.error();
  if (!Matters(*ends, likely)) return Done{};
  notes->Add({"names-guessed", Severity::kNote, "",
              "the file does not say which tensors the code keeps by a name: requested is " + ToString(ends->low) +
                  " with the fewest names, " + ToString(ends->high) + " with the most; " + kMeasuredBetween +
                  " of measured steps lie between",
              "torch.onnx.export(dynamo=True) of PyTorch 2.9 or newer writes the source lines, which tell"});
  return Done{};
}

// What nothing depends on, or the user has answered, nobody need read.
Status Forget(Notes* notes) {
  Notes others;
  for (const Note& note : notes->all()) {
    if (note.code != "assumed-inplace") others.Add(note);
  }
  *notes = std::move(others);
  return Done{};
}

Status NoteInPlace(const Layers& layers, const TrainingSpec& spec, int64_t batch, const AllocatorConfig& config,
                   Bytes likely, Notes* notes) {
  if (!notes->Has("assumed-inplace")) return Done{};
  if (spec.inplace != Inplace::kAuto) return Forget(notes);
  Notes already_told;
  std::vector<Result<Timeline>> others;
  TrainingSpec other = spec;
  for (const Inplace inplace : {Inplace::kOff, Inplace::kOn}) {
    other.inplace = inplace;
    others.push_back(ScheduleFor(layers, other, batch, &already_told));
  }
  const Result<Ends> ends = EndsOf(others, batch, config, likely);
  if (!ends.ok()) return ends.error();
  if (!Matters(*ends, likely)) return Forget(notes);
  std::string text = "the file does not say which activations are in place: requested is ";
  if (ends->low < likely) text += ToString(ends->low) + " where all are that can be, ";
  text += ToString(likely) + " as assumed";
  if (ends->high > likely) text += ", " + ToString(ends->high) + " where none is";
  notes->Replace("assumed-inplace", {"inplace-guessed", Severity::kNote, "", text,
                                     "--inplace on or off, as nn.ReLU(inplace=...) in the code"});
  return Done{};
}

}  // namespace

Status NoteDoubts(const Layers& layers, const TrainingSpec& spec, int64_t batch, const AllocatorConfig& config,
                  Bytes likely, Notes* notes) {
  if (const Status names = NoteNames(layers, spec, batch, config, likely, notes); !names) return names;
  return NoteInPlace(layers, spec, batch, config, likely, notes);
}

}  // namespace vramplan
