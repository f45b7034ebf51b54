#include "planner/answers/other_plans.h"

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

#include "planner/report/writing/json.h"
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
      {"fit flux-dev --mode infer --gpu rtx-4090", "--precision bf16"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.remedy);
    const Said said = Do(row.question);
    CHECK(said.exit_code == 3);
    CHECK(said.out.find(std::string("  with ") + row.remedy + " it fits: ") != std::string::npos);
    CHECK(Do(std::string(row.question) + " " + row.remedy).exit_code == 0);
  }
  CHECK(Do("fit llama-3.2-1b --lora 8 --gpu rtx-4090").out.find("it fits:") == std::string::npos);
  // Where it may fit, what makes it safe.
  const Said tight = Do("fit sdxl --lora 4 --gpu rtx-3090 --gpu-memory 21.1GiB");
  CAPTURE(tight.out);
  CHECK(tight.out.find("--precision amp-fp16") != std::string::npos);
}

// plan chooses what is checkpointed, and says of which verb an option is that it refuses.
TEST_CASE("other plans: what plan says to type is what plan takes, or fit") {
  const ScopedVariable wide("COLUMNS", "200");
  for (const char* question : {" gpt2 --optimizer adamw --gpu-memory 1.5GiB --dim sequence=128",
                               " llama-3.2-1b --optimizer adamw --gpu-memory 8GiB"}) {
    CAPTURE(question);
    const Said said = Do("plan" + std::string(question));
    CHECK(said.exit_code == 3);
    std::istringstream lines(said.out);
    int of_plan = 0, of_fit = 0;
    for (std::string line; std::getline(lines, line);) {
      const size_t at = line.find("with --"), end = line.find(" it fits: ");
      if (at == std::string::npos || end == std::string::npos) continue;
      const bool fit = line.starts_with("  by vramplan fit, with --");
      const std::string options = line.substr(at + 5, end - at - 5);
      CHECK_MESSAGE(Do((fit ? "fit" : "plan") + std::string(question) + " " + options).exit_code == 0, options);
      ++(fit ? of_fit : of_plan);
    }
    CHECK_MESSAGE(of_plan > 0, said.out);
    CHECK_MESSAGE(of_fit > 0, said.out);
  }
}

// Asked for again with what a remedy says, in a card of that size: its verdict is the remedy's.
TEST_CASE("other plans: a remedy that is only tight says so") {
  const auto json = [](const std::string& line) {
    const Result<Json> read = ParseJson("answer", Do(line + " --format json").out);
    REQUIRE_MESSAGE(read.ok(), line);
    return *read;
  };
  const std::string roomy = "fit gpt2 --optimizer adamw --dim sequence=1024 --batch 8 --gpu t4";
  const Json whole = json(roomy);
  std::vector<int64_t> sizes;  // with which one of them just fits
  for (const Json& remedy : std::get<Json::Items>(MemberOf(whole, "remedies")->value()))
    sizes.push_back(std::get<int64_t>(MemberOf(remedy, "device")->value()) + Bytes::MiB(1).count());
  REQUIRE(!sizes.empty());
  int tight = 0;
  for (const int64_t size : sizes) {
    const std::string question = roomy + " --gpu-memory " + std::to_string(size);
    const std::string text = Do(question).out;
    const Json answer = json(question);
    for (const Json& remedy : std::get<Json::Items>(MemberOf(answer, "remedies")->value())) {
      const std::string options = StringIn(MemberOf(remedy, "options")), said = StringIn(MemberOf(remedy, "verdict"));
      CAPTURE(options);
      const Json again = json(question + " " + options);
      CHECK_EQ(said, StringIn(MemberOf(again, "verdict")));
      CHECK(text.find("  with " + options + (said == "tight" ? " it is tight: " : " it fits: ")) != std::string::npos);
      tight += said == "tight" ? 1 : 0;
    }
  }
  CHECK(tight > 0);
}

TEST_CASE("other plans: a model that serves has its lengths, up to what its positions allow") {
  const Said said = Do("fit gpt2 --mode serve --gpu t4");
  CHECK(said.exit_code == 0);
  CHECK(said.FirstLine().find("gpt2 serves on Tesla T4") == 0);
  CHECK(said.FirstLine().find(" sequences of 512 tokens are safe") != std::string::npos);
  CHECK(said.FirstLine().ends_with("; 1 of up to 1024 tokens is safe"));
  CHECK(said.out.find("batch") == std::string::npos);
  const Said none = Do("fit qwen3-8b --mode serve --sequences 5 --dim sequence=8192 --gpu rtx-4090");
  CHECK(none.exit_code == 3);
  CHECK(none.FirstLine().starts_with("qwen3-8b serving 5 sequences does not fit on GeForce RTX 4090: needs "));
  CHECK(none.out.find("\n  with --quant nf4,double it fits: ") != std::string::npos);
  CHECK(said.out.find("1 sequence of up to 1024 tokens: safe (the model has no more positions)") != std::string::npos);
}

TEST_CASE("other plans: cards that share a model are counted in the first line") {
  for (const char* plan : {"plan llama-3.2-1b --strategy fsdp2 --gpus 4 --gpu l4",
                           "plan llama-3.2-1b --strategy fsdp2 --gpus 4 --gpu l4 --batch 4096",
                           "sweep llama-3.2-1b --strategy fsdp2 --gpus 4 --gpu l4 --over batch=1,2"})
    CHECK(Do(plan).FirstLine().find(" on each of 4 cards (L4)") != std::string::npos);
  CHECK(Do("fit llama-3.2-1b --strategy fsdp2 --gpus 4 --gpu t4,l4")
            .FirstLine()
            .starts_with("llama-3.2-1b trains at batch 1 on 2 of 2 cards, taken 4 at a time; the smallest is "));
  CHECK(Do("fit llama-3.2-1b --strategy fsdp2 --gpus 4 --gpu t4")
            .FirstLine()
            .starts_with("llama-3.2-1b trains on each of 4 cards (Tesla T4): batch "));
  CHECK(Do("estimate gpt2 --strategy ddp --gpus 2").FirstLine().find(" on each of 2 cards to train at batch 1") !=
        std::string::npos);
}

// A configuration for one card would put all of the model on it.
TEST_CASE("other plans: what is emitted and requested for several cards is for all of them") {
  const std::string four = "fit llama-3.2-1b --optimizer adamw --gpus 4 --gpu a100-80gb --batch 1 --strategy ";
  const struct {
    std::string question;
    const char* says;
  } rows[] = {
      {four + "fsdp2 --emit fsdp2", "distributed_type: FSDP\nmixed_precision: \"no\"\nnum_processes: 4\n"},
      {four + "fsdp2 --emit fsdp2", " on each of 4 cards (A100 80GB), by vramplan"},
      {four + "ddp --emit accelerate", "distributed_type: MULTI_GPU\nmixed_precision: \"no\"\nnum_processes: 4\n"},
      {four + "fsdp2 --emit hf", "--emit: hf says nothing of fsdp2 (hint: type --emit fsdp2)"},
      {four + "ddp --emit fsdp2", "type --emit accelerate"},
      {four + "fsdp2 --format request", "#SBATCH --gres=gpu:4\n"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.question);
    const Said said = Do(row.question);
    CHECK((said.out + said.err).find(row.says) != std::string::npos);
  }
}

TEST_CASE("other plans: what a denoiser's script keeps beside it is told, and counted when asked for") {
  const Said said = Do("fit sdxl --lora 4 --precision amp-fp16 --image 512 --gpu rtx-4090");
  CHECK(said.exit_code == 0);
  CHECK(said.out.find("adapters in fp32)") != std::string::npos);
  CHECK(said.out.find("--resident 1720MiB counts") != std::string::npos);
  CHECK(Do("fit sdxl --lora 4 --resident 1720MiB --gpu rtx-4090").out.find("no VAE") == std::string::npos);
}

TEST_CASE("other plans: plan says what fit does where none of its plans surely fits") {
  const ScopedVariable wide("COLUMNS", "200");
  const std::string question = " llama-3.2-1b --dim sequence=2048 --gpu gtx-1060 --batch 1";
  const auto remedies = [&](const std::string& verb) {
    std::istringstream lines(Do(verb + question).out);
    std::string found;
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("  with --") || line.starts_with("  by vramplan fit, with --"))
        found += line.substr(line.find("with")) + "\n";
    return found;
  };
  CHECK(remedies("plan").find("--lora 16 --quant nf4,double --checkpoint all it fits: ") != std::string::npos);
  CHECK(remedies("plan") == remedies("fit"));
  CHECK(Do("plan gpt2 --gpu t4").out.find("  with --") == std::string::npos);
}

TEST_CASE("other plans: what does not go together is refused in one line") {
  const struct {
    const char *question, *says;
  } rows[] = {
      {"fit llama-3.2-1b --quant nf4 --gpu t4", "packed weights are not trained themselves"},
      {"fit llama-3.2-1b --quant nf4 --lora 8 --strategy fsdp2 --gpus 2 --gpu t4", "is not modelled"},
      {"fit llama-3.2-1b --gpus 2 --gpu t4", "--strategy must say how they share the model"},
      {"fit llama-3.2-1b --strategy fsdp2 --gpu t4", "it needs more than one card"},
      {"fit llama-3.2-1b --strategy zero3 --gpus 65536 --gpu t4", "up to 4096 ranks"},
      {"fit sdxl --lora 4 --quant nf4 --gpu t4", "how diffusers packs weights is not modelled"},
      {"fit flux-dev --lora 4 --strategy fsdp2 --gpus 2 --gpu t4", "how fsdp2 shards a model of diffusers"},
      {"fit sd-1.5 --image 1000 --gpu t4", "height=1000 is no multiple of 64 (hint: type --dim height=1024)"},
      {"fit resnet-50 --image 400 --gpu t4", "image=400 is no multiple of 32 (hint: type --dim image=416)"},
      {"fit resnet-50 --image 256x384 --gpu t4", "pictures that are as high as they are wide (hint: type --image 384)"},
      {"fit vit-base-patch16-224 --image 384 --gpu t4", "ViTForImageClassification has no pictures whose size is free"},
      {"fit qwen3-30b-a3b --lora 8,target=all-linear --gpu t4",
       "how adapters of experts run, which peft's all-linear makes, is not modelled (hint: type --lora "
       "8,target=q_proj+k_proj+v_proj+o_proj)"},
      {"fit qwen3-30b-a3b --lora 8 --gpu t4",
       "peft has no targets of its own for this class (hint: type --lora 8,target=q_proj+k_proj+v_proj+o_proj)"},
      {"fit gpt2 --sequences 4 --gpu t4", "it is for a model that serves"},
      {"fit bert-base-uncased --mode serve --gpu t4", "how BertForMaskedLM serves is not modelled"},
      {"fit resnet-50 --checkpoint all --gpu t4",
       "ResNetForImageClassification does not support gradient checkpointing"},
      {"fit swin-tiny --checkpoint all --gpu t4", "how checkpoints within checkpoints run"},
      {"fit bge-base-en-v1.5 --gpu t4", "BertModel makes features and no loss"},
      {"fit MODELS/mlp.onnx --mode serve --gpu t4", "it is for a named model"},
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
