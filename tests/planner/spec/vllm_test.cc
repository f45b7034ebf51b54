#include "planner/spec/vllm.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace vramplan::testing {
namespace {

Device CardOf(const char* name, Bytes usable) {
  Device device;
  device.name = name;
  device.usable = usable;
  return device;
}

// EngineArgs.get_batch_defaults of vLLM 0.33, for an API server.
TEST_CASE("vllm: how much a step takes depends on the card") {
  const struct {
    const char* card;
    int gib;
    Capability capability;
    VllmOptions options;
    int64_t context;
    VllmBatch expected;
  } rows[] = {
      {"B200", 179, {10, 0}, {}, 8192, {16384, 1024}},
      {"H100 SXM 80GB", 79, {9, 0}, {}, 8192, {8192, 1024}},
      {"A100 80GB", 79, {8, 0}, {}, 8192, {2048, 256}},            // "a100" not in device_name
      {"a card of 119 GiB", 119, {12, 1}, {}, 8192, {2048, 256}},  // GB10
      {"GeForce RTX 4090", 23, {8, 9}, {}, 8192, {2048, 256}},
      {"GeForce RTX 4090", 23, {8, 9}, {}, 4, {1024, 256}},  // max_num_seqs times max_model_len
      {"GeForce RTX 4090", 23, {8, 9}, {.tokens = 100}, 8192, {100, 100}},
      {"GeForce RTX 4090", 23, {8, 9}, {.tokens = 100, .sequences = 512}, 8192, {100, 512}},
  };
  for (const auto& row : rows) {
    CAPTURE(row.card);
    CAPTURE(row.context);
    CHECK(BatchOfVllm(row.options, CardOf(row.card, Bytes::GiB(row.gib)), row.capability, row.context) == row.expected);
  }
}

VllmModel Attending(int64_t layers, int64_t kv_heads, int64_t head, std::vector<int64_t> windows) {
  VllmModel model;
  model.layers = layers;
  model.kv_heads = kv_heads;
  model.head = head;
  model.windows = std::move(windows);
  return model;
}

// `period`: each so-many-th layer sees everything.
std::vector<int64_t> EachButPeriod(int64_t layers, int64_t period, int64_t window) {
  std::vector<int64_t> windows;
  for (int64_t i = 1; i <= layers; ++i) windows.push_back(i % period == 0 ? 0 : window);
  return windows;
}

// What vLLM logged of available bytes: tests/data/names/vllm.csv and, of Gemma 3 27B, the log beside its rows.
TEST_CASE("vllm: a sequence takes blocks in each group of layers") {
  const struct {
    const char* what;
    VllmModel model;
    int64_t tokens, context;  // in flight: twice the former
    double gib;
    int64_t held;
  } rows[] = {
      {"one group", Attending(32, 8, 128, std::vector<int64_t>(32)), 8192, 16384, 58.11, 476016},
      {"as many local layers as others", Attending(42, 8, 256, EachButPeriod(42, 2, 4096)), 8192, 8192, 54.12, 168880},
      {"five local layers to one", Attending(62, 16, 128, EachButPeriod(62, 6, 1024)), 8192, 8192, 19.53, 36560},
  };
  for (const auto& row : rows) {
    CAPTURE(row.what);
    const VllmCache cache = CacheOfVllm(row.model, {row.tokens, 1024}, {});
    const Bytes bytes = Bytes::Of(static_cast<int64_t>(row.gib * (1 << 30)));
    const double off = static_cast<double>(cache.TokensIn(bytes, row.context)) / static_cast<double>(row.held) - 1;
    CHECK_MESSAGE(std::fabs(off) < 2e-3, cache.TokensIn(bytes, row.context));  // the log has two decimals
  }
}

TEST_CASE("vllm: what is outside of a window is given back once its step is done") {
  const VllmCache local = CacheOfVllm(Attending(32, 8, 128, std::vector<int64_t>(32, 4096)), {2048, 256}, {});
  CHECK(local.full_groups == 0);
  CHECK(local.window_groups == 1);
  CHECK(local.BlocksFor(1024) == 65);  // its begin may be inside of a block
  CHECK(local.BlocksFor(8191) == 513);
  CHECK(local.BlocksFor(1 << 20) == 513);  // 4095 of the window and two steps of 2048
}

TEST_CASE("vllm: one block is never used, and fp8 halves them") {
  const VllmModel model = Attending(36, 8, 128, std::vector<int64_t>(36));
  const VllmCache halves = CacheOfVllm(model, {2048, 256}, {}), eights = CacheOfVllm(model, {2048, 256}, {.fp8 = true});
  CHECK(halves.block == Bytes::Of(2 * 16 * 8 * 128 * 2 * 36));
  CHECK(eights.block == Bytes::Of(2 * 16 * 8 * 128 * 36));
  const Bytes hundred = halves.block * 100;
  CHECK(halves.LongestIn(hundred, 1 << 20) == 99 * 16);
  CHECK(halves.LongestIn(hundred, 1000) == 1000);
  CHECK(eights.LongestIn(hundred, 1 << 20) == 199 * 16);
  CHECK(halves.SequencesIn(hundred, 33 * 16) == 3);
  CHECK(halves.SequencesIn(hundred, 33 * 16 + 1) == 2);
  CHECK(halves.LongestIn(halves.block, 1 << 20) == 0);
  CHECK(halves.LongestIn(Bytes::Of(-1), 1 << 20) == 0);
  CHECK(halves.SequencesIn(Bytes::Of(-1), 16) == 0);
}

TEST_CASE("vllm: the rows sum to what it asks for") {
  VllmModel model = Attending(32, 8, 128, std::vector<int64_t>(32));
  model.heads = 32;
  model.hidden = 4096;
  model.intermediate = 14336;
  model.vocabulary = 128256;
  model.positions = 131072;
  model.weights = Bytes::GiB(15);
  const VllmShare share = ShareOfVllm(model, {8192, 1024}, {}, Bytes::GiB(80), {9, 0});
  const BytesRange cache = share.cache();
  const Bytes known = share.weights + share.kept;
  CHECK(known + share.peak.low + share.graphs.low + share.kernels.low + cache.high == share.requested);
  CHECK(known + share.peak.high + share.graphs.high + share.kernels.high + cache.low == share.requested);
  CHECK(cache.low < cache.high);
  // 1024 * 128256 logits of 2 and three times 4 bytes, and what the layers made of 8192 tokens
  CHECK(share.peak.low == Bytes::Of(1024 * 128256 * 14 + (8192 + 1024) * 4096 * 2));
  CHECK(share.peak.high == share.peak.low);
  const VllmShare eager = ShareOfVllm(model, {8192, 1024}, {.eager = true}, Bytes::GiB(80), {9, 0});
  CHECK(eager.graphs == BytesRange());
  CHECK(eager.peak == share.peak);
  // of 256 sequences the first start is the peak: an embedding more
  const VllmShare small = ShareOfVllm(model, {2048, 256}, {}, Bytes::GiB(24), {8, 9});
  CHECK(small.peak.low < small.peak.high);
  CHECK(small.peak.high == Bytes::Of(128256 + 2 * 2048) * (4096 * 2));
  // of few sequences and a small vocabulary the layers are the peak
  model.vocabulary = 32000;
  const VllmShare layers = ShareOfVllm(model, {8192, 16}, {}, Bytes::GiB(80), {9, 0});
  CHECK(layers.peak.low == Bytes::Of(8192 * 2) * (3 * 14336 + 3 * 4096));
}

}  // namespace
}  // namespace vramplan::testing
