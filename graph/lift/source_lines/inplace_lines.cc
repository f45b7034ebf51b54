// In-place by line: the dynamo exporter makes every call functional, but keeps the source line, which says what wrote
// into its operand:
//
//   out += identity         add, in place        x.mul_(1 - alpha)       mul, in place
//   out = out + identity    add, not             x = a.add_(b) + c       two sums of one line: nobody knows which
//   return F.relu_(h)       relu, in place       F.silu(h, inplace=True) silu, in place
//   self.add_positions(x)   add, in place: the line gives nothing a name, and what its function made is read later
#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "graph/layers/uses.h"
#include "graph/lift/source_lines/passes.h"

namespace vramplan {
namespace {

struct WrittenName {
  std::string_view op, name, symbol;
};
constexpr WrittenName kWritten[] = {
    {"add", "add", "+"},        {"sub", "sub", "-"},
    {"mul", "mul", "*"},        {"div", "div", "/"},
    {"relu", "relu", ""},       {"silu", "silu", ""},
    {"mish", "mish", ""},       {"elu", "elu", ""},
    {"selu", "selu", ""},       {"leaky_relu", "leaky_relu", ""},
    {"hardtanh", "relu6", ""},  {"hardswish", "hardswish", ""},
    {"sigmoid", "sigmoid", ""}, {"tanh", "tanh", ""},
    {"dropout", "dropout", ""}, {"clamp", "clamp", ""},
};

int CountOfText(std::string_view text, std::string_view part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

// How often the function is called: relu( of F.relu(x) and of x.relu(), not that of leaky_relu(x).
int TracedCallsOf(std::string_view text, const std::string& name) {
  const std::string call = name + "(";
  int count = 0;
  for (size_t at = text.find(call); at != std::string_view::npos; at = text.find(call, at + call.size())) {
    const char before = at == 0 ? ' ' : text[at - 1];
    if (std::isalnum(static_cast<unsigned char>(before)) == 0 && before != '_') ++count;
  }
  return count;
}

// Whether the line writes into the operand; nothing: it may have done either.
std::optional<bool> InPlaceBy(std::string_view text, const WrittenName& written) {
  const std::string name(written.name), symbol(written.symbol);
  int in_place = TracedCallsOf(text, name + "_"), plain = TracedCallsOf(text, name);
  if (!symbol.empty()) {
    in_place += CountOfText(text, symbol + "= ");
    plain += CountOfText(text, " " + symbol + " ");
  } else if (plain > 0 && CountOfText(text, "inplace") + CountOfText(text, "True") > 0) {
    if (plain > 1 || CountOfText(text, "inplace=True") != 1) return std::nullopt;
    std::swap(in_place, plain);
  }
  if (in_place == 1 && plain == 0) return true;
  if (in_place == 0 && plain > 0) return false;
  return std::nullopt;
}

// A whole line that is a call and gives what it made no name: self.add_positions(x), not outs.append(f(x)).
bool IsBareCall(std::string_view text) {
  const size_t open = text.find('(');
  if (open == 0 || open == text.npos || text.back() != ')') return false;
  const bool named = std::ranges::all_of(text.substr(0, open), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  });
  const auto is_written = [&](const KeepingCall& call) { return text.find(call.written) != text.npos; };
  if (!named || std::ranges::any_of(kKeepingCalls, is_written)) return false;
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i + 1 == text.size();
  }
  return false;
}

// Whether a bare call wrote the result into the operand, which its line did not make and which nothing reads anymore,
// while the result is read behind the line.
bool IsWrittenByBareCall(const Uses& uses, const Layer& layer, const SourceLine& line) {
  const Layers& layers = uses.layers();
  if (!IsBareCall(line.text)) return false;
  const auto is_outside = [&](int32_t place) {
    return static_cast<size_t>(place) >= layers.layers.size() ||
           LineOf(layers, layers.layers[static_cast<size_t>(place)]) != &line;
  };
  const int32_t maker = uses.PlaceOfMaker(layer.inputs[0]);
  const auto read_later = [&](int32_t place) {
    return is_outside(place) && place > static_cast<int32_t>(uses.PlaceOf(&layer));
  };
  return maker >= 0 && is_outside(maker) && std::ranges::any_of(uses.ReadersOf(layer.outputs[0]), is_outside) &&
         std::ranges::none_of(uses.ReadersOf(layer.inputs[0]), read_later);
}

}  // namespace

void ReadInPlaceLines(Layers* layers) {
  if (layers->source.stacks.empty()) return;
  const Uses uses(*layers);
  for (Layer& layer : layers->layers) {
    const auto* written = std::find_if(std::begin(kWritten), std::end(kWritten),
                                       [&](const WrittenName& row) { return row.op == layer.op; });
    if (written == std::end(kWritten) || layer.inputs.empty() || !layer.inputs[0].valid()) continue;
    const SourceLine* line = LineOf(*layers, layer);
    if (line == nullptr) continue;
    std::optional<bool> in_place = InPlaceBy(line->text, *written);
    if (!in_place && IsWrittenByBareCall(uses, layer, *line)) in_place = true;
    if (!in_place) continue;
    const Value &operand = (*layers)[layer.inputs[0]], &result = (*layers)[layer.outputs[0]];
    const bool fits = operand.role == Role::kActivation && operand.shape == result.shape && operand.type == result.type;
    layer.attributes.Set("inplace", int64_t{*in_place && fits ? 1 : 0});
  }
}

}  // namespace vramplan
