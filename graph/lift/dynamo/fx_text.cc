#include "graph/lift/dynamo/fx_text.h"

#include <cctype>
#include <charconv>
#include <limits>

namespace vramplan {
namespace {

constexpr int kMaxDepth = 32;  // deeper nesting is not a program's argument list

class TextReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) {}

  bool AtEnd() {
    SkipSpace();
    return at_ == text_.size();
  }
  bool Accept(std::string_view token) {
    SkipSpace();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  char Peek() {
    SkipSpace();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  // Letters, digits, '_' and '.', as in names and targets.
  std::string Name() {
    SkipSpace();
    const size_t start = at_;
    while (at_ < text_.size() && IsNameChar(text_[at_])) ++at_;
    return std::string(text_.substr(start, at_ - start));
  }
  // Everything up to `end`, which is skipped.
  std::optional<std::string> Until(char end) {
    const size_t found = text_.find(end, at_);
    if (found == std::string_view::npos) return std::nullopt;
    std::string result(text_.substr(at_, found - at_));
    at_ = found + 1;
    return result;
  }

  std::optional<FxLiteral> Literal(int depth = 0) {
    if (depth > kMaxDepth) return std::nullopt;
    switch (Peek()) {
      case '\0':
        return std::nullopt;
      case '[':
        return Sequence('[', ']', depth);
      case '(':
        return Sequence('(', ')', depth);
      case '{':
        return Dict(depth);
      case '\'':
      case '"':
        return String();
      case '%':
        ++at_;
        return FxLiteral{.kind = FxLiteral::Kind::kRef, .text = Name()};
      default:
        return Bare();
    }
  }

 private:
  static bool IsNameChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }
  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }

  std::optional<FxLiteral> Sequence(char open, char close, int depth) {
    FxLiteral list{.kind = FxLiteral::Kind::kList};
    if (!Accept(std::string_view(&open, 1))) return std::nullopt;
    while (!Accept(std::string_view(&close, 1))) {
      std::optional<FxLiteral> item = Literal(depth + 1);
      if (!item.has_value()) return std::nullopt;
      list.items.push_back(std::move(*item));
      if (!Accept(",") && Peek() != close) return std::nullopt;
    }
    return list;
  }

  std::optional<FxLiteral> Dict(int depth) {
    FxLiteral dict{.kind = FxLiteral::Kind::kDict};
    if (!Accept("{")) return std::nullopt;
    while (!Accept("}")) {
      std::optional<FxLiteral> key = Literal(depth + 1);
      if (!key.has_value() || !Accept(":")) return std::nullopt;
      std::optional<FxLiteral> value = Literal(depth + 1);
      if (!value.has_value()) return std::nullopt;
      dict.items.push_back(std::move(*key));
      dict.items.push_back(std::move(*value));
      if (!Accept(",") && Peek() != '}') return std::nullopt;
    }
    return dict;
  }

  std::optional<FxLiteral> String() {
    const char quote = text_[at_++];
    FxLiteral string{.kind = FxLiteral::Kind::kString};
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      string.text += text_[at_++];
    }
    if (at_ == text_.size()) return std::nullopt;
    ++at_;
    return string;
  }

  // A number, None, True, False, inf, or a symbol with what brackets belong to it: device(type='cpu'), slice(None, 3,
  // None).
  std::optional<FxLiteral> Bare() {
    const size_t start = at_;
    const bool negative = text_[at_] == '-';
    if (negative) ++at_;
    while (at_ < text_.size() &&
           (IsNameChar(text_[at_]) || ((text_[at_] == '-' || text_[at_] == '+') && IsExponent(start))))
      ++at_;
    const std::string_view word = text_.substr(start, at_ - start);
    if (word.empty() || word == "-") return std::nullopt;
    if (word == "None") return FxLiteral{};
    if (word == "True" || word == "False")
      return FxLiteral{.kind = FxLiteral::Kind::kBool, .integer = word == "True" ? 1 : 0};
    if (word == "inf" || word == "-inf") {
      const double infinity = std::numeric_limits<double>::infinity();
      return FxLiteral{.kind = FxLiteral::Kind::kReal, .real = negative ? -infinity : infinity};
    }
    if (word == "nan")
      return FxLiteral{.kind = FxLiteral::Kind::kReal, .real = std::numeric_limits<double>::quiet_NaN()};
    int64_t integer = 0;
    const auto [int_end, int_error] = std::from_chars(word.data(), word.data() + word.size(), integer);
    if (int_error == std::errc() && int_end == word.data() + word.size()) {
      return FxLiteral{.kind = FxLiteral::Kind::kInt, .integer = integer};
    }
    double real = 0;
    const auto [real_end, real_error] = std::from_chars(word.data(), word.data() + word.size(), real);
    if (real_error == std::errc() && real_end == word.data() + word.size())
      return FxLiteral{.kind = FxLiteral::Kind::kReal, .real = real};
    FxLiteral symbol{.kind = FxLiteral::Kind::kSymbol, .text = std::string(word)};
    if (at_ < text_.size() && text_[at_] == '(') {
      int open = 0;
      const size_t bracket = at_;
      do {
        if (text_[at_] == '(') ++open;
        if (text_[at_] == ')') --open;
        ++at_;
      } while (at_ < text_.size() && open > 0);
      if (open > 0) return std::nullopt;
      symbol.text += std::string(text_.substr(bracket, at_ - bracket));
    } else if (at_ < text_.size() && text_[at_] == ':') {  // cuda:0, but not the colon of a dict
      if (at_ + 1 < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_ + 1])) != 0) {
        symbol.text += ':';
        ++at_;
        symbol.text += Name();
      }
    }
    return symbol;
  }
  bool IsExponent(size_t start) const {
    return at_ > start && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E') &&
           (std::isdigit(static_cast<unsigned char>(text_[start])) != 0 || text_[start] == '-');
  }

  std::string_view text_;
  size_t at_ = 0;
};

// Strings are printed without quotes, and an equation has commas of its own: (bij, bjk -> bik, [%x, %y]).
std::optional<FxLiteral> EinsumArguments(TextReader& reader) {
  FxLiteral list{.kind = FxLiteral::Kind::kList};
  if (!reader.Accept("(")) return std::nullopt;
  std::optional<std::string> equation = reader.Until('[');
  if (!equation.has_value()) return std::nullopt;
  FxLiteral operands{.kind = FxLiteral::Kind::kList};
  while (!reader.Accept("]")) {
    std::optional<FxLiteral> operand = reader.Literal();
    if (!operand.has_value()) return std::nullopt;
    operands.items.push_back(std::move(*operand));
    if (!reader.Accept(",") && reader.Peek() != ']') return std::nullopt;
  }
  if (!reader.Accept(")")) return std::nullopt;
  equation->resize(equation->find_last_not_of(", ") + 1);
  list.items.push_back({.kind = FxLiteral::Kind::kString, .text = std::move(*equation)});
  list.items.push_back(std::move(operands));
  return list;
}

std::string_view TrimLine(std::string_view line) {
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
  while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  return line;
}

}  // namespace

std::optional<FxLiteral> ParseFxLiteral(std::string_view text) {
  TextReader reader(text);
  std::optional<FxLiteral> literal = reader.Literal();
  if (!literal.has_value() || !reader.AtEnd()) return std::nullopt;
  return literal;
}

std::optional<FxNode> ParseFxNode(std::string_view text) {
  TextReader reader(text);
  FxNode node;
  if (!reader.Accept("%")) return std::nullopt;
  node.name = reader.Name();
  if (node.name.empty() || !reader.Until('=').has_value()) return std::nullopt;  // the '=' of [num_users=1]
  if (!reader.Until('=').has_value()) return std::nullopt;
  if (!reader.Accept("call_function[target=")) return std::nullopt;
  std::optional<std::string> target = reader.Until(']');
  if (!target.has_value()) return std::nullopt;
  constexpr std::string_view kOps = "torch.ops.";
  node.target = target->rfind(kOps, 0) == 0 ? target->substr(kOps.size()) : *target;
  if (!reader.Accept("(") || !reader.Accept("args") || !reader.Accept("=")) return std::nullopt;
  std::optional<FxLiteral> arguments =
      node.target.starts_with("aten.einsum") ? EinsumArguments(reader) : reader.Literal();
  if (!arguments.has_value() || arguments->kind != FxLiteral::Kind::kList) return std::nullopt;
  node.arguments = std::move(arguments->items);
  if (!reader.Accept(",") || !reader.Accept("kwargs") || !reader.Accept("=")) return std::nullopt;
  const std::optional<FxLiteral> keywords = reader.Literal();
  if (!keywords.has_value() || keywords->kind != FxLiteral::Kind::kDict) return std::nullopt;
  for (size_t i = 0; i + 1 < keywords->items.size(); i += 2)
    node.keywords.emplace_back(keywords->items[i].text, keywords->items[i + 1]);
  return node;
}

std::optional<std::vector<std::string>> ParseNameList(std::string_view text) {
  const std::optional<FxLiteral> list = ParseFxLiteral(text);
  if (!list.has_value() || list->kind != FxLiteral::Kind::kList) return std::nullopt;
  std::vector<std::string> names;
  for (const FxLiteral& item : list->items) {
    if (item.kind != FxLiteral::Kind::kString) return std::nullopt;
    names.push_back(item.text);
  }
  return names;
}

namespace {

std::optional<SignatureEntry::Kind> KindOf(std::string_view name) {
  if (name == "PARAMETER") return SignatureEntry::Kind::kParameter;
  if (name == "BUFFER") return SignatureEntry::Kind::kBuffer;
  if (name == "CONSTANT_TENSOR") return SignatureEntry::Kind::kConstant;
  if (name == "USER_INPUT") return SignatureEntry::Kind::kInput;
  return {};  // CUSTOM_OBJ, TOKEN: no tensor
}

// What stands between `before` and `after`, the first time; empty: nowhere.
std::string_view Between(std::string_view text, std::string_view before, std::string_view after) {
  const size_t at = text.find(before);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + before.size());
  return text.substr(0, text.find(after));
}

// PyTorch 2.6 writes Python's repr of the signature:
// ExportGraphSignature(input_specs=[InputSpec(kind=<InputKind.BUFFER: 3>, arg=TensorArgument(name='b_m'), target='m',
// persistent=True), ...], output_specs=[...]).
std::vector<SignatureEntry> ParseSignatureRepr(std::string_view text) {
  constexpr std::string_view kSpec = "InputSpec(";
  std::vector<SignatureEntry> entries;
  text = text.substr(0, text.find("output_specs=["));
  for (size_t at = text.find(kSpec); at != std::string_view::npos;) {
    const size_t next = text.find(kSpec, at + kSpec.size());
    const std::string_view spec = text.substr(at, next == std::string_view::npos ? next : next - at);
    at = next;
    const auto kind = KindOf(Between(spec, "kind=<InputKind.", ":"));
    if (!kind || spec.find("TensorArgument(") == std::string_view::npos) continue;
    entries.push_back({.placeholder = std::string(Between(spec, "name='", "'")),
                       .kind = *kind,
                       .target = std::string(Between(spec, "target='", "'"))});
  }
  return entries;
}

}  // namespace

RecordedArgument ArgumentOf(const FxLiteral& literal) {
  using enum RecordedArgument::Kind;
  switch (literal.kind) {
    case FxLiteral::Kind::kBool:
      return {.kind = kBool, .integer = literal.integer};
    case FxLiteral::Kind::kInt:
      return {.kind = kInt, .integer = literal.integer};
    case FxLiteral::Kind::kReal:
      return {.kind = kReal, .real = literal.real};
    case FxLiteral::Kind::kSymbol:  // a word is printed without its quotes: {rounding_mode: floor}
      if (literal.text.find_first_of(".:(") != std::string::npos) return {};
      [[fallthrough]];
    case FxLiteral::Kind::kString:
      return {.kind = kText, .text = literal.text};
    case FxLiteral::Kind::kList: {
      RecordedArgument list{.kind = kList};
      for (const FxLiteral& item : literal.items) list.items.push_back(ArgumentOf(item));
      return list;
    }
    default:
      return {};
  }
}

std::vector<SignatureEntry> ParseSignature(std::string_view text) {
  if (text.starts_with("ExportGraphSignature(")) return ParseSignatureRepr(text);
  std::vector<SignatureEntry> entries;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = TrimLine(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line == "# outputs") break;
    const size_t colon = line.find(": ");
    if (line.empty() || line.front() == '#' || colon == std::string_view::npos) continue;
    SignatureEntry entry{.placeholder = std::string(line.substr(0, colon))};
    const std::string_view rest = line.substr(colon + 2);
    const auto kind = KindOf(rest.substr(0, rest.find(' ')));
    if (!kind) continue;
    entry.kind = *kind;
    const size_t quote = rest.find("target='");
    if (quote != std::string_view::npos) {
      const std::string_view target = rest.substr(quote + 8);
      entry.target = std::string(target.substr(0, target.find('\'')));
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace vramplan
