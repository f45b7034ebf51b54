#include "planner/semantics/table.h"

#include <unordered_map>

#include "planner/semantics/operands.h"

namespace vramplan::eager {

const OpRule* FindRule(std::string_view op) {
  static const auto* const table = [] {
    auto* rows = new std::unordered_map<std::string_view, OpRule>;
    for (auto family : {ActivationRules, AttentionRules,  BlasRules,      ConvolutionRules,  CopyRules,
                        CreationRules,   DistanceRules,   DropoutRules,   EmbeddingBagRules, IndexRules,
                        LossRules,       MarginLossRules, NormRules,      PadRules,          ParametrizedRules,
                        PointwiseRules,  PoolingRules,    ReductionRules, RecurrentRules,    ResizeRules,
                        SamplingRules,   ScanRules,       SelectionRules, UnaryRules,        ViewRules}) {
      for (const OpRule& rule : family()) CHECK(rows->emplace(rule.op, rule).second);  // an operator has one row
    }
    return rows;
  }();
  const auto found = table->find(op);
  return found == table->end() ? nullptr : &found->second;
}

void RunUnknown(Call& c, const char* reason) {
  Eager& e = c.e;
  if (e.notes() != nullptr) {
    e.notes()->Add(
        {"unknown-operator", Severity::kWarning, c.layer.name,
         "operator " + c.layer.op + " " + reason + ": every input is assumed to be saved and every output to be new",
         "the estimate is on the high side around this operator; please report it"});
  }
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    if (!c.layer.outputs[i].valid()) continue;
    c.outputs[i] = e.Empty(c.OutShape(i), e.ModelType(c.OutType(i)));
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

void RunCall(const OpRule* rule, Call& c) {
  if (rule == nullptr) return RunUnknown(c);
  OperandsFit(c) ? rule->run(c) : RunUnknown(c, "has operands that its memory rule does not expect");
}

}  // namespace vramplan::eager
