#include "graph/layers/form.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "graph/base/check.h"
#include "graph/base/text.h"

namespace vramplan {
namespace {

constexpr size_t kMostOperands = 8;

// Takes one of "clamp|max_pool*" off the front.
std::string_view TakeOp(std::string_view* ops) {
  const std::string_view op = ops->substr(0, ops->find('|'));
  ops->remove_prefix(std::min(ops->size(), op.size() + 1));
  return op;
}

bool IsOneOfOps(std::string_view ops, std::string_view op) {
  while (!ops.empty()) {
    const std::string_view one = TakeOp(&ops);
    if (one == op || (one.ends_with('*') && op.starts_with(one.substr(0, one.size() - 1)))) return true;
  }
  return false;
}

bool Commutes(std::string_view op) {
  return IsOneOf(op, {"Add", "Mul", "Equal", "And", "Or", "Max", "Min", "add", "mul", "eq", "maximum", "minimum",
                      "bitwise_and", "bitwise_or"});
}

template <typename T>
T FindIn(const std::vector<std::pair<std::string_view, T>>& list, std::string_view name, T otherwise) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const auto& entry) { return entry.first == name; });
  return found == list.end() ? otherwise : found->second;
}

}  // namespace

std::optional<double> LayerCalls::NumberAt(int32_t call, size_t i) const {
  const Layer& layer = At(call);
  if (Uses::In(&layer, i).valid() || !layer.attributes.Has("scalar")) return std::nullopt;
  return layer.attributes.Real("scalar", 0);
}

int32_t Match::Value(std::string_view name) const { return FindIn(values, name, int32_t{-1}); }
double Match::Number(std::string_view name) const { return FindIn(numbers, name, 0.0); }

class Form::Parser {
 public:
  Parser(std::string_view text, std::vector<Part>* parts) : text_(text), parts_(*parts) {}

  int Whole() {
    const int root = One();
    Skip();
    CHECK(at_ == text_.size());
    return root;
  }

 private:
  void Skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool Take(char c) {
    const size_t before = at_;
    Skip();
    const bool found = at_ < text_.size() && text_[at_] == c;
    at_ = found ? at_ + 1 : before;  // "(a | b)": what stands behind a blank does not belong to `a`
    return found;
  }
  std::string_view Word() {
    Skip();
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_' ||
                                  text_[at_] == ':' || text_[at_] == '*' || text_[at_] == '.'))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }

  int One() {
    Part part;
    part.behind_views = Take('~');
    if (Take('#')) {
      part.kind = Kind::kSomeNumber;
      part.name = Word();
    } else if (Take('-')) {
      part.kind = Kind::kNothing;
    } else if (Take('(')) {
      part.kind = Kind::kOneOf;
      int last = -1;
      do Append(&part, &last);
      while (Take('|'));
      CHECK(Take(')'));
    } else {
      Call(&part);
    }
    parts_.push_back(part);
    return static_cast<int>(parts_.size()) - 1;
  }

  void Append(Part* parent, int* last) {
    const int part = One();
    (*last < 0 ? parent->first : parts_[static_cast<size_t>(*last)].next) = part;
    *last = part;
  }

  void Call(Part* part) {
    Mark(part);
    std::string_view word = Word();
    if (Take('=')) {
      part->name = word;
      Mark(part);
      word = Word();
    }
    CHECK(!word.empty());
    if (at_ == text_.size() || (text_[at_] != '|' && text_[at_] != '(')) return Leaf(part, word);
    const size_t begin = at_ - word.size();
    while (at_ < text_.size() && text_[at_] == '|') {
      ++at_;
      Word();
    }
    part->kind = Kind::kCall;
    part->ops = text_.substr(begin, at_ - begin);
    part->commutes = Commutes(word);
    CHECK(Take('('));
    int last = -1;
    while (!Take(')')) {
      Append(part, &last);
      Take(',');
    }
  }

  void Mark(Part* part) {
    if (Take('!')) part->sharing = Sharing::kNone;
    if (Take('&')) part->sharing = Sharing::kAny;
  }

  static void Leaf(Part* part, std::string_view word) {
    if (word == "_") return;
    const bool number = std::isdigit(static_cast<unsigned char>(word[0])) != 0;
    part->kind = number ? Kind::kNumber : Kind::kValue;
    if (number) part->number = std::strtod(std::string(word).c_str(), nullptr);
    if (!number) part->name = word;
  }

  std::string_view text_;
  std::vector<Part>& parts_;
  size_t at_ = 0;
};

// A search: what is left to match is a list of goals, each a part and where it must stand.
class Form::Matcher {
 public:
  Matcher(const Form& form, const CallGraph& calls, Match* match, const AcceptMatch& accept, Mismatch* mismatch)
      : form_(form), calls_(calls), match_(*match), accept_(accept), mismatch_(mismatch) {}

  bool Root(int32_t call) {
    const Part& part = form_.At(form_.parsed_->root);
    if (!IsOneOfOps(part.ops, calls_.OpOf(call))) return false;
    if (!part.name.empty()) match_.values.emplace_back(part.name, calls_.ResultOf(call));
    match_.calls.push_back(call);
    return Operands(part, call, nullptr);
  }

 private:
  using Reason = Mismatch::Reason;
  struct Goal {
    int part = 0;
    int32_t call = 0;  // whose operand it is about
    size_t operand = 0;
    const Goal* next = nullptr;
  };

  bool Operands(const Part& part, int32_t call, const Goal* rest) {
    std::array<Goal, kMostOperands> goals;
    size_t count = 0;
    for (int p = part.first; p >= 0; p = form_.At(p).next) {
      CHECK(count < kMostOperands);
      goals[count] = {p, call, count, nullptr};
      ++count;
    }
    for (size_t i = 0; i < count; ++i) goals[i].next = i + 1 < count ? &goals[i + 1] : rest;
    const Goal* first = count == 0 ? rest : goals.data();
    if (Reach(first)) return true;
    if (!part.commutes || count != 2) return false;
    std::swap(goals[0].operand, goals[1].operand);
    return Reach(first);
  }

  bool Reach(const Goal* goal) {
    if (goal == nullptr) return accept_(match_) || No(Reason::kRefused, {}, {});
    const size_t values = match_.values.size(), numbers = match_.numbers.size(), calls = match_.calls.size();
    if (Try(form_.At(goal->part), *goal)) return true;
    match_.values.resize(values);
    match_.numbers.resize(numbers);
    match_.calls.resize(calls);
    return false;
  }

  bool Try(const Part& part, const Goal& goal) {
    if (part.kind == Kind::kAnything) return Reach(goal.next);
    if (part.kind == Kind::kOneOf) {
      for (int one = part.first; one >= 0; one = form_.At(one).next) {
        const Goal chosen{one, goal.call, goal.operand, goal.next};
        if (Reach(&chosen)) return true;
      }
      return false;
    }
    if (part.kind == Kind::kNumber || part.kind == Kind::kSomeNumber) {
      const std::optional<double> number = calls_.NumberAt(goal.call, goal.operand);
      if (!number) return No(Reason::kNoNumber, part, goal);
      if (part.kind == Kind::kNumber && std::abs(*number - part.number) > 1e-3 * std::max(1.0, std::abs(part.number)))
        return No(Reason::kNumber, part, goal);
      match_.numbers.emplace_back(part.name, *number);
      return Reach(goal.next);
    }
    int32_t value = calls_.Operand(goal.call, goal.operand);
    if (part.kind == Kind::kNothing) return value < 0 ? Reach(goal.next) : No(Reason::kPresent, part, goal, value);
    if (value < 0) return No(Reason::kAbsent, part, goal);
    if (part.behind_views) value = calls_.BehindViews(value);
    if (!part.name.empty()) {
      const int32_t same = match_.Value(part.name);
      if (same >= 0 && same != value) return No(Reason::kOtherValue, part, goal, value);
      if (same < 0) match_.values.emplace_back(part.name, value);
    }
    return part.kind == Kind::kValue ? Reach(goal.next) : TryCall(part, goal, value);
  }

  bool TryCall(const Part& part, const Goal& goal, int32_t value) {
    const int32_t maker = calls_.MakerOf(value);
    if (maker < 0) return No(Reason::kNoCall, part, goal, value);
    if (!IsOneOfOps(part.ops, calls_.OpOf(maker))) return No(Reason::kOperator, part, goal, value);
    const bool shared =
        part.sharing == Sharing::kAny || (part.sharing == Sharing::kAsUsual && calls_.KeepsWhatOthersRead());
    if (!shared && !calls_.IsReadOnce(value)) return No(Reason::kShared, part, goal, value);
    match_.calls.push_back(maker);
    return Operands(part, maker, goal.next);
  }

  // False; keeps the reason where nobody came further.
  bool No(Reason reason, const Part& part, const Goal& goal, int32_t value = -1) {
    if (mismatch_ == nullptr) return false;
    const size_t matched = match_.calls.size() + match_.values.size() + match_.numbers.size();
    if (!mismatch_->form.empty() && matched <= mismatch_->matched) return false;
    *mismatch_ = {.form = form_.parsed_->text,
                  .reason = reason,
                  .wanted = part.ops.empty() ? part.name : part.ops,
                  .call = goal.call,
                  .operand = goal.operand,
                  .value = value,
                  .number = part.number,
                  .matched = matched};
    return false;
  }

  const Form& form_;
  const CallGraph& calls_;
  Match& match_;
  const AcceptMatch& accept_;
  Mismatch* mismatch_;
};

Form::Form(std::string text) : parsed_(std::make_shared<Parsed>()) { parsed_->text = std::move(text); }

// In front of the first bracket stands "name=clamp|maximum", perhaps without the name.
std::vector<std::string_view> Form::roots() const {
  const std::string_view text = parsed_->text;
  std::string_view ops = text.substr(0, text.find('('));
  ops.remove_prefix(ops.find('=') + 1);
  std::vector<std::string_view> roots;
  while (!ops.empty()) roots.push_back(TakeOp(&ops));
  return roots;
}

bool Form::Matches(const CallGraph& calls, int32_t root, Match* match, const AcceptMatch& accept,
                   Mismatch* mismatch) const {
  std::call_once(parsed_->once, [this] {
    parsed_->root = Parser(parsed_->text, &parsed_->parts).Whole();
    CHECK(At(parsed_->root).kind == Kind::kCall);
  });
  *match = {};
  return Matcher(*this, calls, match, accept, mismatch).Root(root);
}

CallText ParseCall(std::string_view text) {
  CallText call;
  const size_t open = text.find('(');
  CHECK(open != std::string_view::npos && text.ends_with(')'));
  call.op = text.substr(0, open);
  std::string_view rest = text.substr(open + 1, text.size() - open - 2);
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(", "), rest.size());
    std::string_view name = rest.substr(0, comma);
    rest.remove_prefix(std::min(rest.size(), comma + 2));
    if (const size_t sign = name.find('='); sign != std::string_view::npos) {
      call.attributes.Set(std::string(name.substr(0, sign)), std::string(name.substr(sign + 1)));
      continue;
    }
    const bool marked = name.starts_with('~') || name.starts_with('%');
    const char mark = marked ? name[0] : '\0';
    if (marked || name == "-") name.remove_prefix(1);
    call.inputs.push_back({std::string(name), mark});
  }
  return call;
}

}  // namespace vramplan
