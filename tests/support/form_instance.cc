#include "tests/support/form_instance.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace vramplan::testing {
namespace {

constexpr double kSomeNumber = 3.25;

}  // namespace

FormInstance::FormInstance(std::string_view form, std::vector<size_t> choices, bool of_layers)
    : text_(form), choices_(std::move(choices)), of_layers_(of_layers) {
  One(true);
}

bool FormInstance::Take(char c) {
  const size_t before = at_;
  while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  const bool found = at_ < text_.size() && text_[at_] == c;
  at_ = found ? at_ + 1 : before;
  return found;
}

std::string FormInstance::Word() {
  while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  const size_t begin = at_;
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':' || c == '*' || c == '.';
  };
  while (at_ < text_.size() && is_word(text_[at_])) ++at_;
  return std::string(text_.substr(begin, at_ - begin));
}

size_t FormInstance::Choose(size_t of, bool counts) {
  if (!counts || of < 2) return 0;
  alternatives_.push_back(of);
  const size_t place = alternatives_.size() - 1;
  return place < choices_.size() ? choices_[place] : 0;
}

FormInstance::Read FormInstance::One(bool counts) {
  Take('~');
  if (Take('#')) {
    Word();
    return {of_layers_ ? -1 : values_++, kSomeNumber};
  }
  if (Take('-')) return {};
  if (!Take('(')) return CallOrLeaf(counts);
  // How many there are is known behind them, so that they are read twice.
  const size_t begin = at_;
  const FormInstance before = *this;
  size_t of = 0;
  do {
    One(false);
    ++of;
  } while (Take('|'));
  calls_ = before.calls_;
  named_ = before.named_;
  values_ = before.values_;
  at_ = begin;
  const size_t chosen = Choose(of, counts);
  Read read;
  for (size_t i = 0; i < of; ++i) {
    const std::vector<Call> calls = calls_;
    const std::map<std::string, int32_t> named = named_;
    const Read one = One(counts && i == chosen);
    if (i == chosen) {
      read = one;
    } else {
      calls_ = calls;
      named_ = named;
    }
    Take('|');
  }
  Take(')');
  return read;
}

FormInstance::Read FormInstance::CallOrLeaf(bool counts) {
  while (Take('!') || Take('&')) {
  }
  std::string word = Word(), name;
  if (Take('=')) {
    name = word;
    while (Take('!') || Take('&')) {
    }
    word = Word();
  }
  std::vector<std::string> ops = {word};
  while (at_ < text_.size() && text_[at_] == '|') {
    ++at_;
    ops.push_back(Word());
  }
  if (at_ == text_.size() || text_[at_] != '(') {
    if (std::isdigit(static_cast<unsigned char>(word[0])) != 0)
      return {of_layers_ ? -1 : values_++, std::strtod(word.c_str(), nullptr)};
    if (word == "_") return {values_++, {}};
    const auto [found, is_new] = named_.emplace(word, values_);
    if (is_new) ++values_;
    return {found->second, {}};
  }
  Call call{.op = ops[Choose(ops.size(), counts)], .operands = {}};
  if (call.op.ends_with('*')) call.op.back() = '2';
  Take('(');
  while (!Take(')')) {
    call.operands.push_back(One(counts));
    Take(',');
  }
  const auto known = named_.find(name);
  call.result = known == named_.end() ? values_++ : known->second;
  if (!name.empty()) named_.emplace(name, call.result);
  calls_.push_back(call);
  return {call.result, {}};
}

int32_t FormInstance::MakerOf(int32_t value) const {
  const auto made = std::ranges::find(calls_, value, &Call::result);
  return made == calls_.end() ? -1 : static_cast<int32_t>(made - calls_.begin());
}

int32_t FormInstance::Operand(int32_t call, size_t i) const {
  return i < At(call).operands.size() ? At(call).operands[i].value : -1;
}

std::optional<double> FormInstance::NumberAt(int32_t call, size_t i) const {
  return i < At(call).operands.size() ? At(call).operands[i].number : std::nullopt;
}

bool FormInstance::IsReadOnce(int32_t value) const {
  int readings = 0;
  for (const Call& call : calls_)
    for (const Read& read : call.operands) readings += read.value == value ? 1 : 0;
  return readings == 1;
}

std::vector<FormInstance> InstancesOf(std::string_view form, bool of_layers) {
  std::vector<FormInstance> instances;
  std::vector<size_t> choices;
  while (true) {
    instances.emplace_back(form, choices, of_layers);
    // The next one, as an odometer counts: the last place that has another alternative.
    const std::vector<size_t>& of = instances.back().alternatives();
    choices.resize(of.size(), 0);
    while (!choices.empty() && choices.back() + 1 == of[choices.size() - 1]) choices.pop_back();
    if (choices.empty()) return instances;
    ++choices.back();
  }
}

}  // namespace vramplan::testing
