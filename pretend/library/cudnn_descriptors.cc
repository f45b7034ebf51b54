// cuDNN: the descriptors of tensors and recurrent networks, because PyTorch asks them how large a network's weights are
// and where in its flat buffer each of them lies (aten/src/ATen/native/cudnn/RNN.cpp, _cudnn_rnn_flatten_weight).
#include <algorithm>
#include <array>
#include <numeric>

#include "planner/semantics/cudnn_recurrent.h"
#include "pretend/library/abi.h"

using pretend::Handle;
using pretend::kSuccess;

namespace {

constexpr int kMostExtents = 8;  // CUDNN_DIM_MAX

struct Tensor {
  int type = 0, count = 0;
  std::array<int, kMostExtents> extents{}, strides{};
};

struct Network {
  int cell = 0, bias = 0, bidirectional = 0, type = 0;
  bool drops = false;
  int64_t input = 0, hidden = 0, projection = 0, layers = 0;

  int64_t directions() const { return bidirectional != 0 ? 2 : 1; }
  // cudnnRNNMode_t: ReLU 0, tanh 1, LSTM 2, GRU 3.
  int64_t gates() const { return cell == 2 ? 4 : cell == 3 ? 3 : 1; }
  bool is_projected() const { return projection != hidden; }
  int64_t element() const { return type == 1 ? 8 : type == 2 || type == 9 ? 2 : 4; }  // cudnnDataType_t
  // What one layer reads from the one below it.
  int64_t Width(int64_t layer) const { return layer == 0 ? input : projection * directions(); }
  size_t Reserve(int64_t positions) const {
    using vramplan::eager::RecurrentCell;
    const RecurrentCell kind = cell == 2 ? RecurrentCell::kLstm : cell == 3 ? RecurrentCell::kGru : RecurrentCell::kRnn;
    return static_cast<size_t>(vramplan::eager::ReserveBytes({kind, input, hidden, projection, layers, directions()},
                                                             positions, element(), drops));
  }
};

// A sequence: its positions, padded ones left out.
struct Sequence {
  int64_t positions = 0;
};

struct Dropout {
  bool drops = false;
};

bool Drops(Handle dropout) { return dropout != nullptr && static_cast<const Dropout*>(dropout)->drops; }

// Where matrix and bias of one gate lie, in elements from the beginning, and their shapes.
struct Piece {
  int64_t matrix = 0, rows = 0, columns = 0, bias = 0, bias_rows = 0;
};

// All matrices, layer after layer and direction after direction, the gates of the input before those of the state; then
// all biases in the same order. `gate` from 0 to 2 * gates - 1; 2 * gates: the projection.
Piece PieceOf(const Network& network, int64_t pseudo_layer, int64_t gate) {
  Piece piece;
  int64_t at = 0;
  const int64_t pseudo_layers = network.layers * network.directions();
  const auto matrix = [&](int64_t layer, int64_t which, int64_t rows, int64_t columns) {
    if (layer == pseudo_layer && which == gate) {
      piece.matrix = at;
      piece.rows = rows;
      piece.columns = columns;
    }
    at += rows * columns;
  };
  for (int64_t layer = 0; layer < pseudo_layers; ++layer) {
    for (int64_t which = 0; which < 2 * network.gates(); ++which) {
      const bool of_input = which < network.gates();
      matrix(layer, which, network.hidden, of_input ? network.Width(layer / network.directions()) : network.projection);
    }
    if (network.is_projected()) matrix(layer, 2 * network.gates(), network.projection, network.hidden);
  }
  if (network.bias == 0) {
    if (pseudo_layer >= pseudo_layers) piece.matrix = at;
    return piece;
  }
  for (int64_t layer = 0; layer < pseudo_layers; ++layer) {
    for (int64_t which = 0; which < 2 * network.gates(); ++which) {
      if (layer == pseudo_layer && which == gate) {
        piece.bias = at;
        piece.bias_rows = network.hidden;
      }
      at += network.hidden;
    }
  }
  if (pseudo_layer >= pseudo_layers) piece.matrix = at;
  return piece;
}

int64_t WeightsOf(const Network& network) { return PieceOf(network, network.layers * network.directions(), 0).matrix; }

void Describe(Handle descriptor, int type, int64_t rows, int64_t columns) {
  *static_cast<Tensor*>(descriptor) = {type,
                                       3,
                                       {1, static_cast<int>(rows), static_cast<int>(columns)},
                                       {static_cast<int>(rows * columns), static_cast<int>(columns), 1}};
}

void* Place(const Network& network, const void* weights, int64_t elements) {
  return pretend::PointerTo(pretend::AddressOf(weights) + static_cast<uint64_t>(elements * network.element()));
}

// cuDNN 7's way, where the tensor that goes in says how wide it is and of which type: batch, width, 1.
Network WithInput(Handle network, Handle input) {
  const Tensor& tensor = *static_cast<const Tensor*>(input);
  Network with = *static_cast<const Network*>(network);
  with.input = tensor.extents[1];
  with.type = tensor.type;
  return with;
}

}  // namespace

// PyTorch, aten/src/ATen/cudnn/Descriptors.h.
PRETEND_API int cudnnCreateTensorDescriptor(Handle* descriptor) {
  *descriptor = new Tensor();
  return kSuccess;
}
// Descriptors.h, when the wrapper dies: the object is gone.
PRETEND_API int cudnnDestroyTensorDescriptor(Handle descriptor) {
  delete static_cast<Tensor*>(descriptor);
  return kSuccess;
}
// Descriptors.cpp: extents and strides are kept for those who ask.
PRETEND_API int cudnnSetTensorNdDescriptor(Handle descriptor, int type, int count, const int* extents,
                                           const int* strides) {
  Tensor tensor{type, std::min(count, kMostExtents), {}, {}};
  std::copy_n(extents, tensor.count, tensor.extents.begin());
  std::copy_n(strides, tensor.count, tensor.strides.begin());
  *static_cast<Tensor*>(descriptor) = tensor;
  return kSuccess;
}
// Descriptors.cpp, for messages, and RNN.cpp, of a network's matrices: what was set.
PRETEND_API int cudnnGetTensorNdDescriptor(Handle descriptor, int wanted, int* type, int* count, int* extents,
                                           int* strides) {
  const Tensor& tensor = *static_cast<const Tensor*>(descriptor);
  *type = tensor.type;
  *count = tensor.count;
  const int written = std::min(wanted, tensor.count);
  if (extents != nullptr) std::copy_n(tensor.extents.begin(), written, extents);
  if (strides != nullptr) std::copy_n(tensor.strides.begin(), written, strides);
  return kSuccess;
}

// The same for filters, which wheels hand over as the descriptors of a network's matrices.
PRETEND_ALIAS(cudnnCreateFilterDescriptor, cudnnCreateTensorDescriptor);
PRETEND_ALIAS(cudnnDestroyFilterDescriptor, cudnnDestroyTensorDescriptor);
// Descriptors.cpp: as a tensor without strides.
PRETEND_API int cudnnSetFilterNdDescriptor(Handle descriptor, int type, int, int count, const int* extents) {
  constexpr int kNoStrides[kMostExtents] = {};
  return cudnnSetTensorNdDescriptor(descriptor, type, count, extents, kNoStrides);
}
// RNN.cpp before cuDNN 8, of a matrix: what was set.
PRETEND_API int cudnnGetFilterNdDescriptor(Handle descriptor, int wanted, int* type, int* format, int* count,
                                           int* extents) {
  *format = 0;  // NCHW
  return cudnnGetTensorNdDescriptor(descriptor, wanted, type, count, extents, nullptr);
}

// PyTorch, RNN.cpp: nn.LSTM, nn.GRU and nn.RNN.
PRETEND_API int cudnnCreateRNNDescriptor(Handle* descriptor) {
  *descriptor = new Network();
  return kSuccess;
}
// RNN.cpp, when the wrapper dies: the object is gone.
PRETEND_API int cudnnDestroyRNNDescriptor(Handle descriptor) {
  delete static_cast<Network*>(descriptor);
  return kSuccess;
}
// RNN.cpp: kept, because the sizes of the weights follow from it.
PRETEND_API int cudnnSetRNNDescriptor_v8(Handle descriptor, int, int cell, int bias, int direction, int, int type, int,
                                         int, int32_t input, int32_t hidden, int32_t projection, int32_t layers,
                                         Handle dropout, uint32_t) {
  *static_cast<Network*>(descriptor) = {cell, bias, direction, type, Drops(dropout), input, hidden, projection, layers};
  return kSuccess;
}
// RNN.cpp, get_num_weights: the bytes of the flat buffer, which then is all of the network's parameters.
PRETEND_API int cudnnGetRNNWeightSpaceSize(Handle, Handle descriptor, size_t* bytes) {
  const Network& network = *static_cast<const Network*>(descriptor);
  *bytes = static_cast<size_t>(WeightsOf(network) * network.element());
  return kSuccess;
}
// RNN.cpp, get_parameters: where in it the matrix and the bias of a gate lie, and their shapes. What does not exist has
// a null address; PyTorch asks for the matrix alone, then for the bias alone.
PRETEND_API int cudnnGetRNNWeightParams(Handle, Handle descriptor, int32_t pseudo_layer, size_t, const void* weights,
                                        int32_t gate, Handle matrix, void** matrix_address, Handle bias,
                                        void** bias_address) {
  const Network& network = *static_cast<const Network*>(descriptor);
  const Piece piece = PieceOf(network, pseudo_layer, gate);
  if (matrix_address != nullptr) *matrix_address = piece.rows > 0 ? Place(network, weights, piece.matrix) : nullptr;
  if (bias_address != nullptr) *bias_address = piece.bias_rows > 0 ? Place(network, weights, piece.bias) : nullptr;
  if (matrix != nullptr) Describe(matrix, network.type, piece.rows, piece.columns);
  if (bias != nullptr) Describe(bias, network.type, piece.bias_rows, 1);
  return kSuccess;
}
// PyTorch, Descriptors.h, of a sequence's input and output.
PRETEND_API int cudnnCreateRNNDataDescriptor(Handle* descriptor) {
  *descriptor = new Sequence();
  return kSuccess;
}
// Descriptors.h: the object is gone.
PRETEND_API int cudnnDestroyRNNDataDescriptor(Handle descriptor) {
  delete static_cast<Sequence*>(descriptor);
  return kSuccess;
}
// RNN.cpp, packed or not: the length of each sample is kept.
PRETEND_API int cudnnSetRNNDataDescriptor(Handle descriptor, int, int, int, int samples, int, const int* lengths,
                                          void*) {
  static_cast<Sequence*>(descriptor)->positions = std::accumulate(lengths, lengths + samples, int64_t{0});
  return kSuccess;
}
// PyTorch, Descriptors.h: what is dropped between the layers of a network.
PRETEND_API int cudnnCreateDropoutDescriptor(Handle* descriptor) {
  *descriptor = new Dropout();
  return kSuccess;
}
// Descriptors.h: the object is gone.
PRETEND_API int cudnnDestroyDropoutDescriptor(Handle descriptor) {
  delete static_cast<Dropout*>(descriptor);
  return kSuccess;
}
// Descriptors.h: in eval() with a probability of 0.
PRETEND_API int cudnnSetDropoutDescriptor(Handle descriptor, Handle, float probability) {
  static_cast<Dropout*>(descriptor)->drops = probability > 0;
  return kSuccess;
}
PRETEND_ALIAS(cudnnRestoreDropoutDescriptor, cudnnSetDropoutDescriptor);

// RNN.cpp: the reserve, which PyTorch allocates and keeps for the backward; no workspace, for which the report has a
// band (planner/report/parts/device_band.h).
PRETEND_API int cudnnGetRNNTempSpaceSizes(Handle, Handle descriptor, int mode, Handle input, size_t* workspace,
                                          size_t* reserve) {
  constexpr int kTraining = 1;  // cudnnForwardMode_t
  if (workspace != nullptr) *workspace = 0;
  if (reserve == nullptr) return kSuccess;
  const int64_t positions = static_cast<const Sequence*>(input)->positions;
  *reserve = mode == kTraining ? static_cast<const Network*>(descriptor)->Reserve(positions) : 0;
  return kSuccess;
}

// The same as cuDNN 7 had it, which 8 keeps and wheels with cuDNN 8 call: torch 2.0 to 2.3, for CUDA 11.7 to 12.1.
// RNN.cpp: kept; both biases are there unless told otherwise, which PyTorch does not do. The type comes with the input.
PRETEND_API int cudnnSetRNNDescriptor_v6(Handle, Handle descriptor, int hidden, int layers, Handle dropout, int,
                                         int direction, int cell, int, int) {
  constexpr int kBothBiases = 3;
  *static_cast<Network*>(descriptor) = {cell, kBothBiases, direction, 0, Drops(dropout), 0, hidden, hidden, layers};
  return kSuccess;
}
// RNN.cpp, of an LSTM with proj_size: kept.
PRETEND_API int cudnnSetRNNProjectionLayers(Handle, Handle descriptor, int projection, int) {
  Network& network = *static_cast<Network*>(descriptor);
  network.projection = projection == 0 ? network.hidden : projection;
  return kSuccess;
}
// RNN.cpp, get_num_weights: the bytes of the flat buffer.
PRETEND_API int cudnnGetRNNParamsSize(Handle, Handle descriptor, Handle input, size_t* bytes, int) {
  const Network network = WithInput(descriptor, input);
  *bytes = static_cast<size_t>(WeightsOf(network) * network.element());
  return kSuccess;
}
// RNN.cpp, get_parameters: where in it the matrix of a gate lies, and its shape.
PRETEND_API int cudnnGetRNNLinLayerMatrixParams(Handle, Handle descriptor, int pseudo_layer, Handle input, Handle,
                                                const void* weights, int gate, Handle matrix, void** address) {
  const Network network = WithInput(descriptor, input);
  const Piece piece = PieceOf(network, pseudo_layer, gate);
  *address = Place(network, weights, piece.matrix);
  Describe(matrix, network.type, piece.rows, piece.columns);
  return kSuccess;
}
// RNN.cpp, get_parameters: the same of its bias.
PRETEND_API int cudnnGetRNNLinLayerBiasParams(Handle, Handle descriptor, int pseudo_layer, Handle input, Handle,
                                              const void* weights, int gate, Handle bias, void** address) {
  const Network network = WithInput(descriptor, input);
  const Piece piece = PieceOf(network, pseudo_layer, gate);
  *address = Place(network, weights, piece.bias);
  Describe(bias, network.type, piece.bias_rows, 1);
  return kSuccess;
}
// RNN.cpp: none.
PRETEND_API int cudnnGetRNNWorkspaceSize(Handle, Handle, int, const Handle*, size_t* bytes) {
  *bytes = 0;
  return kSuccess;
}
// RNN.cpp: the reserve; a step's tensor says of how many samples it is.
PRETEND_API int cudnnGetRNNTrainingReserveSize(Handle, Handle descriptor, int steps, const Handle* inputs,
                                               size_t* bytes) {
  int64_t positions = 0;
  for (int i = 0; i < steps; ++i) positions += static_cast<const Tensor*>(inputs[i])->extents[0];
  *bytes = WithInput(descriptor, inputs[0]).Reserve(positions);
  return kSuccess;
}
