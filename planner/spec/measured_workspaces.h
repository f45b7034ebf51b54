// MeasuredWorkspaces: the workspaces that cuDNN took for convolutions timed on the card. They replace every guess.
//
//   forward, float32, input [8, 64, 56, 56], filter [64, 64, 3, 3], output [8, 64, 56, 56]    3,211,264 B
//
// A batch that was not measured takes the value of the next larger one; above the largest it grows in proportion.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/base/bytes.h"
#include "graph/base/result.h"
#include "graph/ir/dtype.h"

namespace vramplan {

enum class ConvolutionPass : uint8_t { kForward, kInputGradient, kWeightGradient };
std::string_view Name(ConvolutionPass pass);  // "forward", "input-gradient", "weight-gradient"

// The lengths are those of the forward, whichever pass it is; input and output begin with the batch.
struct ConvolutionShape {
  ConvolutionPass pass = ConvolutionPass::kForward;
  DType type = DType::kFloat32;
  bool channels_last = false;
  std::vector<int64_t> input, filter, output;
};

class MeasuredWorkspaces {
 public:
  // `shape.input` and `shape.output` have a batch of at least 1.
  void Add(const ConvolutionShape& shape, Bytes workspace);
  // Nothing: no batch of this convolution was measured.
  std::optional<Bytes> Of(const ConvolutionShape& shape) const;
  bool empty() const { return by_shape_.empty(); }
  bool operator==(const MeasuredWorkspaces&) const = default;

 private:
  using Key = std::tuple<ConvolutionPass, DType, bool, std::vector<int64_t>>;  // lengths without the batch
  static Key KeyOf(const ConvolutionShape& shape);
  std::map<Key, std::map<int64_t, Bytes>> by_shape_;  // then by batch
};

}  // namespace vramplan
