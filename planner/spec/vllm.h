// Vllm: what `vllm serve` does with a card when it starts. It takes a share of the whole card, whatever the model
// needs; what a run of dummy tokens leaves of the share is cut into blocks of keys and values.
//
//   Qwen3-8B on a card of 23.52 GiB     share of the card     21.64 GiB    gpu_memory_utilization 0.92
//                                       - weights             15.27 GiB
//                                       - kept buffers         0.16 GiB    counts of tokens for 256 sequences
//                                       - peak of the run      0.52 GiB    2048 tokens; logits of 256 sequences; 1.19
//                                                                          GiB when it compiles for the first time
//                                       - CUDA graphs          a range
//                                       - kernels              a range
//                                       = cache                blocks of 16 tokens, 2.25 MiB each
//
// The facts are those of vLLM 0.33.0 and its files: v1/worker/gpu_worker.py (init_device, determine_available_memory),
// v1/worker/gpu (the runner of text models), utils/mem_utils.py, v1/core/kv_cache_planning.py,
// v1/kv_cache_interface.py, engine/arg_utils.py. Its own counters were read with the model's real widths and depth
// (tests/data/names/vllm.csv).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/bytes.h"
#include "planner/spec/device.h"

namespace vramplan {

inline constexpr std::string_view kVllmVersion = "0.33.0";

// Options of `vllm serve`.
struct VllmOptions {
  double utilization = 0.92;         // --gpu-memory-utilization (config/cache.py)
  std::optional<int64_t> tokens;     // --max-num-batched-tokens; nothing: by the card
  std::optional<int64_t> sequences;  // --max-num-seqs; nothing: by the card
  bool eager = false;                // --enforce-eager: neither compiled nor captured
  bool fp8 = false;                  // --kv-cache-dtype fp8
  bool operator==(const VllmOptions&) const = default;
};

// How much one step may take: a card's defaults for `vllm serve` (EngineArgs.get_batch_defaults).
struct VllmBatch {
  int64_t tokens = 0;     // max_num_batched_tokens
  int64_t sequences = 0;  // max_num_seqs
  bool operator==(const VllmBatch&) const = default;
};
// `context`: max_model_len, which bounds the tokens where they are not given.
VllmBatch BatchOfVllm(const VllmOptions& options, const Device& device, Capability capability, int64_t context);

// A text model that vLLM runs with a gated MLP behind attention with heads of its own (models/llama.py and those after
// it).
struct VllmModel {
  int64_t layers = 0, heads = 0, kv_heads = 0, head = 0;  // of attention; `head`: its width
  int64_t hidden = 0, intermediate = 0, vocabulary = 0;
  int64_t positions = 0;         // of the table of rotary embeddings
  int64_t rotary_tables = 1;     // two where local and global layers turn differently
  bool scaled = false;           // what attention made is multiplied before it is added, which eager code does apart
  int64_t element = 2;           // bytes of a weight and an activation
  bool tied = false;             // the output layer is the embedding
  Bytes weights;                 // as the library stores them
  std::vector<int64_t> windows;  // of each layer; 0: it sees everything
};

// Keys and values: every layer of a group has a page in each block, and a sequence takes blocks in each group
// (kv_cache_planning.py, _get_kv_cache_groups_uniform_page_size).
struct VllmCache {
  static constexpr int64_t kTokens = 16;  // of a block (config/cache.py)
  Bytes block;
  int64_t full_groups = 0, window_groups = 0;
  int64_t window = 0;     // of the latter
  int64_t in_flight = 0;  // tokens that are scheduled and not settled: two batches (VllmConfig.max_in_flight_tokens)

  // That one sequence of so many tokens needs at most.
  int64_t BlocksFor(int64_t tokens) const;
  // The longest sequence of at most `most` tokens that `bytes` hold beside the block that is never used; 0: none.
  int64_t LongestIn(Bytes bytes, int64_t most) const;
  // Of so many tokens, at once.
  int64_t SequencesIn(Bytes bytes, int64_t tokens) const;
  // What vLLM logs as "GPU KV cache size" at this max_model_len.
  int64_t TokensIn(Bytes bytes, int64_t context) const;
};
VllmCache CacheOfVllm(const VllmModel& model, const VllmBatch& batch, const VllmOptions& options);

// low: at least, high: at most.
struct BytesRange {
  Bytes low, high;
  bool operator==(const BytesRange&) const = default;
};
// What is not cache. Nobody knows the graphs and the kernels before they are captured and loaded.
struct VllmShare {
  Bytes requested;      // of the card
  Bytes weights, kept;  // kept: what the runner allocates once
  BytesRange peak;      // of the profile run, above both; high: of the first start, which compiles
  BytesRange graphs, kernels;
  // What is left, below zero too: low with the high ends.
  BytesRange cache() const;
};
VllmShare ShareOfVllm(const VllmModel& model, const VllmBatch& batch, const VllmOptions& options, Bytes total,
                      Capability capability);

}  // namespace vramplan
