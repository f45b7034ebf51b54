// FormInstance: calls that are just what a form (graph/layers/form.h) describes, so that tests can ask which row of a
// table takes them.
//
//   InstancesOf("Mul(x, (Sigmoid(x) | Tanh(x)))")     two: Mul(v0, Sigmoid(v0)) and Mul(v0, Tanh(v0))
//
// Of a number that the form leaves open there is one; an operand that it does not mention is absent.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/layers/form.h"

namespace vramplan::testing {

class FormInstance final : public CallGraph {
 public:
  // `choices`: which alternative is taken at each place where the form has several, in order; those that are not given
  // are the first. `of_layers`: numbers are no operands there, and what others read may be part of a match.
  FormInstance(std::string_view form, std::vector<size_t> choices, bool of_layers);

  int32_t root() const { return static_cast<int32_t>(calls_.size()) - 1; }
  // How many alternatives there were at each place.
  const std::vector<size_t>& alternatives() const { return alternatives_; }

  std::string_view OpOf(int32_t call) const override { return At(call).op; }
  int32_t MakerOf(int32_t value) const override;
  int32_t ResultOf(int32_t call) const override { return At(call).result; }
  int32_t Operand(int32_t call, size_t i) const override;
  std::optional<double> NumberAt(int32_t call, size_t i) const override;
  int32_t BehindViews(int32_t value) const override { return value; }
  bool IsReadOnce(int32_t value) const override;
  bool KeepsWhatOthersRead() const override { return of_layers_; }

 private:
  struct Read {
    int32_t value = -1;
    std::optional<double> number;
  };
  struct Call {
    std::string op;
    std::vector<Read> operands;
    int32_t result = -1;
  };
  const Call& At(int32_t call) const { return calls_[static_cast<size_t>(call)]; }
  bool Take(char c);
  std::string Word();
  Read One(bool counts);
  Read CallOrLeaf(bool counts);
  size_t Choose(size_t of, bool counts);

  std::string_view text_;
  const std::vector<size_t> choices_;
  const bool of_layers_;
  size_t at_ = 0;
  int32_t values_ = 0;
  std::vector<size_t> alternatives_;
  std::vector<Call> calls_;
  std::map<std::string, int32_t> named_;
};

// One for each way through the alternatives of the form.
std::vector<FormInstance> InstancesOf(std::string_view form, bool of_layers);

}  // namespace vramplan::testing
