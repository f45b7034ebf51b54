// Reductions and softmax.
#include <map>

#include "graph/lift/match/source.h"

namespace vramplan {
namespace {

bool MatchReduce(PatternSource& source, NodeId root) {
  static const std::map<std::string, const char*> names = {
      {"ReduceMean", "mean"},
      {"ReduceSum", "sum"},
      {"ReduceMax", "amax"},
      {"ReduceMin", "amin"},
      {"ReduceProd", "prod"},
      {"ReduceL1", "norm"},
      {"ReduceLogSumExp", "logsumexp"},
      {"ReduceL2", "norm"},
      {"ReduceSumSquare", "norm"},
      {"ReduceLogSum", "logsumexp"},
  };
  const std::vector<int64_t> dims = source.IntegersOf(root, "axes", 1).value_or(std::vector<int64_t>{});
  Attributes attributes = Named({{"dim", dims}, {"keepdim", source[root].attributes.Int("keepdims", 1)}});
  if (source[root].op == "ReduceL1") attributes.Set("ord", int64_t{1});
  return source.Emit(names.at(source[root].op), {source.Use(source.In(root, 0))}, {root}, std::move(attributes));
}

bool MatchArg(PatternSource& source, NodeId root) {
  return source.Emit(source[root].op == "ArgMax" ? "argmax" : "argmin", {source.Use(source.In(root, 0))}, {root},
                     Named({{"dim", std::vector<int64_t>{source[root].attributes.Int("axis", 0)}},
                            {"keepdim", source[root].attributes.Int("keepdims", 1)}}));
}

bool MatchSoftmax(PatternSource& source, NodeId root) {
  // Before opset 13 the default axis is 1; PyTorch always writes it.
  const int64_t otherwise = source.graph().opset() < 13 ? 1 : -1;
  int64_t dim = source[root].attributes.Int("axis", otherwise);
  if (dim < 0) dim += source.RankOf(source.In(root, 0));
  return source.Emit(source[root].op == "Softmax" ? "softmax" : "log_softmax", {source.Use(source.In(root, 0))}, {root},
                     Named({{"dim", dim}}));
}

bool MatchCumSum(PatternSource& source, NodeId root) {
  const auto axis = source.Number(source.In(root, 1));
  return source.Emit("cumsum", {source.Use(source.In(root, 0))}, {root},
                     Named({{"dim", static_cast<int64_t>(axis.value_or(0))}}));
}

}  // namespace

const PatternRows& ReductionNodes() {
  static const PatternRows rows = {
      {"ReduceMean", MatchReduce},   {"ReduceSum", MatchReduce},
      {"ReduceMax", MatchReduce},    {"ReduceMin", MatchReduce},
      {"ReduceProd", MatchReduce},   {"ReduceL1", MatchReduce},
      {"ReduceL2", MatchReduce},     {"ReduceLogSumExp", MatchReduce},
      {"ReduceLogSum", MatchReduce}, {"ReduceSumSquare", MatchReduce},
      {"ArgMax", MatchArg},          {"ArgMin", MatchArg},
      {"Softmax", MatchSoftmax},     {"LogSoftmax", MatchSoftmax},
      {"CumSum", MatchCumSum},
  };
  return rows;
}

}  // namespace vramplan
