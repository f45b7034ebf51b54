// nn.Linear on more than two axes, written as a product of matrices between two reshapes:
//
//   Reshape([-1, K]), Gemm(weight, bias), Reshape            onnxsim, and tf2onnx for EinsumDense
//   Reshape([-1, K]), MatMul(weight), Reshape, Add(bias)     tf2onnx for Dense
//
//   ->   linear(x, weight, bias)
#include <algorithm>

#include "graph/lift/match/source.h"

namespace vramplan {
namespace {

// PyTorch code that reshapes around a product itself keeps its reshapes: a simplifier's have no scope.
bool IsMadeUp(PatternSource& source, NodeId node) {
  const std::string& name = source[node].name;
  return !source.FromPyTorch() || (name.find('/') == std::string::npos && !name.starts_with("node_"));
}

// Rows stay rows.
bool IsLinearOfRows(const NodesMatch& found, Draft* draft) {
  PatternSource& source = found.source;
  const TensorId weight = found["weight"];
  const NodeId back = found.MakerOf("back");
  const StoredTensor* stored = source.Stored(weight);
  if (!IsMadeUp(source, back) || source[found.MakerOf("product")].attributes.Int("transA", 0) != 0) return false;
  if (stored == nullptr || !source.IsInitializer(weight) || stored->dims.size() < 2) return false;
  const Shape in = source.ShapeOf(found["x"]), rows = source.ShapeOf(found["rows"]);
  const Shape out = source.ShapeOf(source[back].outputs[0]), flat = source.ShapeOf(source.In(back, 0));
  if (rows.rank() != 2 || flat.rank() != 2 || in.rank() < 2 || in.rank() != out.rank()) return false;
  if (in.FromEnd(1) != rows[1] || out.FromEnd(1) != flat[1]) return false;
  if (!std::equal(in.begin(), in.end() - 1, out.begin())) return false;
  draft->inputs = {source.Use(found["x"]),
                   source.Parameter(weight, found.root(), "weight", Shape{out.FromEnd(1), in.FromEnd(1)}),
                   source.Parameter(found["bias"], found.root(), "bias")};
  return true;
}
bool IsLinearWithSum(const NodesMatch& found, Draft* draft) {
  const Shape bias = found.source.ShapeOf(found["bias"]);
  return found.AreStored({"bias"}) && bias.rank() == 1 && bias[0] == found.source.ShapeOf(found["back"]).FromEnd(1) &&
         IsLinearOfRows(found, draft);
}

}  // namespace

const PatternRows& DensePatterns() {
  const std::string product = "MatMul|Gemm(rows=&Reshape(x), (&Transpose|Reshape(weight) | weight)";
  static const PatternRows rows = {
      Becomes("Add(back=Reshape(product=" + product + ", -)), bias)", "linear()", IsLinearWithSum),
      Becomes("back=Reshape(Add(product=" + product + ", -), bias))", "linear()", IsLinearWithSum),
      Becomes("back=Reshape(product=" + product + ", (bias | -)))", "linear()", IsLinearOfRows)};
  return rows;
}

}  // namespace vramplan
