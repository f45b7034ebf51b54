// One step of a recurrent network: nn.LSTMCell and nn.GRUCell are one operator on a card, which both exporters take
// apart.
//
//   i, f, g, o = split(linear(h, weight_hh) + linear(x, weight_ih)); c' = f * c + i * g; o * tanh(c')
//     ->   lstm_cell(x, h, c, weight_ih, weight_hh, bias_ih?, bias_hh?) -> h', c'
//   gru_cell(x, h, weight_ih, weight_hh, bias_ih?, bias_hh?) -> h'
#pragma once

#include "graph/layers/layers.h"

namespace vramplan {

void GatherRecurrentCells(Layers* layers);

}  // namespace vramplan
