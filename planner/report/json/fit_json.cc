#include <algorithm>

#include "planner/report/fit.h"
#include "planner/report/json/parts.h"
#include "planner/report/json/schemas.h"
#include "planner/report/parts/breakdown.h"
#include "planner/report/vllm.h"

namespace vramplan {

template <>
struct Described<WhatIf> {
  static constexpr const char* kName = "";
  static Fields<WhatIf> Make() {
    return Fields<WhatIf>()
        .Has("setting", "an environment variable or an option", &WhatIf::setting)
        .Has("allocator_conf", "its value", &WhatIf::conf)
        .Has("verdict", "", &WhatIf::verdict)
        .Has("largest_batch", "", &WhatIf::largest_batch);
  }
};

template <>
struct Described<Serving::Row> {
  static constexpr const char* kName = "";
  static Fields<Serving::Row> Make() {
    return Fields<Serving::Row>()
        .Has("tokens", "of each sequence", &Serving::Row::tokens)
        .Has("safe_sequences", "", &Serving::Row::safe)
        .Has("largest_sequences", "", &Serving::Row::largest);
  }
};
template <>
struct Described<Serving> {
  static constexpr const char* kName = "";
  static Fields<Serving> Make() {
    return Fields<Serving>()
        .Has("rows", "from short to long, up to the first that does not fit", &Serving::rows)
        .Has("tokens", "of a sequence, as asked", &Serving::tokens)
        .Has("sequences", "that were asked for", &Serving::sequences)
        .Has("longest_tokens", "that are safe with so many; 0: none", &Serving::longest);
  }
};

template <>
struct Described<CountRange> {
  static constexpr const char* kName = "";
  static Fields<CountRange> Make() {
    return Fields<CountRange>()
        .Has("safe", "whatever the graphs and kernels take", &CountRange::safe)
        .Has("most", "at the best", &CountRange::most);
  }
};
template <>
struct Described<BytesRange> {
  static constexpr const char* kName = "";
  static Fields<BytesRange> Make() {
    return Fields<BytesRange>().Has("low", "", &BytesRange::low).Has("high", "", &BytesRange::high);
  }
};
template <>
struct Described<VllmStart> {
  static constexpr const char* kName = "";
  static Fields<VllmStart> Make() {
    return Fields<VllmStart>()
        .Has("version", "of vLLM", [](const VllmStart&) { return std::string(kVllmVersion); })
        .Has("stops", "nowhere, or at what: free, loading, no-cache, context, sequences", &VllmStart::stops)
        .Has("max_model_len", "", &VllmStart::context)
        .Has("max_num_batched_tokens", "", &VllmStart::batch, &VllmBatch::tokens)
        .Has("max_num_seqs", "", &VllmStart::batch, &VllmBatch::sequences)
        .Has("gpu_memory_utilization", "", &VllmStart::options, &VllmOptions::utilization)
        .Has("kv_cache_dtype", "auto or fp8",
             [](const VllmStart& of) { return std::string(of.options.fp8 ? "fp8" : "auto"); })
        .Has("requested", "bytes: the share of the card", &VllmStart::share, &VllmShare::requested)
        .Has("weights", "bytes", &VllmStart::share, &VllmShare::weights)
        .Has("kept", "bytes that the runner keeps", &VllmStart::share, &VllmShare::kept)
        .Has("peak", "bytes of the profile run, above both; high: of the first start, which compiles",
             &VllmStart::share, &VllmShare::peak)
        .Has("graphs", "bytes of CUDA graphs", &VllmStart::share, &VllmShare::graphs)
        .Has("kernels", "bytes that the driver loads", &VllmStart::share, &VllmShare::kernels)
        .Has("cache", "bytes that are left for keys and values; below zero: so much too much", &VllmStart::share,
             &VllmShare::cache)
        .Has("block", "bytes of a block of the cache", &VllmStart::cache, &VllmCache::block)
        .Has("tokens", "that the cache holds, as vLLM logs them", &VllmStart::tokens)
        .Has("longest", "max_model_len with which it starts; 0: none", &VllmStart::longest)
        .Has("at_once", "sequences of max_model_len tokens", &VllmStart::at_once)
        .Has("sequences", "that were asked for", &VllmStart::sequences)
        .Has("rows", "how many sequences of how many tokens", &VllmStart::rows)
        .Has("command", "what --emit vllm prints", VllmCommand);
  }
};

template <>
struct Described<KeptGraphs> {
  static constexpr const char* kName = "";
  static Fields<KeptGraphs> Make() {
    return Fields<KeptGraphs>()
        .Has("each_batch", "bytes that each leaves", &KeptGraphs::each)
        .Has("full_in_batch", "the batch of the loop that does not fit", &KeptGraphs::full);
  }
};

namespace {

struct GpuOf : CardOf {};
struct RungOf {
  const LadderRow* row;
  Bytes context;
};

}  // namespace

template <>
struct Described<GpuOf> {
  static constexpr const char* kName = "";
  static Fields<GpuOf> Make() {
    return Fields<GpuOf>()
        .All<CardOf>()
        .Has("context_source", "", &GpuOf::device, &Device::context, &ContextBand::source)
        .Has("source", "of what is usable", &GpuOf::device, &Device::source)
        .May("pool", "of a runtime that takes its memory before it needs it", [](const GpuOf& of) {
          const Pool& pool = of.device->pool;
          return pool.source.empty() ? std::nullopt : std::optional(pool);
        });
  }
};

template <>
struct Described<RungOf> {
  static constexpr const char* kName = "";
  static Fields<RungOf> Make() {
    return Fields<RungOf>()
        .Has("precision", "", &RungOf::row, &LadderRow::precision)
        .Has("checkpointing", "none, or how many modules", &RungOf::row, CheckpointingText)
        .Has("largest_batch", "", &RungOf::row, &LadderRow::largest, &LargestBatch::largest_batch)
        .Has("peak_device", "at that batch", [](const RungOf& of) {
          const std::optional<Peak>& peak = of.row->largest.peak;
          return peak ? std::optional(DeviceBytes(*peak, of.context)) : std::nullopt;
        });
  }
};

// A row of --gpu all.
template <>
struct Described<CardFit> {
  static constexpr const char* kName = "";
  static Fields<CardFit> Make() {
    return Fields<CardFit>()
        .Has("id", "of the catalogue", &CardFit::id)
        .Has("name", "", &CardFit::device, &Device::name)
        .Has("usable_bytes", "", &CardFit::device, &Device::usable)
        .Has("verdict", "", &CardFit::verdict)
        .Has("peak_device", "likely", &CardFit::Needs)
        .Has("peak_device_low", "", [](const CardFit& card) { return card.band.device().low; })
        .Has("peak_device_high", "", [](const CardFit& card) { return card.band.device().high; })
        .Has("largest_batch", "", &CardFit::largest, &LargestBatch::largest_batch)
        .Has("safe_batch", "", &CardFit::safe_batch, OrNone)
        .Has("first_failing_batch", "", &CardFit::largest, &LargestBatch::first_failing_batch)
        .Has("source", "of what is usable", &CardFit::device, &Device::source);
  }
};

// Both answers of `fit` have one schema: what a matrix of cards does not say is null, or left out.
namespace {

struct FitAnswer {
  const AnswerHead* head;
  const Notes* notes;
  const Fit* one = nullptr;
  const FitMatrix* many = nullptr;
  const VllmStart* vllm = nullptr;

  Verdict verdict() const {
    if (one != nullptr) return one->card.verdict;
    if (vllm != nullptr) return vllm->verdict;
    Verdict best = Verdict::kDoesNotFit;
    for (const CardFit& card : many->cards) best = std::min(best, card.verdict);
    return best;
  }
};

// Read of a card, where there is one.
template <typename... Path>
auto Of(Path... path) {
  return Where(&FitAnswer::one, path...);
}

}  // namespace

template <>
struct Described<FitAnswer> {
  static constexpr const char *kName = "", *kAnswer = "fit", *kTitle = "whether a step fits a card";
  static Fields<FitAnswer> Make() {
    return Fields<FitAnswer>()
        .Has("verdict", "fits, tight or does-not-fit", &FitAnswer::verdict)
        .Has("model", "", &FitAnswer::head, &AnswerHead::model)
        .Has("spec", "the options behind the answer", &FitAnswer::head, &AnswerHead::spec)
        .Has("gpu", "null for several cards",
             [](const FitAnswer& of) {
               return of.one != nullptr    ? std::optional(GpuOf{{of.one->card.id, &of.one->card.device}})
                      : of.vllm != nullptr ? std::optional(GpuOf{{of.vllm->id, &of.vllm->device}})
                                           : std::nullopt;
             })
        .Has("batch", "that was asked for", &FitAnswer::head, &AnswerHead::batch)
        .Has("peak", "at that batch", Of([](const Fit& fit) {
               return PeakAt{{&fit.card.peak, fit.card.device.context.likely}, &fit.place};
             }))
        .May("device", "how sure the bytes on the device are", Of(&Fit::card, &CardFit::band))
        .May("on_a_larger_card", kOnALargerCard, Of(&Fit::card, &CardFit::OnALargerCard))
        .May("margin_bytes", "left at the likely value; below zero: too much",
             Of([](const Fit& fit) { return fit.card.MarginAt(fit.card.band.device().likely); }))
        .May("margin_bytes_high", "left at the high end",
             Of([](const Fit& fit) { return fit.card.MarginAt(fit.card.band.device().high); }))
        .May("categories", "bytes at the peak by what they are", Of(&Fit::card, &CardFit::peak, As<CategoriesOf>))
        .Has("largest_batch", "that fits at the likely value; 0: none",
             Of(&Fit::card, &CardFit::largest, &LargestBatch::largest_batch))
        .Has("safe_batch", "the largest that fits at the high end, too", Of(&Fit::card, &CardFit::safe_batch, OrNone))
        .Has("first_failing_batch", "", Of(&Fit::card, &CardFit::largest, &LargestBatch::first_failing_batch))
        .Has("binding", "what fails at that batch", Of(&Fit::card, &CardFit::largest, &LargestBatch::bottleneck))
        .Has("ladder", "the largest batch with other precisions",
             [](const FitAnswer& of) {
               std::vector<RungOf> rungs;
               if (of.one == nullptr) return rungs;
               for (const LadderRow& row : of.one->ladder) rungs.push_back({&row, of.one->card.device.context.likely});
               return rungs;
             })
        .May("what_if", "other settings of the allocator that change the answer", Of(&Fit::what_if))
        .May("remedies", "options that make a named model fit", Of(&Fit::remedies))
        .May("serving", "--mode serve; else null", Of(&Fit::serving, OrNull))
        .May("vllm", "--engine vllm: whether vllm serve starts, and what its cache holds", Where(&FitAnswer::vllm))
        .Has("cards", "of --gpu all",
             [](const FitAnswer& of) { return of.many != nullptr ? of.many->cards : std::vector<CardFit>(); })
        .May("assumptions", "what the input does not say", Of(&Fit::assumptions))
        .May("assumptions_together", "the ends that they have together", Of(&Fit::assumptions, As<JointlyOf>))
        .Has(
            "notes", "", [](const FitAnswer& of) -> const auto& { return *of.notes; })
        .May("kept_graphs", "a loop that sums losses and calls no backward: each batch leaves its graph",
             Of(&Fit::kept))
        .May("host", "--host", Of(&Fit::host));
  }
};

Json ToJson(const Fit& fit) { return AnswerJson(FitAnswer{.head = &fit.head, .notes = &fit.notes, .one = &fit}); }

Json ToJson(const FitMatrix& matrix) {
  return AnswerJson(FitAnswer{.head = &matrix.head, .notes = &matrix.notes, .many = &matrix});
}

Json ToJson(const VllmStart& start) {
  return AnswerJson(FitAnswer{.head = &start.head, .notes = &start.notes, .vllm = &start});
}

Json FitSchema() { return AnswerSchema<FitAnswer>(); }

}  // namespace vramplan
