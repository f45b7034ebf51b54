// Products of matrices: MatMul, Gemm, Einsum, Det.
#include <algorithm>
#include <map>

#include "graph/shapes/rule.h"

namespace vramplan {

// numpy.matmul: [.., M, K] x [.., K, N]; a vector stands for one row or one column, which is then dropped.
void MatMulOf(NodeInference& n, int left, int right) {
  if (!n.ShapeOf(left) || !n.ShapeOf(right)) return;
  Shape a = *n.ShapeOf(left), b = *n.ShapeOf(right);
  if (a.rank() == 0 || b.rank() == 0)
    return n.Fail("it multiplies a scalar: " + n.Describe(left) + " by " + n.Describe(right));
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (row) a.Insert(0, 1);
  if (column) b.Append(1);
  if (!n.Same(a.FromEnd(1), b.FromEnd(2))) {
    return n.Fail(n.Describe(left) + " and " + n.Describe(right) + " do not multiply: the inner lengths differ");
  }
  SetProduct(n, a, b, row, column);
}

void SetProduct(NodeInference& n, Shape a, Shape b, bool row, bool column) {
  const Dim rows = a.FromEnd(2), columns = b.FromEnd(1);
  for (Shape* s : {&a, &b}) {
    s->Remove(s->rank() - 1);
    s->Remove(s->rank() - 1);
  }
  auto out = n.BroadcastShapes(a, b);
  if (!out) return;
  if (!row) out->Append(rows);
  if (!column) out->Append(columns);
  n.SetShape(0, *out);
}

void MatMul(NodeInference& n) { MatMulOf(n, 0, 1); }

namespace {

// a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point (onnx QLinearMatMul-10).
void QLinearMatMul(NodeInference& n) {
  n.Out(0).type = n.In(7).type;
  MatMulOf(n, 0, 3);
}

}  // namespace

void Gemm(NodeInference& n) {
  if (!n.ShapeOf(0) || !n.ShapeOf(1)) return;
  const Shape& a = *n.ShapeOf(0);
  const Shape& b = *n.ShapeOf(1);
  if (a.rank() != 2 || b.rank() != 2)
    return n.Fail("it multiplies " + n.Describe(0) + " by " + n.Describe(1) + ", which are not both matrices");
  const bool transpose_a = n.Int("transA", 0) != 0, transpose_b = n.Int("transB", 0) != 0;
  if (!n.Same(a[transpose_a ? 0 : 1], b[transpose_b ? 1 : 0])) {
    return n.Fail(n.Describe(0) + " and " + n.Describe(1) + " do not multiply: the inner lengths differ");
  }
  n.SetShape(0, Shape{a[transpose_a ? 1 : 0], b[transpose_b ? 0 : 1]});
}

namespace {

// "bhqd,bhkd->bhqk": one length a letter; "..." stands for axes that broadcast. Without "->", letters that occur once,
// in order.
void Einsum(NodeInference& n) {
  std::string equation = n.Text("equation", "");
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  const auto malformed = [&] { n.Fail("its equation \"" + equation + "\" does not fit its inputs"); };
  const size_t arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow);
  std::map<char, Dim> lengths;
  std::map<char, int> times;
  Shape ellipsis;
  size_t begin = 0;
  for (int i = 0; i < n.inputs(); ++i) {
    if (!n.ShapeOf(i)) return;
    if (begin > left.size()) return malformed();
    const size_t end = std::min(left.find(',', begin), left.size());
    const std::string term = left.substr(begin, end - begin);
    begin = end + 1;
    const size_t dots = term.find("...");
    const int letters = static_cast<int>(dots == std::string::npos ? term.size() : term.size() - 3);
    const Shape& shape = *n.ShapeOf(i);
    const int spread = shape.rank() - letters;
    if (spread < 0 || (dots == std::string::npos && spread != 0)) return malformed();
    int axis = 0;
    for (size_t c = 0; c < term.size();) {
      if (c == dots) {
        Shape part;
        for (int k = 0; k < spread; ++k) part.Append(shape[axis++]);
        const auto both = n.BroadcastShapes(ellipsis, part);
        if (!both) return;
        ellipsis = *both;
        c += 3;
        continue;
      }
      const Dim length = shape[axis++];
      const auto [found, fresh] = lengths.emplace(term[c], length);
      if (!fresh) {
        const auto same = n.Broadcast(found->second, length);
        if (!same) return malformed();
        found->second = *same;
      }
      ++times[term[c]];
      ++c;
    }
  }
  std::vector<Dim> out;
  if (arrow == std::string::npos) {
    out.assign(ellipsis.begin(), ellipsis.end());
    for (const auto& [letter, count] : times) {
      if (count == 1) out.push_back(lengths[letter]);
    }
  } else {
    const std::string right = equation.substr(arrow + 2);
    for (size_t c = 0; c < right.size(); ++c) {
      if (right.compare(c, 3, "...") == 0) {
        out.insert(out.end(), ellipsis.begin(), ellipsis.end());
        c += 2;
      } else if (lengths.count(right[c]) == 0) {
        return malformed();
      } else {
        out.push_back(lengths[right[c]]);
      }
    }
  }
  n.SetShape(0, out);
}

// [.., N, N] -> [..]
void Det(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  if (n.ShapeOf(0)->rank() < 2) return n.Fail(n.Describe(0) + " is no matrix");
  n.SetShape(0, std::vector<Dim>(n.ShapeOf(0)->begin(), n.ShapeOf(0)->end() - 2));
}

constexpr RuleRow kMatmulRows[] = {
    {"MatMul", MatMul},
    {"MatMulInteger", MatMul, Type::kInt32},
    {"QLinearMatMul", QLinearMatMul, Type::kRule},
    {"Gemm", Gemm},
    {"Einsum", Einsum},
    {"Det", Det},
};

}  // namespace

constinit const std::span<const RuleRow> kMatmulRules(kMatmulRows);

}  // namespace vramplan
