#include "planner/answers/vllm.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "planner/report/writing/json.h"
#include "tests/support/command_line.h"

namespace vramplan::testing {
namespace {

TEST_CASE("vllm: whether it starts, and what to type where it does not") {
  const struct {
    const char* question;
    int exit_code;
    std::vector<const char*> says;
  } rows[] = {
      {"fit qwen3-8b --engine vllm --dim sequence=8192 --gpu rtx-4090",
       0,
       {"qwen3-8b starts under vLLM on GeForce RTX 4090 with 8192 tokens of context: its cache holds ",
        "3 sequences of 8192 are safe at once", "gpu_memory_utilization 0.92"}},
      {"fit qwen3-8b --engine vllm --gpu rtx-4090",
       3,
       {"does not start under vLLM on GeForce RTX 4090 with 40960 tokens of context: one sequence takes 5.62 GiB",
        "vLLM says: To serve at least one request with the model's max seq len (40960), (5.62 GiB KV cache is needed",
        "with --max-model-len ", "type --dim sequence="}},
      {"fit qwen3-8b --engine vllm --kv fp8 --gpu rtx-4090", 0, {"starts under vLLM", "kv fp8"}},
      {"fit qwen3-8b --engine vllm --dim sequence=36864 --gpu rtx-4090", 0, {"may start under vLLM", "vLLM may say: "}},
      {"fit qwen3-8b --engine vllm --gpu rtx-3060", 3, {"the weights alone take 15.26 GiB"}},
      {"fit qwen3-8b --engine vllm,utilization=0.6 --gpu rtx-4090",
       3,
       {"nothing is left for the cache", "No available memory for the cache blocks."}},
      {"fit qwen3-8b --engine vllm,utilization=0.7 --gpu rtx-4090",
       3,
       {"which has at most 386.72 MiB", "no context is sure to start"}},
      {"fit qwen3-0.6b --engine vllm,utilization=0.99 --gpu rtx-4090",
       3,
       {"it asks for 23.27 GiB, 0.99 of the card", "less than desired GPU memory utilization (0.99, 23.27 GiB)",
        "--engine vllm,utilization=0.95"}},
      {"fit qwen3-8b --engine vllm --sequences 3 --dim sequence=8192 --gpu rtx-4090", 0, {"3 sequences of 8192"}},
      {"fit qwen3-8b --engine vllm --sequences 9 --dim sequence=8192 --gpu rtx-4090",
       3,
       {"starts under vLLM", "but 9 sequences take "}},
      {"fit qwen3-8b --engine vllm --sequences 300 --dim sequence=16 --gpu rtx-4090",
       3,
       {"starts under vLLM", "but max_num_seqs is 256 (--engine vllm,seqs=N)"}},
      {"fit qwen3-0.6b --engine vllm --gpu rtx-3060 --reserve 1GiB", 3, {"the CUDA context and the reserve"}},
      {"fit gemma-3-1b --engine vllm --gpu t4", 0, {"any context of the model's 32768 starts"}},
      {"fit phi-3-mini-4k --engine vllm --gpu l4", 0, {"with 4096 tokens of context"}},
  };
  for (const auto& row : rows) {
    CAPTURE(row.question);
    const Said said = Do(row.question);
    CAPTURE(said.out);
    CHECK(said.exit_code == row.exit_code);
    for (const char* says : row.says) CHECK_MESSAGE(Says(said.out, says), says);
  }
}

TEST_CASE("vllm: a context that is given is not assumed beside it") {
  const std::string question = "fit qwen3-8b --engine vllm --gpu rtx-4090";
  CHECK(Says(Do(question).out, "assumed: sequence 40960"));
  CHECK(!Says(Do(question + " --dim sequence=8192").out, "assumed:"));
}

// What the answer says to type starts.
TEST_CASE("vllm: the context that is told to be safe is, and one more block is not") {
  const std::string question = "fit qwen3-8b --engine vllm --gpu rtx-4090";
  const std::string out = Do(question).out, before = "type --dim sequence=";
  const int64_t safe = std::stoll(out.substr(out.find(before) + before.size()));
  CHECK(Do(question + " --dim sequence=" + std::to_string(safe)).FirstLine().find(" starts ") != std::string::npos);
  CHECK(Do(question + " --dim sequence=" + std::to_string(safe + 1)).FirstLine().find(" may start ") !=
        std::string::npos);
}

TEST_CASE("vllm: the command line that the answer is for") {
  const std::string question = "fit qwen3-8b --gpu rtx-4090 --dim sequence=8192 --emit vllm --engine vllm";
  CHECK(Says(Do(question).out, "vllm serve Qwen/Qwen3-8B --max-model-len 8192"));
  CHECK(Says(Do(question + ",utilization=0.95,tokens=4096,seqs=64,eager --kv fp8").out,
             "--gpu-memory-utilization 0.95 --max-num-batched-tokens 4096 --max-num-seqs 64 --kv-cache-dtype fp8 "
             "--enforce-eager"));
  CHECK(Says(Do("fit qwen3-8b --gpu rtx-4090 --dim sequence=8192 --emit vllm --engine vllm --precision fp16").out,
             "--max-model-len 8192 --dtype float16"));
}

// vLLM is given the folder.
TEST_CASE("vllm: the command line of a config.json") {
  const std::string folder = std::filesystem::temp_directory_path() / "vramplan_of_vllm";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/config.json")
      << R"({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 1024, "head_dim": 128,
             "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8,
             "vocab_size": 151936, "max_position_embeddings": 40960, "tie_word_embeddings": true})";
  for (const char* named : {"", "/", "/config.json"}) {
    const Said said = Do("fit " + folder + named + " --engine vllm --gpu rtx-4090 --emit vllm");
    CHECK_MESSAGE(Says(said.out, "vllm serve " + folder + " --max-model-len 40960"), said.out);
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("vllm: its answer in JSON has what the text has") {
  const Said said = Do("fit qwen3-8b --engine vllm --gpu rtx-4090 --format json");
  CHECK(said.exit_code == 3);
  const Result<Json> answer = ParseJson("answer", said.out);
  REQUIRE(answer.ok());
  CHECK(StringIn(MemberOf(*answer, "verdict")) == "does-not-fit");
  const Json* vllm = MemberOf(*answer, "vllm");
  REQUIRE(vllm != nullptr);
  CHECK(StringIn(MemberOf(*vllm, "stops")) == "context");
  CHECK(StringIn(MemberOf(*vllm, "command")).find("vllm serve Qwen/Qwen3-8B") != std::string::npos);
  // generate() of transformers has no such part
  CHECK(Do("fit qwen3-8b --mode serve --gpu rtx-4090 --format json").out.find("\"vllm\"") == std::string::npos);
}

TEST_CASE("vllm: what does not go with it is said in one line") {
  const struct {
    const char *options, *says;
  } rows[] = {
      {"--mode train", "--engine: it serves, and --mode is train"},
      {"--quant nf4", "--quant: how vLLM loads packed weights is not modelled"},
      {"--lora 16", "--lora: how vLLM serves adapters is not modelled"},
      {"--gpus 2", "--gpus: how vLLM shares a model among cards (--tensor-parallel-size) is not modelled"},
      {"--precision amp-bf16", "--precision: vLLM runs in the type of the weights"},
      {"--dim sequence=50000", "--dim: sequence is from 1 to 40960, the positions of the model"},
      {"--format html", "--format: html is of a step"},
      {"--emit sft", "--emit: for vLLM it can only be the command line"},
      {"--host", "--host: how much RAM vLLM takes is not modelled"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.options);
    const Said said = Do(std::string("fit qwen3-8b --gpu rtx-4090 --engine vllm ") + row.options);
    CAPTURE(said.err);
    CHECK(said.exit_code == 2);
    CHECK(Says(said.err, row.says));
  }
  for (const char* idle :
       {"--second-model MODELS/mlp.onnx", "--attention math", "--framework pytorch@2.10", "--frozen '*'",
        "--input input_ids=1x8", "--optimizer sgd", "--accumulate 2", "--checkpoint all", "--loss mse",
        "--eval-batch 8", "--allocator-conf expandable_segments:True"}) {
    CAPTURE(idle);
    const Said said = Do(std::string("fit qwen3-8b --gpu rtx-4090 --engine vllm ") + idle);
    CHECK(said.exit_code == 2);
    CHECK(Says(said.err, "it changes nothing of what vllm serve takes (hint: leave it out, or leave out --engine"));
  }
  CHECK(Says(Do("fit qwen3-8b --engine vllm --gpu all").err, "vllm is answered for one card"));
  CHECK(
      Says(Do("fit bert-base-uncased --engine vllm --gpu t4").err, "how vLLM starts BertForMaskedLM is not modelled"));
  CHECK(Says(Do("fit MODELS/mlp.onnx --engine vllm --gpu t4").err, "it is for a named model"));
  CHECK(Says(Do("fit gemma-2-2b --engine vllm --precision fp16 --gpu t4").err,
             "vLLM refuses fp16 for Gemma2ForCausalLM"));
  CHECK(Says(Do("fit qwen3-8b --kv fp8 --gpu t4").err, "--kv: it is of vLLM's cache"));
  const Said whole = Do("fit qwen3-8b --mode serve --kv static --gpu t4");
  CHECK(whole.exit_code == 2);
  CHECK(Says(whole.err, "--mode serve --dim sequence=N with N tokens for both"));
  const Said packed = Do("fit qwen3-8b --mode serve --kv int4 --gpu t4");
  CHECK(packed.exit_code == 2);
  CHECK(Says(packed.err, "how generate() packs its cache is not modelled"));
  CHECK(
      Says(Do("fit qwen3-8b --emit vllm --gpu t4").err, "--emit: vllm is the command that --engine vllm answers for"));
  CHECK(Says(Do("fit qwen3-8b --engine sglang --gpu t4").err, "\"sglang\" is neither transformers nor vllm"));
  CHECK(Says(Do("fit qwen3-8b --engine vllm,utilization=2 --gpu t4").err, "utilization is a share of the card"));
  CHECK(Says(Do("fit gemma-3-1b --engine vllm --gpu t4").err, "vLLM runs it in fp32 on a card without bf16"));
  CHECK(Says(Do("fit qwen3-0.6b --engine vllm --gpu t4").err, "vLLM runs it in fp16 on a card without bf16"));
  CHECK(Do("fit qwen3-8b --engine transformers --mode serve --gpu rtx-4090").exit_code == 0);
}

}  // namespace
}  // namespace vramplan::testing
