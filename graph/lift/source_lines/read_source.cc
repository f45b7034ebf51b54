// ReadSource: the stack traces that the dynamo exporter writes beside every node (graph/layers/source.h).
#include <charconv>
#include <map>
#include <optional>
#include <string_view>

#include "graph/lift/source_lines/passes.h"

namespace vramplan {
namespace {

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const size_t first = text.find_first_not_of(kBlank);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string_view TakeLine(std::string_view* text) {
  const size_t end = std::min(text->find('\n'), text->size());
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return Trimmed(line);
}

// File "net.py", line 57, in forward: traceback.py of CPython, StackSummary.format.
std::optional<SourceLine> HeadOf(std::string_view line) {
  constexpr std::string_view kFile = "File \"", kLine = "\", line ", kFunction = ", in ";
  if (!line.starts_with(kFile)) return {};
  const size_t at = line.find(kLine), in = line.rfind(kFunction);
  if (at == std::string_view::npos || in == std::string_view::npos || in < at) return {};
  SourceLine head;
  head.file = line.substr(kFile.size(), at - kFile.size());
  head.function = line.substr(in + kFunction.size());
  const std::string_view number = line.substr(at + kLine.size(), in - at - kLine.size());
  const auto end = number.data() + number.size();
  if (std::from_chars(number.data(), end, head.line).ptr != end) return {};
  return head;
}

}  // namespace

Source ReadSource(const Graph& graph) {
  Source source;
  std::map<SourceLine, int32_t> known;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    std::string_view rest = graph.nodes[n].provenance.stack_trace;
    if (rest.empty()) continue;
    source.stacks.resize(graph.nodes.size());
    while (!rest.empty()) {
      std::optional<SourceLine> line = HeadOf(TakeLine(&rest));
      if (!line) continue;
      if (!Trimmed(rest).starts_with("File \"")) line->text = TakeLine(&rest);
      const auto [found, added] = known.emplace(*line, static_cast<int32_t>(source.lines.size()));
      if (added) source.lines.push_back(*std::move(line));
      source.stacks[n].push_back(found->second);
    }
  }
  return source;
}

const SourceLine* LineOf(const Layers& layers, const Layer& layer) {
  if (layer.nodes.empty() || !layer.nodes.back().valid()) return nullptr;
  const size_t node = static_cast<size_t>(layer.nodes.back().value);
  if (node >= layers.source.stacks.size() || layers.source.stacks[node].empty()) return nullptr;
  return &layers.source.lines[static_cast<size_t>(layers.source.stacks[node].back())];
}

}  // namespace vramplan
