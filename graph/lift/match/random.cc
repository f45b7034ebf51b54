// Randomness: dropout in training, and the noise of stochastic depth.
#include "graph/lift/match/source.h"

namespace vramplan {
namespace {

// Dropout that drops something (others are no-ops, see PatternSource::FindNoOps)
bool MatchDropout(PatternSource& source, NodeId root) {
  const auto ratio = source.Number(source.In(root, 1));
  source.Add({.op = "dropout",
              .inputs = {source.Use(source.In(root, 0))},
              .outputs = {source.Out(root)},
              .attributes = Named({{"p", ratio.value_or(source[root].attributes.Real("ratio", 0.5))}}),
              .nodes = {root}});
  return true;
}

// Cast(Less(RandomUniformLike, p))  ->  bernoulli: torch.empty(...).bernoulli_(p) of torchvision's StochasticDepth and
// timm's DropPath
bool MatchBernoulli(PatternSource& source, NodeId root) {
  const NodeId less = source.OnlyMakerOf(source.In(root, 0), "Less");
  if (!less.valid() || !source.Number(source.In(less, 1)).has_value()) return false;
  NodeId random = source.OnlyMakerOf(source.In(less, 0), "RandomUniformLike");
  if (!random.valid()) random = source.OnlyMakerOf(source.In(less, 0), "RandomUniform");
  if (!random.valid()) return false;
  source.Add({.op = "bernoulli",
              .inputs = {Operand{}},
              .outputs = {source.Out(root)},
              .attributes = Named({{"p", *source.Number(source.In(less, 1))}}),
              .nodes = {random, less, root}});
  return true;
}

bool MatchBernoulliNode(PatternSource& source, NodeId root) {
  source.Add({.op = "bernoulli",
              .inputs = {source.Use(source.In(root, 0))},
              .outputs = {source.Out(root)},
              .attributes = {},
              .nodes = {root}});
  return true;
}

// torch.rand, torch.randn and their _like forms
bool MatchNoise(PatternSource& source, NodeId root) {
  source.Add(
      {.op = "bernoulli", .inputs = {Operand{}}, .outputs = {source.Out(root)}, .attributes = {}, .nodes = {root}});
  return true;
}

}  // namespace

const PatternRows& RandomPatterns() {
  static const PatternRows rows = {{"Dropout", MatchDropout},         {"Cast", MatchBernoulli},
                                   {"Bernoulli", MatchBernoulliNode}, {"RandomUniform", MatchNoise},
                                   {"RandomUniformLike", MatchNoise}, {"RandomNormal", MatchNoise},
                                   {"RandomNormalLike", MatchNoise}};
  return rows;
}

}  // namespace vramplan
