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
  return source.EmitOf(root, names.at(source[root].op), std::move(attributes));
}

bool MatchArg(PatternSource& source, NodeId root) {
  return source.EmitOf(root, source[root].op == "ArgMax" ? "argmax" : "argmin",
                       Named({{"dim", std::vector<int64_t>{source[root].attributes.Int("axis", 0)}},
                              {"keepdim", source[root].attributes.Int("keepdims", 1)}}));
}

bool MatchSoftmax(PatternSource& source, NodeId root) {
  // Before opset 13 the default axis is 1; PyTorch always writes it.
  const int64_t otherwise = source.graph().opset() < 13 ? 1 : -1;
  const int64_t dim = FromFront(source[root].attributes.Int("axis", otherwise), source.RankOf(source.In(root, 0)));
  return source.EmitOf(root, source[root].op == "Softmax" ? "softmax" : "log_softmax", Named({{"dim", dim}}));
}

bool MatchCumSum(PatternSource& source, NodeId root) {
  const auto axis = source.Number(source.In(root, 1));
  return source.EmitOf(root, "cumsum", Named({{"dim", static_cast<int64_t>(axis.value_or(0))}}));
}

}  // namespace

const PatternRows& ReductionNodes() {
  static const PatternRows rows = {
      {"ReduceMean|ReduceSum|ReduceMax|ReduceMin|ReduceProd|ReduceL1|ReduceL2|ReduceSumSquare|ReduceLogSum|"
       "ReduceLogSumExp",
       MatchReduce},
      {"ArgMax|ArgMin", MatchArg},
      {"Softmax|LogSoftmax", MatchSoftmax},
      {"CumSum", MatchCumSum},
  };
  return rows;
}

}  // namespace vramplan
