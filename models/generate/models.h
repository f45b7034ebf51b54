// The example graphs, each as the bytes of its .onnx file. What each is, in PyTorch, stands in models/README.md.
#pragma once

#include <string>

namespace vramplan::models {

std::string Mlp();
std::string UNet();
std::string ResNet50();
std::string BertBase();
std::string GptSmall();

}  // namespace vramplan::models
