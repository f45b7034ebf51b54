
#include "planner/report/snippets/snippets.h"
#include "planner/report/writing/numbers.h"
#include "planner/report/writing/quoting.h"

namespace vramplan {
namespace {

// Classes of keras.optimizers, Keras 3; options that the name of ours stands for.
struct KerasOptimizer {
  Optimizer optimizer;
  const char* name;
  const char* options = "";
};
constexpr KerasOptimizer kOptimizers[] = {
    {Optimizer::kSgd, "SGD"},
    {Optimizer::kSgdMomentum, "SGD", "momentum"},
    {Optimizer::kSgdNesterov, "SGD", "nesterov"},
    {Optimizer::kAdam, "Adam"},
    {Optimizer::kAdamW, "AdamW"},
    {Optimizer::kAdamAmsgrad, "Adam", "amsgrad=True"},
    {Optimizer::kAdamWAmsgrad, "AdamW", "amsgrad=True"},
    {Optimizer::kRmsprop, "RMSprop"},
    {Optimizer::kAdagrad, "Adagrad"},
    {Optimizer::kAdadelta, "Adadelta"},
    {Optimizer::kAdamax, "Adamax"},
    {Optimizer::kNadam, "Nadam"},
    {Optimizer::kAdafactor, "Adafactor"},
    {Optimizer::kLion, "Lion"},
    {Optimizer::kLamb, "Lamb"},
};

const char* Policy(Precision precision) {
  switch (precision) {
    case Precision::kAmpFp16:
      return "mixed_float16";
    case Precision::kAmpBf16:
      return "mixed_bfloat16";
    case Precision::kFp16:
      return "float16";
    case Precision::kBf16:
      return "bfloat16";
    case Precision::kFp64:
      return "float64";
    case Precision::kFp32:
    case Precision::kTf32:
      break;
  }
  return "float32";
}

std::string KerasOptionsOf(const KerasOptimizer& row, const SnippetOf& of) {
  std::string options;
  const auto add = [&](const std::string& option) { options += (options.empty() ? "" : ", ") + option; };
  const std::string own = row.options;
  if (own == "momentum" || own == "nesterov") add("momentum=" + NumberText(of.spec.momentum));
  if (own == "nesterov") add("nesterov=True");
  if (own == "amsgrad=True") add(own);
  if (of.spec.weight_decay > 0) add("weight_decay=" + NumberText(of.spec.weight_decay));
  if (of.plan.accumulate > 1) add("gradient_accumulation_steps=ACCUMULATE");
  return options;
}

}  // namespace

Result<std::string> KerasModule(const SnippetOf& of) {
  const Plan& plan = of.plan;
  const KerasOptimizer* optimizer = nullptr;
  for (const KerasOptimizer& row : kOptimizers) {
    if (row.optimizer == of.spec.optimizer) optimizer = &row;
  }
  if (optimizer == nullptr) {
    return Error{ErrorCode::kUsage, "--emit",
                 "keras.optimizers has no class for optimizer " + std::string(Name(of.spec.optimizer)),
                 "type --optimizer adamw"};
  }
  std::string text =
      "\"\"\"" + InDocstring(of.file) + " at batch " + std::to_string(plan.batch) + " on " + InDocstring(of.device) +
      ", by vramplan, for Keras 3.\n\n"
      "    configure()\n"
      "    with rematerialisation():\n"
      "        model = ...\n"
      "    model.compile(optimizer=optimizer(learning_rate=...), loss=...)\n"
      "    model.fit(x, y, batch_size=BATCH)\n\n"
      "What Keras cannot be told, or does otherwise:\n"
      "- the plan was replayed with PyTorch's operators and allocator; TensorFlow, JAX and XLA allocate\n"
      "  otherwise, so that the batch is a place to start from and not a promise\n";
  if (plan.optimizer_impl == OptimizerImpl::kFused) text += "- a fused optimizer: there is no such switch\n";
  if (!plan.checkpoint.empty()) {
    text +=
        "- the modules to checkpoint are those of the file; layers are found by their own names, so write the\n"
        "  names of your layers into LAYERS\n";
  }
  if (!of.trained.patterns.empty()) {
    text +=
        "- the parameters that are trained have the names of the file; write those of your variables (variable.path\n"
        "  with dots) into TRAINED, and call freeze(model) before compile()\n";
  }
  if (!plan.saved.empty()) {
    text +=
        "- operator calls that are saved inside a layer: the layers below run again as a whole, which takes less\n"
        "  memory and more time than the plan\n";
  }
  text += std::string("\"\"\"\nimport contextlib\n") + (of.trained.patterns.empty() ? "" : "import fnmatch\n") +
          "\nimport keras\n\nBATCH = " + std::to_string(plan.batch) +
          "\nACCUMULATE = " + std::to_string(plan.accumulate) + "\nLAYERS = [";
  for (const std::string& path : plan.checkpoint) text += "\n    " + InPython(path) + ",";
  text += plan.checkpoint.empty() ? "]\n" : "\n]\n";
  text += TrainedInPython(of.trained);
  text += "\n\ndef configure():\n    \"\"\"Before the model is built.\"\"\"\n    keras.config.set_dtype_policy(\"" +
          std::string(Policy(plan.precision)) + "\")" +
          (plan.precision == Precision::kAmpFp16 ? "  # compile() scales the loss by itself\n" : "\n");
  text +=
      "\n\ndef rematerialisation():\n    \"\"\"Around the construction of the model.\"\"\"\n"
      "    if not LAYERS:\n        return contextlib.nullcontext()\n"
      "    return keras.RematScope(mode=\"list_of_layers\", layer_names=LAYERS)\n";
  text += FreezeInKeras(of.trained);
  text +=
      "\n\ndef optimizer(**options):\n    \"\"\"The optimizer of the plan; give learning_rate=...\"\"\"\n"
      "    return keras.optimizers." +
      std::string(optimizer->name) + "(**{**dict(" + KerasOptionsOf(*optimizer, of) + "), **options})\n";
  return text;
}

}  // namespace vramplan
