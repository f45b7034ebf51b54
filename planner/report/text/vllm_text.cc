#include <algorithm>

#include "graph/base/text_table.h"
#include "planner/report/verdict.h"
#include "planner/report/vllm.h"
#include "planner/report/writing/numbers.h"
#include "planner/report/writing/quoting.h"

namespace vramplan {

std::string_view Name(VllmStop stop) {
  constexpr std::string_view kNames[] = {"nowhere", "free", "loading", "no-cache", "context", "sequences"};
  return kNames[static_cast<size_t>(stop)];
}

namespace {

using enum TextTable::Align;

// As vLLM writes it: "3.18".
std::string GiBOfVllm(Bytes bytes) {
  constexpr double kGiB = 1 << 30;
  return Formatted("%.2f", static_cast<double>(bytes.count()) / kGiB);
}

// "4.01 GiB to 4.90 GiB"
std::string LeftText(const BytesRange& cache) {
  if (cache.low <= Bytes()) return "at most " + ToString(cache.high);
  return ToString(cache.low) + " to " + ToString(cache.high);
}

// Why it does not start, or may not.
std::string StopText(const VllmStart& start) {
  const VllmShare& share = start.share;
  switch (start.stops) {
    case VllmStop::kNowhere:
      return "";
    case VllmStop::kFree:
      return "it asks for " + ToString(share.requested) + ", " + NumberText(start.options.utilization) +
             " of the card, and less is free beside the CUDA context" +
             (start.device.held > Bytes() ? " and other processes" : "") +
             (start.device.reserve > Bytes() ? " and the reserve" : "");
    case VllmStop::kLoading:
      if (share.kept > share.weights)
        return "what vLLM keeps for " + Counted(start.batch.sequences, "sequence") + " takes " + ToString(share.kept) +
               " beside " + ToString(share.weights) + " of weights";
      return "the weights alone take " + ToString(share.weights);
    case VllmStop::kNoCache:
      return "of the " + ToString(share.requested) + " that it may take nothing is left for the cache beside " +
             ToString(share.weights) + " of weights and the run that vLLM measures";
    case VllmStop::kContext:
      return "one sequence takes " + ToString(start.one) + " of the cache, which has " + LeftText(share.cache());
    case VllmStop::kSequences:
      if (start.sequences > start.batch.sequences)
        return "max_num_seqs is " + std::to_string(start.batch.sequences) + " (--engine vllm,seqs=N)";
      return Counted(start.sequences, "sequence") + " take " + ToString(start.one * start.sequences) +
             " of the cache, which has " + LeftText(share.cache());
  }
  return "";
}

// What vLLM 0.33 raises there (v1/worker/utils.py, v1/core/kv_cache_planning.py).
std::string SaidByVllm(const VllmStart& start) {
  const BytesRange cache = start.share.cache();
  switch (start.stops) {
    case VllmStop::kFree:
      return "Free memory on device cuda:0 (.../" + GiBOfVllm(start.device.usable) +
             " GiB) on startup is less than desired GPU memory utilization (" + NumberText(start.options.utilization) +
             ", " + GiBOfVllm(start.share.requested) + " GiB).";
    case VllmStop::kLoading:
      return "CUDA out of memory.";
    case VllmStop::kNoCache:
      return "No available memory for the cache blocks.";
    case VllmStop::kContext:
      return "To serve at least one request with the model's max seq len (" + std::to_string(start.context) + "), (" +
             GiBOfVllm(start.one) + " GiB KV cache is needed, which is larger than the available KV cache memory (" +
             GiBOfVllm((start.verdict == Verdict::kTight ? cache.low : cache.high) - start.cache.block) + " GiB).";
    case VllmStop::kNowhere:
    case VllmStop::kSequences:
      break;
  }
  return "";
}

// What to change: the context, the share of the card, or the type of the cache.
std::string WhatToChange(const VllmStart& start) {
  switch (start.stops) {
    case VllmStop::kContext: {
      const int64_t safe = start.longest.safe;
      if (safe == 0) return "no context is sure to start: take a larger card, or weights of fewer bits";
      return "with --max-model-len " + std::to_string(safe) +
             " it starts: type --dim sequence=" + std::to_string(safe) +
             (start.options.fp8 || !start.has_fp8 || 2 * safe < start.context
                  ? ""
                  : ", or --kv fp8, which halves the cache");
    }
    case VllmStop::kFree: {
      constexpr double kStep = 0.05;
      const Bytes free = start.device.usable - start.device.context.high - start.device.reserve - start.device.held;
      const double share = static_cast<double>(free.count()) / static_cast<double>(start.device.usable.count());
      const double lower = std::max(kStep, static_cast<double>(static_cast<int64_t>(share / kStep)) * kStep);
      return "ask for less of the card: --gpu-memory-utilization " + Formatted("%.2f", lower) +
             ", here --engine vllm,utilization=" + Formatted("%.2f", lower);
    }
    case VllmStop::kNoCache:
      if (start.options.utilization < VllmOptions().utilization)
        return "ask for more of the card: --engine vllm,utilization=" + NumberText(VllmOptions().utilization);
      return "take a larger card, or weights of fewer bits";
    case VllmStop::kLoading:
      if (start.share.kept > start.share.weights) return "take fewer sequences at once: --engine vllm,seqs=256";
      return "take a larger card, or weights of fewer bits";
    case VllmStop::kNowhere:
    case VllmStop::kSequences:
      break;
  }
  return "";
}

// "35216 to 41904 tokens"
std::string TokensText(const CountRange& tokens) {
  const std::string safe = std::to_string(tokens.safe);
  return tokens.safe == tokens.most ? safe + " tokens" : safe + " to " + std::to_string(tokens.most) + " tokens";
}

// "4 sequences of 8192 are safe at once, up to 5 may fit"
std::string AtOnceText(const VllmStart& start) {
  const CountRange& at_once = start.at_once;
  if (at_once.safe == 0)
    return "not one sequence of " + std::to_string(start.context) + " is safe, " + std::to_string(at_once.most) +
           " may fit";
  std::string text = Counted(at_once.safe, "sequence") + " of " + std::to_string(start.context) +
                     (at_once.safe == 1 ? " is safe" : " are safe") + " at once";
  if (at_once.most > at_once.safe) text += ", up to " + std::to_string(at_once.most) + " may fit";
  return text;
}

std::string LongestContextText(const VllmStart& start) {
  const CountRange& longest = start.longest;
  if (longest.safe == 0) return "no context is sure to start, up to " + std::to_string(longest.most) + " may";
  if (longest.safe == start.positions) return "any context of the model's " + std::to_string(longest.safe) + " starts";
  std::string text = "a context of up to " + std::to_string(longest.safe) + " is safe";
  if (longest.most > longest.safe) text += ", up to " + std::to_string(longest.most) + " may start";
  return text;
}

std::string PrintShare(const VllmStart& start, const Style& style) {
  const VllmShare& share = start.share;
  const BytesRange cache = share.cache();
  TextTable table({{"of " + ToString(start.device.usable)}, {"at worst", kRight}, {"at best", kRight}});
  const auto add = [&](const char* name, Bytes worst, Bytes best) {
    const auto shown = [](Bytes bytes) { return bytes <= Bytes() ? "none" : ToString(bytes); };
    table.AddRow({name, shown(worst), shown(best)});
  };
  add("weights", share.weights, share.weights);
  add("kept buffers", share.kept, share.kept);
  add("peak of the profile run", share.peak.high, share.peak.low);
  add("CUDA graphs", share.graphs.high, share.graphs.low);
  add("kernels", share.kernels.high, share.kernels.low);
  add("KV cache", cache.low, cache.high);
  const std::string asked = "gpu_memory_utilization " + NumberText(start.options.utilization);
  add(asked.c_str(), share.requested, share.requested);
  return table.Print(style.width);
}

// vLLM is given the folder that a config.json lies in, with the weights.
std::string ServedPath(const std::string& source) {
  constexpr std::string_view kConfig = "config.json";
  if (source == kConfig) return ".";
  const bool is_config = source.ends_with("/" + std::string(kConfig));
  return is_config ? source.substr(0, std::max<size_t>(1, source.size() - kConfig.size() - 1)) : source;
}

}  // namespace

std::string VerdictLine(const VllmStart& start) {
  const std::string what = FileName(start.head.model.file), on = " under vLLM on " + CardText(start.device) + " with " +
                                                                 Counted(start.context, "token") + " of context";
  const bool holds = start.stops != VllmStop::kSequences;
  const char* word = start.verdict == Verdict::kFits    ? " starts"
                     : start.verdict == Verdict::kTight ? (holds ? " may start" : " starts")
                     : holds                            ? " does not start"
                                                        : " starts";
  std::string text = what + word + on;
  if (start.stops != VllmStop::kNowhere) text += (holds ? ": " : ", but ") + StopText(start);
  if (start.verdict == Verdict::kDoesNotFit && holds) return text;
  return text + (start.stops == VllmStop::kNowhere ? ": " : "; ") + "its cache holds " + TokensText(start.tokens) +
         "; " + AtOnceText(start) + "; " + LongestContextText(start);
}

std::string PrintVllm(const VllmStart& start, const Style& style) {
  std::string text = VerdictLine(start) + "\n";
  const auto add = [&](const std::string& line) {
    if (!line.empty()) text += Indented(line, style);
  };
  if (const std::string said = SaidByVllm(start); !said.empty())
    add((start.verdict == Verdict::kTight ? "vLLM may say: " : "vLLM says: ") + said);
  add(WhatToChange(start));
  text += PrintSpec(start.head.spec, style) + "\n" + PrintShare(start, style);
  if (start.rows.front().largest > 0) text += "\n" + PrintServingRows(start.rows, style);
  return text;
}

std::string VllmCommand(const VllmStart& start) {
  const VllmOptions& options = start.options;
  std::string text = "# " + InComment(FileName(start.head.model.file)) + " on " + InComment(start.device.name) +
                     ", by vramplan: a cache of " + TokensText(start.tokens) + "\nvllm serve " +
                     InShell(ServedPath(start.source)) + " --max-model-len " + std::to_string(start.context);
  if (!start.dtype.empty()) text += " --dtype " + start.dtype;
  if (options.utilization != VllmOptions().utilization)
    text += " --gpu-memory-utilization " + NumberText(options.utilization);
  if (options.tokens) text += " --max-num-batched-tokens " + std::to_string(*options.tokens);
  if (options.sequences) text += " --max-num-seqs " + std::to_string(*options.sequences);
  if (options.fp8) text += " --kv-cache-dtype fp8";
  if (options.eager) text += " --enforce-eager";
  return text + "\n";
}

}  // namespace vramplan
