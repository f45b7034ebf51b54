#include "graph/layers/builder.h"

#include <doctest/doctest.h>

#include "tests/support/onnx_text.h"

namespace vramplan {
namespace {

struct Chain {
  Graph graph = GraphFromText(R"(g (float[2] x) => (float[2] e) {
    a = Relu (x)
    b = Exp (a)
    c = Neg (b)
    d = Sin (c)
    e = Cos (d)
  })");
  Shapes shapes = Known(graph);
  LayerBuilder builder{graph, shapes};
  Notes notes;

  static Shapes Known(const Graph& graph) {
    Shapes all;
    all.tensors.assign(graph.tensors.size(), {.type = DType::kFloat32, .shape = Shape{2}});
    return all;
  }
  void Add(const char* input, const char* output, ModulePath path) {
    const TensorId out = TensorNamed(graph, output);
    builder.AddLayer({.op = "op",
                      .name = "layer",
                      .inputs = {builder.ValueOf(TensorNamed(graph, input))},
                      .outputs = {builder.ValueOf(out)},
                      .nodes = {graph[out].producer}},
                     std::move(path));
  }
};

TEST_CASE("layers stand at their last node, whatever the order of adding") {
  Chain chain;
  chain.Add("b", "c", {});
  chain.Add("x", "a", {});
  chain.Add("a", "b", {});
  const Layers layers = std::move(chain.builder).Finish(&chain.notes);
  std::string order;
  for (const Layer& layer : layers.layers) order += layer.name + ">" + layers[layer.outputs[0]].name + " ";
  CHECK(order == "layer_2>a layer_3>b layer>c ");
  CHECK(layers.inputs.size() == 1);
  CHECK(layers[layers.outputs[0]].name == "e");
}

TEST_CASE("a module that is left and entered again is called twice") {
  Chain chain;
  chain.Add("x", "a", {{"a", "A"}, {"a.x", "X"}});
  chain.Add("a", "b", {{"a", "A"}, {"a.y", "Y"}});
  chain.Add("b", "c", {{"a", "A"}, {"a.y", "Y"}});
  chain.Add("c", "d", {});
  chain.Add("d", "e", {{"a", "A"}, {"a.x", "X"}});
  chain.builder.SetRootClass("Net");
  const Layers layers = std::move(chain.builder).Finish(&chain.notes);
  std::string calls;
  for (const Module& module : layers.modules)
    calls += module.path + ":" + module.class_name + ":" + std::to_string(module.parent.value) + " ";
  CHECK(calls == ":Net:-1 a:A:0 a.x:X:1 a.y:Y:1 a:A:0 a.x:X:4 ");
  std::string of_layers;
  for (const Layer& layer : layers.layers) of_layers += std::to_string(layer.module.value) + " ";
  CHECK(of_layers == "2 3 3 -1 5 ");
  CHECK(chain.notes.all().empty());
}

TEST_CASE("an operand that nobody makes is told") {
  Chain chain;
  chain.Add("c", "d", {});
  std::move(chain.builder).Finish(&chain.notes);
  CHECK(chain.notes.Has("unmade-value"));
}

}  // namespace
}  // namespace vramplan
