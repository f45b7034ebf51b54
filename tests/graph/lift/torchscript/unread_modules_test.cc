#include <doctest/doctest.h>

#include "graph/lift/torchscript/passes.h"

namespace vramplan {
namespace {

// What is added to a model with these parameters.
std::vector<std::string> Unread(const std::vector<const char*>& parameters) {
  Layers layers;
  for (const char* name : parameters) {
    layers.parameters.push_back(
        layers.Add({.name = name, .type = DType::kFloat32, .shape = Shape{8, 4}, .role = Role::kParameter}));
  }
  CountUnreadModules(&layers);
  CHECK(layers.parameters.size() == parameters.size() + layers.guesses.unread.size());
  for (size_t p = parameters.size(); p < layers.parameters.size(); ++p) {
    CHECK(layers[layers.parameters[p]].name == layers.guesses.unread[p - parameters.size()]);
    CHECK(layers[layers.parameters[p]].shape == Shape{8, 4});
  }
  return layers.guesses.unread;
}

using Names = std::vector<std::string>;

TEST_CASE("a BART decoder without an encoder builds attention that it never runs") {
  // modeling_bart.py: BartDecoderLayer. plbart, training of 2: 3,164,160 B, the truth to the byte.
  CHECK(Unread({"m.model.decoder.layernorm_embedding.weight", "m.model.decoder.layers.0.self_attn.k_proj.weight",
                "m.model.decoder.layers.0.self_attn_layer_norm.weight", "m.model.decoder.layers.0.fc1.weight"}) ==
        Names{"m.model.decoder.layers.0.encoder_attn.k_proj.weight",
              "m.model.decoder.layers.0.encoder_attn_layer_norm.weight"});
  // an export of eval() names weights after their nodes, whose scopes miss what only holds the decoder
  CHECK(Unread({"model.decoder.layer_norm.weight", "decoder.layers.0.self_attn.k_proj.weight"}) ==
        Names{"decoder.layers.0.encoder_attn.k_proj.weight"});
  // there it runs; OPT has none
  CHECK(Unread({"model.decoder.layer_norm.weight", "model.decoder.layers.0.self_attn.k_proj.weight",
                "model.decoder.layers.0.encoder_attn.k_proj.weight"})
            .empty());
  CHECK(Unread({"model.decoder.final_layer_norm.weight", "model.decoder.layers.0.self_attn.k_proj.weight"}).empty());
}

TEST_CASE("a SigLIP classifier builds the head that pools, and reads the mean") {
  const Names blocks = Unread({"m.vision_model.post_layernorm.weight", "m.vision_model.encoder.layers.0.mlp.fc1.weight",
                               "m.vision_model.encoder.layers.1.mlp.fc1.weight", "m.classifier.weight"});
  CHECK(blocks == Names{"m.vision_model.head.mlp.fc1.weight"});
  CHECK(Unread({"m.vision_model.post_layernorm.weight", "m.vision_model.encoder.layers.0.mlp.fc1.weight"}).empty());
}

}  // namespace
}  // namespace vramplan
