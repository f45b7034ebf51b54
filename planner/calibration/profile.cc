#include "planner/calibration/profile.h"

#include <tuple>

namespace vramplan {

bool MeasuredConvolution::operator==(const MeasuredConvolution& other) const {
  const auto all = [](const MeasuredConvolution& one) {
    const ConvolutionShape& of = one.shape;
    return std::tie(of.pass, of.type, of.channels_last, of.input, of.filter, of.output, one.workspace);
  };
  return all(*this) == all(other);
}

MeasuredWorkspaces WorkspacesOf(const Profile& profile) {
  MeasuredWorkspaces workspaces;
  for (const MeasuredConvolution& one : profile.convolutions) workspaces.Add(one.shape, one.workspace);
  return workspaces;
}

}  // namespace vramplan
