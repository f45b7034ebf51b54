#include "graph/architectures/quantization.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "graph/architectures/last_token.h"
#include "graph/architectures/named.h"
#include "tests/support/command_line.h"

namespace vramplan {
namespace {

Facts FactsOf(const char* name, bool trains) {
  const Result<std::optional<NamedModel>> found = FindNamed(name, "");
  REQUIRE(found);
  REQUIRE(*found);
  std::map<std::string, int64_t> lengths = {{"sequence", 32}};
  Result<Facts> facts = FactsOf(**found, &lengths, trains ? "train" : "infer", "float32");
  REQUIRE(facts);
  return *std::move(facts);
}

// As transformers' get_keys_to_not_convert has it; a classifier whose last parameter is a bias is packed, too.
TEST_CASE("quantization: all linear layers but the output layer, tied ones and what is kept") {
  const Facts untied = FactsOf("llama-3.1-8b", true);
  CHECK(PackedModules(untied, true, {}).size() == size_t{32} * 7);
  CHECK(PackedModules(untied, true, {"down_proj"}).size() == size_t{32} * 6);
  const Facts tied = FactsOf("llama-3.2-1b", true);
  CHECK(PackedModules(tied, true, {}).size() == size_t{16} * 7);
  const Facts none = [] {
    Facts facts;
    facts.parameters.emplace();
    return facts;
  }();
  CHECK(PackedModules(none, true, {}).empty());
}

// What brings pictures to the words is linear, of no stack, and not called: bitsandbytes packs each torch.nn.Linear.
TEST_CASE("quantization: linear layers that words alone do not run are packed, and tables of embeddings are not") {
  const Facts facts = FactsOf("mistral-small-3.1-24b", true);
  const std::vector<std::string> packed = PackedModules(facts, true, {});
  const std::string projector = "model.multi_modal_projector.";
  for (const char* layer : {"patch_merger.merging_layer", "linear_1", "linear_2"})
    CHECK(std::ranges::count(packed, projector + layer) == 1);
  CHECK(packed.size() == size_t{40} * 7 + size_t{24} * 7 + 3);
}

// Its class is no torch.nn.Linear, though its forward is torch.nn.functional.linear.
TEST_CASE("quantization: the router of a mixture of experts is not packed") {
  const Result<std::optional<NamedModel>> found = FindNamed("qwen3-30b-a3b", "");
  REQUIRE(found);
  std::map<std::string, int64_t> lengths = {{"sequence", 32}};
  const Result<Facts> facts = FactsOf(**found, &lengths, "train", "bfloat16");
  REQUIRE(facts);
  const std::vector<std::string> packed = PackedModules(*facts, true, {});
  CHECK(packed.size() == size_t{48} * 4);
  CHECK(std::ranges::count(packed, "model.layers.0.mlp.gate") == 0);
}

TEST_CASE("quantization: a packed weight has half a byte an element, and its state stands beside it") {
  Facts facts = FactsOf("llama-3.1-8b", true);
  const std::vector<std::string> modules = {"model.layers.0.self_attn.q_proj"};
  REQUIRE(Quantize({"nf4", true}, {}, modules, &facts).ok());
  const int64_t elements = int64_t{4096} * 4096;
  const auto find = [](const std::vector<RecordedTensor>& tensors, const std::string& name) {
    for (const RecordedTensor& tensor : tensors)
      if (tensor.name == name) return tensor;
    return RecordedTensor{};
  };
  const std::string weight = modules[0] + ".weight";
  CHECK(find(*facts.parameters, weight).type == DType::kUint8);
  CHECK(find(*facts.parameters, weight).shape == std::vector<int64_t>{elements / 2, 1});
  CHECK_FALSE(find(*facts.parameters, weight).trained);
  CHECK(find(*facts.buffers, weight + ".absmax").shape == std::vector<int64_t>{elements / 64});
  CHECK(find(*facts.buffers, weight + ".nested_absmax").shape == std::vector<int64_t>{elements / 64 / 256});
  int packed = 0;
  for (const RecordedProgram::Call& call : facts.training_program->calls) packed += call.target == kPackedLinear;
  CHECK(packed == 1);
  CHECK_FALSE(Quantize({}, {}, {}, &facts).ok());
}

TEST_CASE("last token: the head of a language model runs on one token, and a classifier has none") {
  Facts words = FactsOf("llama-3.2-1b", false);
  REQUIRE(KeepLastToken(&*words.inference_program));
  const int32_t logits = words.inference_program->returned.front();
  CHECK(words.inference_program->values[static_cast<size_t>(logits)].shape[1] == Dim(1));
  Facts classes = FactsOf("bert-base-uncased", false);
  CHECK_FALSE(KeepLastToken(&*classes.inference_program));
}

}  // namespace
}  // namespace vramplan
