// In-place: export makes every call functional, so the file has lost which ones wrote into their input. The class of
// the module that holds the call tells, because libraries build their modules by habit:
//
//   ReLU in torchvision.models.resnet.BasicBlock          in place: nn.ReLU(inplace=True)
//   ReLU in torchvision.models.segmentation.fcn.FCNHead   not: nn.ReLU()
//   add  in torchvision.models.resnet.BasicBlock          in place: out += identity
//   ReLU in a class of nobody we know, right behind a norm: assumed in place, which is what most conv-norm-relu
//   code says
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/lift/layers.h"

namespace vramplan {

enum class InPlace : uint8_t { kNo, kYes, kAssumed };

// Whether the call of `op` in the modules of `path` writes into its first input, as far as classes tell.
// `behind_batch_norm`: its first input was made by a batch norm. The caller must hold that nobody reads that input
// afterwards.
InPlace InPlaceByClass(const std::string& op, const std::vector<std::string_view>& classes, bool behind_batch_norm);

// Files without class names (TorchScript): ReLU and ReLU6 that are modules of their own right behind a convolution, a
// norm or a residual sum, and whose operand nobody else reads, are taken as inplace=True, LeakyReLU and ELU behind a
// batch or instance norm as well, and sums of a batch norm's result with a shortcut in front of a ReLU as out +=
// identity; so torchvision, timm and the code that follows them write almost everywhere. One note, "assumed-inplace".
void AssumeInPlace(Layers* layers, Notes* notes);

}  // namespace vramplan
