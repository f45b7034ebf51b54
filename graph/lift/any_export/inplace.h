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

#include "graph/base/note.h"
#include "graph/layers/layers.h"

namespace vramplan {

enum class InPlace : uint8_t { kNo, kYes, kAssumed };

// Whether what `maker` makes is what an activation of somebody's own, in a module, mostly overwrites: behind a batch
// norm all do, leaky ReLU with a slope of its own, nn.LeakyReLU(0.2, True): who writes no slope writes no inplace.
// Behind an instance norm ReLU (CycleGAN, pix2pix, StarGAN: nn.ReLU(True)), leaky ReLU (nnU-Net) and ELU; behind a
// convolution leaky ReLU with a slope, which is how discriminators (DCGAN, PatchGAN, SRGAN) begin and what ESRGAN is
// made of.
bool IsFeature(std::string_view activation, const Attributes& attributes, std::string_view maker);

// Whether the call of `op` in the modules of `path` writes into its first input, as far as classes tell.
// `behind_feature`: its first input is one. `path`: that of the innermost module, whose last name counts with few. The
// caller must hold that nobody reads that input afterwards.
InPlace InPlaceByClass(const std::string& op, const std::vector<std::string_view>& classes, bool behind_feature,
                       std::string_view path = "");

// Of InPlace::kAssumed in the module of this path: one note, "assumed-inplace", of the first.
void NoteAssumedInPlace(const std::string& path, Guesses* guesses, Notes* notes);

// Files without class names (TorchScript): ReLU and ReLU6 that are modules of their own right behind a convolution, a
// norm or a residual sum, and whose operand nobody else reads, are taken as inplace=True, LeakyReLU and ELU where
// IsFeature says so, and sums of a batch norm's result with a shortcut in front of a ReLU as out += identity; so
// torchvision, timm and the code that follows them write almost everywhere. One note, "assumed-inplace".
void AssumeInPlace(Layers* layers, Notes* notes);

}  // namespace vramplan
