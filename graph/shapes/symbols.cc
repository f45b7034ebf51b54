#include "graph/shapes/symbols.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>
#include <string_view>
#include <utility>

#include "graph/base/text.h"
#include "graph/shapes/arithmetic.h"

namespace vramplan {
namespace {

bool StartsName(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool ContinuesName(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == ':';
}

// Recursive descent, one character ahead. `lookup` gives the value of a name. Division is kept as a fraction of two
// lengths until it is floored or turns out exact, so that "ceiling(s/2)" and "2*(s/2)" are right.
class SymbolParser {
 public:
  SymbolParser(std::string_view text, std::function<Dim(const std::string&)> lookup)
      : rest_(text), lookup_(std::move(lookup)) {}

  std::optional<Dim> Parse() {
    const Fraction value = Sum();
    Skip();
    if (failed_ || !rest_.empty()) return std::nullopt;
    return Whole(value);
  }

 private:
  struct Fraction {
    Dim over;
    Dim under = Dim(1);
  };
  static constexpr int kMaxDepth = 64;  // "((((..." must not eat the stack

  void Skip() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }
  bool Take(std::string_view token) {
    Skip();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  static Dim Whole(Fraction f) { return Quotient(f.over, f.under).value_or(Dim::Unknown()); }

  Fraction Sum() {
    if (++depth_ > kMaxDepth) {
      failed_ = true;
      return {};
    }
    Fraction left = Take("-") ? Negated(Product()) : Product();
    while (!failed_) {
      if (Take("+")) {
        left = Added(left, Product());
      } else if (Take("-")) {
        left = Added(left, Negated(Product()));
      } else {
        break;
      }
    }
    --depth_;
    return left;
  }
  Fraction Product() {
    Fraction left = Power();
    while (!failed_) {
      if (Take("//")) {
        const Fraction right = Power();
        left = {FloorDivide(left.over * right.under, left.under * right.over), 1};
      } else if (Take("/")) {
        const Fraction right = Power();
        left = {left.over * right.under, left.under * right.over};
      } else if (Take("%")) {
        left = {Modulo(Whole(left), Whole(Power())), 1};
      } else if (Take("*")) {
        const Fraction right = Power();
        left = {left.over * right.over, left.under * right.under};
      } else {
        break;
      }
    }
    return left;
  }
  Fraction Power() {
    Fraction base = Atom();
    if (!Take("**") && !Take("^")) return base;
    const Dim exponent = Whole(Atom());
    if (!exponent.IsConstant() || exponent.c0() < 0 || exponent.c0() > 62) return {Dim::Unknown(), 1};
    Fraction power{1, 1};
    for (int64_t i = 0; i < exponent.c0(); ++i) power = {power.over * base.over, power.under * base.under};
    return power;
  }
  Fraction Atom() {
    Skip();
    if (Take("(")) {
      const Fraction inside = Sum();
      if (!Take(")")) failed_ = true;
      return inside;
    }
    if (rest_.empty()) {
      failed_ = true;
      return {};
    }
    if (std::isdigit(static_cast<unsigned char>(rest_.front())) != 0) {
      int64_t number = 0;
      const auto [end, status] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
      failed_ = failed_ || status != std::errc();
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      return {number, 1};
    }
    if (!StartsName(rest_.front())) {
      failed_ = true;
      return {};
    }
    size_t length = 1;
    while (length < rest_.size() && ContinuesName(rest_[length])) ++length;
    const std::string name(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return Take("(") ? Call(name) : Fraction{lookup_(name), 1};
  }
  Fraction Call(std::string name) {
    name = LowerCase(name);
    std::vector<Fraction> arguments{Sum()};
    while (!failed_ && Take(",")) arguments.push_back(Sum());
    if (failed_ || !Take(")")) {
      failed_ = true;
      return {};
    }
    const Fraction first = arguments[0];
    const Dim one_less = first.under.IsConstant() ? first.under - Dim(1) : Dim::Unknown();
    if (name == "floor") return {FloorDivide(first.over, first.under), 1};
    if (name == "ceiling" || name == "ceil") return {FloorDivide(first.over + one_less, first.under), 1};
    if ((name == "max" || name == "min") && arguments.size() >= 2) {
      Dim best = Whole(first);
      for (size_t i = 1; i < arguments.size(); ++i) {
        best = name == "max" ? Maximum(best, Whole(arguments[i])) : Minimum(best, Whole(arguments[i]));
      }
      return {best, 1};
    }
    if (name == "mod" && arguments.size() == 2) return {Modulo(Whole(first), Whole(arguments[1])), 1};
    if (name == "floordiv" && arguments.size() == 2) return {FloorDivide(Whole(first), Whole(arguments[1])), 1};
    failed_ = true;
    return {};
  }
  static Fraction Negated(Fraction f) { return {Dim(0) - f.over, f.under}; }
  static Fraction Added(Fraction a, Fraction b) {
    if (a.under == b.under) return {a.over + b.over, a.under};
    return {a.over * b.under + b.over * a.under, a.under * b.under};
  }

  std::string_view rest_;
  std::function<Dim(const std::string&)> lookup_;
  int depth_ = 0;
  bool failed_ = false;
};

}  // namespace

std::optional<Dim> EvaluateDim(const std::string& text, const std::map<std::string, Dim>& symbols) {
  const auto whole = symbols.find(text);
  if (whole != symbols.end()) return whole->second;
  const auto lookup = [&](const std::string& name) {
    const auto found = symbols.find(name);
    return found == symbols.end() ? Dim::Unknown() : found->second;
  };
  const auto value = SymbolParser(text, lookup).Parse();
  return value && value->known() ? value : std::nullopt;
}

std::vector<std::string> SymbolsIn(const std::string& text) {
  std::vector<std::string> names;
  const auto collect = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    return Dim(1);
  };
  return SymbolParser(text, collect).Parse() ? names : std::vector<std::string>();
}

}  // namespace vramplan
