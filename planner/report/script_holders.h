// Who holds the memory at a moment of a run: kinds as people who fine-tune know them, and in each the lines that asked.
//
//   held by                                        called at   module      blocks
//   frozen weights                                                            120   5.72 GiB  61.0 %
//     transformers/.../modeling_utils.py:714       tune.py:9                  120   5.72 GiB  61.0 %
//   activations                                                                80   2.45 GiB  26.1 %
//     transformers/.../modeling_gpt2.py:214        tune.py:31  h.*.mlp         36   1.86 GiB  19.8 %
//     3 more lines                                                             44 604.16 MiB   6.3 %
//   optimizer state                                                           128  36.80 MiB   0.4 %
//
// Invariant: the kinds sum to the requested bytes of the moment, and the lines to their kind.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/report/parts/breakdown.h"
#include "planner/report/writing/json.h"
#include "planner/report/writing/style.h"
#include "pretend/recording/moment.h"

namespace vramplan {

std::string_view Name(HeldKind kind);  // "frozen_weights"

// The lines of one kind that are alike but for the numbers in their modules' names.
struct HeldLine {
  CodePlace place, caller;
  std::string module;  // "h.*.mlp"
  int64_t blocks = 0;
  Bytes bytes;
};
struct HeldPart {
  std::string name;  // "activations", "temporaries of the backward"
  HeldKind kind = HeldKind::kUntold;
  int64_t blocks = 0;
  Bytes bytes;
  std::vector<HeldLine> lines;  // the largest first
};
// The largest first.
std::vector<HeldPart> PartsOf(const std::vector<HeldRow>& rows);

// The table above, below `title`, and what the card holds besides. "" where there are no rows.
std::string PrintHeld(const std::string& title, const std::vector<HeldRow>& rows, const Style& style,
                      const std::vector<BreakdownRow>& besides = {});

}  // namespace vramplan
