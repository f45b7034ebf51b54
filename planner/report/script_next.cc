#include "planner/report/script_next.h"

#include <algorithm>
#include <array>
#include <map>

#include "graph/base/text_table.h"
#include "planner/report/script_places.h"

namespace vramplan {
namespace {

// What the blocks that were asked for in a phase are, as people who train call it.
const char* PartText(RunPhase phase) {
  switch (phase) {
    case RunPhase::kSetup:
      return "what was made before the first step (weights, data)";
    case RunPhase::kForward:
      return "activations";
    case RunPhase::kBackward:
      return "gradients and temporaries of the backward";
    case RunPhase::kUpdate:
      return "the optimizer's states";
    case RunPhase::kEvaluation:
      return "activations of the evaluation";
  }
  return "";
}

struct LargestPart {
  RunPhase phase = RunPhase::kSetup;
  Bytes bytes, of_line;
  CodePlace line;
};
LargestPart LargestPartOf(const HighMoment& moment) {
  std::array<Bytes, kRunPhases> phases = {};
  std::map<std::pair<RunPhase, CodePlace>, Bytes> lines;
  for (const HeldRow& row : moment.rows) {
    phases[static_cast<size_t>(row.phase)] += row.bytes;
    lines[{row.phase, row.place}] += row.bytes;
  }
  const auto most = std::ranges::max_element(phases);
  LargestPart part{static_cast<RunPhase>(most - phases.begin()), *most, Bytes(), {}};
  for (const auto& [key, bytes] : lines) {
    if (key.first != part.phase || bytes <= part.of_line) continue;
    part.of_line = bytes;
    part.line = key.second;
  }
  return part;
}

}  // namespace

std::string PrintNext(const ScriptNext& next, int width) {
  std::string text;
  const auto line = [&](const std::string& said) { text += "  " + Wrapped(said, width - 2, "  ") + "\n"; };
  const LargestPart part = LargestPartOf(next.moment);
  std::string needs = "on a card that is never full it takes " + ToString(next.needs);
  if (next.high > next.needs) needs += " (up to " + ToString(next.high) + ")";
  if (next.steps > 0) needs += " in " + std::to_string(next.steps) + (next.steps == 1 ? " step" : " steps");
  if (part.bytes > Bytes()) {
    needs += "; the largest part: " + std::string(PartText(part.phase)) + ", " + ToString(part.bytes);
    if (!part.line.file.empty()) needs += ", most of it at " + LineText(part.line);
  }
  line(needs);
  std::string what = next.smallest ? "the smallest card that holds it: " + *next.smallest
                                   : "no card of the catalogue holds it: --gpus shares it out among several";
  line(what + "; next: " + (next.tried ? "" : "--try, ") +
       "--largest batch=1:512 with {batch} in the command, or --record run.csv.gz and vramplan plan run.csv.gz");
  return text;
}

Json ToJson(const ScriptNext& next) {
  const LargestPart part = LargestPartOf(next.moment);
  Json largest = Json::Object();
  largest.Set("phase", Name(part.phase)).Set("bytes", part.bytes).Set("file", part.line.file);
  largest.Set("line", part.line.line);
  Json json = Json::Object();
  json.Set("needs", next.needs).Set("needs_high", next.high).Set("steps", next.steps);
  json.Set("largest_part", std::move(largest));
  return json.Set("smallest_card", next.smallest ? Json(*next.smallest) : Json());
}

}  // namespace vramplan
