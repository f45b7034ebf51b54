#include "graph/lift/source_lines/inplace_lines.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "graph/lift/source_lines/line_of.h"

namespace vramplan {
namespace {

struct WrittenName {
  std::string_view op, symbol;
};
constexpr WrittenName kWritten[] = {{"add", "+"}, {"sub", "-"}, {"mul", "*"}, {"div", "/"}};

int CountOf(std::string_view text, std::string_view part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

// Whether the line writes into the operand; nothing: it may have done either.
std::optional<bool> InPlaceBy(std::string_view text, const WrittenName& written) {
  const std::string op(written.op), symbol(written.symbol);
  const int in_place = CountOf(text, symbol + "= ") + CountOf(text, op + "_(");
  const int plain = CountOf(text, " " + symbol + " ") + CountOf(text, op + "(");
  if (in_place == 1 && plain == 0) return true;
  if (in_place == 0 && plain > 0) return false;
  return std::nullopt;
}

}  // namespace

void ReadInPlaceLines(Layers* layers) {
  if (layers->source.stacks.empty()) return;
  for (Layer& layer : layers->layers) {
    const auto* written = std::find_if(std::begin(kWritten), std::end(kWritten),
                                       [&](const WrittenName& row) { return row.op == layer.op; });
    if (written == std::end(kWritten) || layer.inputs.empty() || !layer.inputs[0].valid()) continue;
    const SourceLine* line = LineOf(*layers, layer);
    const std::optional<bool> in_place = line == nullptr ? std::nullopt : InPlaceBy(line->text, *written);
    if (!in_place.has_value()) continue;
    const Value &operand = (*layers)[layer.inputs[0]], &result = (*layers)[layer.outputs[0]];
    const bool fits = operand.role == Role::kActivation && operand.shape == result.shape && operand.type == result.type;
    layer.attributes.Set("inplace", int64_t{*in_place && fits ? 1 : 0});
  }
}

}  // namespace vramplan
