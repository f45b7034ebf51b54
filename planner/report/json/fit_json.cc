#include <algorithm>

#include "planner/report/fit.h"
#include "planner/report/json/parts.h"
#include "planner/report/json/schemas.h"
#include "planner/report/parts/breakdown.h"

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
struct Described<KeptGraphs> {
  static constexpr const char* kName = "";
  static Fields<KeptGraphs> Make() {
    return Fields<KeptGraphs>()
        .Has("each_batch", "bytes that each leaves", &KeptGraphs::each)
        .Has("full_in_batch", "the batch of the loop that does not fit", &KeptGraphs::full);
  }
};

namespace {

struct GpuOf {
  const CardFit& card;
};
struct RungOf {
  const LadderRow& row;
  Bytes context;
};

std::optional<int64_t> SafeBatch(const CardFit& card) { return OrNone(card.safe_batch); }

}  // namespace

template <>
struct Described<GpuOf> {
  static constexpr const char* kName = "";
  static Fields<GpuOf> Make() {
    return Fields<GpuOf>()
        .All<CardOf>([](const GpuOf& of) {
          return CardOf{of.card.id, of.card.device};
        })
        .Has("context_source", "", [](const GpuOf& of) { return of.card.device.context.source; })
        .Has("source", "of what is usable", [](const GpuOf& of) { return of.card.device.source; })
        .May("pool", "of a runtime that takes its memory before it needs it", [](const GpuOf& of) {
          const Pool& pool = of.card.device.pool;
          return pool.source.empty() ? std::nullopt : std::optional(pool);
        });
  }
};

template <>
struct Described<RungOf> {
  static constexpr const char* kName = "";
  static Fields<RungOf> Make() {
    return Fields<RungOf>()
        .Has("precision", "", [](const RungOf& of) { return of.row.precision; })
        .Has("checkpointing", "none, or how many modules", [](const RungOf& of) { return CheckpointingText(of.row); })
        .Has("largest_batch", "", [](const RungOf& of) { return of.row.largest.largest_batch; })
        .Has("peak_device", "at that batch", [](const RungOf& of) {
          const std::optional<Peak>& peak = of.row.largest.peak;
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
        .Has("name", "", [](const CardFit& card) { return card.device.name; })
        .Has("usable_bytes", "", [](const CardFit& card) { return card.device.usable; })
        .Has("verdict", "", &CardFit::verdict)
        .Has("peak_device", "likely",
             [](const CardFit& card) { return DeviceBytes(card.peak, card.device.context.likely); })
        .Has("peak_device_low", "", [](const CardFit& card) { return card.band.device().low; })
        .Has("peak_device_high", "", [](const CardFit& card) { return card.band.device().high; })
        .Has("largest_batch", "", [](const CardFit& card) { return card.largest.largest_batch; })
        .Has("safe_batch", "", SafeBatch)
        .Has("first_failing_batch", "", [](const CardFit& card) { return card.largest.first_failing_batch; })
        .Has("source", "of what is usable", [](const CardFit& card) { return card.device.source; });
  }
};

// Both answers of `fit` have one schema: what a matrix of cards does not say is null, or left out.
namespace {

struct FitAnswer {
  const AnswerHead& head;
  const Notes& notes;
  const Fit* one = nullptr;
  const FitMatrix* many = nullptr;

  Verdict verdict() const {
    if (one != nullptr) return one->card.verdict;
    Verdict best = Verdict::kDoesNotFit;
    for (const CardFit& card : many->cards) best = std::min(best, card.verdict);
    return best;
  }
};

// Read of a card, where there is one.
template <typename Get>
auto Of(Get get) {
  return [get](const FitAnswer& answer) {
    using V = std::remove_cvref_t<std::invoke_result_t<Get, const Fit&>>;
    if constexpr (requires(V value) { value.has_value(); }) {
      if (answer.one == nullptr) return V();
      return std::invoke(get, *answer.one);
    } else {
      return answer.one != nullptr ? std::optional<V>(std::invoke(get, *answer.one)) : std::nullopt;
    }
  };
}

}  // namespace

template <>
struct Described<FitAnswer> {
  static constexpr const char *kName = "", *kAnswer = "fit", *kTitle = "whether a step fits a card";
  static Fields<FitAnswer> Make() {
    return Fields<FitAnswer>()
        .Has("verdict", "fits, tight or does-not-fit", &FitAnswer::verdict)
        .Has("model", "", [](const FitAnswer& of) { return of.head.model; })
        .Has("spec", "the options behind the answer", [](const FitAnswer& of) { return SpecOf{of.head.spec}; })
        .Has("gpu", "null for several cards", Of([](const Fit& fit) { return GpuOf{fit.card}; }))
        .Has("batch", "that was asked for", [](const FitAnswer& of) { return of.head.batch; })
        .Has("peak", "at that batch", Of([](const Fit& fit) {
               return PeakAt{fit.card.peak, fit.place, fit.card.device.context.likely};
             }))
        .May("device", "how sure the bytes on the device are", Of([](const Fit& fit) { return fit.card.band; }))
        .May("on_a_larger_card", kOnALargerCard, Of([](const Fit& fit) { return fit.card.OnALargerCard(); }))
        .May("margin_bytes", "left at the likely value; below zero: too much",
             Of([](const Fit& fit) { return fit.card.MarginAt(fit.card.band.device().likely); }))
        .May("margin_bytes_high", "left at the high end",
             Of([](const Fit& fit) { return fit.card.MarginAt(fit.card.band.device().high); }))
        .May("categories", "bytes at the peak by what they are",
             Of([](const Fit& fit) { return CategoriesOf{fit.card.peak}; }))
        .Has("largest_batch", "that fits at the likely value; 0: none",
             Of([](const Fit& fit) { return fit.card.largest.largest_batch; }))
        .Has("safe_batch", "the largest that fits at the high end, too",
             Of([](const Fit& fit) { return SafeBatch(fit.card); }))
        .Has("first_failing_batch", "", Of([](const Fit& fit) { return fit.card.largest.first_failing_batch; }))
        .Has("binding", "what fails at that batch", Of([](const Fit& fit) { return fit.card.largest.bottleneck; }))
        .Has("ladder", "the largest batch with other precisions",
             [](const FitAnswer& of) {
               std::vector<RungOf> rungs;
               if (of.one == nullptr) return rungs;
               for (const LadderRow& row : of.one->ladder) rungs.push_back({row, of.one->card.device.context.likely});
               return rungs;
             })
        .May("what_if", "other settings of the allocator that change the answer",
             Of([](const Fit& fit) { return fit.what_if; }))
        .May("remedies", "options that make a named model fit", Of([](const Fit& fit) { return fit.remedies; }))
        .May("serving", "--mode serve; else null",
             Of([](const Fit& fit) { return std::optional<std::optional<Serving>>(fit.serving); }))
        .Has("cards", "of --gpu all",
             [](const FitAnswer& of) { return of.many != nullptr ? of.many->cards : std::vector<CardFit>(); })
        .May("assumptions", "what the input does not say", Of([](const Fit& fit) { return fit.assumptions; }))
        .May("assumptions_together", "the ends that they have together",
             Of([](const Fit& fit) { return JointlyOf{fit.assumptions}; }))
        .Has("notes", "", [](const FitAnswer& of) { return of.notes; })
        .May("kept_graphs", "a loop that sums losses and calls no backward: each batch leaves its graph",
             Of([](const Fit& fit) { return fit.kept; }))
        .May("host", "--host", Of([](const Fit& fit) { return fit.host; }));
  }
};

Json ToJson(const Fit& fit) { return AnswerJson(FitAnswer{.head = fit.head, .notes = fit.notes, .one = &fit}); }

Json ToJson(const FitMatrix& matrix) {
  return AnswerJson(FitAnswer{.head = matrix.head, .notes = matrix.notes, .many = &matrix});
}

Json FitSchema() { return AnswerSchema<FitAnswer>(); }

}  // namespace vramplan
