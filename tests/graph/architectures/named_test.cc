#include "graph/architectures/named.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "graph/architectures/data.h"
#include "graph/architectures/liger.h"
#include "graph/architectures/lora.h"
#include "tests/support/command_line.h"
#include "tests/support/sanitized.h"

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
  constexpr size_t kEveryModel = testing::EveryNth(8);
  for (const KnownModel& model : KnownModels()) {
    CAPTURE(model.name);
    CHECK(names.insert(model.name).second);
    if (names.size() % kEveryModel != 0) continue;
    const Result<std::optional<NamedModel>> found = FindNamed(model.name, "");
    REQUIRE_MESSAGE(found, (found ? "" : found.error().text));
    REQUIRE(*found);
    CHECK((*found)->source == model.source);
    std::map<std::string, int64_t> lengths;
    for (const Template::Length& length : (*found)->templates.lengths)
      if (length.name == "sequence") lengths[length.name] = 16;
    const Result<Facts> facts =
        FactsOf(**found, &lengths, (*found)->templates.Trains() ? "train" : "infer", "bfloat16");
    REQUIRE_MESSAGE(facts, (facts ? "" : facts.error().text));
    // transformers 5.23 ties the head of a T5 whatever its config.json says, and what is published has it apart.
    const Setting* gated = (*found)->settings.Find("feed_forward_proj");
    const bool has_head = gated != nullptr && *gated == Setting("gated-gelu");
    const int64_t head = has_head ? *Evaluate("vocab_size*d_model", (*found)->settings) : 0;
    CHECK(Parameters(*facts) + head == model.parameters);
  }
  CHECK(names.size() >= 100);
}

TEST_CASE("named models: a file that is as another one has its lines, but for its changes") {
  const std::string whole = ArchitectureData("llama.template"), tied = ArchitectureData("llama-tied.template");
  CHECK(std::ranges::count(tied, '\n') == std::ranges::count(whole, '\n'));
  CHECK(whole.find("\nwhen tie_word_embeddings false\n") != std::string::npos);
  CHECK(tied.find("\nwhen tie_word_embeddings true\n") != std::string::npos);
  const std::string words = ArchitectureData("bert-words.template");  // lines more, and lines less
  CHECK(words.find("\nclass BertForMaskedLM\n") != std::string::npos);
  CHECK(words.find("\nclass BertForSequenceClassification\n") == std::string::npos);
  CHECK(words.find("\ncls.predictions.transform.dense torch.nn.modules.linear.Linear\n") != std::string::npos);
  CHECK(words.find("\nclassifier torch.nn.modules.linear.Linear\n") == std::string::npos);
  const Result<std::optional<NamedModel>> found = FindNamed("mixtral-8x22b-instruct", "");  // as mixtral-8x22b
  REQUIRE(found);
  CHECK((*found)->settings.Number("vocab_size") == 32768);
  CHECK((*found)->settings.Number("hidden_size") == 6144);
}

// Of Mistral it says that there is no window, where the class has one of 4096.
TEST_CASE("named models: a null of the table is a setting") {
  const Result<std::optional<NamedModel>> found = FindNamed("mistral-7b-instruct-v0.2", "");
  REQUIRE(found);
  const Setting* const window = (*found)->settings.Find("sliding_window");
  REQUIRE(window != nullptr);
  CHECK(*window == Setting(nullptr));
}

TEST_CASE("named models: every recording of every template is filled, and says which versions it is of") {
  std::set<std::string> filled;
  for (const KnownModel& model : KnownModels()) {
    const Result<std::optional<NamedModel>> found = FindNamed(model.name, "");
    REQUIRE(found);
    if (!filled.insert((*found)->of_class).second || filled.size() % testing::EveryNth(8) != 0) continue;
    const std::string& made_with = (*found)->templates.made_with;
    CHECK((made_with.find("transformers ") != std::string::npos || made_with.find("diffusers ") != std::string::npos));
    const auto is_text = [](const Template::Length& length) { return length.name == "sequence"; };
    const bool of_text = std::ranges::any_of((*found)->templates.lengths, is_text);
    for (const std::string mode :
         {"train", "checkpointed", "infer", "padded-train", "padded-checkpointed", "padded-infer"}) {
      if (mode.starts_with("padded") && !of_text) continue;
      const bool infers = mode.ends_with("infer");
      for (const char* type : {"float32", "bfloat16", "float16"}) {
        CAPTURE(model.name);
        CAPTURE(type);
        std::map<std::string, int64_t> lengths;
        const Result<Facts> facts = FactsOf(**found, &lengths, mode, type);
        if (!infers && !(*found)->templates.Trains()) {
          REQUIRE(!facts);
          CHECK(facts.error().text.find("makes features and no loss") != std::string::npos);
          continue;
        }
        if (!facts) {  // mixtures of experts are recorded in halves alone
          CHECK(type == std::string("float32"));
          CHECK(facts.error().text.find("was not recorded") != std::string::npos);
          continue;
        }
        CHECK((infers ? facts->inference_program : facts->training_program).has_value());
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
  const Row rows[] = {
      {R"("num_hidden_layers": 1)", "its num_hidden_layers is 1"},
      {R"("num_hidden_layers": 100000)", "its num_hidden_layers is 100000"},
      {R"("vocab_size": -1)", "-1 for vocab_size"},
      {R"("vocab_size": 1000000000000000000)", "for vocab_size"},
      {R"("intermediate_size": 0)", "0 for intermediate_size"},
      {R"("hidden_size": 65)", "num_attention_heads*head_dim"},
      {R"("attention_bias": true)", "its attention_bias is true"},
      {R"("num_key_value_heads": 3)", "its num_attention_heads (4) is no multiple of its num_key_value_heads (3)"},
      {R"("max_position_embeddings": 0)", "its max_position_embeddings is 0"},
      {R"("hidden_act": "gelu")",
       R"(its hidden_act is "gelu", and LlamaForCausalLM was recorded with "silu" or "swish" alone)"},
      {R"("rope_scaling": {"type": "dynamic", "factor": 2.0})", R"(its rope_type is "dynamic")"},
      {R"("output_hidden_states": true)", "its output_hidden_states is true"},
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

TEST_CASE(
    "named models: a setting that changes what runs is refused or counted, whatever form a config.json gives it") {
  struct Row {
    const char *of_class, *change, *says;
  };
  const Row rows[] = {
      {"LlamaForCausalLM", R"("rope_parameters": {"rope_type": "yarn", "factor": 4.0})", ""},
      {"LlamaForCausalLM", R"("hidden_act": "swish", "use_cache": false)", ""},
      {"Qwen2ForCausalLM", R"("layer_types": ["full_attention", "full_attention", "full_attention", "full_attention"])",
       ""},
      {"Qwen2ForCausalLM",
       R"("layer_types": ["full_attention", "full_attention", "full_attention", "sliding_attention"])",
       R"(its layer_types_3 is "sliding_attention", and Qwen2ForCausalLM was recorded with "full_attention" alone)"},
      {"Gemma2ForCausalLM",
       R"("layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"])", ""},
      {"Gemma2ForCausalLM",
       R"("layer_types": ["full_attention", "full_attention", "sliding_attention", "full_attention"])",
       "its layer_types_0 is"},
      {"Gemma2ForCausalLM", R"("final_logit_softcapping": null)",
       "its final_logit_softcapping is null, which Gemma2ForCausalLM was not recorded with"},
      {"SmolLM3ForCausalLM", R"("no_rope_layer_interval": 2, "no_rope_layers": [1, 0, 1, 0])", ""},
      {"SmolLM3ForCausalLM", R"("no_rope_layers": [1, 0, 1, 0])", "its no_rope_layers_1 is 0"},
      {"PhiForCausalLM", R"("resid_pdrop": 0.1, "rope_parameters": {"partial_rotary_factor": 0.4})", ""},
      {"PhiForCausalLM", R"("resid_pdrop": 0.1, "rope_parameters": {"partial_rotary_factor": 0.75})",
       "its partial_rotary_factor is 0.75"},
      {"GPTNeoXForCausalLM", R"("rope_parameters": {"partial_rotary_factor": 1})", "its rotary_pct is 1"},
      {"BertForSequenceClassification", R"("num_labels": 3, "problem_type": "single_label_classification")", ""},
      {"BertForSequenceClassification", R"("num_labels": 1)",
       "its num_labels is 1, which BertForSequenceClassification was not recorded with"},
      {"BertForSequenceClassification", R"("problem_type": "multi_label_classification")", "its problem_type is"},
      {"BertForSequenceClassification", R"("classifier_dropout": 0.2)", ""},
      {"BertForSequenceClassification", R"("classifier_dropout": 0)", "its classifier_dropout is 0"}};
  for (const Row& row : rows) {
    CAPTURE(row.of_class);
    CAPTURE(row.change);
    const testing::ScratchFile file("config.json", R"({"architectures": [")" + std::string(row.of_class) +
                                                       R"("], "vocab_size": 1000, "hidden_size": 80,
            "intermediate_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4, )" +
                                                       row.change + "}");
    const Result<std::optional<NamedModel>> found = FindNamed(file.path(), "");
    const std::string said = found ? "" : found.error().text;
    CHECK(said.find(row.says) != std::string::npos);
    CHECK(found.ok() == (row.says == std::string()));
  }
}

TEST_CASE("named models: weights that are stored in MXFP4 are loaded dequantized, and it is said") {
  const Result<std::optional<NamedModel>> found = FindNamed("gpt-oss-20b", "");
  REQUIRE(found);
  REQUIRE(*found);
  CHECK((*found)->dequantized);
  CHECK((*found)->weights_type == "bfloat16");
  const testing::Said said =
      testing::Do("estimate openai/gpt-oss-20b --gpu h200 --lora 16,target=q_proj+v_proj --dim sequence=64");
  CHECK(said.out.find("loaded dequantized") != std::string::npos);
}

TEST_CASE("named models: a UNet of another structure is refused in its own words") {
  struct Row {
    const char *change, *says;
  };
  const Row rows[] = {
      {R"("block_out_channels": [320, 640, 1280, 1280])", ""},
      {R"("attention_head_dim": [5, 10, 20, 20])", ""},
      {R"("block_out_channels": [320, 640, 960, 1280])", "block_out_channels_2 and block_out_channels_3 differ"},
      {R"("block_out_channels": [320, 320, 640, 640])", "block_out_channels_0 and block_out_channels_1 are equal"},
      {R"("layers_per_block": 1)", "its layers_per_block_0 is 1"},
      {R"("layers_per_block": [2, 2, 2, 3])", "its layers_per_block_3 is 3"},
      {R"("transformer_layers_per_block": [[1, 2], 2, 2, 2])", "its transformer_layers_per_block_0 is \"[1,2]\""},
      {R"("down_block_types": ["DownBlock2D"])", "its down_block_types_count is 1"},
      {R"("cross_attention_dim": [768, 768, 768, 768])", "its cross_attention_dim_count is 4"},
      {R"("class_embed_type": "timestep")", "its class_embed_type is \"timestep\""}};
  for (const Row& row : rows) {
    CAPTURE(row.change);
    const testing::ScratchFile file("config.json",
                                    std::string(R"({"_class_name": "UNet2DConditionModel", )") + row.change + "}");
    const Result<std::optional<NamedModel>> found = FindNamed(file.path(), "");
    CHECK(found.ok() == (row.says == std::string()));
    if (found.ok()) continue;
    CHECK(found.error().text.find(row.says) != std::string::npos);
    CHECK(found.error().hint.find("vramplan.fit(UNet2DConditionModel.from_config(config)") != std::string::npos);
  }
  const Result<std::optional<NamedModel>> found = FindNamed("sd-1.5", "");
  REQUIRE(found);
  CHECK((*found)->beside.size() == 2);
  std::map<std::string, int64_t> lengths{{"height", 500}};
  CHECK(FactsOf(**found, &lengths, "train", "float32").error().text == "height=500 is no multiple of 64");
}

TEST_CASE("named models: what a config.json leaves out is as the class has it") {
  const testing::ScratchFile file("config.json", R"({"architectures": ["GPT2LMHeadModel"], "n_layer": 3})");
  const Result<std::optional<NamedModel>> found = FindNamed(file.path(), "");
  REQUIRE(found);
  REQUIRE(*found);
  CHECK((*found)->settings.Number("vocab_size") == 50257);
  CHECK((*found)->settings.Number("n_layer") == 3);
  const testing::ScratchFile labels("config.json", R"({"architectures": ["ViTForImageClassification"],
      "id2label": {"0": "cat", "1": "dog", "2": "cow"}})");
  const Result<std::optional<NamedModel>> labelled = FindNamed(labels.path(), "");
  REQUIRE(labelled);
  CHECK((*labelled)->settings.Number("num_labels") == 3);
}

TEST_CASE("lora: adapters beside the layers that are named, and the rest frozen") {
  const Result<std::optional<NamedModel>> found = FindNamed("llama-3.2-1b", "");
  REQUIRE(found);
  std::map<std::string, int64_t> lengths{{"sequence", 16}};
  Facts facts = *FactsOf(**found, &lengths, "train", "bfloat16");
  const size_t calls = facts.training_program->calls.size();
  REQUIRE(AddLora({16, {"q_proj", "v_proj"}, 0.05}, {}, {}, DType::kFloat32, &facts).ok());
  int64_t trained = 0;
  for (const RecordedTensor& tensor : *facts.parameters)
    if (tensor.trained) trained += Elements(tensor);
  // 16 layers; q_proj 2048 -> 2048, v_proj 2048 -> 512.
  CHECK(trained == 16 * 16 * (2048 + 2048 + 2048 + 512));
  // To fp32, dropout, A, B, scale, sum, and back.
  CHECK(facts.training_program->calls.size() == calls + 2 * 16 * 7);

  Facts all = *FactsOf(**found, &lengths, "train", "float32");
  REQUIRE(AddLora({8, {"all-linear"}, 0}, {}, {}, DType::kFloat32, &all).ok());
  int64_t adapters = 0;
  for (const RecordedTensor& tensor : *all.parameters) adapters += tensor.trained ? 1 : 0;
  CHECK(adapters == 2 * 7 * 16);  // not the tied head

  Facts head = *FactsOf(**found, &lengths, "train", "bfloat16");  // tied to the embedding, which is no linear layer
  CHECK_FALSE(AddLora({8, {"embed_tokens"}, 0}, {}, {}, DType::kFloat32, &head).ok());
  REQUIRE(AddLora({8, {"lm_head"}, 0}, {}, {}, DType::kFloat32, &head).ok());
  int64_t beside = 0;
  for (const RecordedTensor& tensor : *head.parameters)
    if (tensor.trained) beside += Elements(tensor);
  CHECK(beside == 8 * (2048 + 128256));

  const Status wrong = AddLora({8, {"query"}, 0}, {}, {}, DType::kFloat32, &facts);
  REQUIRE(!wrong.ok());
  CHECK(wrong.error().hint.find("q_proj") != std::string::npos);
}

// enable_input_require_grads(): what the embedding returns gets another name, which requires a gradient, and dies with it.
TEST_CASE("lora: under checkpoints the result of the embedding is a leaf") {
  const Result<std::optional<NamedModel>> found = FindNamed("bert-base-uncased", "");
  REQUIRE(found);
  const std::vector<std::string>& leaves = (*found)->templates.embeddings;
  CHECK(leaves == std::vector<std::string>{"bert.embeddings.word_embeddings"});
  std::map<std::string, int64_t> lengths{{"sequence", 16}};
  Facts facts = *FactsOf(**found, &lengths, "checkpointed", "float32");
  REQUIRE(AddLora({8, {"query"}, 0}, {}, leaves, DType::kFloat32, &facts).ok());
  const std::vector<RecordedProgram::Call>& calls = facts.training_program->calls;
  const auto leaf = std::ranges::find(calls, "vramplan.leaf", &RecordedProgram::Call::target);
  REQUIRE(leaf != calls.end());
  CHECK((leaf - 1)->target == "aten.embedding.default");
  const int32_t plain = (leaf - 1)->results[0], made = leaf->results[0];
  const auto end_of = [&](int32_t value) {
    const auto& ends = facts.training_program->ends;
    return std::ranges::find(ends, value, &RecordedProgram::End::value)->call;
  };
  CHECK(end_of(plain) == end_of(made));
  CHECK(std::ranges::count(calls, "vramplan.leaf", &RecordedProgram::Call::target) == 1);
}

// liger-kernel 0.8.5, transformers/monkey_patch.py: of Llama every norm, rotation and gated unit, and the loss with the output
// layer; of OLMo 2 the norms behind the blocks and the last one, and not those of queries and keys.
TEST_CASE("liger: kernels in place of the calls of a layer, and nothing that only those calls made outlives them") {
  const struct Row {
    const char* name;
    int norms, over, rotations, gates, left;  // `over`: whose gradient is written in place
  } rows[] = {{"llama-3.2-1b", 33, 33, 16, 16, 0},  {"qwen3-0.6b", 113, 113, 28, 28, 0},
              {"gemma-2-2b", 105, 0, 26, 26, 0},    {"olmo-2-1b", 33, 1, 16, 16, 32},
              {"phi-3-mini-4k", 65, 65, 32, 32, 0}, {"smollm3-3b", 73, 73, 27, 36, 0}};
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const Result<std::optional<NamedModel>> found = FindNamed(row.name, "");
    REQUIRE(found);
    std::map<std::string, int64_t> lengths{{"sequence", 16}};
    Facts checks = *FactsOf(**found, &lengths, "checkpointed", "bfloat16", true);
    CHECK(UseLiger((*found)->of_class, &checks).ok());
    Facts facts = *FactsOf(**found, &lengths, "train", "bfloat16", true);
    REQUIRE(UseLiger((*found)->of_class, &facts).ok());
    for (const RecordedProgram* program :
         {&*facts.training_program,
          facts.training_program_in_amp ? &*facts.training_program_in_amp : &*facts.training_program}) {
      const auto count = [&](const char* target) {
        return std::ranges::count(program->calls, target, &RecordedProgram::Call::target);
      };
      CHECK(count("liger.rms_norm") == row.norms);
      CHECK(count("liger.rope") == row.rotations);
      CHECK(count("liger.glu") == row.gates);
      CHECK(count("aten.rsqrt.default") == row.left);
      CHECK(count("liger.linear_cross_entropy") == 1);
      CHECK(program->calls.back().target == "liger.linear_cross_entropy");
      int over = 0;
      std::set<int32_t> made;
      for (const RecordedProgram::Call& call : program->calls) {
        if (call.target == "liger.rms_norm") over += call.keywords.front().second.integer == 1 ? 1 : 0;
        made.insert(call.results.begin(), call.results.end());
      }
      CHECK(over == row.over);
      for (const RecordedProgram::End& end : program->ends) CHECK(made.contains(end.value));
    }
  }
  const Result<std::optional<NamedModel>> gpt2 = FindNamed("gpt2", "");
  std::map<std::string, int64_t> lengths{{"sequence", 16}};
  Facts facts = *FactsOf(**gpt2, &lengths, "train", "float32");
  const Status refused = UseLiger((*gpt2)->of_class, &facts);
  REQUIRE(!refused.ok());
  CHECK(refused.error().text == "how Liger's kernels run in GPT2LMHeadModel is not modelled");
  CHECK(refused.error().hint.ends_with(
      "it is for Llama, Mistral, Qwen2, Qwen3, Phi3, SmolLM3, Gemma, Gemma2, Gemma3, Olmo2"));
}

// From its length on the layers with a window get a mask, and before it none.
TEST_CASE("named models: a sequence that a sliding window does not hold was recorded apart") {
  const Result<std::optional<NamedModel>> found = FindNamed("gemma-3-270m", "");
  REQUIRE(found);
  const auto calls_at = [&](int64_t sequence) {
    std::map<std::string, int64_t> lengths{{"sequence", sequence}};
    const Result<Facts> facts = FactsOf(**found, &lengths, "train", "bfloat16");
    REQUIRE(facts);
    return facts->training_program->calls.size();
  };
  CHECK(calls_at(511) == calls_at(16));
  CHECK(calls_at(512) != calls_at(511));
  CHECK(calls_at(512) == calls_at(8192));
}

TEST_CASE("named: the program under autocast is read where it is asked for, and facts are kept for changed questions") {
  const Result<std::optional<NamedModel>> llama = FindNamed("llama-3.2-1b", "");
  REQUIRE(llama);
  std::map<std::string, int64_t> lengths;
  const Result<Facts> both = FactsOf(**llama, &lengths, "train", "bfloat16", true);
  Result<Facts> alone = FactsOf(**llama, &lengths, "train", "bfloat16", false);
  REQUIRE(both);
  REQUIRE(alone);
  CHECK(both->training_program_in_amp.has_value());
  CHECK_FALSE(alone->training_program_in_amp.has_value());
  CHECK(both->training_program == alone->training_program);
  const std::shared_ptr<const NamedModel> keeping = KeepingFacts(**llama);
  for (int round = 0; round < 2; ++round) {
    CHECK(*FactsOf(*keeping, &lengths, "train", "bfloat16", true) == *both);
    CHECK(*FactsOf(*keeping, &lengths, "train", "bfloat16", false) == *alone);
  }
  std::map<std::string, int64_t> shorter = {{"sequence", 128}};
  CHECK(*FactsOf(*keeping, &shorter, "train", "bfloat16", false) ==
        *FactsOf(**llama, &shorter, "train", "bfloat16", false));
  CHECK_FALSE(*FactsOf(*keeping, &shorter, "train", "bfloat16", false) == *alone);
}

// A path's end of two names; under autocast a base in halves has fp32 adapters, whose results no call casts back.
TEST_CASE("lora: adapters of a denoiser, of which the scripts freeze the rest in halves") {
  const Result<std::optional<NamedModel>> unet = FindNamed("sd-1.5", "");
  REQUIRE(unet);
  std::map<std::string, int64_t> sides;
  Result<Facts> denoiser = FactsOf(**unet, &sides, "train", "float16");
  REQUIRE(denoiser);
  const size_t calls = denoiser->training_program_in_amp->calls.size();
  REQUIRE(AddLora({4, {"to_out.0"}, 0}, {}, {}, DType::kFloat32, &*denoiser).ok());
  int64_t adapters = 0;
  for (const RecordedTensor& tensor : *denoiser->parameters) {
    if (!tensor.trained) continue;
    adapters += tensor.name.ends_with("to_out.0.lora_A.default.weight");
    CHECK(tensor.type == DType::kFloat32);
  }
  CHECK(adapters == 32);
  CHECK(denoiser->training_program_in_amp->calls.size() == calls + 32 * 5);
}

}  // namespace
}  // namespace vramplan
