// What cuDNN asks for when it runs a recurrent network: the flat space of all weights, the workspace of one call, and
// the reserve, which the forward of a training step leaves for its backward. The sizes are cuDNN's own
// (cudnnGetRNNTempSpaceSizes) and stand in no graph.
//
//   nn.LSTM(64, 128, 2), 50 steps of 8 samples, fp32: T N H = 51'200 numbers
//   reserve: (5 * 2 + 1) * 51'200 * 4 B = 2'252'800 B     likely
//             2 * 6 * 2 * 51'200 * 4 B = 4'915'200 B      high
//
// The only sizes of cuDNN that are published with their network are those of pytorch/pytorch#2895 (Tesla P100, fp32, 4
// layers, 123 -> 320): a reserve of 736'000'000 B for an LSTM and 864'000'000 B for a GRU. With 25'000 positions that
// is 23 and 27 numbers a position and hidden unit: 5 and 6 in each of 4 layers, and 1 between layers; the same issue's
// memory of an RNN is 16 less than the LSTM's: 1 in each layer. The high end is what MIOpen keeps for the same calls
// (src/rnn.cpp, GetReserveSize). Neither was seen on a card of today, so a plan with such a network says so.
#pragma once

#include <cstdint>

#include "graph/ir/size_expr.h"
#include "planner/spec/spec.h"

namespace vramplan::eager {

enum class RecurrentCell : uint8_t { kLstm, kGru, kRnn };
int64_t GatesOf(RecurrentCell cell);  // 4, 3, 1

struct RecurrentNetwork {
  RecurrentCell cell = RecurrentCell::kLstm;
  int64_t input = 0, hidden = 0;
  int64_t projected = 0;  // what comes back each step: `hidden` without a projection
  int64_t layers = 1, directions = 1;
};

// Numbers in the weight space. cuDNN keeps both biases whether the module has them or not (CUDNN_RNN_DOUBLE_BIAS is
// the default, cudnn/Descriptors.h).
int64_t WeightSpace(const RecurrentNetwork& network);
// Numbers of the reserve for each position (a step of one sample), of which cuDNN chooses how many.
struct ReserveLength {
  int64_t likely = 0, most = 0;
};
ReserveLength ReservePerPosition(const RecurrentNetwork& network);
// Numbers of a call's workspace for `samples`: what is left of #2895's 17'730'560 B and 13'169'920 B without biases is
// the matrices again and 3 * gates - 1 numbers a layer, sample (100) and hidden unit.
int64_t WorkspaceOf(const RecurrentNetwork& network, int64_t samples);

// The states of cuDNN's dropout generator, "slightly over 2MB" (cudnn/RNN.cpp, get_dropout_state): made by the first
// call that drops, kept for ever.
inline constexpr Bytes kRecurrentDropoutState = Bytes::MiB(2);

}  // namespace vramplan::eager
