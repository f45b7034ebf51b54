#include <map>
#include <set>

#include "planner/report/snippets/snippets.h"
#include "planner/report/writing/numbers.h"
#include "planner/report/writing/quoting.h"

namespace vramplan {
namespace {

// How Python makes an optimizer: the module to import, the class, options that its name stands for.
struct Constructor {
  Optimizer optimizer;
  const char* import;
  const char* name;
  const char* options = "";
};
constexpr Constructor kConstructors[] = {
    {Optimizer::kSgd, "torch", "torch.optim.SGD"},
    {Optimizer::kSgdMomentum, "torch", "torch.optim.SGD", "momentum"},
    {Optimizer::kSgdNesterov, "torch", "torch.optim.SGD", "momentum, nesterov=True"},
    {Optimizer::kAdam, "torch", "torch.optim.Adam"},
    {Optimizer::kAdamW, "torch", "torch.optim.AdamW"},
    {Optimizer::kAdamAmsgrad, "torch", "torch.optim.Adam", "amsgrad=True"},
    {Optimizer::kAdamWAmsgrad, "torch", "torch.optim.AdamW", "amsgrad=True"},
    {Optimizer::kRmsprop, "torch", "torch.optim.RMSprop"},
    {Optimizer::kRmspropMomentum, "torch", "torch.optim.RMSprop", "momentum"},
    {Optimizer::kRmspropCentered, "torch", "torch.optim.RMSprop", "centered=True"},
    {Optimizer::kRmspropCenteredMomentum, "torch", "torch.optim.RMSprop", "momentum, centered=True"},
    {Optimizer::kAdagrad, "torch", "torch.optim.Adagrad"},
    {Optimizer::kAdadelta, "torch", "torch.optim.Adadelta"},
    {Optimizer::kNadam, "torch", "torch.optim.NAdam"},
    {Optimizer::kRadam, "torch", "torch.optim.RAdam"},
    {Optimizer::kAdamax, "torch", "torch.optim.Adamax"},
    {Optimizer::kAdafactor, "torch", "torch.optim.Adafactor"},
    {Optimizer::kAdafactorHf, "transformers.optimization", "transformers.optimization.Adafactor"},
    {Optimizer::kLion, "lion_pytorch", "lion_pytorch.Lion"},
    {Optimizer::kLamb, "timm.optim", "timm.optim.Lamb"},
    {Optimizer::kAdam8bit, "bitsandbytes", "bitsandbytes.optim.Adam8bit"},
    {Optimizer::kAdamW8bit, "bitsandbytes", "bitsandbytes.optim.AdamW8bit"},
    {Optimizer::kLion8bit, "bitsandbytes", "bitsandbytes.optim.Lion8bit"},
};

// "fused=True, weight_decay=0.01"
std::string OptionsOf(const Constructor& constructor, const SnippetOf& of) {
  std::string options;
  const auto add = [&](const std::string& option) { options += (options.empty() ? "" : ", ") + option; };
  if (std::string_view(constructor.import) == "torch" && of.spec.optimizer != Optimizer::kAdafactor) {
    if (of.plan.optimizer_impl == OptimizerImpl::kFused) add("fused=True");
    if (of.plan.optimizer_impl == OptimizerImpl::kForeach) add("foreach=True");
    if (of.plan.optimizer_impl == OptimizerImpl::kForLoop) add("foreach=False");
  }
  std::string_view own = constructor.options;
  if (own.starts_with("momentum")) {
    add("momentum=" + NumberText(of.spec.momentum));
    own.remove_prefix(own.size() > 8 ? 10 : 8);
  }
  if (!own.empty()) add(std::string(own));
  add("weight_decay=" + NumberText(of.spec.weight_decay));
  return options;
}

std::string PathsInPython(const std::vector<std::string>& paths) {
  if (paths.empty()) return "[]";
  std::string list = "[";
  for (const std::string& path : paths) list += "\n    " + InPython(path) + ",";
  return list + "\n]";
}

// What the code needs beside torch, in the order of the language's own style.
constexpr const char* kAround = R"(

def autocast():
    """Around the forward and the loss."""
    return AUTOCAST


def optimizer(parameters, **options):
    """The optimizer of the plan; give the learning rate as lr=..."""
IMPORT    return OPTIMIZER


)";

// Each module that the plan names runs again by itself.
constexpr const char* kPrepareModules = R"(def _find(modules, path):
    # The file may name modules with the path of a wrapper in front.
    names = path.split(".")
    for first in range(len(names)):
        name = ".".join(names[first:])
        if name in modules:
            return modules[name]
    return None


@contextlib.contextmanager
def _statistics_held(norms):
    # The first forward has updated the running statistics; the second must not.
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = 0.0
    try:
        yield
    finally:
        for norm, momentum in zip(norms, momenta):
            norm.momentum = momentum


POLICYdef _checkpointed(RUN, *args, **kwargs):
    # A list is copied: DenseNet adds to it later, and the second forward must see what the first one saw.
    args = [list(a) if isinstance(a, list) else a for a in args]
    return torch.utils.checkpoint.checkpoint(
        run, *args, use_reentrant=False, context_fn=CONTEXTS, **kwargs)


def _wrap(MODULE):
    norms = [m for m in module.modules()
             if isinstance(m, torch.nn.modules.batchnorm._BatchNorm) and m.momentum is not None]
    module.forward = functools.partial(_checkpointed, module.forward, norms, CALLS)


def prepare(model):
    """PREPARES"""
FREEZE    modules = dict(model.named_modules())
    found = [_find(modules, path) for path in CHECKPOINT]
    missing = [path for path, module in zip(CHECKPOINT, found) if module is None]
    if missing:
        raise KeyError("the model has no module " + ", ".join(missing))
    if len({id(module) for module in found}) != len(found):
        raise KeyError("the model is not the one of the plan: its modules do not have these names: " + ", ".join(CHECKPOINT))
CACHE    LOOP
    return model
)";

// transformers keeps keys and values in training, too.
constexpr const char* kWithoutCache = R"(    for module in model.modules():
        if getattr(getattr(module, "config", None), "use_cache", False):
            module.config.use_cache = False  # what runs again would add to the key/value cache again
)";

// Every layer does, by the switch that the library has for it.
constexpr const char* kPrepareEvery = R"(def prepare(model):
    """PREPARES"""
FREEZE    SWITCH
    return model
)";

std::string SwitchOf(const Finetuned& finetuned) {
  if (finetuned.denoiser) return "model.enable_gradient_checkpointing()";
  return std::string("model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={\"use_reentrant\": False})") +
         (finetuned.lora ? "\n    model.enable_input_require_grads()  # as peft does where the base has checkpoints"
                         : "");
}

// torch.utils.checkpoint.create_selective_checkpoint_contexts: the policy sees operators, not where they stand, so that
// it counts them, in the forward and again.
constexpr const char* kPolicy = R"(def _policy(saved, counts, context, op, *args, **kwargs):
    # The number of this call, of its operator, within one call of the module.
    seen = counts[context.is_recompute]
    number = seen[str(op)] = seen.get(str(op), -1) + 1
    kept = number in saved.get(str(op), ())
    policies = torch.utils.checkpoint.CheckpointPolicy
    return policies.MUST_SAVE if kept else policies.PREFER_RECOMPUTE


@contextlib.contextmanager
def _both(first, second):
    with first, second:
        yield


def _contexts(norms, saved):
    forward, again = contextlib.nullcontext(), contextlib.nullcontext()
    if saved:
        forward, again = torch.utils.checkpoint.create_selective_checkpoint_contexts(
            functools.partial(_policy, saved, ({}, {})))
    return forward, _both(again, _statistics_held(norms))


)";

// {"layer1.0": {"aten.convolution.default": {0, 2}}}
std::string SavedInPython(const std::vector<SavedCall>& calls) {
  std::map<std::string, std::map<std::string, std::set<int>>> modules;
  for (const SavedCall& call : calls) modules[call.module][call.op].insert(call.occurrence);
  std::string text = "{";
  for (const auto& [module, operators] : modules) {
    text += "\n    " + InPython(module) + ": {";
    const char* comma = "";
    for (const auto& [op, numbers] : operators) {
      text += comma + InPython(op) + ": {";
      for (const int number : numbers) text += (number == *numbers.begin() ? "" : ", ") + std::to_string(number);
      text += "}";
      comma = ", ";
    }
    text += "},";
  }
  return text + (calls.empty() ? "}" : "\n}");
}

void Replace(std::string* text, const std::string& what, const std::string& with) {
  if (const size_t at = text->find(what); at != std::string::npos) text->replace(at, what.size(), with);
}

}  // namespace

Result<std::string> PytorchModule(const SnippetOf& of) {
  const Plan& plan = of.plan;
  const Constructor* constructor = nullptr;
  for (const Constructor& row : kConstructors) {
    if (row.optimizer == of.spec.optimizer) constructor = &row;
  }
  if (constructor == nullptr) {
    return Error{ErrorCode::kUsage, "--emit",
                 "pytorch has no single constructor for optimizer " + std::string(Name(of.spec.optimizer)),
                 "type --optimizer adamw"};
  }
  const bool fp16 = plan.precision == Precision::kAmpFp16, bf16 = plan.precision == Precision::kAmpBf16;
  const bool partly = !of.trained.patterns.empty();
  const bool every = of.finetuned && of.finetuned->every_layer && plan.saved.empty();
  const Levels& peak = plan.peak.peak;
  std::string text = "\"\"\"" + InDocstring(of.file) + " at batch " + std::to_string(plan.batch) + " on " +
                     InDocstring(of.device) +
                     ", by vramplan.\n\n"
                     "    model = prepare(model.cuda())\n"
                     "    step = optimizer(" +
                     (partly ? "trained(model)" : "model.parameters()") +
                     ", lr=...)\n"
                     "    scaler = torch.amp.GradScaler(\"cuda\", enabled=SCALER)\n"
                     "    for ACCUMULATE batches of BATCH samples:\n"
                     "        with autocast():\n"
                     "            loss = criterion(model(x), y) / ACCUMULATE\n"
                     "        scaler.scale(loss).backward()\n"
                     "    scaler.step(step), scaler.update(), step.zero_grad()\n\"\"\"\n";
  text += LoadedRemark(of);
  text += std::string("import contextlib\n") + (partly ? "import fnmatch\n" : "") +
          (every ? "\nimport torch\n\n" : "import functools\n\nimport torch\nimport torch.utils.checkpoint\n\n");
  text += "BATCH = " + std::to_string(plan.batch) + "\nACCUMULATE = " + std::to_string(plan.accumulate) +
          "\nPRECISION = " + InPython(std::string(Name(plan.precision))) + "\nSCALER = " + (fp16 ? "True" : "False") +
          (every ? "" : "\nCHECKPOINT = " + PathsInPython(plan.checkpoint)) +
          (plan.saved.empty() ? ""
                              : "\n# Of those: operator calls whose results are kept, by number.\nSAVED = " +
                                    SavedInPython(plan.saved)) +
          "\n" + TrainedInPython(of.trained) +
          "# Bytes at the peak of a step: the first three as torch.cuda.memory_stats() counts them.\nPREDICTED = {" +
          "\"requested\": " + std::to_string(peak.requested.count()) +
          ", \"allocated\": " + std::to_string(peak.allocated.count()) +
          ", \"reserved\": " + std::to_string(peak.reserved.count()) +
          ", \"device\": " + std::to_string(of.needs.count()) + "}\n";
  std::string code =
      (partly ? "\n" : "") + FreezeInPython(of.trained) + kAround + (every ? kPrepareEvery : kPrepareModules);
  Replace(&code, "PREPARES",
          std::string(partly ? "Freezes what the plan does not train, checkpoints " : "Checkpoints ") +
              (every    ? "every layer"
               : partly ? "its modules"
                        : "the modules of the plan") +
              " in place and returns the model.");
  if (every) Replace(&code, "SWITCH", SwitchOf(*of.finetuned));
  Replace(&code, "FREEZE", partly ? "    freeze(model)\n" : "");
  Replace(&code, "AUTOCAST",
          fp16   ? "torch.autocast(\"cuda\", dtype=torch.float16)"
          : bf16 ? "torch.autocast(\"cuda\", dtype=torch.bfloat16)"
                 : "contextlib.nullcontext()");
  Replace(&code, "CACHE", plan.checkpoint.empty() ? "" : kWithoutCache);
  const bool selective = !plan.saved.empty();
  Replace(&code, "POLICY", selective ? kPolicy : "");
  Replace(&code, "RUN", selective ? "run, norms, saved" : "run, norms");
  Replace(&code, "CONTEXTS",
          selective ? "functools.partial(_contexts, norms, saved)"
                    : "lambda: (contextlib.nullcontext(), _statistics_held(norms))");
  Replace(&code, "MODULE", selective ? "module, saved" : "module");
  Replace(&code, ", CALLS", selective ? ", saved" : "");
  Replace(&code, "LOOP",
          selective ? "for path, module in zip(CHECKPOINT, found):\n        _wrap(module, SAVED.get(path, {}))"
                    : "for module in found:\n        _wrap(module)");
  const std::string import = constructor->import;
  Replace(&code, "IMPORT", import == "torch" ? "" : "    import " + import + "\n\n");
  Replace(&code, "OPTIMIZER",
          std::string(constructor->name) + "(parameters, **{**dict(" + OptionsOf(*constructor, of) + "), **options})");
  return text + code;
}

}  // namespace vramplan
