#include "planner/calibration/profile.h"

#include <tuple>

namespace vramplan {

bool MeasuredConvolution::operator==(const MeasuredConvolution& other) const {
  const auto all = [](const MeasuredConvolution& one) {
    const ConvolutionShape& shape = one.shape;
    return std::tie(shape.pass, shape.type, shape.channels_last, shape.input, shape.filter, shape.output,
                    one.workspace);
  };
  return all(*this) == all(other);
}

MeasuredWorkspaces WorkspacesOf(const Profile& profile) {
  MeasuredWorkspaces workspaces;
  for (const MeasuredConvolution& one : profile.convolutions) workspaces.Add(one.shape, one.workspace);
  return workspaces;
}

}  // namespace vramplan
