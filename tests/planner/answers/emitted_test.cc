// `vramplan fit --emit`: the step that was asked about, as the configuration that applies it.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/command_line.h"

namespace vramplan::testing {
namespace {

TEST_CASE("fit --emit: the step as asked, at its batch or the safe one") {
  const struct {
    const char* line;
    const char* says;
  } rows[] = {
      {"--gpu t4 --batch 8 --accumulate 4", "per_device_train_batch_size=8,\n    gradient_accumulation_steps=4,"},
      {"--gpu t4 --batch 8 --precision amp-fp16", "    fp16=True,\n"},
      {"--gpu t4 --batch 8", "    optim=\"adamw_torch\",\n"},
  };
  const std::string fit = "fit MODELS/resnet50.onnx --optimizer adamw --emit hf ";
  for (const auto& row : rows) {
    CAPTURE(row.line);
    const Said said = Do(fit + row.line);
    CHECK(said.exit_code == 0);
    CHECK(said.out.find(row.says) != std::string::npos);
  }
  const std::string whole = Do("fit MODELS/resnet50.onnx --optimizer adamw --gpu t4").FirstLine();
  const std::string safe = whole.substr(whole.find("batch "), whole.find(" is safe") - whole.find("batch "));
  CHECK(Says(Do(fit + "--gpu t4").out, "resnet50.onnx at " + safe + " on Tesla T4"));
  CHECK(Do("fit MODELS/resnet50.onnx --gpu t4 --batch 8 --checkpoint layer1.0 --emit pytorch")
            .out.find("CHECKPOINT = [\n    \"layer1.0\",\n]") != std::string::npos);
}

TEST_CASE("fit --emit sft: weights that autocast runs in halves are loaded so") {
  const std::string fit = "fit llama-3.2-1b --optimizer adamw --gpu a100-80gb --precision amp-bf16 --batch 1 --emit ";
  CHECK(Says(Do(fit + "sft --weights bf16").out, "model_init_kwargs={\"dtype\": \"bfloat16\"},"));
  CHECK(!Says(Do(fit + "sft").out, "model_init_kwargs"));
  CHECK(!Says(Do(fit + "axolotl --weights bf16").out, "takes less than this plan"));
  CHECK(Says(Do(fit + "axolotl").out, "takes less than this plan"));
}

TEST_CASE("fit --emit: libraries that have AdamW alone get it where no optimizer was named") {
  CHECK(Says(Do("fit MODELS/mlp.onnx --gpu t4 --emit hf").out, "optim=\"adamw_torch\""));
  CHECK(Says(Do("fit MODELS/mlp.onnx --gpu t4 --emit hf --optimizer sgd").out, "optim=\"sgd\""));
}

TEST_CASE("fit --emit: what has no configuration") {
  const std::string fit = "fit MODELS/mlp.onnx --emit pytorch ";
  CHECK(Do(fit + "--gpu all").err ==
        "vramplan: --emit: is for one card, and --gpu all asks about many (hint: name one card)\n");
  CHECK(Says(Do(fit + "--gpu t4 --mode infer").err,
             "--emit: writes the configuration of a training (hint: leave out --mode)"));
  CHECK(Says(Do("fit MODELS/mlp.onnx --gpu t4 --optimizer adam --emit hf").err, "type --optimizer adamw"));
  // Nothing to apply: the answer says why, beside the file that the snippet may be on its way into.
  const Said full = Do("fit MODELS/resnet50.onnx --batch 4096 --gpu t4 --emit pytorch");
  CHECK(full.exit_code == 3);
  CHECK(full.out.empty());
  CHECK(Says(full.err, "does not fit on Tesla T4"));
}

}  // namespace
}  // namespace vramplan::testing
