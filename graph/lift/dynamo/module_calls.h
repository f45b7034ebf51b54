// Calls of torch.nn's modules whose one operator the dynamo exporter takes apart: put back by the module's class.
//
//   in nn.RMSNorm: pow, mean, add, rsqrt, mul, mul        ->   rms_norm(input, weight)
//   in nn.Dropout2d: bernoulli, div, mul                  ->   feature_dropout(input)
//   in nn.RNN: a linear, an add and a tanh for each step   ->   rnn(input, -, -, weights...)
#pragma once

#include "graph/layers/layers.h"

namespace vramplan {

void GatherModuleCalls(Layers* layers);

}  // namespace vramplan
