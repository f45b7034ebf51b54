#include <algorithm>

#include "planner/cli/options.h"

namespace vramplan {
namespace {

constexpr unsigned kEstimate = 1U << static_cast<unsigned>(Verb::kEstimate);
constexpr unsigned kFit = 1U << static_cast<unsigned>(Verb::kFit);
constexpr unsigned kInspect = 1U << static_cast<unsigned>(Verb::kInspect);
constexpr unsigned kGpus = 1U << static_cast<unsigned>(Verb::kGpus);
constexpr unsigned kTrace = 1U << static_cast<unsigned>(Verb::kTrace);
constexpr unsigned kReplay = 1U << static_cast<unsigned>(Verb::kReplay);
constexpr unsigned kSweep = 1U << static_cast<unsigned>(Verb::kSweep);
constexpr unsigned kDiff = 1U << static_cast<unsigned>(Verb::kDiff);
constexpr unsigned kRuntimes = kEstimate | kFit | kSweep | kDiff;  // what PyTorch's planner does not know
constexpr unsigned kModels = 1U << static_cast<unsigned>(Verb::kModels);
constexpr unsigned kDecide = 1U << static_cast<unsigned>(Verb::kPlan);
constexpr unsigned kSolve = 1U << static_cast<unsigned>(Verb::kSolve);
constexpr unsigned kCheck = 1U << static_cast<unsigned>(Verb::kCheck);
constexpr unsigned kProbe = 1U << static_cast<unsigned>(Verb::kProbe);
constexpr unsigned kCalibrate = 1U << static_cast<unsigned>(Verb::kCalibrate);
constexpr unsigned kValidate = 1U << static_cast<unsigned>(Verb::kValidate);
constexpr unsigned kWatch = 1U << static_cast<unsigned>(Verb::kWatch);
constexpr unsigned kExplain = 1U << static_cast<unsigned>(Verb::kExplain);
constexpr unsigned kRun = 1U << static_cast<unsigned>(Verb::kRun);
constexpr unsigned kCompare = 1U << static_cast<unsigned>(Verb::kCompare);
// What the plan decides or does not know.
constexpr unsigned kAsked = kEstimate | kFit | kTrace | kValidate | kWatch | kExplain | kCompare | kSweep | kDiff;
constexpr unsigned kPlan = kAsked | kDecide;      // verbs that lay out a step
constexpr unsigned kOnCard = kValidate | kWatch;  // and see it on a card of this machine
constexpr unsigned kAway = kPlan & ~kOnCard;      // and do not
constexpr unsigned kGraph = kPlan | kInspect;
constexpr unsigned kBound = kGraph | kCalibrate;  // verbs that read a graph
constexpr unsigned kAround = kEstimate | kFit | kDecide | kTrace | kExplain | kCompare | kSweep | kDiff;
constexpr unsigned kVerbose = kEstimate | kFit | kDecide | kDiff;
constexpr unsigned kDraws = kEstimate | kFit | kDecide | kExplain | kRun;
constexpr unsigned kAll = kGraph | kGpus | kModels | kReplay | kProbe;

using enum OptionGroup;

constexpr OptionRow kOptionRows[] = {
    {"--model", "FILE.onnx", "also measure what cuDNN takes for its convolutions [none]", kCalibrate, kModel},
    {"--over", "NAME=VALUES",
     "what to change, and its values: 1:256:x2 doubles, 16:128:+16 adds, a,b,c are those; NAME is batch, a free dim, "
     "or "
     "an option of estimate such as precision; repeatable: each with each",
     kSweep, kSearch, true},
    {"--batch", "N", "samples in a (micro-)batch [1; fit also searches the largest, plan chooses]", kAway & ~kExplain,
     kModel},
    {"--batch", "N", "samples in a (micro-)batch [the one whose step makes the request of the message]", kExplain,
     kModel},
    {"--batch", "N", "samples in a (micro-)batch [the largest that is predicted to fit]", kValidate, kModel},
    {"--batch", "N", "samples in a (micro-)batch [1]", kWatch, kModel},
    {"--batch", "N", "batch of the convolutions [1, 2, 4 ... 64]", kCalibrate, kModel},
    {"--dim", "NAME=N", "length of a free dimension of the file, such as sequence=128; repeatable", kBound, kModel,
     true},
    {"--input", "NAME=AxBxC", "shape of an input, batch included; repeatable", kBound, kModel, true},
    {"--image", "N|HxW", "height and width of the images, where the file leaves them free: 512, or 512x384", kBound,
     kModel},
    {"--batch-dim", "INPUT:AXIS", "which axis is the batch [found by its name or place]", kBound, kModel},
    {"--mode", "MODE", "train, infer, or eval: evaluation without no_grad [train]", kAsked, kModel},
    {"--precision", "P", "fp64, fp32, tf32, amp-fp16, amp-bf16, fp16 or bf16 [fp32; plan chooses]", kPlan, kModel},
    {"--optimizer", "NAME",
     "none, sgd, sgd-momentum, sgd-nesterov, adam, adamw, adam-amsgrad, adamw-amsgrad, rmsprop, rmsprop-momentum, "
     "rmsprop-centered, rmsprop-centered-momentum, adagrad, adadelta, nadam, radam, adamax, adafactor, adafactor-hf "
     "(transformers), lion, lamb (timm), muon, adam-8bit, adamw-8bit or lion-8bit (bitsandbytes) [adam]",
     kPlan, kLoop},
    {"--optimizer-impl", "IMPL", "foreach, fused or for-loop [as the optimizer's library chooses: mostly foreach]",
     kPlan, kLoop},
    {"--weight-decay", "X", "weight decay of the optimizer [the default of its class: mostly 0; adamw: 0.01]", kPlan,
     kLoop},
    {"--momentum", "X", "momentum of sgd and rmsprop [0; sgd-momentum, sgd-nesterov: 0.9]", kPlan, kLoop},
    {"--accumulate", "N", "forwards and backwards before each optimizer step, the loss divided by N [1]", kPlan, kLoop},
    {"--clip-grad-norm", "X", "clip_grad_norm_ with this max_norm before the step; 0: not called [0]", kPlan, kLoop},
    {"--zero-grad", "WHERE", "end, start or after-forward: where optimizer.zero_grad() stands in the loop [end]", kPlan,
     kLoop},
    {"--set-to-none", "WHEN", "on or off: what zero_grad does with the gradients [on]", kPlan, kLoop},
    {"--ema", "KIND",
     "none, averaged-model (torch.optim.swa_utils), model-ema-v2 or model-ema-v3 (timm): an averaged copy of the "
     "weights [none]",
     kPlan, kLoop},
    {"--loss", "LOSS",
     "auto, none, cross-entropy, cross-entropy-smoothed (label_smoothing), mse, l1, smooth-l1, huber, bce, bce-logits, "
     "nll, kl-div, kl-div-log-target, soft-margin, cosine-embedding or triplet-margin [auto: a scalar output is the "
     "loss; else cross-entropy, or "
     "bce-logits on one channel]",
     kPlan, kLoop},
    {"--loss-on", "N|NAME|all",
     "the output that the loss is of, by its place or name; all: the sum of a loss of each [the first that it fits]",
     kPlan, kLoop},
    {"--retain", "MODULE|NAME",
     "an output that the script keeps until the next one is made: of a module, an operator or a tensor; repeatable",
     kAround, kLoop, true},
    {"--resident", "SIZE", "data that the script keeps on the card, such as 2GiB [0]", kAround, kLoop},
    {"--keep-loss-graph", "",
     "the script sums losses without .item() (total += loss): with --mode eval each batch's graph stays", kAround,
     kLoop},
    {"--eval-batch", "N", "between two steps the model is evaluated at this batch, under no_grad [not at all]", kAround,
     kLoop},
    {"--second-model", "FILE.onnx",
     "a frozen model beside this one, such as a teacher: it runs under no_grad before the loss; --dim is for both",
     kAround, kModel},
    {"--gpu", "NAME",
     "a card of \"vramplan gpus\"; auto: this machine's card with the most free memory, minus what others hold now "
     "(auto:1 is card 1); fit and sweep also accept several, as t4,a10,l4, and all",
     kAway, kCard},
    {"--gpu", "auto:N",
     "which card of this machine [auto: the one with the most free memory]; with --dry-run also one of \"vramplan "
     "gpus\"",
     kValidate, kCard},
    {"--gpu", "auto:N",
     "which card of this machine [all of them; the report is about the one that the process uses most]", kWatch, kCard},
    {"--gpu", "auto:N", "which card of this machine [auto: the one with the most free memory]", kCalibrate, kCard},
    {"--model", "FILE.onnx",
     "the model that the process trains or runs; its peak is predicted with the options of estimate [none]", kWatch,
     kModel},
    {"--model", "FILE.onnx", "the model that was running; the message is compared with its step [none]", kExplain,
     kModel},
    {"--model", "FILE.onnx", "the model that was running; its step is laid beside the recorded one", kCompare, kModel},
    {"--command", "TEXT", "start this in the shell instead of naming a process; its stdout goes to stderr", kWatch,
     kScript},
    {"--interval", "S", "seconds between two samples [0.1]", kWatch, kScript},
    {"--seconds", "S", "watch for at most S seconds [until the process ends, or Ctrl-C]", kWatch, kScript},
    {"--save", "", "store the run's context in the card's profile", kWatch, kScript},
    {"--save", "",
     "store what the message says about the card (usable bytes, what lies outside PyTorch's allocator) as a profile, "
     "which --gpu auto and --profile use; with --gpu, which names the card",
     kExplain, kScript},
    {"--gpu", "NAME",
     "a card of \"vramplan gpus\"; auto: one like this machine's, less what others hold now [one that is never full]",
     kRun, kCard},
    {"--gpu-memory", "SIZE", "usable memory instead of the card's, such as 14.56GiB", kAway | kReplay | kRun, kCard},
    {"--gpu-memory", "SIZE", "with --dry-run: a card of this size", kValidate, kCard},
    {"--capability", "X.Y", "compute capability instead of the card's [7.5 without a card]", kPlan | kRun, kCard},
    {"--reserve", "SIZE", "memory to keep free for others [0]", kAway | kRun, kCard},
    {"--reserve", "SIZE", "memory that is always left to others [256MiB]", kValidate, kCard},
    {"--max-bytes", "SIZE", "the most memory to take for segments [all but the reserve]", kValidate, kCard},
    {"--dry-run", "",
     "only say what would be done: no card is touched, and with --gpu NAME or --gpu-memory none is needed", kValidate,
     kCard},
    {"--context", "SIZE", "CUDA context and loaded kernels [by the card's generation]", kPlan | kRun, kCard},
    {"--steps", "K", "end the script after so many optimizer steps [3]", kRun, kScript},
    {"--until-exit", "", "let the script end by itself", kRun, kScript},
    {"--seconds", "S", "end the script after so long, whatever it has done [no limit]", kRun, kScript},
    {"--largest", "NAME=LO:HI",
     "the largest number of this range with which the script runs on the card: {NAME} in the command stands for it, "
     "or, "
     "when it is not there, the environment variable NAME",
     kRun, kSearch},
    {"--largest-in", "FILE:KEY",
     "where the number of --largest stands instead: a key of a yaml or json file that the command names, as "
     "config.yaml:data.batch_size; the command is given a copy",
     kRun, kSearch},
    {"--write-back", "", "with --largest-in: write the largest number into FILE, and change nothing else in it", kRun,
     kSearch},
    {"--vary", "NAME=A,B,...", "one run for each of these values of {NAME}, as a table; repeatable: each with each",
     kRun, kSearch, true},
    {"--gpus", "N",
     "the script is one rank of so many: it runs alone, and what the other ranks would say is what it says; {gpus} in "
     "the command stands for N; N,N,... makes a table",
     kRun, kScript},
    {"--nodes", "M", "machines that share the cards of --gpus [1]", kRun, kScript},
    {"--rank", "R", "which of the ranks [0]", kRun, kScript},
    {"--all-ranks", "", "with --gpus, and torchrun or its like in the command: all of them run", kRun, kScript},
    {"--values", "zeros|host",
     "what is read from the card: zeros, or what the host computes of tensors up to 1 MiB that follow from known "
     "values "
     "alone [zeros]",
     kRun, kScript},
    {"--one-process", "", "with --gpus: one process that uses all of the cards (nn.DataParallel, device_map), no ranks",
     kRun, kScript},
    {"--try", "",
     "run it again with each change that may make it smaller: expandable segments, optimizers that update one "
     "parameter after the other, checkpointed layers, 8-bit Adam; the answer says what each really changed",
     kRun, kSearch},
    {"--real", "",
     "run it on this machine's card too, with the same hook, and print both beside each other; without --gpu the "
     "pretend card is like that one",
     kRun, kScript},
    {"--record", "FILE",
     "write every request of the run there, with its phase, module and line, for fit, plan, replay and trace "
     "--compare; "
     ".gz: gzipped",
     kRun, kScript},
    {"--profile", "FILE",
     "measurements of the card (vramplan.profile/1): context, rates and cuDNN's workspaces; without --gpu they also "
     "name the card [--gpu auto: the profile that calibrate stored]",
     kPlan, kCard},
    {"--framework", "NAME",
     "pytorch or pytorch@2.0 to pytorch@2.15 [the newest]; estimate and fit also take onnxruntime (CUDA, inference of "
     "the "
     "file as it is), tensorflow and jax (PyTorch's tensors as a stand-in, in a wide band)",
     kPlan, kFramework},
    {"--ort-arena", "STRATEGY",
     "onnxruntime's arena_extend_strategy: kNextPowerOfTwo or kSameAsRequested [kNextPowerOfTwo]", kRuntimes,
     kFramework},
    {"--gpu-mem-limit", "SIZE", "onnxruntime's gpu_mem_limit: the most that its arena takes [none]", kRuntimes,
     kFramework},
    {"--cudnn-conv-use-max-workspace", "0|1", "onnxruntime's option; 0: at most 32 MiB for each convolution [1]",
     kRuntimes, kFramework},
    {"--preallocate", "WHEN",
     "on or off: whether tensorflow and jax take their pool at the start (set_memory_growth, "
     "XLA_PYTHON_CLIENT_PREALLOCATE) [on]",
     kRuntimes, kFramework},
    {"--mem-fraction", "X",
     "share of the card that tensorflow (per_process_gpu_memory_fraction) or jax (XLA_CLIENT_MEM_FRACTION) may take "
     "[tensorflow: what is free, less a reserve; jax: 0.75]",
     kRuntimes, kFramework},
    {"--donate", "WHEN", "on or off: whether jax updates parameters and states in place (donate_argnums) [off]",
     kRuntimes, kFramework},
    {"--attention", "KIND", "auto, math, efficient or flash [auto: as PyTorch chooses]", kPlan, kFramework},
    {"--cudnn-workspace", "SIZE",
     "auto, or the most that a convolution or a recurrent network may take; 0: no workspaces and no reserves [auto: "
     "likely none for convolutions, with a band for what cuDNN may take]",
     kPlan, kFramework},
    {"--inplace", "WHEN", "auto, on or off: activations built with inplace=True [auto]", kPlan, kUnknown},
    {"--assume-batchnorm", "WHEN", "on or off: put back the batch norms that an export folded into convolutions [on]",
     kPlan, kUnknown},
    {"--assume-dropout", "P",
     "put back the dropouts of a transformer that an eval export lost, with this share, such as 0.1 [none]", kPlan,
     kUnknown},
    {"--trainable", "PATTERN",
     "train the parameters whose names match, such as 'layer4.*'; repeatable: the last matching --trainable or "
     "--frozen decides [everything is trained, except the base of adapters and copies such as a teacher]",
     kGraph, kModel, true},
    {"--frozen", "PATTERN",
     "freeze the parameters whose names match (requires_grad_(False)); --frozen '*' --trainable 'fc.*' trains only fc; "
     "vramplan inspect FILE --dump parameters lists the names",
     kGraph, kModel, true},
    {"--lora", "R",
     "train LoRA adapters of rank R alone, as peft adds them to a model that is given by its name: 16, "
     "16,target=q_proj+v_proj, 16,target=all-linear,dropout=0.05",
     kGraph, kModel},
    {"--quant", "TYPE",
     "the linear layers of a model that is given by its name are packed by bitsandbytes: nf4, nf4,double (double "
     "quantization), fp4. Trained with --lora it is QLoRA: the other weights are in fp32, as "
     "prepare_model_for_kbit_training makes them; with --precision bf16 they stay in bf16",
     kGraph, kModel},
    {"--gpus", "N", "cards that train together, one process each; the answer is about each of them [1]", kGraph,
     kModel},
    {"--strategy", "NAME",
     "how they share the model that is given by its name: ddp (each has all of it), fsdp2 (fully_shard of each layer "
     "and of the model) [none]",
     kGraph, kModel},
    {"--checkpoint", "MODULE",
     "run this module's forward again in the backward instead of keeping its saved tensors (use_reentrant=False), such "
     "as layer1.0; all: each layer of a model that is given by its name; repeatable",
     kAsked, kModel, true},
    {"--saved", "CALL",
     "an operator call that a checkpointed module saves and does not run again (selective checkpoints), such as "
     "layer1.0:aten.convolution.default:2, the third of that module; repeatable",
     kAsked, kModel, true},
    {"--allocator-conf", "CONF",
     "as in PYTORCH_CUDA_ALLOC_CONF: expandable_segments:True,max_split_size_mb:128 [PyTorch's defaults]",
     kPlan | kReplay, kFramework},
    {"--effective-batch", "N", "samples of one optimizer step: plan chooses batch and accumulation", kDecide, kSearch},
    {"--multiple-of", "N", "make the batch a multiple of N, or power-of-two: 1, 2, 4, 8 ... [1]", kDecide, kSearch},
    {"--goal", "GOAL", "time: the least time per sample; batch: the largest batch, at any cost in time [time]", kDecide,
     kSearch},
    {"--tier", "TIER",
     "none: nothing is checkpointed; modules: whole modules; operators: modules, and operator calls saved inside them "
     "[modules; operators with --emit pytorch-sac]",
     kDecide, kSearch},
    {"--emit", "KIND",
     "pytorch, pytorch-sac, hf, accelerate, lightning, deepspeed, keras or env: the configuration that applies the "
     "plan, to --out FILE or "
     "instead of the answer",
     kDecide, kAnswer},
    {"--host", "",
     "the host's RAM, too: beside the card, and with the whole step on the CPU, and why it fits there and not on the "
     "card",
     kFit, kAnswer},
    {"--workers", "N", "with --host: workers of the DataLoader [0]", kFit, kAnswer},
    {"--prefetch", "N", "with --host: batches that each worker has asked for ahead [2]", kFit, kAnswer},
    {"--sample-bytes", "SIZE", "with --host: one sample as the loader gives it [the model's inputs and target]", kFit,
     kAnswer},
    {"--segments", "", "draw the allocator's segments at the peak: what is free, and why it cannot be used", kEstimate,
     kAnswer},
    {"--step", "N", "which step to write; all: from model.to(\"cuda\") on [2, or the last of a record with fewer]",
     kTrace, kAnswer},
    {"--step", "N", "which optimizer step of the snapshot, counted from 1 [the last whole one]", kCompare, kAnswer},
    {"--compare", "FILE", "print where the step differs from a recorded stream with the same columns (.gz is fine)",
     kTrace, kAnswer},
    {"--problem", "", "write what the step computes as a problem for solve instead (nanoseconds, bytes)", kTrace,
     kAnswer},
    {"--check", "", "compare every recorded row, stop at the first that differs (exit code 1)", kReplay, kAnswer},
    {"--dump", "WHAT",
     "shapes, layers or parameters: print every one of them; holds: until when the forward keeps each tensor, and why",
     kInspect, kAnswer},
    {"--dump", "holds", "print until when the forward keeps each tensor, and why, instead of the estimate", kEstimate,
     kAnswer},
    {"--passes", "", "what the exporter did to the model: each pass that undoes a part of it, and what it changed",
     kInspect, kAnswer},
    {"--budget", "N",
     "the most that may be held at once, in the unit of the file's bytes [solve: the least that a schedule is found "
     "for]",
     kSolve | kCheck, kSearch},
    {"--budget", "N%|SIZE",
     "how much the requested peak may grow, as a share of the old one or in bytes, such as 2% or 100MiB; beyond it the "
     "exit code is 3 [any growth]",
     kDiff, kSearch},
    {"--seconds", "S", "how long to look for a cheaper schedule [1]", kSolve, kScript},
    {"--seed", "K", "seed of the random numbers; another seed may find another schedule [0]", kSolve, kSearch},
    {"--verbose", "", "every table, option and note [what fits on a screen]", kVerbose, kAnswer},
    {"--format", "FORMAT",
     "text, json, html (a page with pictures, which needs nothing else), svg (memory over the step) or snapshot (for "
     "PyTorch's memory_viz) [text]",
     kDraws, kAnswer},
    {"--format", "FORMAT", "text, json, csv, html (a page with pictures) or svg (its curves alone) [text]", kSweep,
     kAnswer},
    {"--format", "FORMAT", "text, json, markdown (tables, for a pull request) or html (a page) [text]", kDiff, kAnswer},
    {"--format", "FORMAT", "text or json [text]", (kAll | kSolve | kCalibrate) & ~kDraws & ~kSweep & ~kDiff, kAnswer},
    {"--out", "FILE", "write the answer there (trace: the stream) instead of to the terminal; .gz: gzipped",
     (kAll & ~kWatch) | kRun, kAnswer},
    {"--out", "FILE", "write the answer there; with --save the profile", kWatch, kAnswer},
    {"--out", "FILE", "write the schedule there", kSolve, kAnswer},
    {"--out", "FILE", "write the profile there [$XDG_DATA_HOME or ~/.local/share, vramplan/profiles/UUID.json]",
     kCalibrate, kAnswer},
    {"--force", "", "with --out: overwrite a file even if it is not an earlier answer of vramplan",
     kAll | kSolve | kCalibrate, kAnswer},
    {"--force", "", "with --out and --record: overwrite a file even if it is not an earlier answer of vramplan", kRun,
     kAnswer},
    {"--no-context", "", "only look: make no context, and do not measure what one takes", kProbe, kScript},
};

}  // namespace

std::span<const OptionRow> OptionRows() { return kOptionRows; }

bool TakesOption(Verb verb, std::string_view flag) {
  return std::any_of(std::begin(kOptionRows), std::end(kOptionRows),
                     [&](const OptionRow& row) { return row.flag == flag && TakenBy(row, verb); });
}

bool TakesFile(Verb verb) {
  return verb != Verb::kGpus && verb != Verb::kModels && verb != Verb::kProbe && verb != Verb::kCalibrate &&
         verb != Verb::kWatch && verb != Verb::kRun;
}

std::string_view Name(Verb verb) {
  switch (verb) {
    case Verb::kEstimate:
      return "estimate";
    case Verb::kFit:
      return "fit";
    case Verb::kInspect:
      return "inspect";
    case Verb::kGpus:
      return "gpus";
    case Verb::kModels:
      return "models";
    case Verb::kTrace:
      return "trace";
    case Verb::kReplay:
      return "replay";
    case Verb::kPlan:
      return "plan";
    case Verb::kSolve:
      return "solve";
    case Verb::kCheck:
      return "check";
    case Verb::kProbe:
      return "probe";
    case Verb::kCalibrate:
      return "calibrate";
    case Verb::kValidate:
      return "validate";
    case Verb::kWatch:
      return "watch";
    case Verb::kExplain:
      return "explain";
    case Verb::kRun:
      return "run";
    case Verb::kCompare:
      return "compare";
    case Verb::kSweep:
      return "sweep";
    case Verb::kDiff:
      return "diff";
  }
  return "";
}

}  // namespace vramplan
