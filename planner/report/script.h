// Script: what a run on a pretend card took ("vramplan.run/1").
//
//   train.py fits on Tesla T4: needs 743.00 MiB of 14.56 GiB (13.83 GiB free)
//
//   step  requested  allocated  reserved  left after it
//   1    262.01 MiB 263.69 MiB ...
//
//   at the peak, in the backward of step 2      who holds it, by the line that asked for it; the rows sum to the peak
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/base/note.h"
#include "planner/allocator/replay.h"
#include "planner/report/fit.h"
#include "planner/report/parts/device_band.h"
#include "planner/report/record.h"
#include "planner/report/script_next.h"
#include "planner/report/writing/json.h"
#include "planner/report/writing/style.h"
#include "planner/spec/device.h"
#include "pretend/recording/moment.h"
#include "pretend/recording/recording.h"

namespace vramplan {

// A process of the run that used the card, or one of its cards.
struct ScriptProcess {
  int64_t pid = 0, rank = 0, ranks = 1;
  int64_t card = 0;  // of several that it used: a row for each
  Levels peak;
  int64_t steps = 0;
  std::optional<Peak> replayed;  // of a rank: its requests, as `fit RECORD` replays them
};

struct ScriptReport {
  std::vector<std::string> command;
  std::optional<int> exit_code, signal;  // of the command
  Recording recording;                   // of the process that took the most
  CardLog card;                          // of the same process
  std::vector<ScriptProcess> processes;
  std::optional<CardLog::Together> together;  // several processes had one card: all that they held of it
  int64_t gpus = 1;                           // ranks that --gpus asked for
  bool card_given = false;
  Device device;  // without a card: one that is never full
  std::string capability;
  HighMoment moment;                   // highest, or that of the refusal that ended the run
  std::optional<RecordedRefusal> oom;  // that ended it, or that nothing succeeded after
  bool caught = false;                 // the script caught that one and ended by itself
  // The last refusal of a run that went on, and when it was; nothing: it was refused nothing, or did not go on.
  std::optional<std::pair<RecordedRefusal, HighMoment>> survived;
  DeviceBand band;
  Verdict verdict = Verdict::kFits;
  // What the same requests take on a card that is never full, at the likely context; nothing: the record is not whole, or no
  // card was named.
  std::optional<Bytes> on_a_larger_card;
  std::optional<ScriptNext> next;  // of one that does not fit
  Notes notes;
};

// As `fit` of its record decides: what a run that was not refused memory takes of a card.
OnCard VerdictOn(const Device& device, const ScriptReport& report, const RecordedRun& run);

// Fills in what follows from the recording: moment, oom, band, verdict, and the notes about what was not covered.
void Conclude(ScriptReport* report);

// The peak of what a process requested, by category. Nothing: the hook did not tell what tensors are for, or its history
// is not whole.
std::optional<Peak> ReplayedPeak(const Recording& recording, bool cudnn);

// "train.py", or the command when no word of it is a script.
std::string ScriptName(const std::vector<std::string>& command);

// "runs out of memory in the backward of step 1: 512.00 MiB more did not fit at train.py:12 main"; of a report with
// `oom` or `survived`.
std::string RefusalText(const ScriptReport& report);

// A row for each rank that has a replayed peak; its categories sum to its last cell. Empty: none has.
std::string PrintRanks(const std::vector<ScriptProcess>& ranks, const Style& style);

std::string PrintScript(const ScriptReport& report, const Style& style);

}  // namespace vramplan
