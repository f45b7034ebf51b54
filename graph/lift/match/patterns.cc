#include "graph/lift/match/patterns.h"

#include <string_view>
#include <unordered_map>

#include "graph/lift/match/source.h"

namespace vramplan {

// By operator of the root node: patterns of several nodes first, then single nodes.
const std::vector<const PatternRow*>& PatternsFor(const std::string& op) {
  static const auto table = [] {
    std::unordered_map<std::string_view, std::vector<const PatternRow*>> rows;
    for (const PatternRows* family : {&LossPatterns(),
                                      &DynamoPatterns(),
                                      &AttentionPatterns(),
                                      &NormPatterns(),
                                      &ActivationPatterns(),
                                      &DensePatterns(),
                                      &LinearPatterns(),
                                      &MicrosoftPatterns(),
                                      &MicrosoftAttentionPatterns(),
                                      &MicrosoftConvolutionPatterns(),
                                      &MicrosoftDecoderPatterns(),
                                      &RandomPatterns(),
                                      &MovePatterns(),
                                      &IndexPatterns(),
                                      &ConvolutionPatterns(),
                                      &RecurrentPatterns(),
                                      &ViewNodes(),
                                      &LookUpNodes(),
                                      &ReductionNodes(),
                                      &PointwiseNodes()}) {
      for (const PatternRow& row : *family) rows[row.op].push_back(&row);
    }
    return rows;
  }();
  static const std::vector<const PatternRow*> none;
  const auto found = table.find(op);
  return found == table.end() ? none : found->second;
}

Status LiftByPattern(const Graph& graph, const Shapes& shapes, LayerBuilder& builder, const std::vector<bool>& live,
                     Notes* notes) {
  PatternSource(graph, shapes, builder, live, notes).Run();
  return Done{};
}

}  // namespace vramplan
