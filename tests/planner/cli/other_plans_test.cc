#include "planner/cli/other_plans.h"

#include <doctest/doctest.h>

#include "tests/support/command_line.h"

namespace vramplan::testing {
namespace {

TEST_CASE("other plans: what would make a named model fit is said, and is so") {
  const struct {
    const char *question, *remedy;
  } rows[] = {
      {"fit llama-3.1-8b --optimizer adamw --dim sequence=2048 --gpu rtx-4090", "--lora 16 --checkpoint all"},
      {"fit llama-3.1-8b --optimizer adamw --dim sequence=2048 --gpu rtx-4090",
       "--lora 16 --quant nf4,double --checkpoint all"},
      {"fit qwen3-8b --optimizer adamw --dim sequence=4096 --gpu a100-80gb", "--strategy fsdp2 --gpus 2"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.remedy);
    const Said said = Do(row.question);
    CHECK(said.exit_code == 3);
    CHECK(said.out.find(std::string("  with ") + row.remedy + " it fits: ") != std::string::npos);
    CHECK(Do(std::string(row.question) + " " + row.remedy).exit_code == 0);
  }
  CHECK(Do("fit llama-3.2-1b --lora 8 --gpu rtx-4090").out.find("it fits:") == std::string::npos);
}

TEST_CASE("other plans: a model that serves has its lengths, up to what its positions allow") {
  const Said said = Do("fit gpt2 --mode serve --gpu t4");
  CHECK(said.exit_code == 0);
  CHECK(said.FirstLine().find("gpt2 serves on Tesla T4") == 0);
  CHECK(said.out.find("1 sequence of up to 1024 tokens: safe (the model has no more positions)") != std::string::npos);
}

TEST_CASE("other plans: what does not go together is refused in one line") {
  const struct {
    const char *question, *says;
  } rows[] = {
      {"fit llama-3.2-1b --quant nf4 --gpu t4", "packed weights are not trained themselves"},
      {"fit llama-3.2-1b --quant nf4 --lora 8 --strategy fsdp2 --gpus 2 --gpu t4", "is not modelled"},
      {"fit llama-3.2-1b --gpus 2 --gpu t4", "how they share the model is not said"},
      {"fit llama-3.2-1b --strategy fsdp2 --gpu t4", "one card shares with none"},
      {"fit bert-base-uncased --mode serve --gpu t4", "does not write one token after another"},
      {"fit MODELS/mlp.onnx --mode serve --gpu t4", "it is for a model that is given by its name"},
      {"fit llama-3.2-1b --strategy ddp --gpus 2 --mode infer --gpu t4", "it is for a training"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.question);
    const Said said = Do(row.question);
    CHECK(said.exit_code == 2);
    CHECK(said.out.empty());
    CHECK_MESSAGE(said.err.find(row.says) != std::string::npos, said.err);
  }
}

}  // namespace
}  // namespace vramplan::testing
