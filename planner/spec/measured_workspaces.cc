#include "planner/spec/measured_workspaces.h"

#include <algorithm>

namespace vramplan {

std::string_view Name(ConvolutionPass pass) {
  switch (pass) {
    case ConvolutionPass::kForward:
      return "forward";
    case ConvolutionPass::kInputGradient:
      return "input-gradient";
    case ConvolutionPass::kWeightGradient:
      return "weight-gradient";
  }
  return "";
}

MeasuredWorkspaces::Key MeasuredWorkspaces::KeyOf(const ConvolutionShape& shape) {
  std::vector<int64_t> lengths(shape.input.begin() + 1, shape.input.end());
  lengths.insert(lengths.end(), shape.filter.begin(), shape.filter.end());
  lengths.insert(lengths.end(), shape.output.begin() + 1, shape.output.end());
  return {shape.pass, shape.type, shape.channels_last, std::move(lengths)};
}

void MeasuredWorkspaces::Add(const ConvolutionShape& shape, Bytes workspace) {
  Bytes& kept = by_shape_[KeyOf(shape)][shape.input[0]];
  kept = std::max(kept, workspace);
}

std::optional<Bytes> MeasuredWorkspaces::Of(const ConvolutionShape& shape) const {
  if (shape.input.empty() || shape.output.empty()) return std::nullopt;
  const auto found = by_shape_.find(KeyOf(shape));
  if (found == by_shape_.end()) return std::nullopt;
  const auto next = found->second.lower_bound(shape.input[0]);
  if (next != found->second.end()) return next->second;
  const auto& [batch, bytes] = *found->second.rbegin();
  const double scale = static_cast<double>(shape.input[0]) / static_cast<double>(batch);
  return Bytes::Of(static_cast<int64_t>(static_cast<double>(bytes.count()) * scale));
}

}  // namespace vramplan
