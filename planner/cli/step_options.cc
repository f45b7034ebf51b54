// Options about the model, the training loop, and what a file does not say.
#include <algorithm>
#include <string>

#include "graph/architectures/named.h"
#include "planner/cli/option_row.h"
#include "planner/cli/settings.h"
#include "planner/report/writing/numbers.h"
#include "planner/spec/nearest.h"

namespace vramplan {
namespace {

using namespace verbs;  // NOLINT(google-build-using-namespace): the columns of the table below
using enum OptionGroup;

template <auto last>
std::vector<std::string> NamesUpTo() {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) names.emplace_back(Name(static_cast<decltype(last)>(i)));
  return names;
}

// The last that matches decides, so the two options keep the order of the line.
Status ReadTrained(const Typed& typed, Options* options) {
  options->trained.clear();
  for (const TypedOption& one : typed.line)
    if (one.flag == "--trainable" || one.flag == "--frozen")
      options->trained.push_back({one.value, one.flag == "--trainable"});
  return Done();
}

// auto and fp8 are vLLM's. The others are cache_implementation and backend of generate() (transformers 5.23,
// cache_utils.py: StaticCache, QuantizedCache), whose types are no setting of the answer.
Status ReadCacheType(const Typed& typed, Options* options) {
  const std::string_view type = typed.text();
  if (type == "static")
    return Wrong("--kv",
                 "generate() allocates a static cache for prompt and answer together, before it reads the prompt",
                 "leave --kv out, and type --mode serve --dim sequence=N with N tokens for both; it is for "
                 "disable_compile=True");
  if (type == "int4" || type == "int2" || type == "quantized")
    return Wrong(
        "--kv",
        "how generate() packs its cache is not modelled: QuantizedCache packs each layer's keys and values, and "
        "unpacks them whole for each token",
        "leave it out: the answer is then for an unpacked cache");
  const Result<bool> fp8 = IsSecond(typed, "auto", "fp8");
  if (!fp8.ok()) return fp8.error();
  options->fp8_cache = *fp8;
  return Done();
}

// Nothing is given: what is trained is assumed, or the file says it.
void ShowTrainable(SettingsRows* s) {
  const ModelFacts& model = s->head.model;
  if (!s->Trains() || !s->options.trained.empty() || (model.frozen > 0 && !model.trained_known)) return;
  SpecRow& row = s->Name(model.frozen == 0 ? "*" : "as in the file");
  row.given = model.trained_known;
  if (!model.trained_known) {
    row.phrase = "every parameter trained";
    const bool says_checkpoints =
        model.checkpoints_known || !s->spec.checkpoint.empty() || s->options.verb == Verb::kPlan;
    if (!says_checkpoints) row.phrase += ", nothing checkpointed";
  } else if (s->options.named != nullptr) {
    row.phrase = s->options.lora ? "adapters trained" : "every parameter trained";
  } else {
    row.phrase = model.frozen == 0 ? "every parameter trained (as the file says)" : "trained what the file says";
  }
}

// What the file cannot say, and what is taken for it, without a size.
void ShowUnsaid(SettingsRows* s) {
  const ModelFacts& model = s->head.model;
  const auto none = [s](const char* name, const char* phrase) {
    SpecRow& row = s->Also(name, "none");
    row.given = false;
    row.phrase = phrase;
  };
  if (s->Trains() && model.MayLackDropouts() && !s->spec.given.contains("assume-dropout"))
    none("dropouts-left-out", "no dropout");
  if (model.exported != (s->Trains() ? ExportedMode::kTraining : ExportedMode::kEvaluation))
    none("layers-of-one-mode", "train() and eval() run the same layers");
  if (model.unread_left_out) none("unread-parameters", "no parameter or buffer that forward() never reads");
}

// A denoiser is not all that its script has: what encodes pictures and words stays on the card unless their results are
// kept in its place.
void SayWhatIsBeside(SettingsRows* s) {
  if (s->options.named == nullptr || !s->options.named->templates.OfDiffusers()) return;
  if (s->spec.around.resident > Bytes()) return;  // they are in it, or are told not to be there
  std::string names;
  Bytes all;
  for (const auto& [name, parameters] : s->options.named->beside) {
    constexpr int64_t kBytesInFp16 = 2;
    const Bytes bytes = Bytes::Of(parameters) * kBytesInFp16;
    names += (names.empty() ? "no " : ", no ") + name + " (" + ToString(bytes) + " in fp16)";
    all += bytes;
  }
  SpecRow& row = s->Also("beside", "none");
  row.given = false;
  const int64_t mib = all.count() / Bytes::MiB(1).count() + 1;
  row.phrase = (names.empty() ? "no VAE, no text encoder" : names) + " on the card: --resident " +
               (names.empty() ? "SIZE" : std::to_string(mib) + "MiB") + " counts them";
}

// Gemma 3's tower for pictures, where words alone are given.
void SayWhatIsIdle(SettingsRows* s) {
  if (s->options.named == nullptr) return;
  for (const Template::Stack& stack : s->options.named->templates.stacks) {
    if (stack.runs) continue;
    SpecRow& row = s->Also("inputs", "words");
    row.given = false;
    row.phrase = "words alone (" + stack.path + " are loaded and do not run)";
  }
}

void SayWhatIsDequantized(SettingsRows* s) {
  if (s->options.named == nullptr || !s->options.named->dequantized) return;
  SpecRow& row = s->Also("mxfp4", "dequantized");
  row.given = false;
  row.phrase = "MXFP4 weights loaded dequantized (Mxfp4Config(dequantize=True))";
}

// Of sequences of one length transformers drops the mask; a mask makes another kernel of attention run, and keys and values whole
// for each head.
void SayWhetherPadded(SettingsRows* s) {
  if (s->options.named == nullptr || s->spec.mode == Mode::kServe) return;
  const auto is_text = [](const Template::Length& length) { return length.name == "sequence"; };
  if (std::ranges::none_of(s->options.named->templates.lengths, is_text)) return;
  SpecRow& row = s->Also("padding", s->options.padded ? "padded" : "none");
  row.given = s->options.padded;
  row.phrase = s->options.padded ? "padded" : "no padding";
}

constexpr OptionRow kStepRows[] = {
    OptionRow{"--model", "FILE.onnx", "also measure what cuDNN takes for its convolutions [none]", Of({kCalibrate}),
              kModel, Text<&Options::model>},
    OptionRow{"--model", "FILE.onnx",
              "the model that the process trains or runs; its peak is predicted with the options of estimate [none]",
              Of({kWatch}), kModel, Text<&Options::model>}
        .First(),
    OptionRow{"--model", "FILE.onnx", "the model that was running; the message is compared with its step [none]",
              Of({kExplain}), kModel, Text<&Options::model>}
        .First(),
    OptionRow{"--model", "FILE.onnx", "the model that was running; its step is compared with the recorded one",
              Of({kCompare}), kModel, Text<&Options::model>}
        .First(),
    OptionRow{"--batch", "N", "samples in a (micro-)batch [1; fit also finds the largest, plan chooses]",
              kAway & ~Of({kExplain}), kModel,
              Into<&Options::batch, [](const Typed& t) { return Whole(t, 1, kMostSamples, "32"); }>}
        .First()
        .Shown([](SettingsRows* s) {
          s->Number(s->head.batch).given = s->head.batch_given;
          if (s->options.named == nullptr) return;
          const NamedModel& named = *s->options.named;
          SpecRow& row = s->Also("named", named.source);
          row.given = true;
          row.phrase = named.source + " (" + named.of_class + ", " + named.templates.made_with + ")";
        }),
    OptionRow{"--sequences", "N",
              "sequences that --mode serve reads at once: its batch [1; fit also finds the most]; --dim sequence=N is "
              "their length",
              Of({kFit, kEstimate, kSweep}), kModel,
              Into<&Options::batch, [](const Typed& t) { return Whole(t, 1, kMostSamples, "32"); }>},
    OptionRow{"--engine", "NAME",
              "what serves a named model: transformers (generate()), or vllm: whether vllm serve starts with --dim "
              "sequence=N as its --max-model-len, and what its cache holds. Add vLLM's settings like this: "
              "vllm,utilization=0.95,tokens=4096,seqs=64,eager (--gpu-memory-utilization, --max-num-batched-tokens, "
              "--max-num-seqs, --enforce-eager) [transformers]",
              Of({kFit}), kModel, Into<&Options::vllm, ParseEngine>}
        .Words([]() -> std::vector<std::string> {
          return {"transformers", "vllm"};
        })
        .Shown([](SettingsRows* s) {
          if (!s->options.vllm) return;
          const VllmOptions& vllm = *s->options.vllm;
          SpecRow& row = s->Name("vllm");
          row.phrase = "engine vllm " + std::string(kVllmVersion) + ", utilization " + NumberText(vllm.utilization);
          if (vllm.tokens) row.phrase += ", tokens " + std::to_string(*vllm.tokens);
          if (vllm.sequences) row.phrase += ", seqs " + std::to_string(*vllm.sequences);
          if (vllm.eager) row.phrase += ", eager";
        }),
    OptionRow{"--kv", "TYPE",
              "with --engine vllm: auto (as the weights) or fp8, which halves the cache (--kv-cache-dtype) [auto]",
              Of({kFit}), kModel, ReadCacheType}
        .Words([]() -> std::vector<std::string> {
          return {"auto", "fp8"};
        })
        .Shown([](SettingsRows* s) {
          if (s->options.vllm) s->Name(s->options.fp8_cache ? "fp8" : "auto");
        }),
    OptionRow{"--batch", "N", "samples in a (micro-)batch [found from the failed request in the message]",
              Of({kExplain}), kModel,
              Into<&Options::batch, [](const Typed& t) { return Whole(t, 1, kMostSamples, "32"); }>}
        .First(),
    OptionRow{"--batch", "N", "samples in a (micro-)batch [the largest that is predicted to fit]", Of({kValidate}),
              kModel, Into<&Options::batch, [](const Typed& t) { return Whole(t, 1, kMostSamples, "32"); }>}
        .First(),
    OptionRow{"--batch", "N", "samples in a (micro-)batch [1]", Of({kWatch}), kModel,
              Into<&Options::batch, [](const Typed& t) { return Whole(t, 1, kMostSamples, "32"); }>}
        .First(),
    OptionRow{"--batch", "N", "batch of the convolutions [1, 2, 4 ... 64]", Of({kCalibrate}), kModel,
              Into<&Options::batch, [](const Typed& t) { return Whole(t, 1, kMostSamples, "32"); }>}
        .First(),
    OptionRow{"--lora", "R",
              "train only LoRA adapters of rank R, as peft adds them to a named model. R may be 16; "
              "16,target=q_proj+v_proj; 16,target=all-linear,dropout=0.05; or 16,dora",
              kGraph, kModel, Into<&Options::lora, ParseLora>}
        .Of(kPyTorchAlone)
        .Shown([](SettingsRows* s) {
          if (!s->options.lora) return;
          const Lora& lora = *s->options.lora;
          std::string text = std::to_string(lora.rank);
          const std::vector<std::string>& targets =
              lora.targets.empty() ? s->options.named->templates.lora_targets : lora.targets;
          for (const std::string& target : targets) text += (&target == &targets.front() ? " on " : "+") + target;
          SpecRow& row = s->Name(text);
          if (lora.dropout > 0) row.text += " dropout " + NumberText(lora.dropout);
          if (lora.dora) row.text += " dora";
        }),
    OptionRow{"--quant", "TYPE",
              "pack the linear layers of a named model as bitsandbytes does: nf4; nf4,double (double quantization); "
              "fp4; or int8 (LLM.int8()). With --lora this is QLoRA: the other weights are in fp32, as "
              "prepare_model_for_kbit_training makes them; with --precision bf16 they stay in bf16",
              kGraph, kModel, Into<&Options::quant, ParseQuant>}
        .Of(kPyTorchAlone)
        .Words([]() -> std::vector<std::string> {
          return {"nf4", "nf4,double", "fp4", "int8"};
        })
        .Shown([](SettingsRows* s) {
          if (!s->options.quant) return;
          SpecRow& row = s->Name(s->options.quant->type + (s->options.quant->nested ? ",double" : ""));
          const DType others = TypeInRun(DType::kFloat32, s->options.spec.precision);
          if (!IsHalf(s->options.weights.value_or(others))) row.text += ", other weights in fp32";
        }),
    OptionRow{"--liger", "",
              "Liger's kernels in a named causal language model, as TrainingArguments(use_liger_kernel=True) puts "
              "them: norms, rotations, gated units, and a loss that never holds all logits",
              kGraph, kModel, Flag<&Options::liger>}
        .Of(kPyTorchAlone)
        .Shown([](SettingsRows* s) {
          if (s->options.liger) s->Name("on").phrase = "liger kernels";
        }),
    OptionRow{
        "--padded", "",
        "the sequences of a named model are of several lengths, padded to --dim sequence=N, and the attention mask "
        "says where, as data collators make it [all are of that length]",
        kGraph, kModel, Flag<&Options::padded>}
        .Of(kPyTorchAlone),
    OptionRow{"--dim", "NAME=N", "length of a free dimension of the file, such as sequence=128; repeatable", kBound,
              kModel, ReadDims}
        .Repeats()
        .First()
        .Shown([](SettingsRows* s) {
          for (const auto& [name, length] : s->head.usual_lengths) {
            SpecRow& row = s->Name(name + "=" + std::to_string(length));
            row.given = false;
            row.phrase = name + " " + std::to_string(length);
          }
          for (const auto& [name, length] : s->options.bind.dims) s->Name(name + "=" + std::to_string(length));
          SayWhetherPadded(s);
          SayWhatIsBeside(s);
          SayWhatIsIdle(s);
          SayWhatIsDequantized(s);
        }),
    OptionRow{"--input", "NAME=AxBxC", "shape of an input, batch included; repeatable", kBound, kModel, ReadInputs}
        .Repeats()
        .First(),
    OptionRow{"--image", "N|HxW", "height and width of the images, if the file leaves them free: 512, or 512x384",
              kBound, kModel, Into<&BindOptions::image, ParseImage>}
        .Shown([](SettingsRows* s) {
          const auto& image = s->options.bind.image;
          if (image) s->Name(std::to_string(image->height) + "x" + std::to_string(image->width));
        }),
    OptionRow{"--batch-dim", "INPUT:AXIS", "which axis is the batch [found by its name or place]", kBound, kModel,
              Text<&BindOptions::batch_dim>},
    OptionRow{"--mode", "MODE", "train, infer, eval (evaluation without no_grad) or, for a named model, serve [train]",
              kAsked, kModel, Into<&TrainingSpec::mode, ParseMode>}
        .Words(NamesUpTo<Mode::kServe>)
        .Shown([](SettingsRows* s) { s->Name(Name(s->spec.mode)); }),
    OptionRow{"--precision", "P", "fp64, fp32, tf32, amp-fp16, amp-bf16, fp16 or bf16 [fp32; plan chooses]", kStep,
              kModel, Into<&TrainingSpec::precision, ParsePrecision>}
        .First()
        .Words(NamesUpTo<Precision::kBf16>)
        .Shown([](SettingsRows* s) {
          SpecRow& row = s->Name(Name(s->spec.precision));
          if (!s->spec.precision_of_file) return;
          const bool denoises = s->options.named != nullptr && s->options.named->templates.OfDiffusers();
          if (denoises && s->options.lora && s->spec.precision == Precision::kAmpFp16)
            row.phrase = "precision amp-fp16 (frozen weights in fp16, adapters in fp32)";
          if (denoises && s->options.lora && s->spec.precision == Precision::kAmpBf16)
            row.phrase = "precision amp-bf16 (weights and adapters in bf16)";
          if (denoises) return;  // its config.json says none
          const bool asked = row.given, named = s->options.named != nullptr;
          row.given = true;
          if (!named || (!asked && !s->options.weights))
            row.phrase = "precision " + row.text + (named ? " (as its config.json says)" : " (as the file says)");
        }),
    OptionRow{"--weights", "TYPE",
              "bf16, fp16 or fp32: the type in which a named model is loaded [as --precision says]; --weights bf16 "
              "--precision amp-bf16 is a bf16 model under autocast, as TrainingArguments(bf16=True) runs what "
              "from_pretrained loads",
              kGraph, kModel, Into<&Options::weights, ParseWeights>}
        .Of(kPyTorchAlone)
        .Words([]() -> std::vector<std::string> {
          return {"bf16", "fp16", "fp32"};
        })
        .Shown([](SettingsRows* s) {
          if (s->options.weights) s->Name("in " + std::string(Name(*s->options.weights)));
        }),
    OptionRow{
        "--optimizer", "NAME",
        "none, sgd, sgd-momentum, sgd-nesterov, adam, adamw, adam-amsgrad, adamw-amsgrad, rmsprop, rmsprop-momentum, "
        "rmsprop-centered, rmsprop-centered-momentum, adagrad, adadelta, nadam, radam, adamax, adafactor, adafactor-hf "
        "(transformers), lion, lamb (timm), muon, adam-8bit, adamw-8bit or lion-8bit (bitsandbytes) [adam]",
        kStep, kLoop, Into<&TrainingSpec::optimizer, ParseOptimizer>}
        .First()
        .Words(NamesUpTo<Optimizer::kLion8bit>)
        .In(kTraining)
        .Shown([](SettingsRows* s) {
          if (!s->Trains()) return;
          SpecRow& row = s->Name(Name(s->spec.optimizer));
          if (!s->options.optimizer_of_file) return;
          row.given = true;
          row.phrase = "optimizer " + row.text + " (as the file says)";
        }),
    OptionRow{"--optimizer-impl", "IMPL", "foreach, fused or for-loop [the default of its library, mostly foreach]",
              kStep, kLoop, Into<&TrainingSpec::optimizer_impl, ParseOptimizerImpl>}
        .Words(NamesUpTo<OptimizerImpl::kForLoop>)
        .Of(kPyTorchAlone)
        .In(kTraining)
        .Shown([](SettingsRows* s) {
          if (s->Updates() && s->spec.framework.runtime == Runtime::kPyTorch) s->Name(Name(s->spec.optimizer_impl));
        }),
    OptionRow{"--weight-decay", "X", "weight decay of the optimizer [the default of its class: mostly 0; adamw: 0.01]",
              kStep, kLoop, Into<&TrainingSpec::weight_decay, RealOf>}
        .In(kTraining)
        .Shown([](SettingsRows* s) {
          if (s->Updates()) s->Real(s->spec.weight_decay);
        }),
    OptionRow{"--momentum", "X", "momentum of sgd and rmsprop [0; sgd-momentum, sgd-nesterov: 0.9]", kStep, kLoop,
              Into<&TrainingSpec::momentum, RealOf>}
        .In(kTraining)
        .Shown([](SettingsRows* s) {
          const Optimizer optimizer = s->spec.optimizer;
          if (s->Trains() && (optimizer == Optimizer::kSgdMomentum || optimizer == Optimizer::kSgdNesterov))
            s->Real(s->spec.momentum);
        }),
    OptionRow{"--accumulate", "N", "forwards and backwards before each optimizer step; the loss is divided by N [1]",
              kStep, kLoop,
              Into<&TrainingSpec::accumulate, [](const Typed& t) { return Whole(t, 1, kMostSamples, "4"); }>}
        .In(kTraining)
        .Shown([](SettingsRows* s) {
          if (s->Trains()) s->Number(s->spec.accumulate);
        }),
    OptionRow{"--clip-grad-norm", "X", "clip_grad_norm_ with this max_norm before the step; 0: not called [0]", kStep,
              kLoop, Into<&TrainingSpec::clip_grad_norm, RealOf>}
        .In(kTraining)
        .Shown([](SettingsRows* s) {
          if (s->Trains() && s->spec.clip_grad_norm > 0) s->Real(s->spec.clip_grad_norm);
        }),
    OptionRow{"--zero-grad", "WHERE",
              "end, start or after-forward: where optimizer.zero_grad() stands in the loop [end]", kStep, kLoop,
              Into<&TrainingSpec::zero_grad, ParseZeroGrad>}
        .In(kTraining)
        .Shown([](SettingsRows* s) {
          if (s->Trains()) s->Name(Name(s->spec.zero_grad));
        }),
    OptionRow{"--set-to-none", "WHEN", "on or off: what zero_grad does with the gradients [on]", kStep, kLoop,
              Into<&TrainingSpec::set_to_none, IsOn>}
        .In(kTraining)
        .Shown([](SettingsRows* s) {
          if (s->Trains() && !s->spec.set_to_none) s->Name("off");
        }),
    OptionRow{"--strategy", "NAME",
              "how the cards of --gpus share a named model: ddp (each has all of it), fsdp2 (fully_shard of each layer "
              "and of the model), zero1, zero2 or zero3 (DeepSpeed's stages, with its defaults) [none]",
              kGraph, kModel, Into<&TrainingSpec::strategy, ParseStrategy>}
        .Words(NamesUpTo<Strategy::kZero3>)
        .Of(kPyTorchAlone)
        .Shown([](SettingsRows* s) {
          if (s->Trains() && s->spec.strategy != Strategy::kNone) s->Name(Name(s->spec.strategy));
        }),
    OptionRow{"--gpus", "N", "cards that train together, one process each; the answer is about each of them [1]",
              kGraph, kModel, Into<&TrainingSpec::ranks, [](const Typed& t) { return Whole(t, 1, 1 << 16, "8"); }>}
        .Of(kPyTorchAlone)
        .Shown([](SettingsRows* s) {
          if (s->Trains() && s->spec.strategy != Strategy::kNone) s->Number(s->spec.ranks);
        }),
    OptionRow{"--ema", "KIND",
              "none, averaged-model (torch.optim.swa_utils), model-ema-v2 or model-ema-v3 (timm): an averaged copy of "
              "the weights [none]",
              kStep, kLoop, Into<&TrainingSpec::ema, ParseEma>}
        .Of(kTrainers)
        .In(kTraining)
        .Shown([](SettingsRows* s) {
          if (s->Trains() && s->spec.ema != Ema::kNone) s->Name(Name(s->spec.ema));
        }),
    OptionRow{"--loss", "LOSS",
              "auto, none, cross-entropy, cross-entropy-smoothed (label_smoothing), mse, l1, smooth-l1, huber, bce, "
              "bce-logits, nll, kl-div, kl-div-log-target, soft-margin, cosine-embedding or triplet-margin [auto: a "
              "scalar output is the loss; else cross-entropy, or bce-logits on one channel]",
              kStep, kLoop, Into<&TrainingSpec::loss, ParseLoss>}
        .Words(NamesUpTo<Loss::kTripletMargin>)
        .In(kTraining)
        .Shown([](SettingsRows* s) {
          if (!s->Trains()) return;
          SpecRow& row = s->Name(Name(s->spec.loss));
          if (s->spec.loss == Loss::kAuto && s->head.loss != Loss::kNone) row.text = Name(s->head.loss);
        }),
    OptionRow{"--loss-on", "N|NAME|all",
              "the output that the loss reads, by its position or name; all: the sum of one loss for each output [the "
              "first output that the loss fits]",
              kStep, kLoop, Text<&TrainingSpec::loss_on>}
        .In(kTraining)
        .Shown([](SettingsRows* s) {
          if (s->Trains() && !s->spec.loss_on.empty()) s->Name(s->spec.loss_on);
        }),
    OptionRow{"--trainable", "PATTERN",
              "train the parameters whose names match, such as 'layer4.*'; repeatable: the last matching --trainable "
              "or --frozen decides [everything is trained, except the base of adapters and copies such as a teacher]",
              kGraph, kModel, ReadTrained}
        .Repeats()
        .Of(kTrainers)
        .Shown(ShowTrainable),
    OptionRow{"--frozen", "PATTERN",
              "freeze the parameters whose names match (requires_grad_(False)); --frozen '*' --trainable 'fc.*' trains "
              "only fc; vramplan inspect FILE --dump parameters lists the names",
              kGraph, kModel, ReadTrained}
        .Repeats()
        .First()
        .Of(kTrainers)
        .Shown([](SettingsRows* s) {
          for (const TrainedPattern& pattern : s->options.trained)
            s->Also(pattern.trained ? "trainable" : "frozen", pattern.glob);
        }),
    OptionRow{"--assume-batchnorm", "WHEN",
              "on or off: put back the batch norms that an export folded into convolutions [on]", kStep, kUnknown,
              Into<&PutBack::batch_norms, IsOn>}
        .Of(kTrainers),
    OptionRow{
        "--assume-dropout", "P",
        "put back the dropouts of a transformer that an eval export lost, with this probability, such as 0.1 [none]",
        kStep, kUnknown, Into<&PutBack::dropout, RealOf>}
        .Of(kTrainers)
        .Shown(ShowUnsaid),
};

}  // namespace

std::span<const OptionRow> StepOptions() { return kStepRows; }

}  // namespace vramplan
