#include "planner/oom/words.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "graph/base/text.h"

namespace vramplan {
namespace {

bool IsSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool IsLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// The power of 1024 of "b", "bytes", "kb", "mib", "g" ...; nothing: not a unit. All are binary, as the tools use them.
std::optional<int> UnitOf(std::string_view name) {
  if (name == "byte" || name == "bytes") return 0;
  constexpr std::string_view kPrefixes = "bkmgtpe";
  const size_t power = name.empty() ? kPrefixes.npos : kPrefixes.find(name.front());
  if (power == kPrefixes.npos) return std::nullopt;
  const std::string_view rest = name.substr(1);
  const bool known = power == 0 ? rest.empty() : rest.empty() || rest == "b" || rest == "ib";
  return known ? std::optional(static_cast<int>(power)) : std::nullopt;
}

constexpr std::string_view kBar = "\xe2\x94\x82";  // of a frame that rich draws around a traceback

// The length of a colour or another control sequence of a terminal at the beginning; 0: there is none.
size_t EscapeAt(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const size_t end = text.find_first_not_of("0123456789;?", 2);
  return end == text.npos ? text.size() : end + 1;
}

// The length of a pattern at the beginning: # is digits, the rest is itself; 0: it is not there.
size_t LengthOf(std::string_view pattern, std::string_view text) {
  size_t at = 0;
  for (const char c : pattern) {
    if (c != '#') {
      if (at == text.size() || text[at] != c) return 0;
      ++at;
      continue;
    }
    if (at == text.size() || !IsDigit(text[at])) return 0;
    while (at < text.size() && IsDigit(text[at])) ++at;
  }
  return at;
}

// What stands in front of each line of a log: torchrun, mpirun, srun, Lightning and Python's logging.
size_t PrefixOf(std::string_view text) {
  constexpr std::string_view kPrefixes[] = {
      "[rank#]:",    "[rank#]",        "[#,#]<stderr>:", "[#,#]<stdout>:",  "#-#-# #:#:#,#", "#-#-# #:#:#.#",
      "#-#-# #:#:#", "#-#-#T#:#:#.#Z", "#-#-#T#:#:#",    "[#-#-# #:#:#,#]", "[#-#-# #:#:#]", "[default#]:"};
  size_t longest = text.starts_with(kBar) ? kBar.size() : 0;
  for (const std::string_view prefix : kPrefixes) longest = std::max(longest, LengthOf(prefix, text));
  if (longest > 0 && longest < text.size() && text[longest] == ' ') ++longest;
  return longest;
}

Bytes Saturated(double count) {
  if (count < 0 || count >= 9.2e18) return Bytes::Max();
  return Bytes::Of(static_cast<int64_t>(count));
}

}  // namespace

std::string Unwrapped(std::string_view text, bool within_words) {
  std::string line;
  line.reserve(text.size());
  const auto blank = [&] {
    if (!line.empty() && line.back() != ' ') line.push_back(' ');
  };
  bool begins = false;  // a line, and not the first
  for (size_t i = 0; i < text.size();) {
    if (begins) {
      begins = false;
      i += PrefixOf(text.substr(i));
      continue;
    }
    if (const size_t escape = EscapeAt(text.substr(i)); escape > 0) {
      i += escape;
    } else if (text.substr(i).starts_with(kBar)) {
      blank();
      i += kBar.size();
    } else if (!IsSpace(text[i])) {
      line.push_back(text[i++]);
    } else {
      begins = text[i] == '\n' && !line.empty();
      if (!begins || !within_words) blank();
      ++i;
    }
  }
  return line;
}

size_t Words::Find(std::string_view words) const {
  const size_t behind = lower_.find(words, origin_);
  return behind != lower_.npos ? behind : lower_.rfind(words, origin_);
}

std::optional<Bytes> Words::SizeAfter(std::string_view words) const {
  const size_t at = Find(words);
  return at == text_.npos ? std::nullopt : SizeAt(at + words.size());
}

size_t Words::NumberBefore(size_t end) const {
  size_t begin = end;
  const auto back = [&](auto is) {
    while (begin > 0 && is(text_[begin - 1])) --begin;
  };
  back(IsSpace);
  back(IsLetter);
  back(IsSpace);
  back([](char c) { return IsDigit(c) || c == '.' || c == ','; });
  return begin;
}

std::optional<Bytes> Words::SizeBefore(std::string_view words) const {
  const size_t at = Find(words);
  return at == text_.npos ? std::nullopt : SizeAt(NumberBefore(at));
}

std::optional<Bytes> Words::SecondSizeAfter(std::string_view words) const {
  const size_t at = Find(words);
  if (at == text_.npos) return std::nullopt;
  const size_t comma = text_.find(", ", at + words.size());
  return comma == text_.npos ? std::nullopt : SizeAt(comma + 2);
}

std::optional<Bytes> Words::SizeBeforeSlash(std::string_view words) const {
  const size_t at = Find(words);
  if (at == text_.npos) return std::nullopt;
  const size_t begin = NumberBefore(at);
  return begin == 0 || text_[begin - 1] != '/' ? std::nullopt : SizeAt(NumberBefore(begin - 1));
}

std::optional<int64_t> Words::NumberAfter(std::string_view words) const {
  const size_t at = Find(words);
  if (at == text_.npos) return std::nullopt;
  int64_t number = 0;
  const char* first = text_.data() + at + words.size();
  const auto [end, status] = std::from_chars(first, text_.data() + text_.size(), number);
  if (status != std::errc() || number < 0) return std::nullopt;
  return number;
}

std::string Words::Between(std::string_view left, std::string_view right) const {
  const size_t at = Find(left);
  if (at == text_.npos) return "";
  const size_t begin = at + left.size(), end = lower_.find(right, begin);
  // A blank may be missing at the end of the text.
  return end == text_.npos && right != " " ? "" : std::string(text_.substr(begin, end - begin));
}

std::optional<Bytes> Words::SizeAt(size_t begin) const {
  const auto at = [&](size_t i) { return i < text_.size() ? text_[i] : '\0'; };
  const bool below_zero = at(begin) == '-';
  size_t end = begin + (below_zero ? 1 : 0);
  if (at(end) == '(') ++end;
  std::string number;
  for (; IsDigit(at(end)) || at(end) == '.' || at(end) == ','; ++end) {
    // A comma stands between thousands: "25,600,000 bytes".
    const bool thousands =
        IsDigit(at(end + 1)) && IsDigit(at(end + 2)) && IsDigit(at(end + 3)) && !IsDigit(at(end + 4));
    if (at(end) == ',' && !thousands) break;
    if (at(end) == '.' && !IsDigit(at(end + 1))) break;
    if (at(end) != ',') number.push_back(at(end));
  }
  if (number.empty() || !IsDigit(number.front())) return std::nullopt;
  // "19.77/22.05 GiB" has one unit for both.
  if (at(end) == '/') {
    while (IsDigit(at(end + 1)) || at(end + 1) == '.') ++end;
    ++end;
  }
  if (at(end) == ' ' || at(end) == '-') ++end;
  const size_t unit = end;
  while (IsLetter(at(end))) ++end;
  // A number without a unit may be followed by another word: "8388608000 expr=".
  const std::optional<int> named = UnitOf(lower_.substr(std::min(unit, lower_.size()), end - unit));
  if (need_units_ && !named) return std::nullopt;
  const int power = named.value_or(0);
  if (below_zero) return Bytes::Max();
  const char* last = number.data() + number.size();
  // Whole numbers to the byte: a double has 53 bits.
  int64_t whole = 0;
  if (const auto read = std::from_chars(number.data(), last, whole); read.ec == std::errc() && read.ptr == last)
    return Saturated(std::ldexp(static_cast<double>(whole), 10 * power)) == Bytes::Max()
               ? Bytes::Max()
               : Bytes::Of(whole * (int64_t{1} << (10 * power)));
  double value = 0;
  std::from_chars(number.data(), last, value);
  return Saturated(std::ldexp(value, 10 * power));
}

}  // namespace vramplan
