#include "planner/answers/vllm.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "graph/architectures/named.h"
#include "planner/answers/named_model.h"
#include "planner/answers/prepare.h"

namespace vramplan {
namespace {

// How many layers see a window alone.
enum class Windows : uint8_t { kNone, kAll, kEveryOther, kButEachPeriod };
// Classes that vLLM 0.33 runs with the attention and the gated MLP of models/llama.py.
struct ClassOfVllm {
  std::string_view name;
  Windows windows = Windows::kNone;
  int64_t rotary_tables = 1;
  bool in_fp16 = true;  // false: numerically unstable (config/model.py, _FLOAT16_NOT_SUPPORTED_MODELS)
  bool scaled = false;  // models/granite.py
};
constexpr ClassOfVllm kClasses[] = {
    {"LlamaForCausalLM"},
    {"MistralForCausalLM", Windows::kAll},
    {"Qwen2ForCausalLM"},
    {"Qwen3ForCausalLM"},
    {"GemmaForCausalLM"},
    {"Gemma2ForCausalLM", Windows::kEveryOther, 1, false},
    {"Gemma3ForCausalLM", Windows::kButEachPeriod, 2, false},
    {"Phi3ForCausalLM", Windows::kAll},
    {"Olmo2ForCausalLM"},
    {"GraniteForCausalLM", Windows::kNone, 1, true, true},
};

Error NotOfVllm(const char* flag, const std::string& what, const std::string& hint) {
  return {ErrorCode::kUsage, flag, what, hint};
}

Status CheckQuestion(const Question& question) {
  if (question.quant)
    return NotOfVllm("--quant", "how vLLM loads packed weights is not modelled", "leave it out, or leave out --engine");
  if (question.lora)
    return NotOfVllm("--lora", "how vLLM serves adapters is not modelled", "leave it out, or leave out --engine");
  const Precision precision = question.spec.precision;
  if (question.spec.around.resident > Bytes())
    return NotOfVllm("--resident", "vLLM has the card for itself", "say what others hold of it: --reserve");
  if (IsAutocast(precision) || precision == Precision::kFp64)
    return NotOfVllm("--precision", "vLLM runs in the type of the weights, and not in " + std::string(Name(precision)),
                     "type --precision bf16");
  return Done();
}

// --dtype, where the question says the type of the weights; nothing: vLLM decides (auto).
std::optional<DType> TypeAsked(const Question& question) {
  if (!question.weights && !question.spec.given.contains("precision")) return std::nullopt;
  return TypeInRun(DType::kFloat32, question.spec.precision);
}

constexpr Capability kFirstWithFp8{8, 0};  // of the cache

// What the card cannot do. Version 0.33: its wheel has kernels from 7.5 on; config/model.py,
// check_if_supports_dtype; below 8.0 Triton's attention is left, which has fp8 from 8.9 on (v1/attention/backends/
// triton_attn.py); config/scheduler.py.
Status CheckCard(const Question& question, const ChosenDevice& chosen, const VllmBatch& batch) {
  const Capability capability = chosen.capability;
  if (capability < Capability{7, 5})
    return NotOfVllm("--engine", "vLLM has no kernels for capability " + ToString(capability), "name a newer card");
  if (capability < Capability{8, 0} && TypeAsked(question) == DType::kBFloat16)
    return NotOfVllm("--precision", "vLLM refuses bf16 below capability 8.0", "leave it out, or type --precision fp16");
  if (question.vllm->fp8 && capability < kFirstWithFp8)
    return NotOfVllm("--kv", "vLLM has no attention with an fp8 cache below capability 8.0", "leave it out");
  if (batch.sequences > batch.tokens) {
    const std::string tokens = std::to_string(batch.tokens), sequences = std::to_string(batch.sequences);
    return NotOfVllm("--engine",
                     "max_num_batched_tokens (" + tokens + ") is less than max_num_seqs (" + sequences + ")",
                     "type seqs=" + tokens + " or less, or tokens=" + sequences);
  }
  return Done();
}

int64_t NumberOf(const NamedModel& model, const char* name) { return model.settings.Number(name).value_or(0); }

std::vector<int64_t> WindowsOf(const NamedModel& model, Windows kind) {
  std::vector<int64_t> windows(static_cast<size_t>(NumberOf(model, "num_hidden_layers")));
  const int64_t window = NumberOf(model, "sliding_window");  // 0: null, and nothing slides
  const int64_t period = model.settings.Number("sliding_window_pattern").value_or(1);
  for (size_t i = 0; i < windows.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const bool slides = kind == Windows::kAll || (kind == Windows::kEveryOther && at % 2 == 0) ||
                        (kind == Windows::kButEachPeriod && (at + 1) % period != 0);
    if (slides) windows[i] = window;
  }
  return windows;
}

// The parameters of the class, in weights of `element` bytes.
Result<Bytes> WeightsOf(const NamedModel& model, int64_t element) {
  std::map<std::string, int64_t> lengths;
  const Result<Facts> facts = FactsOf(model, &lengths, "infer", "bfloat16");
  if (!facts) return facts.error();
  Bytes bytes;
  for (const RecordedTensor& parameter : *facts->parameters) {
    if (!parameter.same_as.empty()) continue;
    int64_t elements = 1;
    for (const int64_t length : parameter.shape) elements = SaturatingMultiply(elements, length);
    bytes += Bytes::Of(elements) * element;
  }
  return bytes;
}

// --dtype auto: fp32 of a config.json becomes a half, and bf16 fp16 where the card has no bf16, or fp32 where the class
// has no fp16 either (config/model.py, _resolve_auto_dtype).
int64_t ElementOf(const Question& question, const ClassOfVllm& row, Capability capability) {
  constexpr int64_t kWhole = 4, kHalf = 2;
  if (const std::optional<DType> type = TypeAsked(question)) return IsHalf(*type) ? kHalf : kWhole;
  return capability < Capability{8, 0} && !row.in_fp16 ? kWhole : kHalf;
}

Result<VllmModel> ModelOf(const Question& question, Capability capability) {
  const NamedModel& named = *question.named;
  const auto* row = std::ranges::find(kClasses, named.of_class, &ClassOfVllm::name);
  if (row == std::end(kClasses))
    return NotOfVllm("--engine", "how vLLM starts " + named.of_class + " is not modelled",
                     "leave it out for generate()");
  if (!row->in_fp16 && TypeAsked(question) == DType::kFloat16)
    return NotOfVllm("--precision", "vLLM refuses fp16 for " + named.of_class, "type --precision bf16");
  VllmModel model;
  model.layers = NumberOf(named, "num_hidden_layers");
  model.heads = NumberOf(named, "num_attention_heads");
  model.kv_heads = NumberOf(named, "num_key_value_heads");
  model.hidden = NumberOf(named, "hidden_size");
  model.head = named.settings.Number("head_dim").value_or(model.hidden / std::max<int64_t>(1, model.heads));
  model.intermediate = NumberOf(named, "intermediate_size");
  model.vocabulary = NumberOf(named, "vocab_size");
  model.positions = NumberOf(named, "max_position_embeddings");
  model.rotary_tables = row->rotary_tables;
  model.scaled = row->scaled;
  const Setting* tied = named.settings.Find("tie_word_embeddings");
  model.tied = tied != nullptr && *tied == Setting(true);
  model.windows = WindowsOf(named, row->windows);
  model.element = ElementOf(question, *row, capability);
  const Result<Bytes> weights = WeightsOf(named, model.element);
  if (!weights) return weights.error();
  model.weights = *weights;
  return model;
}

// At which of the two ends: how much is free before the weights, and what is left for the cache.
VllmStop StopOf(const VllmStart& start, Bytes context, Bytes cache) {
  const Device& device = start.device;
  const Bytes free = device.usable - context - device.reserve - device.held;
  if (start.share.requested > free) return VllmStop::kFree;
  if (start.share.weights + start.share.kept > free) return VllmStop::kLoading;
  if (cache <= start.cache.block) return VllmStop::kNoCache;
  if (start.cache.LongestIn(cache, start.context) < start.context) return VllmStop::kContext;
  const int64_t at_once = std::min(start.cache.SequencesIn(cache, start.context), start.batch.sequences);
  return at_once < start.sequences ? VllmStop::kSequences : VllmStop::kNowhere;
}

std::vector<Serving::Row> RowsOf(const VllmStart& start, const BytesRange& cache) {
  constexpr int64_t kShortest = 1024;
  std::vector<Serving::Row> rows;
  const auto held = [&](Bytes bytes, int64_t tokens) {
    return std::min(start.cache.SequencesIn(bytes, tokens), start.batch.sequences);
  };
  for (int64_t tokens = std::min(kShortest, start.positions);; tokens = std::min(2 * tokens, start.positions)) {
    rows.push_back({tokens, held(cache.low, tokens), held(cache.high, tokens)});
    if (rows.back().largest == 0 || tokens == start.positions) return rows;
  }
}

}  // namespace

Result<VllmStart> VllmStartOf(const Question& question, const ChosenDevice& chosen) {
  if (const Status goes = CheckQuestion(question); !goes.ok()) return goes.error();
  if (!chosen.nvidia)
    return NotOfVllm("--engine", "vLLM's kernels for AMD's cards are not modelled", "name a card of NVIDIA");
  Question asked = question;
  asked.spec.mode = Mode::kInfer;  // no step is asked about, and every named class has this one
  if (const Status named = TakeNamed(&asked); !named.ok()) return named.error();
  if (asked.named == nullptr)
    return NotOfVllm("--engine", "it is for a named model, and " + question.model + " is a file",
                     "name the model: vramplan fit qwen3-8b --engine vllm");
  const Result<VllmModel> model = ModelOf(asked, chosen.capability);
  if (!model) return model.error();
  const std::string length = ServedLength(*asked.named).first;
  VllmStart start;
  start.positions = model->positions;
  const auto given = question.bind.dims.find(length);
  start.context_given = given != question.bind.dims.end();
  start.context = start.context_given ? given->second : start.positions;
  if (start.context < 1 || start.context > start.positions) {
    const std::string positions = std::to_string(start.positions);
    return NotOfVllm("--dim", length + " is from 1 to " + positions + ", the positions of the model",
                     "type --dim " + length + "=" + positions);
  }
  asked.bind.dims.erase(length);  // of the step that nothing is laid out of
  Result<Prepared> prepared = Prepare(asked);
  if (!prepared.ok()) return prepared.error();
  start.head = std::move(prepared->head);
  start.head.mode = Mode::kServe;
  start.head.usual_lengths.clear();
  if (!start.context_given) start.head.usual_lengths.emplace(length, start.context);
  start.device = chosen.device;
  start.id = chosen.id;
  start.source = asked.named->source;
  start.options = *question.vllm;
  if (const std::optional<DType> type = TypeAsked(asked)) start.dtype = Name(*type);
  start.batch = BatchOfVllm(start.options, chosen.device, chosen.capability, start.context);
  if (const Status can = CheckCard(asked, chosen, start.batch); !can.ok()) return can.error();
  start.cache = CacheOfVllm(*model, start.batch, start.options);
  start.share = ShareOfVllm(*model, start.batch, start.options, chosen.device.usable, chosen.capability);
  start.has_fp8 = chosen.capability >= kFirstWithFp8;
  start.sequences = question.batch.value_or(1);
  start.one = start.cache.block * start.cache.BlocksFor(start.context);
  const BytesRange cache = start.share.cache();
  start.tokens = {start.cache.TokensIn(cache.low, start.context), start.cache.TokensIn(cache.high, start.context)};
  start.longest = {start.cache.LongestIn(cache.low, start.positions),
                   start.cache.LongestIn(cache.high, start.positions)};
  const auto at_once = [&](Bytes bytes) {
    return std::min(start.cache.SequencesIn(bytes, start.context), start.batch.sequences);
  };
  start.at_once = {at_once(cache.low), at_once(cache.high)};
  start.stops = StopOf(start, chosen.device.context.low, cache.high);
  start.verdict = Verdict::kDoesNotFit;
  if (start.stops == VllmStop::kNowhere) {
    start.stops = StopOf(start, chosen.device.context.high, cache.low);
    start.verdict = start.stops == VllmStop::kNowhere ? Verdict::kFits : Verdict::kTight;
  }
  start.rows = RowsOf(start, cache);
  start.notes = std::move(prepared->notes);
  start.notes.Append(chosen.notes);
  if (start.dtype.empty() && chosen.capability < Capability{8, 0} && asked.spec.precision == Precision::kBf16) {
    constexpr int64_t kWhole = 4;
    start.notes.Replace("emulated-bf16", {"vllm-without-bf16", Severity::kWarning, "--precision",
                                          std::string("vLLM runs it in ") +
                                              (model->element == kWhole ? "fp32" : "fp16") + " on a card without bf16",
                                          "name another card for bf16"});
  }
  return start;
}

}  // namespace vramplan
