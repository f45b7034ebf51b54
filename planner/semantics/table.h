// The table of operators: one row per framework operator, one file per family. A row says how the operator runs in
// eager mode: what it allocates, what it puts on the tape and saves.
//
//   {"relu", [](Call& c) { c.Return(Relu(c.e, c.In(0))); }, Cast::kNone},
//
// A new operator is one row in its family's file and one row in that family's test.
#pragma once

#include <string_view>
#include <vector>

#include "graph/base/note.h"
#include "graph/layers/layers.h"
#include "planner/semantics/eager.h"

namespace vramplan::eager {

// What autocast does with the arguments before the operator runs (aten/src/ATen/autocast_mode.h).
enum class Cast : uint8_t {
  kNone,     // runs in the type it is given
  kLower,    // arguments to the lower type: convolutions, matrix products
  kFloat32,  // arguments to fp32: norms, losses, exp, pow
  kPromote,  // arguments to the widest type among them: grid_sampler
};

// One call of one layer.
class Call {
 public:
  Call(Eager& eager, const Layers& all, const Layer& called, std::vector<Tensor> arguments)
      : e(eager), layers(all), layer(called), inputs(std::move(arguments)), outputs(called.outputs.size()) {}

  // The i-th input; null when omitted or out of range.
  const Tensor& In(size_t i) const { return i < inputs.size() ? inputs[i] : none_; }
  bool Has(size_t i) const { return static_cast<bool>(In(i)); }
  void Return(Tensor output, size_t i = 0) { outputs[i] = std::move(output); }
  // As Infer found them: what views and creations need. DType as the graph says, before the model's precision.
  const Shape& OutShape(size_t i = 0) const { return layers[layer.outputs[i]].shape; }
  DType OutType(size_t i = 0) const { return layers[layer.outputs[i]].type; }
  int64_t Int(const char* name, int64_t otherwise = 0) const { return layer.attributes.Int(name, otherwise); }
  // An axis of the first input, or, with `more`, of a result that has more axes; counted from the front.
  int Axis(const char* name = "dim", int more = 0) const {
    const int axis = static_cast<int>(Int(name));
    return axis < 0 ? axis + In(0)->dim() + more : axis;
  }
  double Real(const char* name, double otherwise = 0) const { return layer.attributes.Real(name, otherwise); }
  // Whether it writes into its first input: as the file or a habit says (attribute inplace), or as the user does. A
  // leaf cannot be written while there are gradients.
  bool InPlace() const {
    const bool taken = Int("inplace") != 0 || asked_in_place;
    return taken && e.spec().inplace != Inplace::kOff &&
           (!In(0)->requires_grad || layer.attributes.Int("no_grad", 0) != 0);
  }
  std::vector<int64_t> Ints(const char* name) const { return layer.attributes.Ints(name); }

  Eager& e;
  const Layers& layers;
  const Layer& layer;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  bool asked_in_place = false;  // --inplace on
  bool operands_fit = false;    // known from an earlier run of the same layer

 private:
  Tensor none_;
};

struct OpRule {
  std::string_view op;
  void (*run)(Call&);
  Cast cast = Cast::kNone;
};

// Each family's rows.
std::vector<OpRule> ActivationRules();
std::vector<OpRule> AdapterRules();
std::vector<OpRule> AttentionRules();
std::vector<OpRule> BlasRules();
std::vector<OpRule> ComplexRules();
std::vector<OpRule> ConvolutionRules();
std::vector<OpRule> CopyRules();
std::vector<OpRule> CreationRules();
std::vector<OpRule> CtcRules();
std::vector<OpRule> DistanceRules();
std::vector<OpRule> DropoutRules();
std::vector<OpRule> EmbeddingBagRules();
std::vector<OpRule> FunctionRules();
std::vector<OpRule> FusedAttentionRules();
std::vector<OpRule> IndexRules();
std::vector<OpRule> LigerRules();
std::vector<OpRule> LossRules();
std::vector<OpRule> MarginLossRules();
std::vector<OpRule> NormRules();
std::vector<OpRule> PadRules();
std::vector<OpRule> ParametrizedRules();
std::vector<OpRule> PointwiseRules();
std::vector<OpRule> PoolingRules();
std::vector<OpRule> QuantizationRules();
std::vector<OpRule> RecurrentRules();
std::vector<OpRule> ReductionRules();
std::vector<OpRule> RegionRules();
std::vector<OpRule> ResizeRules();
std::vector<OpRule> SamplingRules();
std::vector<OpRule> ScanRules();
std::vector<OpRule> SelectionRules();
std::vector<OpRule> UnaryRules();
std::vector<OpRule> ViewRules();

// The row of an operator; null when no family knows it.
const OpRule* FindRule(std::string_view op);

// Runs a layer without a rule as if every input were saved and every output were new: never too little. Notes
// "unknown-operator", with the reason.
void RunUnknown(Call& call, const char* reason = "has no memory rule");
// Runs the layer by `rule`, or as unknown when there is none or its operands do not fit (operands.h).
void RunCall(const OpRule* rule, Call& call);

}  // namespace vramplan::eager
