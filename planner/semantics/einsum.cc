#include "planner/semantics/einsum.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "planner/semantics/blas.h"
#include "planner/semantics/pointwise.h"
#include "planner/semantics/reduction.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

constexpr char kEllipsis = '.';

// The letters of one term, "..." as one '.'; nothing when there is something else in it.
std::optional<std::string> LettersOf(std::string_view term) {
  std::string letters;
  for (size_t i = 0; i < term.size(); ++i) {
    const char c = term[i];
    if (c == ' ') continue;
    if (c == '.') {
      if (term.substr(i, 3) != "..." || letters.find(kEllipsis) != std::string::npos) return std::nullopt;
      i += 2;
    } else if ((c < 'a' || c > 'z') && (c < 'A' || c > 'Z')) {
      return std::nullopt;
    }
    letters.push_back(c);
  }
  return letters;
}

// Where each label stands among the axes of the output and, behind them, the summed ones.
struct Plan {
  std::vector<std::string> terms;
  std::map<char, int> axis_of;  // of an ellipsis: its first axis
  int ellipsis_axes = 0;
  int output_axes = 0;
  int axes = 0;
};

std::optional<Plan> PlanOf(std::string_view equation, const std::vector<Tensor>& operands) {
  Plan plan;
  const size_t arrow = equation.find("->");
  std::string_view left = equation.substr(0, arrow);
  std::map<char, int> uses;  // in the order of ASCII, which is PyTorch's order of labels
  for (const Tensor& operand : operands) {
    const size_t comma = left.find(',');
    const auto letters = LettersOf(left.substr(0, comma));
    if (!letters || !operand || (comma == std::string_view::npos) != (&operand == &operands.back()))
      return std::nullopt;
    left = comma == std::string_view::npos ? std::string_view() : left.substr(comma + 1);
    const bool ellipsis = letters->find(kEllipsis) != std::string::npos;
    const int named = static_cast<int>(letters->size()) - (ellipsis ? 1 : 0);
    if (ellipsis ? named > operand->dim() : named != operand->dim()) return std::nullopt;
    if (ellipsis) plan.ellipsis_axes = std::max(plan.ellipsis_axes, operand->dim() - named);
    for (const char c : *letters) ++uses[c];
    plan.terms.push_back(*letters);
  }
  const auto place = [&plan](char label) {
    plan.axis_of[label] = plan.axes;
    plan.axes += label == kEllipsis ? plan.ellipsis_axes : 1;
  };
  if (arrow == std::string_view::npos) {  // without an arrow: the ellipsis, then what is there once
    place(kEllipsis);
    for (const auto& [label, count] : uses) {
      if (label != kEllipsis && count == 1) place(label);
    }
  } else {
    const auto letters = LettersOf(equation.substr(arrow + 2));
    if (!letters) return std::nullopt;
    for (const char label : *letters) {
      if (plan.axis_of.count(label) != 0 || (label != kEllipsis && uses.count(label) == 0)) return std::nullopt;
      place(label);
    }
  }
  plan.output_axes = plan.axes;
  if (plan.axis_of.count(kEllipsis) == 0) place(kEllipsis);
  for (const auto& [label, count] : uses) {
    if (plan.axis_of.count(label) == 0) place(label);
  }
  if (plan.axes > Shape::kMaxRank) return std::nullopt;
  return plan;
}

// A view with every axis of the plan, in its order; a label that is there twice takes the diagonal.
Tensor AlignedTo(Eager& e, Tensor t, const std::string& letters, const Plan& plan) {
  std::vector<int> from(static_cast<size_t>(plan.axes), -1);
  const int covered = t->dim() - static_cast<int>(letters.size()) + 1;  // by an ellipsis
  int axis = 0;
  for (const char label : letters) {
    const int to = plan.axis_of.at(label);
    if (label == kEllipsis) {
      for (int i = plan.ellipsis_axes - covered; i < plan.ellipsis_axes; ++i)
        from[static_cast<size_t>(to) + static_cast<size_t>(i)] = axis++;
    } else if (int& place = from[static_cast<size_t>(to)]; place < 0) {
      place = axis++;
    } else {
      t = Diagonal(e, t, 0, place, axis);  // the new axis is the last: back to the place of the first
      std::vector<int> axes;
      for (int i = 0; i + 1 < t->dim(); ++i) axes.push_back(i);
      axes.insert(axes.begin() + place, t->dim() - 1);
      t = Permute(e, t, axes);
    }
  }
  for (int& place : from) {
    if (place >= 0) continue;
    Shape sizes = t->sizes;
    sizes.Append(Dim(1));
    t = Squeeze(e, t, sizes);
    place = axis++;
  }
  return Permute(e, t, from);
}

// Axes of both operands and the output, of the left only, summed, and of the right (or none).
Tensor SumProductPair(Eager& e, Tensor left, Tensor right, const std::vector<int>& summed) {
  if (summed.empty()) return Mul(e, left, right);
  std::vector<int> both, left_only, right_only;
  Dim both_size(1), left_size(1), right_size(1), sum_size(1);
  for (int i = 0; i < left->dim(); ++i) {
    const bool in_left = left->lengths[i] != 1, in_right = right->lengths[i] != 1;
    if (std::find(summed.begin(), summed.end(), i) != summed.end()) {
      sum_size = sum_size * left->sizes[i];
    } else if (in_left && in_right) {
      both.push_back(i);
      both_size = both_size * left->sizes[i];
    } else if (in_left) {
      left_only.push_back(i);
      left_size = left_size * left->sizes[i];
    } else {
      right_only.push_back(i);
      right_size = right_size * right->sizes[i];
    }
  }
  // Operands change places where that gives the axes of the result in their order: bts,bcs->bct is bmm(b, a) (seen in
  // PyTorch 2.10: where each axis of the right operand alone stands in front of each of the left one's).
  if (!left_only.empty() && !right_only.empty() && right_only.back() < left_only.front())
    return SumProductPair(e, std::move(right), std::move(left), summed);
  const auto joined = [](std::initializer_list<const std::vector<int>*> parts) {
    std::vector<int> all;
    for (const auto* part : parts) all.insert(all.end(), part->begin(), part->end());
    return all;
  };
  const std::vector<int> order = joined({&both, &left_only, &summed, &right_only});
  Shape sizes;
  std::vector<int> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const int axis = order[i];
    back[static_cast<size_t>(axis)] = static_cast<int>(i);
    const bool is_summed = std::find(summed.begin(), summed.end(), axis) != summed.end();
    const bool of_right = std::find(right_only.begin(), right_only.end(), axis) != right_only.end();
    sizes.Append(is_summed ? Dim(1) : of_right ? right->sizes[axis] : left->sizes[axis]);
  }
  left = Reshape(e, Permute(e, left, order), Shape{both_size, left_size, sum_size});
  right = Reshape(e, Permute(e, right, joined({&both, &summed, &right_only, &left_only})),
                  Shape{both_size, sum_size, right_size});
  return Permute(e, Reshape(e, Bmm(e, left, right), sizes), back);
}

// The two whose product has the fewest elements.
std::pair<size_t, size_t> CheapestPair(const std::vector<Tensor>& operands) {
  std::pair<size_t, size_t> best(0, 1);
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < operands.size(); ++i) {
    for (size_t j = i + 1; j < operands.size(); ++j) {
      double elements = 1;
      for (int axis = 0; axis < operands[i]->dim(); ++axis)
        elements *= static_cast<double>(std::max(operands[i]->lengths[axis], operands[j]->lengths[axis]));
      if (elements < least) best = {i, j};
      least = std::min(least, elements);
    }
  }
  return best;
}

}  // namespace

std::optional<Tensor> Einsum(Eager& e, std::string_view equation, const std::vector<Tensor>& operands,
                             EinsumOrder order) {
  OpScope scope(e, "aten::einsum");
  const auto plan = PlanOf(equation, operands);
  if (!plan || operands.empty()) return std::nullopt;
  std::vector<Tensor> aligned;
  std::vector<int> count(static_cast<size_t>(plan->axes));  // operands in which an axis is longer than 1
  for (size_t i = 0; i < operands.size(); ++i) {
    aligned.push_back(AlignedTo(e, operands[i], plan->terms[i], *plan));
    for (int axis = 0; axis < plan->axes; ++axis) count[static_cast<size_t>(axis)] += aligned[i]->lengths[axis] != 1;
  }
  while (aligned.size() > 1) {
    const auto [first, second] =
        order == EinsumOrder::kCheapest ? CheapestPair(aligned) : std::pair<size_t, size_t>(0, 1);
    Tensor one = std::move(aligned[first]), other = std::move(aligned[second]);
    aligned.erase(aligned.begin() + static_cast<std::ptrdiff_t>(second));
    aligned.erase(aligned.begin() + static_cast<std::ptrdiff_t>(first));
    std::vector<int> summed, of_one, of_other;
    for (int axis = plan->output_axes; axis < plan->axes; ++axis) {
      int& left = count[static_cast<size_t>(axis)];
      if (one->lengths[axis] != 1 && other->lengths[axis] != 1) {
        if (--left == 1) summed.push_back(axis);
      } else if (left == 1 && one->lengths[axis] != 1) {
        of_one.push_back(axis);
      } else if (left == 1 && other->lengths[axis] != 1) {
        of_other.push_back(axis);
      } else {
        continue;
      }
      if (left == 1) left = 0;
    }
    if (!of_one.empty()) one = Sum(e, one, of_one, true);
    if (!of_other.empty()) other = Sum(e, other, of_other, true);
    // Both live until their product is there, beside what it copied of them (ATen/native/Linear.cpp 2.10, einsum).
    Tensor product = SumProductPair(e, one, other, summed);
    aligned.insert(order == EinsumOrder::kCheapest ? aligned.end() : aligned.begin(), std::move(product));
  }
  Tensor result = std::move(aligned[0]);
  std::vector<int> rest;
  for (int axis = plan->output_axes; axis < plan->axes; ++axis) rest.push_back(axis);
  if (rest.empty()) return result;
  if (operands.size() == 1) return Sum(e, result, rest, false);
  Shape sizes = result->sizes;
  for (auto axis = rest.rbegin(); axis != rest.rend(); ++axis) sizes.Remove(*axis);
  return Reshape(e, result, sizes);
}

}  // namespace vramplan::eager
