// A step of an optimizer as a program: the statements of its Python that make tensors, in order. A statement makes,
// binds or lets go of a name's value: a list like all parameters (foreach) or one tensor like a parameter (for-loop).
//
//   "wd:+g -g +s"           Adam, foreach. With weight decay g = decayed copies of the gradients, then del g;
//                           s = square roots
//   "-g wd:+g +t +u -t d=u" Adam, for-loop. t = exp_avg_sq.sqrt(); denom = t / c, which rebinds the last parameter's
//
//   +x   a new value bound to x, made before the old one is let go     x=y    x becomes y's value, y nothing
//   -x   let go                                                        !      the state, where it is not there yet
//   wd:  only with weight decay                                        else:  only without
//
// A Python frame lets go of its names in the order of its locals: here, of their first use.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "planner/semantics/eager.h"

namespace vramplan::eager {

// New tensors like these. Python lets go of a list from its end.
class TensorList {
 public:
  TensorList() = default;
  TensorList(Eager& e, const std::vector<Tensor>& like);
  TensorList(TensorList&& other) noexcept = default;
  TensorList& operator=(TensorList&& other) noexcept;
  ~TensorList() { Clear(); }
  void Clear();
  void Add(Tensor t) { tensors_.push_back(std::move(t)); }
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  std::vector<Tensor> tensors_;
};

class ProgramFrame {
 public:
  ProgramFrame(Eager& e, std::string_view program) : e_(e), program_(program) {}
  ~ProgramFrame();
  // Once over these parameters. Names keep their values until the next run or the end.
  void Run(const std::vector<Tensor>& parameters, const std::function<void()>& make_state);

 private:
  struct Name {
    char letter;
    TensorList value;
  };
  TensorList& ValueOf(char letter);

  Eager& e_;
  std::string_view program_;
  std::vector<Name> names_;
};

// Whether the program says itself when the state is made.
inline bool MakesState(std::string_view program) { return program.find('!') != std::string_view::npos; }

}  // namespace vramplan::eager
