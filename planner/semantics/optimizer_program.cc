#include "planner/semantics/optimizer_program.h"

#include "graph/base/check.h"

namespace vramplan::eager {

TensorList::TensorList(Eager& e, const std::vector<Tensor>& like) {
  tensors_.reserve(like.size());
  for (const Tensor& t : like) tensors_.push_back(e.EmptyLike(t));
}

TensorList& TensorList::operator=(TensorList&& other) noexcept {
  if (this != &other) {
    Clear();
    tensors_ = std::move(other.tensors_);
  }
  return *this;
}

void TensorList::Clear() {
  while (!tensors_.empty()) tensors_.pop_back();
}

ProgramFrame::~ProgramFrame() {
  for (Name& name : names_) name.value.Clear();
}

TensorList& ProgramFrame::ValueOf(char letter) {
  for (Name& name : names_) {
    if (name.letter == letter) return name.value;
  }
  return names_.emplace_back(Name{letter, TensorList()}).value;
}

void ProgramFrame::Run(const std::vector<Tensor>& parameters, const std::function<void()>& make_state) {
  const bool decays = e_.spec().weight_decay != 0;
  for (size_t at = 0; at < program_.size();) {
    const size_t space = std::min(program_.find(' ', at), program_.size());
    std::string_view statement = program_.substr(at, space - at);
    at = space + 1;
    if (const size_t colon = statement.find(':'); colon != std::string_view::npos) {
      if ((statement.substr(0, colon) == "wd") != decays) continue;
      statement.remove_prefix(colon + 1);
    }
    if (statement == "!") {
      make_state();
    } else if (statement[0] == '+') {
      ValueOf(statement[1]) = TensorList(e_, parameters);
    } else if (statement[0] == '-') {
      ValueOf(statement[1]).Clear();
    } else {
      CHECK(statement.size() == 3 && statement[1] == '=');
      ValueOf(statement[2]);  // both names are there before either is referred to
      ValueOf(statement[0]);
      ValueOf(statement[0]) = std::move(ValueOf(statement[2]));
    }
  }
}

}  // namespace vramplan::eager
