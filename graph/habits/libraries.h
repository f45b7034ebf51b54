// The libraries, a file each. habits.cc lists them.
#pragma once

#include "graph/habits/habits.h"

namespace vramplan {

extern const Library kTorch, kTorchvision, kTimm, kMonai, kSegmentationModels, kTransformers, kDiffusers, kUltralytics,
    kTorchGeometric, kCopiedCode;

}  // namespace vramplan
