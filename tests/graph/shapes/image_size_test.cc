#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "graph/shapes/infer.h"

namespace vramplan {
namespace {

struct Input {
  std::string name;
  DType type;
  std::vector<std::string> dims;  // numbers, or names
};

// The dims that --image sets, or the error.
std::string Sized(const std::vector<Input>& inputs, int64_t height, int64_t width, BindOptions options = {}) {
  Graph graph;
  graph.file = "model.onnx";
  for (const Input& input : inputs) {
    Tensor tensor{.name = input.name};
    tensor.declared.emplace();
    tensor.declared->type = input.type;
    tensor.declared->dims.emplace();
    for (const std::string& dim : input.dims) {
      const bool number = dim.find_first_not_of("0123456789") == std::string::npos;
      tensor.declared->dims->push_back(number ? DeclaredDim{std::stoll(dim), ""} : DeclaredDim{std::nullopt, dim});
    }
    graph.inputs.push_back({static_cast<int32_t>(graph.tensors.size())});
    graph.tensors.push_back(tensor);
  }
  options.image = ImageSize{height, width};
  const Result<BindOptions> sized = WithImage(graph, std::move(options));
  if (!sized.ok()) return sized.error().text;
  std::string text;
  for (const auto& [name, length] : sized->dims)
    text += (text.empty() ? "" : " ") + name + "=" + std::to_string(length);
  return text;
}

constexpr DType kFloat = DType::kFloat32;

TEST_CASE("--image is the height and the width of every image, whatever their names are") {
  CHECK(Sized({{"x", kFloat, {"batch", "3", "h", "w"}}}, 512, 384) == "h=512 w=384");
  CHECK(Sized({{"x", kFloat, {"s0", "3", "s1", "s2"}}}, 512, 512) == "s1=512 s2=512");
  CHECK(Sized({{"x", kFloat, {"batch", "h", "w", "3"}}}, 512, 384) == "h=512 w=384");  // of TensorFlow
  CHECK(Sized({{"x", DType::kUint8, {"3", "h", "w"}}}, 512, 384) == "h=512 w=384");    // one image
  CHECK(Sized({{"x", kFloat, {"batch", "3", "side", "side"}}}, 512, 512) == "side=512");
  // Text beside it, a mask of four axes, and what --input gives.
  CHECK(Sized({{"x", kFloat, {"batch", "3", "h", "w"}},
               {"ids", DType::kInt64, {"batch", "length"}},
               {"mask", DType::kBool, {"batch", "1", "length", "length"}}},
              256, 256) == "h=256 w=256");
  CHECK(Sized({{"x", kFloat, {"batch", "3", "224", "224"}}}, 224, 224).empty());
}

TEST_CASE("--image: what cannot be") {
  CHECK(Sized({{"x", kFloat, {"batch", "3", "224", "224"}}}, 512, 512) ==
        "height and width of its input x are fixed in the file (224)");
  CHECK(Sized({{"x", kFloat, {"batch", "3", "32*n", "32*n"}}}, 512, 512) ==
        "height and width of its input x are computed in the file (32*n)");
  CHECK(Sized({{"x", kFloat, {"batch", "3", "side", "side"}}}, 512, 384) == "its side would be 384, and 512 is given");
  CHECK(Sized({{"x", kFloat, {"batch", "3", "h", "w"}}}, 512, 512, {.dims = {{"h", 256}}}) ==
        "its h would be 512, and 256 is given");
  CHECK(Sized({{"ids", DType::kInt64, {"batch", "length"}}}, 512, 512).starts_with("no input of the file is an image"));
}

}  // namespace
}  // namespace vramplan
