// Models that are given by their names, on the command line.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/command_line.h"

namespace vramplan::testing {
namespace {

// What the hint says to type is taken.
TEST_CASE("named models: an option of theirs with a file names a command that is not refused") {
  for (const char* options : {"--lora 16", "--quant nf4", "--weights bf16 --precision amp-bf16", "--mode serve",
                              "--strategy ddp --gpus 2", "--engine vllm", "--liger"}) {
    CAPTURE(options);
    for (const std::string verb : {"fit", "plan", "estimate", "trace"}) {
      const std::string card = verb == "fit" || verb == "plan" ? " --gpu a10 " : " ";
      const std::string err = Do(verb + " MODELS/mlp.onnx" + card + options).err, before = ": vramplan ";
      const size_t at = err.find(before), end = err.find(")\n");
      if (at == std::string::npos) continue;  // it does not take this option
      const std::string command = err.substr(at + before.size(), end - at - before.size());
      CAPTURE(command);
      const Said said = Do(command + " --dim sequence=16");
      CHECK_MESSAGE((said.exit_code == 0 || said.exit_code == 3), said.err);
    }
  }
}

TEST_CASE("named models: what is said of names and lengths that there are not") {
  struct Row {
    const char *line, *says;
  };
  const Row rows[] = {
      {"fit colossus --gpu t4",
       "colossus: there is no such file and no model of this name (hint: vramplan models lists"},
      {"fit llama-3.1-9b --gpu t4", "did you mean llama-3.1-8b"},
      {"estimate gpt2 --dim seq=5",
       "--dim seq: GPT2LMHeadModel has no length of this name (hint: its lengths are: sequence)"},
      {"estimate vit-base-patch16-224 --dim sequence=5", "all of its lengths are in its config.json"},
      {"estimate gpt2 --dim sequence=2048", "--dim sequence=1024 or less"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.line);
    const Said said = Do(row.line);
    CHECK(said.exit_code != 0);
    CHECK(said.err.find(row.says) != std::string::npos);
  }
  CHECK(Do("estimate gpt2 --dim batch=2 --dim sequence=16").exit_code == 0);
}

TEST_CASE("named models: a class whose linear layers are no torch.nn.Linear has no adapters and is not packed") {
  const Said adapters = Do("estimate falcon-7b --lora 16");
  CHECK(adapters.exit_code == 2);
  CHECK(adapters.err.find("--lora: how adapters of FalconForCausalLM run is not modelled") != std::string::npos);
  for (const char* targets : {"all-linear", "query_key_value"})
    CHECK(Says(Do(std::string("estimate falcon-7b --lora 16,target=") + targets).err,
               "--lora: how adapters of FalconForCausalLM run"));
  const Said packed = Do("estimate falcon-7b --mode infer --quant nf4");
  CHECK(packed.exit_code == 2);
  CHECK(packed.err.find("--quant: how FalconForCausalLM is packed is not modelled") != std::string::npos);
}

TEST_CASE("named models: what is not modelled is said in one line, with what to type") {
  struct Row {
    const char *line, *says;
  };
  const Row rows[] = {
      {"--strategy zero3 --gpus 4 --lora 16,dora", "--lora: how zero3 runs DoRA is not modelled"},
      {"--strategy zero2 --gpus 4 --lora 16 --quant nf4", "--quant: how zero2 takes packed weights is not modelled"},
      {"--strategy zero2 --gpus 4 --precision amp-bf16", "(hint: type --precision bf16)"},
      {"--strategy zero1 --gpus 4 --optimizer sgd",
       "--optimizer: how zero1 runs sgd is not modelled (hint: type --optimizer"},
      {"--padded --mode serve", "--padded: prompts of --mode serve are of one length (hint: leave it out)"},
      {"--liger --mode infer", "--liger: it is for training only (hint: leave it out)"},
      {"--liger --strategy fsdp2 --gpus 2", "--liger: how fsdp2 runs Liger's kernels is not modelled (hint: type"},
      {"--liger --lora 8,target=lm_head", "--liger: Liger's loss reads the weight of the output layer past an adapter"},
      {"--liger --emit torchtune", "--emit: torchtune has no kernels of Liger (hint: type --emit hf or axolotl)"},
      {"--lora 16,dora --precision amp-bf16", "--lora: how DoRA runs under autocast is not modelled"},
      {"--lora 16,dora --quant int8", "--quant: how weights in eight bits run with DoRA is not modelled"},
      {"--lora 16 --quant int8,double", "type --quant nf4, nf4,double, fp4, fp4,double or int8"},
      {"--strategy zero2 --gpus 4 --emit hf", "--emit: hf says nothing of DeepSpeed (hint: type --emit deepspeed)"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.line);
    const Said said = Do(std::string("fit llama-3.2-1b --gpu h200 --dim sequence=64 ") + row.line);
    CHECK(said.exit_code == 2);
    CHECK(said.err.find(row.says) != std::string::npos);
  }
}

// The stages differ from each other where gradients outgrow what a bucket has room for.
TEST_CASE("named models: DeepSpeed's stages take less from more cards, and their configuration says what they are") {
  const auto needs = [](const std::string& strategy) {
    const std::string said =
        Do("estimate llama-3.2-1b --optimizer adamw --dim sequence=64 --format json --gpu h200 " + strategy).out;
    return std::stoll(said.substr(said.find("\"requested\": ") + 13));
  };
  CHECK(needs("--strategy zero2 --gpus 8") < needs("--strategy zero1 --gpus 8"));
  CHECK(needs("--strategy zero2 --gpus 8") < needs("--strategy zero2 --gpus 4"));
  CHECK(needs("--strategy zero3 --gpus 64") < needs("--strategy zero3 --gpus 8"));
  const std::string config =
      Do("fit llama-3.2-1b --optimizer adamw --strategy zero2 --gpus 4 --gpu h200 --emit deepspeed").out;
  CHECK(config.find("\"stage\": 2") != std::string::npos);
  CHECK(config.find("\"reduce_bucket_size\": 500000000") != std::string::npos);
  CHECK(config.find("\"bf16\"") != std::string::npos);
  const std::string gathers =
      Do("fit llama-3.2-1b --optimizer adamw --strategy zero3 --gpus 4 --gpu h200 --emit deepspeed").out;
  CHECK(gathers.find("\"stage\": 3") != std::string::npos);
  CHECK(gathers.find("\"stage3_param_persistence_threshold\": 100000") != std::string::npos);
}

// DeepSpeed 0.19.8 looks at parameters as bytes, which a tensor without axes refuses: CLIP's logit_scale.
TEST_CASE("named models: DeepSpeed takes no parameter that is a single number") {
  const Said said = Do("fit clip-vit-base-patch32 --strategy zero2 --gpus 2 --gpu h200");
  CHECK(said.exit_code == 2);
  CHECK(said.err.find("DeepSpeed refuses a parameter that is a single number, as logit_scale is") != std::string::npos);
}

TEST_CASE("named models: inspect counts calls, and weights in the type that they are loaded in") {
  const Said said = Do("inspect qwen2.5-0.5b");
  CHECK(said.out.find("qwen2.5-0.5b: Qwen2ForCausalLM of ") == 0);
  CHECK(said.out.find("494032768 parameters (942.29 MiB)") != std::string::npos);
  CHECK(said.out.find("recorded from torch ") != std::string::npos);
  CHECK(said.out.find("opset") == std::string::npos);
  CHECK(said.out.find("Identity") == std::string::npos);
}

TEST_CASE("named models: under checkpoints no layer keeps a cache") {
  const auto copies = [](const std::string& more) {
    const std::string trace = Do("trace llama-3.2-1b --dim sequence=64" + more).out;
    size_t found = 0;
    for (size_t at = trace.find("aten::cat"); at != std::string::npos; at = trace.find("aten::cat", at + 1)) ++found;
    return found;
  };
  // A layer joins two pieces for its rotary embedding, which are made anew in the backward, and two for its cache.
  CHECK(copies(" --checkpoint all") == copies(""));
  CHECK(copies(" --checkpoint model.layers.0") < copies(""));
}

// TrainingArguments checkpoint every layer or none: the plan is one of these, and takes what --checkpoint all takes.
TEST_CASE("named models: a plan for what wraps every layer or none, and one that is sure where there is one") {
  const std::string of = "llama-3.2-1b --gpu rtx-4090 --gpu-memory 16GiB --dim sequence=128 --optimizer adamw";
  const std::string plan = Do("plan " + of + " --batch 31 --emit hf").out;
  CHECK(Says(plan, "gradient_checkpointing=True"));
  CHECK(!Says(plan, "exactly those"));
  const std::string fit = Do("fit " + of + " --batch 31 --optimizer-impl fused --checkpoint all --emit hf").out;
  CHECK(plan == fit);
  const std::string switched = Do("fit " + of + " --batch 31 --checkpoint all --emit pytorch").out;
  CHECK(Says(switched, "model.gradient_checkpointing_enable("));
  CHECK(!Says(switched, "CHECKPOINT = "));
  CHECK(Says(Do("plan " + of + " --batch 31").FirstLine(), "fits on GeForce RTX 4090"));
  const std::string wrapped = Do("fit " + of + " --checkpoint model.layers.0.mlp --batch 8 --emit pytorch").out;
  CHECK(Says(wrapped, "module.config.use_cache = False"));
  CHECK(!Says(Do("fit " + of + " --batch 8 --emit pytorch").out, "use_cache"));
  const std::string unet = "fit sd-1.5 --gpu h200 --batch 1 --optimizer adamw --emit pytorch --checkpoint ";
  CHECK(Says(Do(unet + "mid_block").out, "CHECKPOINT = [ \"mid_block\", ]"));
  CHECK(Says(Do(unet + "all").out, "model.enable_gradient_checkpointing()"));
  // Where no batch was asked for, and none is safe with the plan that takes the least time.
  const Said unasked = Do("plan gpt2 --dim sequence=1024 --optimizer adamw --precision fp32 --gpu-memory 3.1GiB");
  CHECK_MESSAGE(unasked.out.find("batch 1 is safe and the largest that fits") != std::string::npos, unasked.out);
  // With 31 of the 32 layers, which take less time, batch 2 is tight.
  const Said sure = Do("plan llama-3.1-8b --lora 16 --dim sequence=2048 --gpu rtx-4090");
  CHECK_MESSAGE(Says(sure.out, "every layer checkpointed) fits on GeForce RTX 4090"), sure.out);
  CHECK_MESSAGE(Says(sure.out, "batch 2 is safe and the largest that fits"), sure.out);
}

TEST_CASE("named models: --weights says the type that a model is loaded in") {
  struct Row {
    const char *line, *says;
  };
  const Row rows[] = {
      {"estimate llama-3.2-1b --lora 8 --weights bf16 --precision amp-bf16 --dim sequence=64", "weights in bfloat16"},
      {"estimate bert-base-uncased --weights bf16 --dim sequence=64", "precision bf16,"},
      {"estimate llama-3.2-1b --lora 8 --quant nf4 --weights bf16 --precision amp-bf16 --dim sequence=64",
       "quant nf4, dim sequence=64"},
      {"estimate llama-3.2-1b --weights fp32 --precision bf16", "type --precision fp32, or --precision amp-bf16"},
      {"estimate llama-3.2-1b --weights int8", "type --weights bf16, fp16 or fp32"},
      {"estimate sdxl --weights bf16", "--weights: for a model of diffusers, --precision says in which type"},
      {"estimate model.onnx --weights bf16", "--weights: it is for a named model"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.line);
    const Said said = Do(row.line);
    const std::string text = said.out + said.err;
    CAPTURE(text);
    CHECK(text.find(row.says) != std::string::npos);
  }
}

// Before 2.15 the kernel without the probabilities took no groups of heads; flash attention always did.
TEST_CASE("named models: an older PyTorch is asked about where its attention of grouped heads keeps probabilities") {
  struct Row {
    const char* line;
    bool asks;
  };
  const Row rows[] = {
      {"fit llama-3.2-1b --lora 8 --gpu t4 --dim sequence=512 --precision fp32", true},
      {"fit llama-3.2-1b --lora 8 --gpu rtx-3090 --dim sequence=512 --precision fp32", true},
      {"fit llama-3.2-1b --lora 8 --gpu rtx-3090 --dim sequence=512", false},
      {"fit llama-3.2-1b --lora 8 --gpu t4 --dim sequence=512 --precision fp32 --framework pytorch@2.15", false},
      {"fit gpt2 --gpu t4 --dim sequence=512", false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.line);
    CHECK((Do(row.line).out.find("an older one keeps the probabilities") != std::string::npos) == row.asks);
  }
}

}  // namespace
}  // namespace vramplan::testing
