// Recurrent networks: one call of nn.LSTM, nn.GRU or nn.RNN is one layer, whatever an exporter made of it.
//
//   TorchScript, nn.LSTM(64, 128, 2, batch_first=True):
//     permute, lstm, squeeze, lstm, squeeze, permute          ->   lstm(x, -, -, weights of both layers), num_layers 2
//   dynamo:  zeros, lstm(x, zeros, zeros, ...)                ->   lstm(x, -, -, ...)
//
// States that the module makes itself are absent; the layer has all its outputs (output, h_n and for an LSTM c_n),
// because PyTorch's caller holds them whether it reads them or not.
#pragma once

#include "graph/layers/layers.h"

namespace vramplan {

void GatherRecurrent(Layers* layers);

}  // namespace vramplan
