// Unroll: TorchScript writes torch.tensor_split as a Loop that collects slices in a sequence. A loop whose number of
// rounds the file says, and that does nothing but that, becomes its rounds; what reads a place of the sequence reads
// the slice itself.
//
//   Loop(2, Slice(x, i) -> SequenceInsert) -> s, SequenceInsert(s, y) -> t, SequenceAt(t, 1), SequenceAt(t, 2)
//     becomes   Slice(x, 0), Slice(x, 1), Identity(Slice(x, 1)), Identity(y)
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <string_view>

#include "graph/base/result.h"

namespace vramplan {

inline constexpr int64_t kMaxRounds = 64;

// False when there was nothing to unroll.
bool UnrollSequences(onnx::GraphProto* graph);
// The same for a GraphProto's bytes; empty when there was nothing to unroll, which most files are not parsed for.
Result<std::string> UnrollSequences(std::string_view graph);

}  // namespace vramplan
