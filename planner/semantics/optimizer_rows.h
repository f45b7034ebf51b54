// The optimizers, a row each: what a class of torch.optim, timm, transformers, lion-pytorch or bitsandbytes keeps and
// makes. Most steps are a program (optimizer_program.h); the others have a function.
#pragma once

#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "planner/semantics/eager.h"

namespace vramplan::eager {

// What the model does with its parameters.
struct ParameterUses {
  std::vector<Tensor> embeddings;                           // read by lookups
  std::unordered_map<const TensorImpl*, int32_t> layer_of;  // the first that takes it; none: absent
};

// What the optimizer keeps of each parameter.
class OptimizerStates {
 public:
  explicit OptimizerStates(const ParameterUses& uses) : uses_(uses) {}
  std::vector<Tensor>& operator[](const Tensor& parameter) { return states_[parameter.get()]; }
  bool Has(const Tensor& parameter) const { return states_.count(parameter.get()) != 0; }
  // A new tensor of the state.
  const Tensor& Add(Eager& e, const Tensor& parameter, const Shape& sizes, DType type);
  const Tensor& AddLike(Eager& e, const Tensor& parameter, DType type);

  std::vector<Tensor> shared;  // of no parameter: tables that all of them read

 private:
  const Tensor& Keep(Eager& e, const Tensor& parameter, const std::function<Tensor()>& make);
  const ParameterUses uses_;
  std::unordered_map<const TensorImpl*, std::vector<Tensor>> states_;
};

struct OptimizerRow;
using OptimizerStep = void (*)(Eager& e, const OptimizerRow& row, const std::vector<Tensor>& parameters,
                               OptimizerStates& states);

constexpr unsigned Bit(OptimizerImpl impl) { return 1U << static_cast<unsigned>(impl); }

struct OptimizerRow {
  Optimizer optimizer;
  unsigned impls;                 // Bit of each that there is
  OptimizerImpl usual;            // of parameters on the card, when the script says nothing
  int states = 0;                 // tensors like the parameter, made at the first step
  std::string_view foreach = {};  // programs
  std::string_view loop = {};
  OptimizerStep step = nullptr;  // instead of them
  bool in_constructor = false;   // the state is made there
  bool counts_on_card = false;   // fused: a step counter on the card for each parameter
};

const OptimizerRow* FindOptimizer(Optimizer optimizer);  // null: none

// Parameters with a gradient only, gradients off, temporaries the category.
void StepAdafactor(Eager& e, const OptimizerRow& row, const std::vector<Tensor>& parameters, OptimizerStates& states);
void StepAdafactorHf(Eager& e, const OptimizerRow& row, const std::vector<Tensor>& parameters, OptimizerStates& states);
void StepLamb(Eager& e, const OptimizerRow& row, const std::vector<Tensor>& parameters, OptimizerStates& states);
void StepMuon(Eager& e, const OptimizerRow& row, const std::vector<Tensor>& parameters, OptimizerStates& states);
void StepBlockwise8bit(Eager& e, const OptimizerRow& row, const std::vector<Tensor>& parameters,
                       OptimizerStates& states);

}  // namespace vramplan::eager
