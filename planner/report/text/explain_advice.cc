#include "planner/report/text/explain_advice.h"

#include <algorithm>
#include <vector>

#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

// What is said of a part of a run.
struct RunPartText {
  RunPart part;
  std::string_view ran;           // the subject of a sentence
  std::string_view failed;        // behind "it failed"
  std::string_view helps;         // where a card is full; empty: what helps any step
  std::string_view no_grad = {};  // what helps besides where gradients are on
};

const RunPartText& WordsOf(RunPart part) {
  static constexpr RunPartText kTexts[] = {
      {RunPart::kUnknown, "the step", "", ""},
      {RunPart::kLoading, "the model", "while the model was loaded, set up or moved to the card",
       "weights of 16 bits, or packed ones (bitsandbytes, GPTQ); parts of the model on other cards or on the host "
       "(device_map, FSDP); files that are read to the CPU first (map_location); a smaller batch does not"},
      {RunPart::kForward, "the step", "in a forward", ""},
      {RunPart::kBackward, "the step", "in the backward", ""},
      {RunPart::kOptimizer, "the step", "in the optimizer's step",
       "a smaller optimizer state (8 bits, LoRA, states in parts: ZeRO or FSDP) or a fused optimizer; its states are "
       "made in the first step, beside what the batch left"},
      {RunPart::kValidation, "the validation", "in a validation",
       "a smaller batch in it, and predictions that are moved to the CPU instead of kept on the card",
       "torch.no_grad() around it"},
      {RunPart::kGeneration, "the generation", "while it generated",
       "fewer samples at once, a shorter prompt or fewer new tokens, smaller images, packed weights, parts of the "
       "model on the host (enable_model_cpu_offload)"},
      {RunPart::kInference, "the inference", "in an inference",
       "fewer inputs at once (a loader in place of the whole set), smaller ones (tiles, windows, shorter sequences), "
       "weights of 16 bits, and outputs that are collected on the CPU",
       "torch.inference_mode() around it"},
      {RunPart::kSaving, "gathering the state", "while the state was gathered or saved",
       "a state that is gathered on the CPU, by one rank (offload_to_cpu, rank0_only), or saved in parts "
       "(SHARDED_STATE_DICT)"},
      {RunPart::kServing, "the server", "in the engine of the server",
       "fewer sequences at once (max_num_seqs), a shorter context (max_model_len), a smaller share of the card for the "
       "cache (gpu_memory_utilization), quantized weights, more cards"},
  };
  return *std::ranges::find(kTexts, part, &RunPartText::part);
}

bool HasOwnAdvice(RunPart part) { return !WordsOf(part).helps.empty(); }

std::string HelpsText(const Failure& failure) {
  const RunPartText& words = WordsOf(failure.part);
  const bool adds = !words.no_grad.empty() && !failure.no_grad;
  return "what helps: " + (adds ? std::string(words.no_grad) + "; " : "") + std::string(words.helps);
}

// Where it is known which tensor a request is for, a smaller one is to be looked at, too.
constexpr int64_t kKnownShare = 16;

bool IsLarge(const OutOfMemory& message) {
  const int64_t share = message.failure.requester == Requester::kUnknown ? kLargeShare : kKnownShare;
  return message.tried && message.capacity && *message.tried * share >= *message.capacity;
}

// Of a request that is large: which tensor it is, most likely, and how to make it smaller.
std::string OfRequester(Requester requester) {
  switch (requester) {
    case Requester::kAttention:
      return "attention asks for it, most likely a score for each pair of positions: a fused kernel keeps none "
             "(scaled_dot_product_attention without a mask that rules its kernels out, flash attention), and shorter "
             "sequences need less";
    case Requester::kVocabulary:
      return "it is of the size of the logits, positions times vocabulary: fewer tokens at once, or a loss that "
             "computes them in parts (Liger's fused linear cross entropy)";
    case Requester::kConvolution:
      return "a convolution asks for it, for its output or its workspace: smaller or fewer images at once, tiles or "
             "windows of them";
    case Requester::kUnknown:
      break;
  }
  return "";
}

// What helps where a card is full.
std::string SmallerText(const ExplainReport& report) {
  if (HasOwnAdvice(report.message.failure.part)) return HelpsText(report.message.failure);
  const bool trains = !report.step || report.step->head.mode == Mode::kTrain;
  // What makes the rest of a step smaller leaves a large request as it is.
  if (IsLarge(report.message)) return "what helps besides: a smaller batch, smaller inputs, or a lower precision";
  return trains ? "what helps: a smaller batch, a lower precision, checkpointed modules, or a smaller optimizer state"
                : "what helps: a smaller batch, smaller inputs, or a lower precision";
}

// A request of so many cards is none that a smaller batch would mend.
constexpr int64_t kManyCards = 64;

// A program of XLA that takes less is not what fills a card.
constexpr Bytes kSmallProgram = Bytes::GiB(1);

// What a process holds of a card is little below this part of it.
constexpr int64_t kLittle = 8;

// What else is live beside a request is hardly anything below this part of it.
constexpr int64_t kNearlyAlone = 32;

// Who lists the processes of a card.
std::string_view ListerOf(std::string_view backend) {
  if (backend == "HIP") return "rocm-smi (amd-smi)";
  if (backend == "XPU") return "xpu-smi";
  if (backend == "NPU") return "npu-smi";
  return "nvidia-smi";
}

// A tensor of this size on the host is one to look at.
constexpr Bytes kLargeOnHost = Bytes::GiB(8);

std::string HostText(const OutOfMemory& message) {
  if (message.tried >= kLargeOnHost)
    return "one request is of " + ToString(*message.tried) +
           ": the line that makes this tensor is the one to change; what is collected over a whole set is reduced as "
           "it comes, or written to a file (numpy.memmap)";
  if (message.failure.part == RunPart::kLoading)
    return "what helps: weights of 16 bits, in files that are read in parts (safetensors, low_cpu_mem_usage, "
           "mmap=True), and fewer processes that load at once";
  if (message.failure.pins)
    return "what helps: pin_memory=False, fewer workers and less prefetching, and a larger limit of locked memory or "
           "of the container (WSL: .wslconfig)";
  if (message.windows)
    return "what helps: a larger paging file, because Windows promises memory only as far as RAM and that file reach; "
           "less that is kept in RAM (offloaded models, caches)";
  if (message.loads_data)
    return "what helps: fewer workers or less prefetching of the data loader, less pinned memory, no offloading; "
           "vramplan fit FILE.onnx --gpu NAME --host says how much RAM a run takes";
  return "what helps: a higher limit of the job or the container, files that are read in parts, fewer processes, no "
         "offloading; vramplan fit FILE.onnx --gpu NAME --host says how much RAM a run takes";
}

std::string BeyondText(const OutOfMemory& message) {
  if (message.tried && message.capacity && message.tried->count() / kManyCards >= message.capacity->count())
    return "that is far more than any batch of a model that fits: a shape is a mistake, most likely (a broadcast, "
           "indices out of range)";
  if (const std::string requester = OfRequester(message.failure.requester); !requester.empty()) return requester;
  const bool is_alone = message.allocated && message.tried && *message.allocated * kNearlyAlone <= *message.tried;
  if (is_alone)
    return "hardly anything else was there: a shape is a mistake (a broadcast, indices out of range), this one "
           "operator takes too much at once (points, pixels, pairs: in parts), or the card is another one, or a slice "
           "of "
           "it";
  return "the batch is far too large, attention makes a score matrix over all positions (a fused or split kernel keeps "
         "none), or a shape is a mistake (a broadcast, indices out of range)";
}

std::string PiecesAdvice(const OutOfMemory& message) {
  if (message.kind != "pytorch")
    return "TF_GPU_ALLOCATOR=cuda_malloc_async fragments less; other processes on the card leave the pool less "
           "than its limit";
  const std::string fixed =
      "what helps: inputs with a few fixed sizes, and torch.cuda.empty_cache() between parts that need other sizes; ";
  if (message.no_expandable) return fixed + "expandable segments do not work there";
  if (message.failure.before_1_9)
    return fixed + "a newer PyTorch (this one is older than 1.9, and no setting of its allocator helps)";
  const std::string variable =
      "PYTORCH_" + std::string(message.backend.empty() ? "CUDA" : message.backend) + "_ALLOC_CONF=";
  if (message.before_2_1)
    return fixed + variable +
           "max_split_size_mb:512 keeps large blocks whole (this PyTorch is older than 2.1 and ends "
           "with an error where expandable_segments is set)";
  return variable +
         "expandable_segments:True lets PyTorch combine free pieces; inputs with a few fixed sizes cause "
         "less fragmentation";
}

// Of processes that a launcher started one after the other. Of contexts alone the remarks say what they are.
bool AreNeighbours(const OutOfMemory& message) {
  constexpr int64_t kMostApart = 4;  // threads and data loaders' workers take numbers, too
  std::vector<int64_t> pids;
  for (const OutOfMemoryProcess& process : message.processes)
    if (!process.own) pids.push_back(process.pid);
  std::ranges::sort(pids);
  const auto is_more = [](const OutOfMemoryProcess& process) { return !process.own && process.in_use > kMostContext; };
  if (pids.size() < 2 || std::ranges::none_of(message.processes, is_more)) return false;
  return std::ranges::adjacent_find(pids, [](int64_t a, int64_t b) { return b - a > kMostApart; }) == pids.end();
}

std::string RefusedText(const OutOfMemory& message) {
  if (message.windows)
    return "on Windows what a card holds counts against RAM and the paging file, too: a larger paging file comes "
           "first; else a limit (set_per_process_memory_fraction), or another card than the one that was counted";
  const std::string others = message.backend == "HIP"
                                 ? "a slice of a virtual machine, the driver"
                                 : "a slice of a virtual machine or of MIG, the driver, which on WSL keeps part of the "
                                   "card and gives no single stretch of any size";
  return "what refused it: a limit (set_per_process_memory_fraction), " + others +
         ", or another card than the one that was counted; or another process gave memory back before it was counted";
}

}  // namespace

std::string OrSome(const std::optional<Bytes>& bytes) { return bytes ? ToString(*bytes) : "some memory"; }

std::string_view SubjectOf(RunPart part) { return WordsOf(part).ran; }

std::string FailedInText(const Failure& failure) {
  const std::string_view failed = WordsOf(failure.part).failed;
  if (failed.empty()) return failure.at.empty() ? "" : "it failed at " + failure.at;
  return "it failed " + std::string(failed) + (failure.at.empty() ? "" : " (" + failure.at + ")");
}

std::string LargeText(const ExplainReport& report) {
  const OutOfMemory& message = report.message;
  // Of these two the request is what is said anyway, or not the reason.
  if (report.cause == OutOfMemoryCause::kBeyondCard || report.cause == OutOfMemoryCause::kRefused) return "";
  if (!IsLarge(message) || message.kind == "vllm") return "";
  const std::string requester = OfRequester(message.failure.requester);
  return "this one request is " + PartText(*message.tried, *message.capacity) + " of the card" +
         (requester.empty()
              ? ": the line that makes this tensor is the one to change (a broadcast, or too much at once)"
              : ": " + requester);
}

std::string AdviceText(const ExplainReport& report) {
  const OutOfMemory& message = report.message;
  const RunPart part = message.failure.part;
  if (message.kind == "vllm" && message.place == MemoryPlace::kCard && message.free && message.capacity) {
    const int64_t percent = 100 * message.free->count() / message.capacity->count();
    return "nothing was allocated yet: --gpu-memory-utilization " +
           Formatted("%.2f", static_cast<double>(percent) / 100) +
           " is what is free now, or end what else holds the card";
  }
  switch (report.cause) {
    case OutOfMemoryCause::kHostMemory:
      return HostText(message);
    case OutOfMemoryCause::kOnChip:
      return "what helps: smaller blocks or fewer stages in that Triton kernel (num_stages), another kernel for the "
             "same operator, or a card with a larger multiprocessor";
    case OutOfMemoryCause::kKeyValue:
      return "what helps: a shorter context" +
             (message.tokens_fit ? " (" + std::to_string(*message.tokens_fit) + " tokens fit)" : "") +
             ", a larger share of the card for the server, an 8-bit cache, quantized weights, or more cards";
    case OutOfMemoryCause::kImpossible:
    case OutOfMemoryCause::kBeyondCard:
      return BeyondText(message);
    case OutOfMemoryCause::kPagedOut:
      return "paged memory is slow, and Windows gives at most about half of the host's RAM; \"CUDA - Sysmem Fallback "
             "Policy\" in NVIDIA's control panel turns paging off; a step that should run at full speed must fit the "
             "card itself: smaller inputs or fewer at once, a lower precision, data that stays on the CPU";
    case OutOfMemoryCause::kLimit:
      if (message.kind != "pytorch" || !message.remark.empty()) return "";
      return "set_per_process_memory_fraction, or per_process_memory_fraction in PYTORCH_CUDA_ALLOC_CONF, set this "
             "limit";
    case OutOfMemoryCause::kGraphs:
      return "what helps: fewer or smaller graphs (fewer shapes and batch sizes that are captured), or none: the mode "
             "max-autotune-no-cudagraphs of torch.compile, --enforce-eager of vLLM";
    case OutOfMemoryCause::kFragmentation:
      return PiecesAdvice(message);
    case OutOfMemoryCause::kOthers:
      if (AreNeighbours(message))
        return "they are ranks of the same run, most likely (the numbers of the processes follow each other): "
               "torch.cuda.set_device(local_rank) before anything else on the card, and tensors on that device";
      return std::string(ListerOf(message.backend)) +
             " and vramplan probe name them; a run that died may still hold its memory";
    case OutOfMemoryCause::kUnnamed:
      if (message.cut) return SmallerText(report);
      return std::string(ListerOf(message.backend)) +
             " and vramplan probe name who holds the card; a run that died may still hold its memory";
    case OutOfMemoryCause::kOutside:
      if (message.backend == "MPS") return "";
      if (part == RunPart::kServing) return SmallerText(report);
      return "another library with a pool of its own (TensorFlow, JAX, ONNX Runtime, CuPy, NCCL) shares the process; "
             "limit what each of them takes";
    case OutOfMemoryCause::kRefused:
      return RefusedText(message);
    case OutOfMemoryCause::kFull:
      return SmallerText(report);
    case OutOfMemoryCause::kNoNumbers:
      // TensorFlow's message is whole, and it is of a pool that was full.
      if (message.total > kSmallProgram || message.kind == "tensorflow" ||
          (HasOwnAdvice(part) && (message.kind != "vllm" || part == RunPart::kLoading)))
        return SmallerText(report);
      if (!message.remark.empty() || message.total) return "";
      return "give the whole message, or run vramplan watch while the script runs";
  }
  return "";
}

std::string OwnAdvice(const ExplainReport& report) {
  using enum OutOfMemoryCause;
  const RunPart part = report.message.failure.part;
  // A fused optimizer and states of 8 bits do nothing about pieces.
  const bool helps = report.cause == kFragmentation
                         ? part != RunPart::kOptimizer
                         : report.cause == kOthers || (report.cause == kUnnamed && !report.message.cut);
  // Who holds little of the card has little to give.
  const OutOfMemory& message = report.message;
  const Bytes own = std::max(message.reserved.value_or(Bytes()), message.in_use.value_or(Bytes()));
  const bool holds_little = message.capacity && own * kLittle < *message.capacity;
  return helps && !holds_little && HasOwnAdvice(part) ? HelpsText(message.failure) : "";
}

}  // namespace vramplan
