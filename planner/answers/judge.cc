#include "planner/answers/judge.h"

#include <algorithm>
#include <map>
#include <vector>

#include "planner/runtimes/runtime.h"

namespace vramplan {
namespace {

// Within the capacity when it fits, else as if the card had no end.
Peak Within(const Timeline& timeline, int64_t batch, const AllocatorConfig& config, Bytes capacity, bool* fits) {
  Peak peak = Replay(timeline, batch, config, capacity);
  *fits = !peak.out_of_memory;
  if (*fits) return peak;
  AllocatorConfig endless = config;
  endless.device_total.reset();
  endless.bfc->limit = Bytes::Max();
  return Replay(timeline, batch, endless, Bytes::Max());
}

// Other runtimes: what is not known is in a range of reserved bytes.
OnCard ByRange(const BothEnds& step, int64_t batch, const TrainingSpec& spec, const Device& device,
               const AllocatorConfig& config) {
  OnCard on;
  bool fits = false;
  on.peak = Within(*step.likely, batch, config, device.CapacityWith(device.context.likely), &fits);
  const Bytes reserved = on.roomy = on.peak.peak.reserved;
  const ReservedRange range = ReservedAround(*step.likely, spec, batch, config, reserved);
  ReservedEnds ends{false, reserved, Band{range.low, range.likely, range.high}};
  const Bytes at_worst = device.CapacityWith(device.context.high);
  bool surely = fits && FitsSurely(*step.likely, spec, batch, config, at_worst);
  if (step.high) {
    bool high_fits = false;
    const Bytes high = Within(*step.high, batch, config, at_worst, &high_fits).peak.reserved;
    ends = {true, std::max(high, reserved), ends.range};
    surely = surely && high_fits;
  }
  on.band = BandOf(reserved, ends, device.context);
  on.verdict = !fits ? Verdict::kDoesNotFit : surely ? Verdict::kFits : Verdict::kTight;
  return on;
}

// The largest batch up to `limit` of which `surely` holds, taken as falling; 0: not even of 1.
template <typename Surely>
Result<int64_t> Bisect(int64_t limit, const Surely& surely) {
  int64_t holds = 0, fails = limit + 1;
  while (holds + 1 < fails) {
    const int64_t middle = holds + (fails - holds) / 2;
    const Result<bool> held = surely(middle);
    if (!held.ok()) return held.error();
    (*held ? holds : fails) = middle;
  }
  return holds;
}

}  // namespace

StepEnds::StepEnds(const Prepared& prepared_, const TrainingSpec& spec_)
    : prepared(prepared_),
      spec(spec_),
      likely([this](int64_t batch) {
        Notes already_told;
        return LayOut(prepared, spec, batch, &already_told);
      }),
      high(
          [this](int64_t batch) -> Result<Timeline> {
            const Result<LaidOut> step = likely.At(batch);
            if (!step.ok()) return step.error();
            return AtMost(**step);
          },
          likely),
      cudnn_chooses(CudnnChooses(prepared.layers, spec)) {}

Result<BothEnds> StepEnds::At(int64_t batch, Notes* notes) {
  BothEnds ends;
  if (notes != nullptr) {
    Result<Timeline> step = LayOut(prepared, spec, batch, notes);
    if (!step.ok()) return step.error();
    ends.likely = likely.Keep(*std::move(step));
  } else {
    const Result<LaidOut> step = likely.At(batch);
    if (!step.ok()) return step.error();
    ends.likely = *step;
  }
  if (!cudnn_chooses) return ends;
  const Result<LaidOut> most = high.At(batch);
  if (!most.ok()) return most.error();
  ends.high = *most;
  return ends;
}

OnCard CardJudge::Alone(const BothEnds& step, int64_t batch) const {
  const AllocatorConfig config = AllocatorOn(device_, given_);
  if (config.bfc) return ByRange(step, batch, steps_.spec, device_, config);
  return VerdictOf(DemandOf(step, batch), device_, given_, &steps_.likely.replays());
}

Verdict CardJudge::VerdictAt(const BothEnds& step, int64_t batch) const {
  if (given_.bfc) return Alone(step, batch).verdict;
  return VerdictAlone(DemandOf(step, batch), device_, given_, &steps_.likely.replays());
}

Result<CardFit> CardJudge::At(int64_t batch) {
  const Result<BothEnds> step = steps_.At(batch);
  if (!step.ok()) return step.error();
  return At(*step, batch, Alone(*step, batch));
}

Result<CardFit> CardJudge::At(const BothEnds& step, int64_t batch, OnCard alone) {
  CardFit fit;
  static_cast<OnCard&>(fit) = std::move(alone);
  fit.device = device_;
  const bool has_batch = steps_.prepared.head.model.has_batch;
  if (!has_batch) {
    fit.largest.largest_batch = fit.verdict == Verdict::kDoesNotFit ? 0 : 1;
    fit.safe_batch = fit.verdict == Verdict::kFits ? 1 : 0;
    if (fit.largest.largest_batch == 1) return fit;
    const Bytes capacity = device_.CapacityWith(device_.context.likely);
    fit.largest.first_failing_batch = 1;
    const Peak refused = Replay(*step.likely, 1, AllocatorOn(device_, given_), capacity);
    if (refused.out_of_memory)
      fit.largest.bottleneck = DescribeAllocation(*step.likely, steps_.prepared.layers, 1, *refused.out_of_memory);
    return fit;
  }
  const Result<LargestBatch> largest = Largest(batch);
  if (!largest.ok()) return largest.error();
  fit.largest = *largest;
  const Result<int64_t> safe = Safe(largest->largest_batch);
  if (!safe.ok()) return safe.error();
  fit.safe_batch = *safe;
  if (fit.verdict == Verdict::kFits && batch > *safe) fit.verdict = Verdict::kTight;
  return fit;
}

Result<LargestBatch> CardJudge::Largest(int64_t asked) {
  if (largest_ && asked <= largest_->largest_batch) return *largest_;
  const AllocatorConfig config = AllocatorOn(device_, given_);
  const int64_t near = largest_ ? std::max<int64_t>(1, largest_->largest_batch) : near_;
  Result<LargestBatch> found = FindLargestBatch(steps_.likely, steps_.prepared.layers, config,
                                                device_.CapacityWith(device_.context.likely), asked, near);
  if (!found.ok()) return found.error();
  if (!largest_) largest_ = *found;
  return found;
}

Result<int64_t> CardJudge::LargestAlone(int64_t asked) {
  const Bytes capacity = device_.CapacityWith(device_.context.likely);
  return LargestBatchAlone(steps_.likely, steps_.prepared.layers, AllocatorOn(device_, given_), capacity, asked, near_);
}

Result<bool> CardJudge::IsSafe(int64_t batch) {
  const Result<BothEnds> step = steps_.At(batch);
  if (!step.ok()) return step.error();
  const AllocatorConfig config = AllocatorOn(device_, given_);
  if (config.bfc) return Alone(*step, batch).verdict == Verdict::kFits;
  return FitsAtTheHighEnd(DemandOf(*step, batch), device_, config, &steps_.likely.replays());
}

Result<int64_t> CardJudge::Safe(int64_t limit) {
  if (safe_) return *safe_;
  if (limit == 0) return int64_t{0};
  const AllocatorConfig config = AllocatorOn(device_, given_);
  if (config.bfc) {
    const Result<int64_t> found = Bisect(limit, [&](int64_t tried) { return IsSafe(tried); });
    if (found.ok()) safe_ = *found;
    return found;
  }
  const CardRooms rooms = RoomsOf(device_);
  int64_t safe = limit;
  const auto bound = [&](Bytes room, AddressOrder order, Steps& of) -> Status {
    if (safe == 0) return Done();
    AllocatorConfig ordered = config;
    ordered.addresses = order;
    const Result<int64_t> found = LargestBatchAlone(of, steps_.prepared.layers, ordered, room, 1, safe);
    if (!found.ok()) return found.error();
    safe = std::min(safe, *found);
    return Done();
  };
  // Each part of what the high end means (planner/report/verdict.h) has a largest batch. The first one is mostly the least,
  // and the others are searched only where it is not.
  const bool chooses = steps_.cudnn_chooses;
  Status bounded = bound(chooses ? rooms.measured : rooms.worst, config.addresses, steps_.likely);
  for (int tried = 0; bounded.ok() && safe > 0; ++tried) {
    const Result<bool> is_safe = IsSafe(safe);
    if (!is_safe.ok()) return is_safe.error();
    if (*is_safe) break;
    const int64_t failed = safe;
    if (tried == 0 && chooses) bounded = bound(rooms.worst, config.addresses, steps_.high);
    if (tried == 0 && bounded.ok()) bounded = bound(rooms.worst, Other(config.addresses), steps_.likely);
    if (safe == failed) --safe;
  }
  if (!bounded.ok()) return bounded.error();
  safe_ = safe;
  return safe;
}

OnCard WithoutCard(const BothEnds& step, int64_t batch, const StepEnds& steps, const AllocatorConfig& given,
                   const ContextBand& context) {
  OnCard on;
  on.verdict = Verdict::kFits;
  on.peak = Replay(*step.likely, batch, given, Bytes::Max());
  const Bytes reserved = on.roomy = on.peak.peak.reserved;
  ReservedEnds ends;
  if (step.high) ends = {true, Replay(*step.high, batch, given, Bytes::Max()).peak.reserved, {}};
  if (steps.spec.framework.runtime != Runtime::kPyTorch) {
    const ReservedRange range = ReservedAround(*step.likely, steps.spec, batch, given, reserved);
    ends.range = Band{range.low, range.likely, range.high};
  }
  on.band = BandOf(reserved, ends, context);
  return on;
}

const Card* SmallestCard(const Question& question, const Prepared& prepared, int64_t batch) {
  std::map<Generation, Timeline> steps;
  for (const Card* card : SmallestFirst(question)) {
    const ChosenDevice chosen = DeviceOf(*card, question);
    auto step = steps.find(GenerationOf(chosen));
    if (step == steps.end()) {
      Notes already_told;
      Result<Timeline> timeline = LayOut(prepared, SpecOn(chosen, question.spec), batch, &already_told);
      if (!timeline.ok()) return nullptr;
      step = steps.emplace(GenerationOf(chosen), *std::move(timeline)).first;
    }
    const Bytes capacity = chosen.device.CapacityWith(chosen.device.context.likely);
    if (RequestedPeak(step->second, batch) > capacity) continue;
    if (!Replay(step->second, batch, AllocatorOn(chosen.device, question.allocator), capacity).out_of_memory)
      return card;
  }
  return nullptr;
}

}  // namespace vramplan
