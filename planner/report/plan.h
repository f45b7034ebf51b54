// PlanReport: what to run so that the step fits ("vramplan.plan/1"): the plan in words, its proof, the other plans, and
// the ladder of single changes.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "graph/base/note.h"
#include "planner/report/fit.h"
#include "planner/solver/decide.h"
#include "planner/solver/ideal.h"
#include "planner/solver/ladder.h"
#include "planner/solver/sharding.h"

namespace vramplan {

struct PlanReport {
  AnswerHead head;  // has the batch that the user typed, if any
  Device device;
  std::string id;  // of the catalogue; empty for a bare size
  std::string optimizer;
  Decision decision;
  OnCard on;                     // of the chosen plan
  int64_t safe_batch = 0;        // the largest safe batch with the chosen plan's settings; 0: none
  LargestBatch largest;          // with the same settings
  std::optional<Plan> instead;   // if no plan holds the batch: the same samples a step, accumulated
  std::vector<Remedy> remedies;  // of a named model that no plan fits for sure: what else does, as fit says it
  PlanLadder ladder;
  std::optional<Ideal> ideal;            // of the chosen plan, when it checkpoints
  StepParts parts;                       // of the unchanged step, at the user's batch or the smallest
  std::optional<std::string> next_card;  // the smallest card that holds the batch unchanged, if this one does not
  std::vector<Assumption> assumptions;
  Notes notes;
};

// "amp-fp16, fused adam, 4 modules checkpointed".
std::string PlanInWords(const Plan& plan, const std::string& optimizer);

std::string PrintPlan(const PlanReport& report, const Style& style);
Json ToJson(const PlanReport& report);

}  // namespace vramplan
