// generate_models [FOLDER]: writes the example graphs into FOLDER (default: models).
#include <cstdio>
#include <fstream>
#include <string>

#include "models/generate/models.h"

namespace {

struct Example {
  const char* file;
  std::string (*make)();
};

constexpr Example kExamples[] = {
    {"mlp.onnx", vramplan::models::Mlp},
    {"unet.onnx", vramplan::models::UNet},
    {"resnet50.onnx", vramplan::models::ResNet50},
    {"bert_base.onnx", vramplan::models::BertBase},
    {"gpt_small.onnx", vramplan::models::GptSmall},
};

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "models";
  for (const Example& example : kExamples) {
    const std::string path = folder + "/" + example.file;
    std::ofstream file(path, std::ios::binary);
    file << example.make();
    file.close();
    if (!file) {
      std::fprintf(stderr, "generate_models: cannot write %s\n", path.c_str());
      return 1;
    }
  }
  return 0;
}
