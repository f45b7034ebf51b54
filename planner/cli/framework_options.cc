// Options about who runs the step, what stands beside its loop, and PyTorch's allocator.
#include <algorithm>
#include <string>

#include "planner/answers/named_model.h"
#include "planner/cli/option_row.h"
#include "planner/cli/settings.h"
#include "planner/report/parts/model_facts.h"
#include "planner/spec/nearest.h"

namespace vramplan {
namespace {

using namespace verbs;  // NOLINT(google-build-using-namespace): the columns of the table below
using enum OptionGroup;

Result<std::optional<double>> ReadShare(const Typed& typed) {
  const Result<double> share = RealOf(typed);
  if (!share.ok()) return share.error();
  if (*share > 0 && *share <= 1) return std::optional(*share);
  return Wrong(typed.flag, InQuotes(typed.text()) + " is not a share of the card above 0 and up to 1",
               "type --mem-fraction 0.75");
}

Status ReadSaved(const Typed& typed, Options* options) {
  for (const std::string& text : typed.values) {
    const Result<SavedCall> call = ParseSavedCall(text);
    if (!call.ok()) return call.error();
    options->spec.saved.push_back(*call);
  }
  return Done();
}

Result<std::optional<Bytes>> ReadWorkspace(const Typed& typed, Notes* notes) {
  if (typed.text() == "auto") return std::optional<Bytes>();
  const Result<Bytes> size = SizeOf(typed, notes);
  if (!size.ok()) return size.error();
  return std::optional(*size);
}

Status ReadAllocator(const Typed& typed, Options* options) {
  options->allocator_text = typed.text();
  return Into<&Options::allocator, ParseAllocatorConfig>(typed, options);
}

constexpr OptionRow kFrameworkRows[] = {
    OptionRow{
        "--framework", "NAME",
        "pytorch or pytorch@2.0 to pytorch@2.15 [the newest]; estimate and fit also take onnxruntime (CUDA, inference "
        "of the file as it is), tensorflow and jax (approximated by PyTorch's tensors, with a wide range)",
        kStep, kFramework, Into<&TrainingSpec::framework, ParseFramework>}
        .Shown([](SettingsRows* s) { s->Name(ToString(s->spec.framework)); }),
    OptionRow{"--ort-arena", "STRATEGY",
              "onnxruntime's arena_extend_strategy: kNextPowerOfTwo or kSameAsRequested [kNextPowerOfTwo]", kRuntimes,
              kFramework, Into<&OnnxRuntimeOptions::growth, ParseArenaGrowth>}
        .Of(kOrt)
        .Shown([](SettingsRows* s) {
          if (s->RunsOn(kOrt)) s->Name(Name(s->spec.ort.growth));
        }),
    OptionRow{"--gpu-mem-limit", "SIZE", "onnxruntime's gpu_mem_limit: the most that its arena takes [none]", kRuntimes,
              kFramework, Into<&OnnxRuntimeOptions::limit, SizeOf>}
        .Of(kOrt)
        .Shown([](SettingsRows* s) {
          if (s->RunsOn(kOrt) && s->spec.ort.limit) s->Size(*s->spec.ort.limit);
        }),
    OptionRow{"--cudnn-conv-use-max-workspace", "0|1",
              "onnxruntime's option; 0: at most 32 MiB for each convolution [1]", kRuntimes, kFramework,
              Into<&OnnxRuntimeOptions::max_workspace, [](const Typed& t) { return IsSecond(t, "0", "1"); }>}
        .Of(kOrt)
        .Shown([](SettingsRows* s) {
          if (s->RunsOn(kOrt)) s->Name(s->spec.ort.max_workspace ? "1" : "0");
        }),
    OptionRow{"--attention", "KIND", "auto, math, efficient or flash [auto: as PyTorch chooses]", kStep, kFramework,
              Into<&TrainingSpec::attention, ParseAttention>}
        .Shown([](SettingsRows* s) {
          if (!s->RunsOn(kOrt)) s->Name(Name(s->spec.attention));
        }),
    OptionRow{"--inplace", "WHEN", "auto, on or off: whether activations were built with inplace=True [auto]", kStep,
              kUnknown, Into<&TrainingSpec::inplace, ParseInplace>}
        .Shown([](SettingsRows* s) {
          if (!s->RunsOn(kOrt)) s->Name(Name(s->spec.inplace));
        }),
    OptionRow{"--preallocate", "WHEN",
              "on or off: whether tensorflow and jax take their pool at the start (set_memory_growth, "
              "XLA_PYTHON_CLIENT_PREALLOCATE) [on]",
              kRuntimes, kFramework, Into<&PoolOptions::preallocate, IsOn>}
        .Of(kPools)
        .Shown([](SettingsRows* s) {
          if (s->RunsOn(kPools)) s->Name(s->spec.pool.preallocate ? "on" : "off");
        }),
    OptionRow{"--mem-fraction", "X",
              "share of the card that tensorflow (per_process_gpu_memory_fraction) or jax (XLA_CLIENT_MEM_FRACTION) "
              "may take [tensorflow: the free memory minus a reserve; jax: 0.75]",
              kRuntimes, kFramework, Into<&PoolOptions::fraction, ReadShare>}
        .Of(kPools)
        .Shown([](SettingsRows* s) {
          if (s->RunsOn(kPools) && s->spec.pool.fraction) s->Real(*s->spec.pool.fraction);
        }),
    OptionRow{"--donate", "WHEN",
              "on or off: whether jax updates parameters and states in place (donate_argnums) [off]", kRuntimes,
              kFramework, Into<&PoolOptions::donate, IsOn>}
        .Of(Bit(Runtime::kJax))
        .Shown([](SettingsRows* s) {
          if (s->RunsOn(Bit(Runtime::kJax)) && s->Trains()) s->Name(s->spec.pool.donate ? "on" : "off");
        }),
    OptionRow{"--resident", "SIZE", "data that the script keeps on the card, such as 2GiB [0]", kAround, kLoop,
              Into<&Surroundings::resident, SizeOf>}
        .Of(kPyTorchAlone)
        .Shown([](SettingsRows* s) {
          if (s->spec.around.resident > Bytes()) s->Size(s->spec.around.resident);
        }),
    OptionRow{
        "--retain", "MODULE|NAME",
        "an output that the script keeps until the next one is made: of a module, an operator or a tensor; repeatable",
        kAround, kLoop, Texts<&Surroundings::retain>}
        .Repeats()
        .Of(kPyTorchAlone)
        .Shown([](SettingsRows* s) { s->List(s->spec.around.retain); }),
    OptionRow{"--keep-loss-graph", "",
              "the script sums losses without .item() (total += loss); with --mode eval each batch's graph is kept",
              kAround, kLoop, Flag<&Surroundings::keep_loss_graph>}
        .Of(kPyTorchAlone)
        .Shown([](SettingsRows* s) {
          if (s->spec.around.keep_loss_graph) s->Add(true, "on").phrase = "keep-loss-graph";
        }),
    OptionRow{"--eval-batch", "N", "evaluate the model at this batch between two steps, under no_grad [not at all]",
              kAround, kLoop,
              Into<&Surroundings::eval_batch, [](const Typed& t) { return Whole(t, 1, kMostSamples, "64"); }>}
        .Of(kPyTorchAlone)
        .Shown([](SettingsRows* s) {
          if (s->spec.around.eval_batch) s->Number(*s->spec.around.eval_batch);
        }),
    OptionRow{"--second-model", "FILE.onnx",
              "a frozen model beside this one, such as a teacher; it runs under no_grad before the loss. --dim applies "
              "to both",
              kAround, kModel, Text<&Options::second_model>}
        .Of(kPyTorchAlone)
        .Shown([](SettingsRows* s) {
          if (!s->options.second_model.empty()) s->Name(FileName(s->options.second_model));
        }),
    OptionRow{"--checkpoint", "MODULE",
              "run this module's forward again in the backward instead of keeping its saved tensors "
              "(use_reentrant=False), such as layer1.0; all: every layer of a named model; repeatable",
              kAsked, kModel, Texts<&TrainingSpec::checkpoint>}
        .Repeats()
        .Of(kTrainers)
        .In(kMakesGradients)
        .Shown([](SettingsRows* s) {
          const bool all = s->options.named != nullptr && ChecksEveryLayer(*s->options.named, s->spec.checkpoint);
          s->List(s->spec.checkpoint, all ? "all" : "");
        }),
    OptionRow{"--saved", "CALL",
              "an operator call whose result a checkpointed module keeps (selective checkpoints): "
              "layer1.0:aten.convolution.default:2 is the third such call of layer1.0; repeatable",
              kAsked, kModel, ReadSaved}
        .Repeats()
        .In(kMakesGradients)
        .Shown([](SettingsRows* s) {
          std::vector<std::string> calls;
          for (const SavedCall& call : s->spec.saved) calls.push_back(ToString(call));
          s->List(calls);
        }),
    OptionRow{"--cudnn-workspace", "SIZE",
              "auto, or the most that a convolution or a recurrent network may take; 0: no workspaces and no reserves "
              "[auto: likely none for convolutions, with a range for what cuDNN may take]",
              kStep, kFramework, Into<&TrainingSpec::cudnn_workspace, ReadWorkspace>}
        .Shown([](SettingsRows* s) { s->spec.cudnn_workspace ? s->Size(*s->spec.cudnn_workspace) : s->Name("auto"); }),
    OptionRow{"--allocator-conf", "CONF",
              "as in PYTORCH_CUDA_ALLOC_CONF: expandable_segments:True,max_split_size_mb:128 [PyTorch's defaults]",
              kStep | Of({kReplay}), kFramework, ReadAllocator}
        .Of(kPyTorchAlone)
        .Shown([](SettingsRows* s) {
          if (!s->options.allocator_text.empty()) s->Name(s->options.allocator_text);
        }),
};

}  // namespace

std::span<const OptionRow> FrameworkOptions() { return kFrameworkRows; }

}  // namespace vramplan
