#include "planner/spec/measured_workspaces.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

ConvolutionShape At(int64_t batch, ConvolutionPass pass = ConvolutionPass::kForward) {
  return {pass, DType::kFloat32, false, {batch, 64, 56, 56}, {64, 64, 3, 3}, {batch, 64, 56, 56}};
}

TEST_CASE("measured workspaces: between batches the larger one, beyond them in proportion") {
  MeasuredWorkspaces measured;
  CHECK(measured.empty());
  measured.Add(At(8), Bytes::Of(100));
  measured.Add(At(32), Bytes::Of(300));
  for (const auto& [batch, bytes] : {std::pair{1, 100}, {8, 100}, {9, 300}, {32, 300}, {64, 600}, {80, 750}}) {
    CHECK_MESSAGE(measured.Of(At(batch)) == Bytes::Of(bytes), batch);
  }
  measured.Add(At(8), Bytes::Of(50));  // measured twice: the larger counts
  CHECK(measured.Of(At(8)) == Bytes::Of(100));
}

TEST_CASE("measured workspaces: another convolution is not measured") {
  MeasuredWorkspaces measured;
  measured.Add(At(8), Bytes::Of(100));
  CHECK_FALSE(measured.Of(At(8, ConvolutionPass::kWeightGradient)));
  ConvolutionShape other = At(8);
  other.channels_last = true;
  CHECK_FALSE(measured.Of(other));
  other = At(8);
  other.type = DType::kFloat16;
  CHECK_FALSE(measured.Of(other));
  other = At(8);
  other.output[2] = 28;  // a stride
  CHECK_FALSE(measured.Of(other));
}

}  // namespace
}  // namespace vramplan
