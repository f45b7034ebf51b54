#include "planner/report/snippets/snippets.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "planner/report/writing/quoting.h"

namespace vramplan {
namespace {

// Batch 96 in amp-fp16, two modules checkpointed, four accumulations.
struct Planned {
  Plan plan;
  TrainingSpec spec;
  SnippetOf Of() const { return {plan, spec, "net.onnx", "Tesla T4", Bytes::Of(4000), "expandable_segments:True"}; }
};

Planned Example() {
  Planned planned;
  planned.plan.batch = 96;
  planned.plan.accumulate = 4;
  planned.plan.precision = Precision::kAmpFp16;
  planned.plan.optimizer_impl = OptimizerImpl::kFused;
  planned.plan.tier = Tier::kModules;
  planned.plan.checkpoint = {"m.h.0", "m.h.1"};
  planned.plan.peak.peak = {Bytes::Of(1000), Bytes::Of(2000), Bytes::Of(3000)};
  planned.spec.optimizer = Optimizer::kAdamW;
  planned.spec.weight_decay = 0.01;
  return planned;
}

Finetuned NamedLlama() { return {"meta-llama/Llama-3.1-8B", "LlamaForCausalLM"}; }

std::string Golden(const std::string& name) {
  std::ifstream file(std::string(VRAMPLAN_SOURCE_DIR) + "/tests/golden/plan/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_CASE("clipping is told where it can be told") {
  Planned planned = Example();
  planned.spec.clip_grad_norm = 0.5;
  const auto says = [&](Emit emit, const char* text) {
    const Result<std::string> snippet = PrintSnippet(emit, planned.Of());
    return snippet.ok() && snippet->find(text) != std::string::npos;
  };
  CHECK(says(Emit::kHf, "    max_grad_norm=0.5,\n"));
  CHECK(says(Emit::kLightning, ", gradient_clip_val=0.5)"));
  CHECK(says(Emit::kDeepspeed, "\"gradient_clipping\": 0.5"));
  planned.spec.clip_grad_norm = 0;
  CHECK_FALSE(says(Emit::kLightning, "gradient_clip_val"));
  CHECK_FALSE(says(Emit::kDeepspeed, "gradient_clipping"));
}

// tests/golden/plan: whole files, to be read by people, too.
TEST_CASE("snippets are those of the golden files") {
  struct Row {
    Emit emit;
    const char* file;
  };
  constexpr Row kRows[] = {{Emit::kPytorch, "pytorch.py"},
                           {Emit::kHf, "hf.py"},
                           {Emit::kAccelerate, "accelerate.yaml"},
                           {Emit::kLightning, "lightning.py"},
                           {Emit::kDeepspeed, "deepspeed.json"},
                           {Emit::kSft, "sft.py"},
                           {Emit::kFsdp2, "fsdp2.yaml"},
                           {Emit::kAxolotl, "axolotl.yaml"},
                           {Emit::kKeras, "keras.py"},
                           {Emit::kEnv, "env.sh"}};
  for (const Row& row : kRows) {
    CAPTURE(row.file);
    const Planned planned = Example();
    SnippetOf of = planned.Of();
    if (row.emit == Emit::kSft || row.emit == Emit::kAxolotl) of.finetuned = NamedLlama();
    const Result<std::string> snippet = PrintSnippet(row.emit, of);
    REQUIRE(snippet.ok());
    CHECK_EQ(*snippet, Golden(row.file));
  }
}

// With adapters, a base in four bits, and a length.
TEST_CASE("a plan of a named model says what to load") {
  Planned planned = Example();
  planned.plan.precision = Precision::kBf16;
  SnippetOf of = planned.Of();
  of.finetuned = NamedLlama();
  of.finetuned->lora = Lora{16, {"q_proj", "o_proj"}, 0.05};
  of.finetuned->length = 2048;
  of.finetuned->packed = "nf4";
  of.finetuned->nested = true;
  CHECK_EQ(*PrintSnippet(Emit::kSft, of), Golden("sft_qlora.py"));
  CHECK_EQ(*PrintSnippet(Emit::kAxolotl, of), Golden("axolotl_qlora.yaml"));
  CHECK(PrintSnippet(Emit::kTorchtune, of).error().text.find("packs weights with torchao") != std::string::npos);
  // Settings of a loop load no model.
  const std::string loaded =
      "the plan counts on weights in 4 bits (nf4) and LoRA of rank 16, which these settings leave out: --emit sft or "
      "axolotl";
  for (const Emit emit : {Emit::kHf, Emit::kAccelerate, Emit::kLightning, Emit::kDeepspeed})
    CHECK(PrintSnippet(emit, of)->find(loaded) != std::string::npos);
  of.finetuned->packed.clear();
  CHECK_EQ(*PrintSnippet(Emit::kTorchtune, of), Golden("torchtune_lora.yaml"));
  of.finetuned->lora->targets = {"all-linear"};
  CHECK(PrintSnippet(Emit::kSft, of)->find("target_modules=\"all-linear\"") != std::string::npos);
  CHECK(PrintSnippet(Emit::kAxolotl, of)->find("lora_target_linear: true\n") != std::string::npos);
  CHECK(PrintSnippet(Emit::kTorchtune, of)->find("apply_lora_to_mlp: true\n") != std::string::npos);
  planned.plan.precision = Precision::kAmpFp16;
  CHECK_FALSE(PrintSnippet(Emit::kTorchtune, of).ok());  // it has no autocast
  planned.plan.precision = Precision::kBf16;
  of.finetuned->packed = "int8";
  of.finetuned->lora->dora = true;
  CHECK(PrintSnippet(Emit::kSft, of)->find("BitsAndBytesConfig(load_in_8bit=True)") != std::string::npos);
  CHECK(PrintSnippet(Emit::kSft, of)->find("    use_dora=True,\n") != std::string::npos);
  CHECK(PrintSnippet(Emit::kAxolotl, of)->find("adapter: lora\nload_in_8bit: true\n") != std::string::npos);
  CHECK_FALSE(PrintSnippet(Emit::kTorchtune, of).ok());
}

// transformers 5.23, training_args.py (use_liger_kernel); trl 1.16, trainer/sft_trainer.py; axolotl,
// integrations/liger/args.py.
TEST_CASE("a plan with Liger's kernels says how they are put, or that they are not") {
  Planned planned = Example();
  planned.plan.precision = Precision::kBf16;
  SnippetOf of = planned.Of();
  of.finetuned = NamedLlama();
  const auto says = [&](Emit emit, const char* text) {
    return PrintSnippet(emit, of)->find(text) != std::string::npos;
  };
  CHECK_FALSE(says(Emit::kHf, "liger"));
  of.finetuned->liger = true;
  CHECK(says(Emit::kHf, "    use_liger_kernel=True,\n"));
  CHECK_FALSE(says(Emit::kHf, "not in these settings"));
  CHECK(says(Emit::kSft, "    use_liger_kernel=True,  # trl puts a loss of its own in place of Liger's"));
  CHECK(says(Emit::kAxolotl, "\nliger_fused_linear_cross_entropy: true\n"));
  CHECK(says(Emit::kAccelerate, "# the plan counts on Liger's kernels, which these settings leave out"));
  CHECK_FALSE(PrintSnippet(Emit::kTorchtune, of).ok());
}

TEST_CASE("files of those who finetune are of causal language models") {
  Planned planned = Example();
  planned.plan.precision = Precision::kBf16;
  SnippetOf of = planned.Of();
  const auto error = [&](Emit emit) {
    const Result<std::string> snippet = PrintSnippet(emit, of);
    return snippet.ok() ? *snippet : ToString(snippet.error());
  };
  const struct {
    Emit emit;
    const char* name;
  } rows[] = {{Emit::kSft, "sft"}, {Emit::kAxolotl, "axolotl"}, {Emit::kTorchtune, "torchtune"}};
  for (const auto& row : rows) {
    CAPTURE(row.name);
    const Emit emit = row.emit;
    const std::string of_emit = "--emit: " + std::string(row.name) + " trains ";
    of.finetuned.reset();
    CHECK_EQ(error(emit), of_emit +
                              "a named causal language model, not \"net.onnx\" (hint: type --emit "
                              "pytorch, hf, accelerate or lightning)");
    for (const char* kind : {"BertForMaskedLM", "WhisperForConditionalGeneration", "ViTForImageClassification"}) {
      of.finetuned = Finetuned{"some/model", kind};
      CHECK_EQ(error(emit), of_emit + "causal language models, not " + kind + " (hint: type --emit hf)");
    }
    of.finetuned = Finetuned{"stabilityai/sdxl", "UNet2DConditionModel"};
    of.finetuned->denoiser = Denoiser{"UNet2DConditionModel", true, 1024, 1024};
    CHECK_EQ(error(emit), of_emit + "no denoiser (hint: type --emit diffusers)");
    of.finetuned = Finetuned{"arXiv:2005.14165", "GPT2LMHeadModel"};
    CHECK(error(emit).find("was never published") != std::string::npos);
  }
}

// Of the models that it has configs for, by the name of the config.
TEST_CASE("torchtune is told its own config, or refused") {
  Planned planned = Example();
  planned.plan.precision = Precision::kBf16;
  SnippetOf of = planned.Of();
  const struct {
    const char* model;
    const char *all, *adapters;
  } rows[] = {
      {"meta-llama/Llama-3.1-8B", "config llama3_1/8B_full_single_device of",
       "config llama3_1/8B_lora_single_device of"},
      {"Qwen/Qwen2.5-3B-Instruct", "config qwen2_5/3B_full_single_device of",
       "config qwen2_5/3B_lora_single_device of"},
      {"google/gemma-2-9b-it", "with adapters alone (hint: type --emit sft or axolotl)",
       "config gemma2/9B_lora_single_device of"},
      {"openai-community/gpt2", "has no config of openai-community/gpt2 (hint: type --emit sft or axolotl)",
       "has no config of openai-community/gpt2"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.model);
    for (const bool adapts : {false, true}) {
      of.finetuned = Finetuned{row.model, "AnyForCausalLM"};
      if (adapts) of.finetuned->lora = Lora{16, {"q_proj"}};
      const Result<std::string> keys = PrintSnippet(Emit::kTorchtune, of);
      CHECK((keys.ok() ? *keys : ToString(keys.error())).find(adapts ? row.adapters : row.all) != std::string::npos);
    }
  }
}

// utils/schemas/config.py: bf16 and fp16 are mixed precision, bfloat16 and float16 are not.
TEST_CASE("axolotl is told mixed precision and halves apart") {
  Planned planned = Example();
  SnippetOf of = planned.Of();
  of.finetuned = NamedLlama();
  const struct {
    Precision precision;
    const char* says;
  } rows[] = {
      {Precision::kFp32, "\nbf16: false\nfp16: false\ngradient_checkpointing"},
      {Precision::kAmpBf16, "\nbf16: true\nfp16: false\n# with bf16 axolotl loads the weights in halves"},
      {Precision::kAmpFp16, "\nbf16: false\nfp16: true\n# with fp16 axolotl loads the weights in halves"},
      {Precision::kBf16, "\nbf16: false\nfp16: false\nbfloat16: true  # no AMP"},
      {Precision::kFp16, "\nbf16: false\nfp16: false\nfloat16: true\ngradient_checkpointing"},
  };
  for (const auto& row : rows) {
    planned.plan.precision = row.precision;
    const std::string config = *PrintSnippet(Emit::kAxolotl, of);
    CAPTURE(config);
    CHECK(config.find(row.says) != std::string::npos);
  }
}

// With adapters of a denoiser, as diffusers' scripts make them, and of other layers.
TEST_CASE("a plan of a named denoiser is a command of diffusers' scripts") {
  Planned planned = Example();
  SnippetOf of = planned.Of();
  of.finetuned = Finetuned{"stabilityai/sdxl", "UNet2DConditionModel", Lora{16, {"to_q", "to_k", "to_v", "to_out.0"}}};
  of.finetuned->denoiser = Denoiser{"UNet2DConditionModel", true, 1024, 1024};
  CHECK_EQ(*PrintSnippet(Emit::kDiffusers, of), Golden("diffusers_lora.sh"));
  const auto says = [&](const std::string& text) {
    const Result<std::string> snippet = PrintSnippet(Emit::kDiffusers, of);
    CAPTURE((snippet.ok() ? *snippet : ToString(snippet.error())));
    return (snippet.ok() ? *snippet : ToString(snippet.error())).find(text) != std::string::npos;
  };
  const auto lora = [&]() -> Lora& { return *of.finetuned->lora; };
  lora().targets = {"to_q"};  // the script of U-Nets takes no other
  CHECK(says("train_text_to_image_lora_sdxl.py adapts to_k,to_q,to_v,to_out.0 alone"));
  of.finetuned->denoiser->of_class = "FluxTransformer2DModel";
  of.finetuned->denoiser->text_and_time = false;
  lora().dropout = 0.1;
  CHECK(says("train_dreambooth_lora_flux.py"));
  CHECK(says("--lora_layers=to_q \\\n  --lora_dropout=0.1\n"));
  of.finetuned->lora.reset();
  planned.spec.optimizer = Optimizer::kAdamW8bit;
  planned.spec.clip_grad_norm = 1;
  planned.spec.ranks = 2;
  CHECK(says("accelerate launch --multi_gpu --num_processes=2 train_dreambooth_flux.py \\\n"));
  CHECK(says("  --use_8bit_adam \\\n  --max_grad_norm=1\n"));
  of.finetuned->denoiser->width = 512;
  CHECK(says("crop pictures to squares"));
  of.finetuned->denoiser->width = 1024;
  planned.plan.precision = Precision::kBf16;
  CHECK(says("and not in bf16 alone (hint: type --precision amp-bf16)"));
  planned.spec.optimizer = Optimizer::kAdam;
  CHECK(says("build no optimizer adam (hint: type --optimizer adamw)"));
  of.finetuned->denoiser->of_class = "PixArtTransformer2DModel";
  CHECK(says("has no example script that trains"));
  of.finetuned.reset();
  CHECK(says("has no example script that trains"));
}

TEST_CASE("a plan of a U-Net is a configuration of nnU-Net") {
  Planned planned = Example();
  planned.plan.checkpoint.clear();
  planned.plan.accumulate = 1;
  planned.spec.optimizer = Optimizer::kSgdNesterov;
  SnippetOf of = planned.Of();
  CHECK_FALSE(PrintSnippet(Emit::kNnUnet, of).ok());  // it is no U-Net
  of.patch = {128, 96, 96};
  CHECK_EQ(*PrintSnippet(Emit::kNnUnet, of), Golden("nnunet.json"));
  planned.plan.accumulate = 2;
  CHECK_FALSE(PrintSnippet(Emit::kNnUnet, of).ok());
  planned.plan.accumulate = 1;
  planned.plan.checkpoint = {"m"};
  CHECK_FALSE(PrintSnippet(Emit::kNnUnet, of).ok());
  planned.plan.checkpoint.clear();
  planned.plan.precision = Precision::kFp32;
  CHECK_FALSE(PrintSnippet(Emit::kNnUnet, of).ok());
}

TEST_CASE("a plan that saves operator calls is a module with a policy, and nothing less") {
  Planned planned = Example();
  planned.plan.tier = Tier::kOperators;
  planned.plan.saved = {{"m.h.1", "aten.mm.default", 2},
                        {"m.h.0", "aten.addmm.default", 0},
                        {"m.h.0", "aten.addmm.default", 3},
                        {"m.h.0", "aten.gelu.default", 0}};
  CHECK_EQ(*PrintSnippet(Emit::kPytorchSac, planned.Of()), Golden("pytorch_sac.py"));
  CHECK_FALSE(PrintSnippet(Emit::kPytorch, planned.Of()).ok());
  const std::string keras = *PrintSnippet(Emit::kKeras, planned.Of());
  CHECK(keras.find("operator calls that are saved inside a layer") != std::string::npos);
}

// requires_grad_ by the globs of the command line, in every file that can be told.
TEST_CASE("a plan that trains a part of the model says which") {
  Planned planned = Example();
  SnippetOf of = planned.Of();
  of.trained = {{{"*", false}, {"_orig_mod.*.lora_*", true}, {"a\"b\\c\n", true}}, "m."};
  CHECK_EQ(*PrintSnippet(Emit::kPytorch, of), Golden("pytorch_frozen.py"));
  CHECK_EQ(*PrintSnippet(Emit::kHf, of), Golden("hf_frozen.py"));
  CHECK_EQ(*PrintSnippet(Emit::kLightning, of), Golden("lightning_frozen.py"));
  CHECK_EQ(*PrintSnippet(Emit::kKeras, of), Golden("keras_frozen.py"));
  const char* const remark = "the plan trains a part of the model: model = freeze(model) of --emit pytorch";
  CHECK(PrintSnippet(Emit::kAccelerate, of)->find(std::string("# ") + remark) != std::string::npos);
  CHECK(PrintSnippet(Emit::kDeepspeed, of)->find(std::string("\"_comment\": \"") + remark) != std::string::npos);
  CHECK(PrintSnippet(Emit::kPytorchSac, of)->find("    freeze(model)\n") != std::string::npos);
}

TEST_CASE("the optimizer's constructor has what the spec says") {
  struct Row {
    Optimizer optimizer;
    OptimizerImpl impl;
    const char* line;
  };
  constexpr Row kRows[] = {
      {Optimizer::kSgdNesterov, OptimizerImpl::kForeach,
       "torch.optim.SGD(parameters, **{**dict(foreach=True, momentum=0.9, nesterov=True, weight_decay=0.01), "
       "**options})"},
      {Optimizer::kSgdMomentum, OptimizerImpl::kForLoop,
       "torch.optim.SGD(parameters, **{**dict(foreach=False, momentum=0.9, weight_decay=0.01), **options})"},
      {Optimizer::kAdamAmsgrad, OptimizerImpl::kFused,
       "torch.optim.Adam(parameters, **{**dict(fused=True, amsgrad=True, weight_decay=0.01), **options})"},
      {Optimizer::kAdam8bit, OptimizerImpl::kForLoop,
       "    import bitsandbytes\n\n    return bitsandbytes.optim.Adam8bit(parameters, **{**dict(weight_decay=0.01), "
       "**options})"},
  };
  for (const Row& row : kRows) {
    Planned planned = Example();
    planned.spec.optimizer = row.optimizer;
    planned.plan.optimizer_impl = row.impl;
    const Result<std::string> snippet = PrintSnippet(Emit::kPytorch, planned.Of());
    REQUIRE(snippet.ok());
    CHECK_MESSAGE(snippet->find(row.line) != std::string::npos, *snippet);
  }
  Planned muon = Example();
  muon.spec.optimizer = Optimizer::kMuon;
  CHECK_FALSE(PrintSnippet(Emit::kPytorch, muon.Of()).ok());
}

// The code without the text of its strings and comments: what a program is to Python. Nothing where a string does not
// end.
std::string Skeleton(const std::string& code) {
  std::string kept;
  for (size_t at = 0; at < code.size();) {
    const std::string quotes = code.compare(at, 3, "\"\"\"") == 0 ? "\"\"\"" : code[at] == '"' ? "\"" : "";
    if (quotes.empty() && code[at] != '#') {
      kept += code[at++];
      continue;
    }
    kept += quotes.empty() ? "#" : quotes;
    at += quotes.empty() ? 1 : quotes.size();
    const std::string end = quotes.empty() ? "\n" : quotes;
    while (at < code.size() && code.compare(at, end.size(), end) != 0) {
      if (!quotes.empty() && code[at] == '\\') ++at;
      if (quotes == "\"" && code[at] == '\n') return "";
      ++at;
    }
    if (at >= code.size()) return quotes.empty() ? kept : "";
    if (quotes.empty()) continue;
    kept += quotes;
    at += quotes.size();
  }
  return kept;
}

TEST_CASE("names of files, modules and cards never become code") {
  const std::vector<std::string> names = {
      "a\"\"\"\nimport os\nos.system(\"touch /tmp/x\")\n\"\"\".onnx",
      "a\"\"\".onnx",
      "a\\\"\"\"b\\",
      "ends in a backslash\\",
      "\\\\\"",
      "a\nimport os",
      "a\r\nimport os",
      "a\x0c"
      "b",
      "#\n#",
      "a\xe2\x80\xa8import os",
      "a\xc2\x85import os",
      std::string("a\0b", 3),
      "\xff\xfe",
      "$(touch /tmp/x)`touch /tmp/x`",
      "': \"!!python/object",
  };
  for (const Emit emit : {Emit::kPytorch, Emit::kPytorchSac, Emit::kHf, Emit::kAccelerate, Emit::kLightning,
                          Emit::kKeras, Emit::kEnv, Emit::kSft, Emit::kFsdp2, Emit::kAxolotl}) {
    Planned tame = Example();
    if (emit == Emit::kPytorchSac) tame.plan.saved = {{"m.h.1", "aten.mm.default", 2}};
    SnippetOf plain = tame.Of();
    plain.finetuned = NamedLlama();
    const std::string skeleton = Skeleton(*PrintSnippet(emit, plain));
    REQUIRE(!skeleton.empty());
    for (const std::string& name : names) {
      CAPTURE(name);
      Planned hostile = tame;
      hostile.plan.checkpoint = {name, name + "b"};
      for (SavedCall& call : hostile.plan.saved) call = {name, name, call.occurrence};
      SnippetOf of{hostile.plan, hostile.spec, name, name, Bytes::Of(4000), "expandable_segments:True"};
      of.finetuned = Finetuned{name, "LlamaForCausalLM"};
      const std::string snippet = *PrintSnippet(emit, of);
      CHECK_EQ(Skeleton(snippet), skeleton);
      for (const char* line_break : {"\r", "\x0c", "\xc2\x85", "\xe2\x80\xa8"})
        CHECK(snippet.find(line_break) == snippet.npos);
    }
  }
  CHECK_EQ(Skeleton("x = \"a\\\"b\"  # c\n"), "x = \"\"  #\n");
  CHECK_EQ(Skeleton("x = \"a\nb\""), "");
  const Planned planned = Example();
  const auto env = [&](const char* conf) {
    const std::string text =
        *PrintSnippet(Emit::kEnv, {planned.plan, planned.spec, "net.onnx", "Tesla T4", Bytes::Of(4000), conf});
    return text.substr(text.find('\n') + 1);
  };
  CHECK_EQ(env("a:b,c:[1:2]"), "export PYTORCH_CUDA_ALLOC_CONF='a:b,c:[1:2]'\n");
  CHECK_EQ(env("$(touch x)'"), "export PYTORCH_CUDA_ALLOC_CONF='$(touch x)'\\'''\n");
}

TEST_CASE("text in Python, in comments and in the shell") {
  CHECK_EQ(InPython("layer1.0"), "\"layer1.0\"");
  CHECK_EQ(InPython("a\"b\\c\nd"), "\"a\\\"b\\\\c\\x0ad\"");
  CHECK_EQ(InDocstring("\"\"\""), "\\\"\\\"\\\"");
  CHECK_EQ(InComment("a\nimport os"), "a\\x0aimport os");
  CHECK_EQ(InShell("unet.onnx"), "unet.onnx");
  CHECK_EQ(InShell("it's"), "'it'\\''s'");
  CHECK_EQ(InShell(""), "''");
}

TEST_CASE("names of snippets") {
  CHECK(*ParseEmit("deepspeed") == Emit::kDeepspeed);
  CHECK_EQ(ParseEmit("pytorh").error().hint, "did you mean pytorch?");
}

}  // namespace
}  // namespace vramplan
