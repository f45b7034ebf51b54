#include "planner/lifetimes/python_line.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "graph/layers/source.h"

namespace vramplan {
namespace {

bool IsLetter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool IsOpening(char c) { return c == '(' || c == '[' || c == '{'; }
bool IsClosing(char c) { return c == ')' || c == ']' || c == '}'; }

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Strings become blanks, a comment is gone: what is left has no brackets and signs that are none.
std::string Plain(std::string_view text) {
  std::string plain;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\') ++i;
      if (c == quote) quote = 0;
      plain += ' ';
    } else if (c == '"' || c == '\'') {
      quote = c;
      plain += ' ';
    } else if (c == '#') {
      break;
    } else {
      plain += c;
    }
  }
  return plain;
}

// Where one of `signs` stands outside of all brackets, from `begin` on; npos: nowhere.
size_t FindOutside(std::string_view text, std::string_view signs, size_t begin) {
  int depth = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    if (IsOpening(text[i])) ++depth;
    if (IsClosing(text[i])) --depth;
    if (depth <= 0 && signs.find(text[i]) != std::string_view::npos) return i;
  }
  return std::string_view::npos;
}

// Where a call puts something into a list; npos: none does.
size_t ListCallIn(std::string_view text) {
  for (const KeepingCall& call : kKeepingCalls) {
    const size_t at = call.in_list ? text.find(call.written) : std::string_view::npos;
    if (at != std::string_view::npos) return at;
  }
  return std::string_view::npos;
}

bool StartsWithWord(std::string_view text, std::string_view word) {
  return text.starts_with(word) && (text.size() == word.size() || !IsLetter(text[word.size()]));
}

// The `=` of an assignment, from `begin` on; npos: none.
size_t FindAssignment(std::string_view text, size_t begin) {
  for (size_t at = FindOutside(text, "=", begin); at != std::string_view::npos; at = FindOutside(text, "=", at + 1)) {
    const bool doubled = at + 1 < text.size() && text[at + 1] == '=';
    const bool compares = doubled || (at > 0 && std::string_view("=!<>:").find(text[at - 1]) != std::string_view::npos);
    if (!compares) return at;
    if (doubled) ++at;
  }
  return std::string_view::npos;
}

void AddTargets(std::string_view left, std::vector<std::string>* targets) {
  constexpr std::string_view kOperators = "+-*/%&|^@";
  left = Trimmed(left);
  while (!left.empty() && kOperators.find(left.back()) != std::string_view::npos) left.remove_suffix(1);
  left = Trimmed(left.substr(0, FindOutside(left, ":", 0)));  // x: Tensor = ...
  std::string flat;                                           // out, (h, c) = ...
  std::copy_if(left.begin(), left.end(), std::back_inserter(flat), [](char c) { return c != '(' && c != ')'; });
  for (std::string_view rest = flat; !rest.empty();) {
    const size_t end = std::min(rest.find(','), rest.size());
    std::string_view name = Trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (name.starts_with('*')) name.remove_prefix(1);
    if (name.empty()) continue;
    targets->emplace_back(std::all_of(name.begin(), name.end(), IsLetter) ? name : std::string_view());
  }
}

// Whether a line is the last one of a call's arguments: "self.norm(x), mask, causal=causal" binds nothing, for no name
// is the result of a call; and nobody writes a tuple that nothing takes.
bool IsArguments(std::string_view text) {
  const size_t assignment = FindAssignment(text, 0);
  if (assignment == std::string_view::npos) return FindOutside(text, ",", 0) != std::string_view::npos;
  const size_t call = text.substr(0, assignment).find('(');
  return call != std::string_view::npos && call > 0 && IsLetter(text[call - 1]) &&
         text.substr(0, call).find('[') == std::string_view::npos;
}

// How operators are written, beside their own names.
struct Spelling {
  std::string_view written;
  std::string_view operators;  // each between blanks
};
constexpr Spelling kSpellings[] = {
    {"+", " add "},
    {"-", " sub rsub neg "},
    {"*", " mul "},
    {"/", " div rdiv "},
    {"**", " pow square "},
    {"@", " matmul bmm "},
    {"matmul(", " bmm "},
    {"==", " eq "},
    {"!=", " ne "},
    {"<", " lt le "},
    {">", " gt ge "},
    {"[", " select slice index index_select gather "},
    {"concat(", " cat "},
    {"chunk(", " split "},
    {"interpolate(",
     " upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d upsample_bilinear2d "
     "upsample_trilinear3d upsample_bicubic2d _upsample_nearest_exact2d "},
    {"normalize(", " norm clamp expand div "},
    {"", " contiguous reshape view permute transpose expand squeeze unsqueeze "},  // no block of their own, mostly
};

}  // namespace

PythonLine ReadPythonLine(std::string_view given) {
  PythonLine line;
  const std::string plain = Plain(given);
  std::string_view text = Trimmed(plain);
  for (const char c : text) line.open += IsOpening(c) ? 1 : IsClosing(c) ? -1 : 0;
  line.goes_on = line.open < 0 || (line.open == 0 && text.ends_with(','));
  for (const std::string_view word : {"for", "if", "elif", "else", "while", "with", "def", "async", "try"}) {
    if (!StartsWithWord(text, word)) continue;
    const size_t colon = FindOutside(text, ":", 0);
    const std::string_view body =
        colon == std::string_view::npos ? std::string_view() : Trimmed(text.substr(colon + 1));
    line.clear = !body.empty();
    text = body;
    break;
  }
  if (FindOutside(text, ";", 0) != std::string_view::npos) line.clear = false;
  line.returns = StartsWithWord(text, "return");
  line.comprehension = text.find(" for ") != std::string_view::npos;
  line.goes_on = line.goes_on || (!line.returns && line.open == 0 && IsArguments(text));
  if (line.returns || !line.clear || line.goes_on) return line;
  size_t begin = 0;
  bool adds = false;
  for (size_t at = FindAssignment(text, 0); at != std::string_view::npos; at = FindAssignment(text, begin)) {
    AddTargets(text.substr(begin, at - begin), &line.targets);
    adds = at > 0 && text[at - 1] == '+';
    begin = at + 1;
  }
  const std::string_view right = Trimmed(text.substr(begin));
  if (line.targets.empty() && ListCallIn(text) != std::string_view::npos) line.collects = true;
  if (adds && (right.starts_with('[') || right.starts_with('('))) line.collects = true;  // all_states += (x,)
  return line;
}

std::vector<std::string> NamesIn(std::string_view given) {
  const std::string text = Plain(given);
  std::vector<std::string> names;
  for (size_t i = 0; i < text.size();) {
    if (!IsLetter(text[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && IsLetter(text[end])) ++end;
    const bool attribute = i > 0 && text[i - 1] == '.';
    const bool number = std::isdigit(static_cast<unsigned char>(text[i])) != 0;
    const std::string name = text.substr(i, end - i);
    if (!attribute && !number && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    i = end;
  }
  return names;
}

std::string ListIn(std::string_view text) {
  const size_t at = ListCallIn(text);
  if (at == std::string_view::npos) return "";
  size_t begin = at;
  while (begin > 0 && IsLetter(text[begin - 1])) --begin;
  return Trimmed(text.substr(0, begin)).empty() ? std::string(text.substr(begin, at - begin)) : std::string();
}

std::vector<std::string> FurtherArguments(std::string_view given) {
  const std::string text = Plain(given);
  std::vector<std::string> names;
  for (size_t at = text.find(','); at != std::string::npos; at = text.find(',', at + 1)) {
    std::string_view argument = text;
    argument.remove_prefix(at + 1);
    argument = Trimmed(argument.substr(0, FindOutside(argument, ",", 0)));
    argument = argument.substr(0, std::min(argument.find(')'), argument.size()));
    if (const size_t keyword = argument.find('='); keyword != std::string_view::npos)
      argument = argument.substr(keyword + 1);
    argument = Trimmed(argument);
    const bool is_name = !argument.empty() && std::isdigit(static_cast<unsigned char>(argument[0])) == 0 &&
                         std::all_of(argument.begin(), argument.end(), IsLetter);
    if (is_name && argument != "None" && argument != "True" && argument != "False") names.emplace_back(argument);
  }
  return names;
}

bool Mentions(std::string_view text, std::string_view name) {
  const std::vector<std::string> names = NamesIn(text);
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string_view RightOf(std::string_view text) {
  const size_t assignment = text.find('=');
  return assignment == std::string_view::npos ? text : text.substr(assignment + 1);
}

bool IsWritten(std::string_view op, std::string_view text) {
  if (text.find(std::string(op) + "(") != std::string_view::npos) return true;
  const std::string name = " " + std::string(op) + " ";
  return std::any_of(std::begin(kSpellings), std::end(kSpellings), [&](const Spelling& row) {
    return row.operators.find(name) != std::string_view::npos && text.find(row.written) != std::string_view::npos;
  });
}

bool HasAttribute(std::string_view text, std::string_view name) {
  const std::string wanted = "." + std::string(name);
  for (size_t at = text.find(wanted); at != std::string_view::npos; at = text.find(wanted, at + 1)) {
    const size_t end = at + wanted.size();
    if (end == text.size() || !IsLetter(text[end])) return true;
  }
  return false;
}

int CallsOfVariables(std::string_view text) {
  int calls = 0;
  for (size_t at = text.find('('); at != std::string_view::npos; at = text.find('(', at + 1)) {
    size_t begin = at;
    while (begin > 0 && IsLetter(text[begin - 1])) --begin;
    const bool name = begin < at;
    if (name ? begin == 0 || text[begin - 1] != '.' : at > 0 && text[at - 1] == ']') ++calls;
  }
  return calls;
}

}  // namespace vramplan
