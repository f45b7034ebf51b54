#include "planner/spec/vllm.h"

#include <algorithm>
#include <cmath>

#include "graph/base/text.h"

namespace vramplan {
namespace {

constexpr int64_t kFourBytes = 4;

int64_t DividedUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

// EngineArgs.get_batch_defaults, UsageContext.OPENAI_API_SERVER: cards of this size and more.
struct BatchRow {
  Bytes from;
  VllmBatch batch;
};
constexpr BatchRow kBatches[] = {
    {Bytes::GiB(160), {16384, 1024}},
    {Bytes::GiB(70), {8192, 1024}},
    {Bytes(), {2048, 256}},
};
constexpr size_t kOfSmallCards = 2;

bool IsA100(const std::string& name) { return LowerCase(name).find("a100") != std::string::npos; }

// CUDA graphs of 1, 2, 4, 8, 16 ... 248, then 256, 272 ... tokens (VllmConfig._set_cudagraph_sizes).
constexpr int64_t kMostCaptured = 512;
int64_t CapturedUpTo(int64_t most) {
  int64_t count = 0;
  for (int64_t size = 1; size <= most; size += size < 8 ? size : size < 256 ? 8 : 16) ++count;  // NOLINT
  return count;
}

// Live in the gated MLP of a layer: what attention made, the residual before and behind it, both halves of the gate,
// and their product (models/llama.py, LlamaMLP; layers/activation.py, SiluAndMul).
Bytes PeakOfLayers(const VllmModel& model, int64_t tokens, bool eager) {
  const int64_t residuals = model.scaled && eager ? 3 : 2;
  return Bytes::Of(tokens * model.element) *
         (3 * model.intermediate + residuals * model.hidden + model.heads * model.head);
}

int64_t PaddedVocabulary(const VllmModel& model) {
  constexpr int64_t kPadding = 64;  // VocabParallelEmbedding
  return DividedUp(model.vocabulary, kPadding) * kPadding;
}

// The first start compiles, and Inductor tries its kernels on tensors of the same shapes (benchmark_combo_kernel): the
// one that looks words up on another embedding, beside its results.
Bytes PeakOfCompiling(const VllmModel& model, int64_t tokens) {
  return Bytes::Of(PaddedVocabulary(model) + 2 * tokens) * (model.hidden * model.element);
}

// Logits as they are made, in fp32, with what top-k leaves, and as probabilities (v1/worker/gpu/sample/sampler.py;
// flashinfer.sampling.top_k_top_p_sampling_from_logits), beside what the layers made.
Bytes PeakOfSampler(const VllmModel& model, int64_t tokens, int64_t sequences) {
  return Bytes::Of(sequences) * (PaddedVocabulary(model) * model.element + 3 * kFourBytes * model.vocabulary) +
         Bytes::Of((tokens + sequences) * model.hidden * model.element);
}

// Of each sequence: how often each token was made (penalties.py), two masks of tokens (penalties.py,
// structured_outputs.py), and lists of tokens with a bias, without, that stop and that are logged (logit_bias.py,
// bad_words.py, logprob.py).
Bytes KeptOfSequences(const VllmModel& model, int64_t sequences) {
  constexpr int64_t kTokensOfMask = 32, kLists = (4 * 1024 + 129 + 2 * 128) * kFourBytes;
  return Bytes::Of(sequences) *
         (kFourBytes * (model.vocabulary + 2 * DividedUp(model.vocabulary, kTokensOfMask)) + kLists);
}

// PyTorch's allocator gives blocks of 10 MiB and more in whole 2 MiB, and keeps what is left of those above 20 MiB with
// them while vLLM loads (Worker.load_model, max_split_size_mb=20): of the weights as vLLM joins them.
Bytes SlackOfWeights(const VllmModel& model) {
  constexpr int64_t kOfLarge = 10 << 20, kStep = 2 << 20;
  const auto slack = [&](int64_t rows, int64_t columns) {
    const int64_t bytes = rows * columns * model.element;
    return Bytes::Of(bytes < kOfLarge ? 0 : DividedUp(bytes, kStep) * kStep - bytes);
  };
  const int64_t queries = model.heads * model.head, keys = model.kv_heads * model.head;
  const Bytes layer = slack(queries + 2 * keys, model.hidden) + slack(model.hidden, queries) +
                      slack(2 * model.intermediate, model.hidden) + slack(model.hidden, model.intermediate);
  return layer * model.layers + slack(model.vocabulary, model.hidden) * (model.tied ? 1 : 2);
}

Bytes KeptOf(const VllmModel& model, const VllmBatch& batch) {
  constexpr int64_t kOfToken = 4 + 8 + 1;     // its number, position and flag (input_batch.py)
  const Bytes of_flashinfer = Bytes::MiB(1);  // flashinfer.utils._get_cache_buf
  const int64_t padding = PaddedVocabulary(model) - model.vocabulary;
  return SlackOfWeights(model) + KeptOfSequences(model, batch.sequences) + Bytes::Of(batch.tokens) * kOfToken +
         of_flashinfer + Bytes::Of(model.positions * model.head * model.element) * model.rotary_tables +
         Bytes::Of(padding * model.hidden * model.element) * (model.tied ? 1 : 2);
}

// One pool for all graphs: the layers at the most tokens and a workspace of cuBLAS for their stream; where attention is
// FlashAttention 3, its parts for each of 32 splits (flash_attn_max_num_splits_for_cuda_graph). Each graph takes at
// least 1 MiB (_MIN_PER_GRAPH_BYTES), and what the driver keeps of it was 4 to 12 MiB in logs of 26 to 62 layers: at
// most a quarter of a MiB for a layer (tests/data/names/vllm.csv).
BytesRange GraphsOf(const VllmModel& model, const VllmBatch& batch, Capability capability) {
  const int64_t most = std::min(2 * batch.sequences, kMostCaptured);
  const int64_t decoded = std::min(most, batch.sequences);
  const int64_t whole = CapturedUpTo(decoded), pieces = CapturedUpTo(most);
  const bool hopper = capability.major == 9;
  constexpr int64_t kSplits = 32;
  Bytes pool = PeakOfLayers(model, most, false) + (hopper ? Bytes::MiB(32) : Bytes::KiB(8320));
  if (hopper) pool += Bytes::Of(kSplits * decoded * model.heads) * (kFourBytes * (model.head + 1));
  const Bytes least = pool + Bytes::MiB(whole);
  return {least, least + Bytes::KiB(256) * (model.layers * (whole + pieces))};
}

}  // namespace

VllmBatch BatchOfVllm(const VllmOptions& options, const Device& device, Capability capability, int64_t context) {
  const BatchRow* row = kBatches;
  while (device.usable < row->from) ++row;
  const bool slow = IsA100(device.name) || capability == Capability{12, 1};
  if (row != kBatches && slow) row = kBatches + kOfSmallCards;
  VllmBatch batch = row->batch;
  if (options.sequences) batch.sequences = *options.sequences;
  batch.tokens = options.tokens.value_or(std::min(batch.tokens, batch.sequences * context));
  if (!options.sequences) batch.sequences = std::min(batch.sequences, batch.tokens);
  return batch;
}

int64_t VllmCache::BlocksFor(int64_t tokens) const {
  // Blocks outside of the window are given back once their step is done; its begin may be inside of a block.
  const int64_t held = std::min(window - 1 + in_flight, tokens);
  return full_groups * DividedUp(tokens, kTokens) + window_groups * (DividedUp(held, kTokens) + 1);
}

int64_t VllmCache::LongestIn(Bytes bytes, int64_t most) const {
  const int64_t blocks = std::max<int64_t>(0, bytes.count()) / block.count() - 1;
  int64_t fits = 0, fails = most + 1;
  while (fails - fits > 1) {
    const int64_t middle = fits + (fails - fits) / 2;
    (BlocksFor(middle) <= blocks ? fits : fails) = middle;
  }
  return fits;
}

int64_t VllmCache::SequencesIn(Bytes bytes, int64_t tokens) const {
  const int64_t blocks = std::max<int64_t>(0, bytes.count()) / block.count() - 1;
  return std::max<int64_t>(0, blocks) / BlocksFor(tokens);
}

int64_t VllmCache::TokensIn(Bytes bytes, int64_t context) const {
  const int64_t blocks = std::max<int64_t>(0, bytes.count()) / block.count();
  return static_cast<int64_t>(static_cast<double>(blocks) / static_cast<double>(BlocksFor(context)) *
                              static_cast<double>(context));
}

VllmCache CacheOfVllm(const VllmModel& model, const VllmBatch& batch, const VllmOptions& options) {
  VllmCache cache;
  const auto full = static_cast<int64_t>(std::ranges::count(model.windows, 0));
  const int64_t windowed = model.layers - full;
  if (windowed > 0) cache.window = *std::ranges::max_element(model.windows);
  cache.in_flight = 2 * batch.tokens;
  // As many layers in each group as there are of the rarer kind, or of the other where it is not half as many again.
  int64_t group = model.layers;
  if (full > 0 && windowed > 0) {
    const auto [fewer, more] = std::minmax(full, windowed);
    group = 2 * more < 3 * fewer ? more : fewer;
  }
  cache.full_groups = DividedUp(full, group);
  cache.window_groups = DividedUp(windowed, group);
  const int64_t element = options.fp8 ? 1 : model.element;
  cache.block = Bytes::Of(2 * VllmCache::kTokens * model.kv_heads * model.head * element) * group;
  return cache;
}

BytesRange VllmShare::cache() const {
  const Bytes known = requested - weights - kept;
  return {known - peak.high - graphs.high - kernels.high, known - peak.low - graphs.low - kernels.low};
}

VllmShare ShareOfVllm(const VllmModel& model, const VllmBatch& batch, const VllmOptions& options, Bytes total,
                      Capability capability) {
  VllmShare share;
  share.requested =
      Bytes::Of(static_cast<int64_t>(std::ceil(static_cast<double>(total.count()) * options.utilization)));
  share.weights = model.weights;
  share.kept = KeptOf(model, batch);
  const int64_t sampled = std::min(batch.tokens, batch.sequences);
  const Bytes peak =
      std::max(PeakOfLayers(model, batch.tokens, options.eager), PeakOfSampler(model, batch.tokens, sampled));
  share.peak = {peak, options.eager ? peak : std::max(peak, PeakOfCompiling(model, batch.tokens))};
  if (!options.eager) share.graphs = GraphsOf(model, batch, capability);
  // What the driver loads with the first kernels, and segments that are not full: 0.03 to 0.46 GiB in logs.
  share.kernels = {Bytes::MiB(32), Bytes::MiB(512)};
  return share;
}

}  // namespace vramplan
