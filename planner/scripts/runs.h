// ScriptRuns: a command run on one pretend card, as often as it is asked for.
//
//   ScriptRuns::On(question, script, machine)->Run({})      its report, with the verdict on that card
//
// What a run leaves behind (its folder, processes of its own) is gone when Run returns.
#pragma once

#include <string>
#include <vector>

#include "cuda_probe/probe.h"
#include "planner/answers/choose_device.h"
#include "planner/answers/question.h"
#include "planner/report/script.h"
#include "planner/scripts/changes.h"
#include "planner/scripts/script.h"
#include "planner/scripts/values.h"

namespace vramplan {

// What runs now, on a terminal: several runs are silent for as long as their imports take.
void TellProgress(const std::string& text);

class ScriptRuns {
 public:
  // The card of the question, or one that is never full. Errors: no such card, one that is not of CUDA or too small, no
  // library beside the binary, a hidden card.
  static Result<ScriptRuns> On(const Question& question, const Script& script, Probe* machine);

  // One run of the command, with these values in the place of their names. Errors: it failed by itself, it never used
  // the card, a signal came.
  // `change`: of kScriptChanges; null: the script as it is.
  Result<ScriptReport> Run(const ScriptValues& values, const ScriptChange* change = nullptr) const;
  // The same on the card that this machine has: the hook alone.
  Result<ScriptReport> RunOnRealCard(const ScriptValues& values) const;

  // The same on a pretend card like that of Run that is never full, until the step behind `steps` begins.
  Result<ScriptReport> RunOnEndlessCard(const ScriptValues& values, int64_t steps) const;

  const ChosenDevice& card() const { return card_; }

 private:
  // How one run differs from the command as it is.
  struct Way {
    bool real = false;                     // on this machine's card
    const ScriptChange* change = nullptr;  // --try
    std::optional<int64_t> endless;        // on a card that is never full, for so many steps; 0: until it ends
  };
  Result<ScriptReport> RunOn(const Way& way, const ScriptValues& values) const;
  ScriptRuns(const Script& script, ChosenDevice card, bool card_given, std::string pretend)
      : script_(script), card_(std::move(card)), card_given_(card_given), pretend_(std::move(pretend)) {}

  const Script& script_;
  ChosenDevice card_;
  bool card_given_;
  std::string pretend_;  // the folder of the library
};

}  // namespace vramplan
