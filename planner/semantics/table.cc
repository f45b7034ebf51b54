#include "planner/semantics/table.h"

#include <unordered_map>

#include "planner/semantics/operands.h"

namespace vramplan::eager {

const OpRule* FindRule(std::string_view op) {
  static const auto* const table = [] {
    auto* rows = new std::unordered_map<std::string_view, OpRule>;
    for (auto family : {ActivationRules,   AdapterRules,      AttentionRules, BlasRules,      ConvolutionRules,
                        CopyRules,         CreationRules,     DistanceRules,  DropoutRules,   EmbeddingBagRules,
                        FunctionRules,     IndexRules,        LigerRules,     LossRules,      FusedAttentionRules,
                        MarginLossRules,   NormRules,         PadRules,       PointwiseRules, PoolingRules,
                        ParametrizedRules, QuantizationRules, ReductionRules, RegionRules,    ComplexRules,
                        CtcRules,          RecurrentRules,    ResizeRules,    SamplingRules,  ScanRules,
                        SelectionRules,    UnaryRules,        ViewRules}) {
      for (const OpRule& rule : family()) CHECK(rows->emplace(rule.op, rule).second);  // an operator has one row
    }
    return rows;
  }();
  const auto found = table->find(op);
  return found == table->end() ? nullptr : &found->second;
}

// What comes out of halves alone is taken for halves: autocast has made fp32 of what it knows to need it.
DType UnknownType(const Call& c, size_t output) {
  const DType told = c.e.ModelType(c.OutType(output));
  const bool amp = IsAutocast(c.e.spec().precision);
  if (!amp || told != DType::kFloat32) return told;
  DType common = DType::kUndefined;
  for (const Tensor& input : c.inputs) {
    if (!input || !IsFloating(input->dtype)) continue;
    if (common != DType::kUndefined && common != input->dtype) return told;
    common = input->dtype;
  }
  return common == DType::kUndefined ? told : common;
}

void RunUnknown(Call& c, const char* reason) {
  Eager& e = c.e;
  if (e.notes() != nullptr) {
    e.notes()->Add(
        {"unknown-operator", Severity::kWarning, c.layer.name,
         "operator " + c.layer.op + " " + reason + ": every input is assumed to be saved and every output to be new",
         "the estimate is on the high side around this operator; please report it", Side::kTooHigh});
  }
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    if (!c.layer.outputs[i].valid()) continue;
    c.outputs[i] = e.Empty(c.OutShape(i), UnknownType(c, i));
    if (IsFloating(c.outputs[i]->dtype)) outputs.push_back(c.outputs[i]);
  }
  if (outputs.empty()) return;
  if (GradNode* node = e.Record("UnknownBackward", c.inputs, outputs)) {
    for (const Tensor& input : c.inputs) node->Save(input);
    node->Backward([](GradContext& g) {
      for (size_t i = 0; i < g.node.edges.size(); ++i) {
        if (g.Needs(static_cast<int>(i)))
          g.Set(static_cast<int>(i),
                g.e.Empty(g.saved(static_cast<int>(i))->sizes, g.saved(static_cast<int>(i))->dtype));
      }
    });
  }
}

// Without axes of 1: [1, 4] and [B, 4] are one shape where the batch is 1, and states of a GRU may be squeezed.
std::vector<int64_t> LongAxes(const Ints& lengths) {
  std::vector<int64_t> axes;
  for (int axis = 0; axis < lengths.n; ++axis) {
    if (lengths[axis] != 1) axes.push_back(lengths[axis]);
  }
  return axes;
}

bool IsAsTheFileSays(const Call& c, size_t i) {
  const Tensor& made = c.outputs[i];
  if (!made || !c.layer.outputs[i].valid()) return true;
  // Autocast and half() change which floating type it is.
  if (c.OutType(i) != DType::kUndefined && IsFloating(made->dtype) != IsFloating(c.OutType(i))) return false;
  if (made->sizes == c.OutShape(i)) return true;
  return LongAxes(c.e.At(made->sizes)) == LongAxes(c.e.At(c.OutShape(i)));
}

// Two ways to each result: what the rule makes of its operands, and what the file's operators say. Where they part, the
// layer was read wrong, and everything behind it may be. The first one is told.
void CheckResults(const Call& c) {
  if (c.e.notes() == nullptr || c.e.told_parting) return;
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    if (IsAsTheFileSays(c, i)) continue;
    const auto text = [](DType type, const Shape& shape) { return std::string(Name(type)) + " " + ToString(shape); };
    c.e.told_parting = true;
    c.e.notes()->Add({"results-part", Severity::kWarning, c.layer.name,
                      "vramplan computes " + text(c.outputs[i]->dtype, c.outputs[i]->sizes) + " for its " + c.layer.op +
                          ", the file says " + text(c.OutType(i), c.OutShape(i)) +
                          ": the peak may be wrong from here on",
                      "vramplan run on the script measures it; please report the file"});
    return;
  }
}

void RunCall(const OpRule* rule, Call& c) {
  if (rule == nullptr) return RunUnknown(c);
  c.operands_fit = c.operands_fit || OperandsFit(c);
  c.operands_fit ? rule->run(c) : RunUnknown(c, "has operands that its memory rule does not expect");
  CheckResults(c);
}

}  // namespace vramplan::eager
