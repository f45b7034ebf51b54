// Sweep: the answers of many steps that differ in a few options, with the law by which the bytes grow along each
// ("vramplan.sweep/1").
//
//   batch  sequence   requested    reserved   on the device
//       1       128  ...
//
//   batch      linear: each further sample 326.80 MiB (at sequence 128)
//   sequence   quadratic: each further token² 48 B, each further token 1.20 MiB (at batch 1)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/base/note.h"
#include "planner/report/estimate.h"
#include "planner/report/fit.h"
#include "planner/report/parts/device_band.h"
#include "planner/report/parts/sweep_laws.h"

namespace vramplan {

struct SweepRow {
  std::vector<std::string> values;  // by axis
  std::optional<Levels> levels;     // nothing: `failure` says why
  DeviceBand band;
  std::optional<Verdict> verdict;   // on the card that was named
  Bytes roomy;                      // reserved on a card that is never full
  std::optional<std::string> card;  // --gpu all: the smallest that holds it; "": none does
  std::string failure;
};

struct SweepReport {
  AnswerHead head;  // of the first answer
  std::vector<std::string> axes;
  std::vector<SweepRow> rows;
  std::vector<SweepLaw> laws;
  std::optional<Device> device;
  bool all_cards = false;
  Notes notes;
};

std::string PrintSweep(const SweepReport& report, const Style& style);
std::string PrintSweepCsv(const SweepReport& report);
Json ToJson(const SweepReport& report);

}  // namespace vramplan
