#include "planner/report/script_next.h"

#include "graph/base/text_table.h"
#include "planner/report/script_holders.h"
#include "planner/report/script_places.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {

std::string PrintNext(const ScriptNext& next, int width) {
  std::string text;
  const auto line = [&](const std::string& said) { text += "  " + Wrapped(said, width - 2, "  ") + "\n"; };
  const std::vector<HeldPart> parts = PartsOf(next.moment.rows);
  std::string needs = "on a card that is never full it takes " + ToString(next.needs);
  if (next.high > next.needs) needs += " (up to " + ToString(next.high) + ")";
  if (next.steps > 0) needs += " in " + Counted(next.steps, "step");
  if (!parts.empty()) {
    needs += "; the largest part: " + parts.front().name + ", " + ToString(parts.front().bytes);
    const HeldLine& line_of = parts.front().lines.front();
    const CodePlace& place = line_of.caller.file.empty() ? line_of.place : line_of.caller;
    if (!place.file.empty()) needs += ", " + PartText(line_of.bytes, parts.front().bytes) + " of it at " + LineText(place);
  }
  line(needs);
  std::string what = next.smallest ? "the smallest card that holds it: " + *next.smallest
                                   : "no card in the catalogue holds it: --gpus shares it among several";
  line(what + "; next: " + (next.tried ? "" : "--try, ") +
       "--largest batch=1:512 with {batch} in the command, or --record run.csv.gz and vramplan plan run.csv.gz");
  return text;
}

}  // namespace vramplan
