#include "graph/architectures/named.h"

#include <doctest/doctest.h>

#include <set>

#include "graph/architectures/data.h"
#include "graph/architectures/lora.h"
#include "tests/support/command_line.h"

namespace vramplan {
namespace {

int64_t Elements(const RecordedTensor& tensor) {
  int64_t product = 1;
  for (const int64_t length : tensor.shape) product *= length;
  return product;
}

int64_t Parameters(const Facts& facts) {
  int64_t sum = 0;
  for (const RecordedTensor& tensor : *facts.parameters)
    if (tensor.same_as.empty()) sum += Elements(tensor);
  return sum;
}

TEST_CASE("named models: each of the table has a template, and the parameters that are published of it") {
  std::set<std::string> names;
  for (const KnownModel& model : KnownModels()) {
    CAPTURE(model.name);
    CHECK(names.insert(model.name).second);
    const Result<std::optional<NamedModel>> found = FindNamed(model.name, "");
    REQUIRE_MESSAGE(found, (found ? "" : found.error().text));
    REQUIRE(*found);
    CHECK((*found)->source == model.source);
    std::map<std::string, int64_t> lengths;
    if (!(*found)->templates.lengths.empty()) lengths["sequence"] = 16;
    const Result<Facts> facts = FactsOf(**found, &lengths, "train", "float32");
    REQUIRE_MESSAGE(facts, (facts ? "" : facts.error().text));
    // transformers 5.23 ties the head of a T5 whatever its config.json says, and what is published has it apart.
    const Setting* gated = (*found)->settings.Find("feed_forward_proj");
    const bool has_head = gated != nullptr && *gated == Setting("gated-gelu");
    const int64_t head = has_head ? *Evaluate("vocab_size*d_model", (*found)->settings) : 0;
    CHECK(Parameters(*facts) + head == model.parameters);
  }
  CHECK(names.size() >= 100);
}

TEST_CASE("named models: every recording of every template is filled, and says which versions it is of") {
  std::set<std::string> filled;
  for (const KnownModel& model : KnownModels()) {
    const Result<std::optional<NamedModel>> found = FindNamed(model.name, "");
    REQUIRE(found);
    if (!filled.insert((*found)->of_class).second) continue;
    CHECK((*found)->templates.made_with.find("transformers ") != std::string::npos);
    for (const std::string mode : {"train", "checkpointed", "infer"}) {
      for (const char* type : {"float32", "bfloat16", "float16"}) {
        CAPTURE(model.name);
        CAPTURE(type);
        std::map<std::string, int64_t> lengths;
        const Result<Facts> facts = FactsOf(**found, &lengths, mode, type);
        REQUIRE(facts);
        CHECK((mode == "infer" ? facts->inference_program : facts->training_program).has_value());
        for (const RecordedTensor& tensor : *facts->parameters)
          if (tensor.same_as.empty()) CHECK((Name(tensor.type) == type || tensor.type == DType::kFloat32));
      }
    }
  }
}

TEST_CASE("named models: what is no name, and what has no template") {
  const Result<std::optional<NamedModel>> none = FindNamed("models/unet.onnx", "");
  REQUIRE(none);
  CHECK(!*none);
  const Result<std::optional<NamedModel>> other = FindNamed("llama-3.2-1b", "LlamaForTokenClassification");
  REQUIRE(!other);
  CHECK(other.error().text.find("LlamaForTokenClassification has no template") != std::string::npos);
}

TEST_CASE("named models: a config.json that cannot be one is refused in its own words") {
  struct Row {
    const char *change, *says;
  };
  const Row rows[] = {{R"("num_hidden_layers": 1)", "its num_hidden_layers is 1"},
                      {R"("num_hidden_layers": 100000)", "its num_hidden_layers is 100000"},
                      {R"("vocab_size": -1)", "-1 for vocab_size"},
                      {R"("vocab_size": 1000000000000000000)", "for vocab_size"},
                      {R"("intermediate_size": 0)", "0 for intermediate_size"},
                      {R"("hidden_size": 65)", "num_attention_heads*head_dim"},
                      {R"("attention_bias": true)", "its attention_bias is true"},
                      {R"("quantization_config": {"load_in_4bit": true})", "its weights are quantized"}};
  for (const Row& row : rows) {
    CAPTURE(row.change);
    const testing::ScratchFile file(
        "config.json", std::string(R"({"architectures": ["LlamaForCausalLM"], "vocab_size": 1000, "hidden_size": 64,
            "intermediate_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4, )") +
                           row.change + "}");
    const Result<std::optional<NamedModel>> found = FindNamed(file.path(), "");
    std::map<std::string, int64_t> lengths;
    const std::string said = !found ? found.error().text : FactsOf(**found, &lengths, "train", "float32").error().text;
    CHECK(said.find(row.says) != std::string::npos);
  }
}

TEST_CASE("lora: adapters beside the layers that are named, and the rest frozen") {
  const Result<std::optional<NamedModel>> found = FindNamed("llama-3.2-1b", "");
  REQUIRE(found);
  std::map<std::string, int64_t> lengths{{"sequence", 16}};
  Facts facts = *FactsOf(**found, &lengths, "train", "bfloat16");
  const size_t calls = facts.training_program->calls.size();
  REQUIRE(AddLora({16, {"q_proj", "v_proj"}, 0.05}, &facts).ok());
  int64_t trained = 0;
  for (const RecordedTensor& tensor : *facts.parameters)
    if (tensor.trained) trained += Elements(tensor);
  // 16 layers; q_proj 2048 -> 2048, v_proj 2048 -> 512.
  CHECK(trained == 16 * 16 * (2048 + 2048 + 2048 + 512));
  // To fp32, dropout, A, B, scale, sum, and back.
  CHECK(facts.training_program->calls.size() == calls + 2 * 16 * 7);

  Facts all = *FactsOf(**found, &lengths, "train", "float32");
  REQUIRE(AddLora({8, {"all-linear"}, 0}, &all).ok());
  int64_t adapters = 0;
  for (const RecordedTensor& tensor : *all.parameters) adapters += tensor.trained ? 1 : 0;
  CHECK(adapters == 2 * 7 * 16);  // not the tied head

  const Status wrong = AddLora({8, {"query"}, 0}, &facts);
  REQUIRE(!wrong.ok());
  CHECK(wrong.error().hint.find("q_proj") != std::string::npos);
}

}  // namespace
}  // namespace vramplan
