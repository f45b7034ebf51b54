// Unroll: TorchScript writes torch.tensor_split as a Loop that collects slices in a sequence. A loop whose number of
// rounds the file says, and that does nothing but that, becomes its rounds; what reads a place of the sequence reads
// the slice itself.
//
//   Loop(2, Slice(x, i) -> SequenceInsert) -> s, SequenceInsert(s, y) -> t, SequenceAt(t, 1), SequenceAt(t, 2)
//     becomes   Slice(x, 0), Slice(x, 1), Identity(Slice(x, 1)), Identity(y)
#pragma once

#include <onnx/onnx_pb.h>

namespace vramplan {

inline constexpr int64_t kMaxRounds = 64;

void UnrollSequences(onnx::GraphProto* graph);

}  // namespace vramplan
