// nn.Sequential(Linear(1000, 2000), ReLU, Linear(2000, 1000), ReLU, Linear(1000, 10))
#include "models/generate/layers.h"
#include "models/generate/models.h"

namespace vramplan::models {

std::string Mlp() {
  GraphWriter graph("mlp");
  const Module net = graph.root();
  Value x = graph.Input("input", onnx::TensorProto::FLOAT, {"batch", 1000});
  x = LinearOnMatrix(net.Child("0"), x, 1000, 2000);
  x = net.Child("1").Op("Relu", {x});
  x = LinearOnMatrix(net.Child("2"), x, 2000, 1000);
  x = net.Child("3").Op("Relu", {x});
  x = LinearOnMatrix(net.Child("4"), x, 1000, 10);
  graph.Output(x, "output", {"batch", 10});
  return graph.Bytes();
}

}  // namespace vramplan::models
