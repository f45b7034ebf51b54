#include "planner/report/replay.h"

#include "graph/base/text_table.h"

namespace vramplan {
namespace {

std::string ReplayVerdict(const ReplayReport& report) {
  const StreamPeak& stream = report.stream;
  if (stream.difference) {
    const StreamDifference& difference = *stream.difference;
    return "differs: line " + std::to_string(difference.line) + " of " + report.file + " recorded " +
           difference.column + " " + difference.recorded + ", ours is " + difference.ours + " (" +
           std::to_string(stream.checked) + " rows before it are equal)";
  }
  if (report.check)
    return "equal: all " + std::to_string(stream.checked) + " rows of " + report.file + " are what was recorded";
  const std::string card = report.gpu_memory ? " on " + ToString(*report.gpu_memory) : "";
  if (stream.out_of_memory > 0) {
    return "out of memory" + card + ": " + std::to_string(stream.out_of_memory) + " of " +
           std::to_string(stream.allocations) + " requests of " + report.file + " get no memory, the first at line " +
           std::to_string(stream.refused_line);
  }
  return report.file + " reserves at most " + ToString(stream.peak.reserved) + " for " +
         ToString(stream.peak.allocated) + " allocated" + (card.empty() ? "" : " (fits" + card + ")");
}

}  // namespace

std::string PrintReplay(const ReplayReport& report, const Style& style) {
  const StreamPeak& stream = report.stream;
  std::string text = ReplayVerdict(report) + "\n\n";
  if (stream.difference && !report.gpu_memory)
    text.insert(text.size() - 1, "  on a card that is never full: --gpu-memory says which one it was recorded on\n");
  using enum TextTable::Align;
  const bool has_before = stream.before != Levels{};
  TextTable table({{"", kLeft}, {"requested", kRight}, {"allocated", kRight}, {"reserved", kRight}});
  const auto row = [&](const char* name, const Levels& levels) {
    table.AddRow({name, ToString(levels.requested), ToString(levels.allocated), ToString(levels.reserved)});
  };
  if (has_before) row("before", stream.before);
  row("peak", stream.peak);
  row(stream.difference ? "where it differs" : "end", stream.end);
  text += table.Print(style.width);
  text += "  " + std::to_string(stream.rows) + " rows: " + std::to_string(stream.allocations) + " allocations, " +
          std::to_string(stream.frees) + " frees, " + std::to_string(stream.cache_releases) + " empty_cache\n";
  if (stream.peak_line > 0) text += "  allocated peaks at line " + std::to_string(stream.peak_line) + "\n";
  text += "  segments at most: " + std::to_string(stream.segments) +
          "; times that cached blocks were given back: " + std::to_string(stream.retries) + "\n";
  if (has_before) {
    const char* const note =
        "the stream covers one step: memory from before it is laid out as the blocks that it frees and one block for "
        "the rest, and sizes are those of blocks, so slack and reserved may differ from the recorded run";
    text += "  " + Wrapped(note, style.width - 2, "  ") + "\n";
  }
  return text;
}

}  // namespace vramplan
