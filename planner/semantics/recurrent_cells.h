// nn.LSTMCell and nn.GRUCell on a card (aten/src/ATen/native/RNN.cpp: lstm_cell, gru_cell; cuda/RNN.cu:
// _thnn_fused_lstm_cell, _thnn_fused_gru_cell, 2.10): two products without biases, and one kernel behind them.
#pragma once

#include "planner/semantics/table.h"

namespace vramplan::eager {

// x, h, c, weight_ih, weight_hh, bias_ih?, bias_hh? -> h', c'
void LstmCell(Call& c);
// x, h, weight_ih, weight_hh, bias_ih?, bias_hh? -> h'
void GruCell(Call& c);

}  // namespace vramplan::eager
