// Backbones: networks that libraries publish with weights, inside of a model that adds layers of its own. People train
// all of it, or freeze the network and train what they added; no exporter writes which.
//
//   backbone.layer1.0.conv1.weight ... backbone.layer4.1.conv2.weight     a ResNet of torchvision, by its names
//   head.weight, head.bias                                                what was added
//
// A model that is nothing but such a network has none. The names are habits (graph/habits, NameHabit::Of::kPublished).
#pragma once

#include <optional>

#include "graph/layers/layers.h"
#include "planner/spec/towers.h"

namespace vramplan {

// The trained parameters of all of them; nothing: there is none, or nothing else is trained.
std::optional<Tower> FindBackbone(const Layers& layers);

}  // namespace vramplan
