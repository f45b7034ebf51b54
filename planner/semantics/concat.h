// Concatenation: a new tensor of everything; its gradients are slices of the one that arrives, so they pin it.
#pragma once

#include <vector>

#include "planner/semantics/eager.h"

namespace vramplan::eager {

// `least`: the type of a part that has no elements; kBool: none has.
Tensor Cat(Eager& e, const std::vector<Tensor>& parts, int axis, DType least = DType::kBool);
Tensor Stack(Eager& e, const std::vector<Tensor>& parts, int axis);

// Where memory lies with the channels fastest (torch.channels_last, channels_last_3d): is_strides_like_channels_last of
// c10/core/MemoryFormat.h.
bool IsChannelsLast(const TensorImpl& t);
Ints ChannelsLastStrides(const Ints& lengths);
// t, or a copy of it in that layout; not on the tape.
Tensor ContiguousIn(Eager& e, const Tensor& t, bool channels_last);

}  // namespace vramplan::eager
