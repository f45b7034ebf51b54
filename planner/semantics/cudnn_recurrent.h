// What cuDNN asks for when it runs a recurrent network: the flat space of all weights, the workspace of one call, and
// the reserve, which a forward in train() keeps for its backward. The sizes are cuDNN's own (cudnnGetRNNTempSpaceSizes)
// and stand in no graph.
//
//   nn.LSTM(64, 128, 2), 50 steps of 8 samples, fp32: (5 * 2 + 1) * 128 * 400 * 4 B + 256 B = 2'253'056 B of reserve
//
// Reserve: all 888 networks of tests/data/truth/real/h200/rnn.csv (cuDNN 9.19) to the byte, and what
// pytorch/pytorch#2895 says of a Tesla P100 in 2017. The pretend card's cuDNN (pretend/library) answers with it too, so
// only whole numbers go in and come out.
#pragma once

#include <algorithm>
#include <cstdint>

namespace vramplan::eager {

enum class RecurrentCell : uint8_t { kLstm, kGru, kRnn };
constexpr int64_t GatesOf(RecurrentCell cell) {
  return cell == RecurrentCell::kLstm ? 4 : cell == RecurrentCell::kGru ? 3 : 1;
}

struct RecurrentNetwork {
  RecurrentCell cell = RecurrentCell::kLstm;
  int64_t input = 0, hidden = 0;
  int64_t projected = 0;  // what comes back each step: `hidden` without a projection
  int64_t layers = 1, directions = 1;
};

// Numbers in the weight space. cuDNN keeps both biases whether the module has them or not (CUDNN_RNN_DOUBLE_BIAS is
// the default, cudnn/Descriptors.h).
int64_t WeightSpace(const RecurrentNetwork& network);

// Numbers of the reserve for each position, of which there are steps times samples, or fewer in a packed sequence: a
// layer keeps its gates and its cell, 5 numbers a hidden unit for an LSTM, 6 for a GRU and 1 for a plain cell, with a
// projection also both sides of it; between layers lies one more.
constexpr int64_t ReservePerPosition(const RecurrentNetwork& n) {
  const int64_t kept = n.cell == RecurrentCell::kLstm ? 5 : n.cell == RecurrentCell::kGru ? 6 : 1;
  const int64_t layer = kept * n.hidden + (n.projected != n.hidden ? n.hidden + n.projected : 0);
  return (layer * n.layers + (n.layers - 1) * n.hidden) * n.directions;
}
// Bytes of all of it. A dropout between layers keeps a bit for each number there. Parts begin at multiples of 32 bytes.
constexpr int64_t ReserveBytes(const RecurrentNetwork& n, int64_t positions, int64_t element_bytes, bool drops) {
  const auto aligned = [](int64_t bytes) { return (bytes + 31) / 32 * 32; };
  const int64_t mask = aligned((n.hidden * n.directions * positions + 7) / 8);
  return aligned(ReservePerPosition(n) * positions * element_bytes) + (drops ? (n.layers - 1) * mask : 0) + 256;
}

// Numbers of a call's workspace for `samples`: what is left of #2895's 17'730'560 B and 13'169'920 B without biases is
// the matrices again and 3 * gates - 1 numbers a layer, sample (100) and hidden unit. cuDNN 9 on an H200 takes 8 MiB for
// each layer and direction besides, and more with the length (the same file): not here.
int64_t WorkspaceOf(const RecurrentNetwork& network, int64_t samples);

// Bytes of the states of cuDNN's dropout generator (cudnn/RNN.cpp, get_dropout_state), made by the first call that drops
// and kept for ever: 24 for each thread that the card can run at once; 6'488'064 B on an H200.
constexpr int64_t DropoutStateBytes(int64_t multiprocessors, int64_t threads_of_each) {
  return multiprocessors * threads_of_each * 24;
}

}  // namespace vramplan::eager
