// Randomness: dropout in training, and the noise of stochastic depth.
#include "graph/lift/match/source.h"

namespace vramplan {
namespace {

// Dropout that drops something (others are no-ops, see PatternSource::FindNoOps)
bool MatchDropout(PatternSource& source, NodeId root) {
  const auto ratio = source.Number(source.In(root, 1));
  return source.EmitOf(root, "dropout", Named({{"p", ratio.value_or(source[root].attributes.Real("ratio", 0.5))}}));
}

bool HasChance(const NodesMatch& found, Draft* draft) {
  draft->attributes.Set("p", found.match.Number("p"));
  return true;
}

}  // namespace

const PatternRows& RandomPatterns() {
  static const PatternRows rows = {
      {"Dropout", MatchDropout},
      // torch.empty(...).bernoulli_(p) of torchvision's StochasticDepth and timm's DropPath
      Becomes("Cast(Less(RandomUniformLike|RandomUniform(), #p))", "bernoulli(-)", HasChance),
      Becomes("Bernoulli(x)", "bernoulli(x)"),
      // torch.rand, torch.randn and their _like forms
      Becomes("RandomUniform|RandomUniformLike|RandomNormal|RandomNormalLike()", "bernoulli(-)"),
  };
  return rows;
}

}  // namespace vramplan
