#include "planner/cli/judge.h"

#include <algorithm>
#include <map>
#include <vector>

#include "planner/runtimes/runtime.h"

namespace vramplan {
namespace {

// Within the capacity when it fits: what it reserved on a card without end may be more than it needs, it gives its
// cache back where it must. Else as if the card had no end.
Peak Within(const Timeline& timeline, int64_t batch, const AllocatorConfig& config, Bytes capacity, bool* fits) {
  Peak peak = Replay(timeline, batch, config, capacity);
  *fits = !peak.out_of_memory;
  if (*fits) return peak;
  AllocatorConfig endless = config;
  endless.device_total.reset();
  if (endless.bfc) endless.bfc->limit = Bytes::Max();
  return Replay(timeline, batch, endless, Bytes::Max());
}

// Other runtimes: what is not known is in a range of reserved bytes.
void JudgeByRange(const BothEnds& step, int64_t batch, const TrainingSpec& spec, const AllocatorConfig& config,
                  CardFit* fit) {
  bool fits = false;
  fit->peak = Within(*step.likely, batch, config, fit->device.CapacityWith(fit->device.context.likely), &fits);
  const Bytes reserved = fit->peak.peak.reserved;
  const ReservedRange range = ReservedAround(*step.likely, spec, batch, config, reserved);
  ReservedEnds ends{false, reserved, Band{range.low, range.likely, range.high}};
  const Bytes at_worst = fit->device.CapacityWith(fit->device.context.high);
  bool surely = fits && FitsSurely(*step.likely, spec, batch, config, at_worst);
  if (step.high) {
    bool high_fits = false;
    const Bytes high = Within(*step.high, batch, config, at_worst, &high_fits).peak.reserved;
    ends = {true, std::max(high, reserved), ends.range};
    surely = surely && high_fits;
  }
  fit->band = BandOf(reserved, ends, fit->device.context);
  fit->verdict = !fits ? Verdict::kDoesNotFit : surely ? Verdict::kFits : Verdict::kTight;
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
      high([this](int64_t batch) -> Result<Timeline> {
        const Result<LaidOut> step = likely.At(batch);
        if (!step.ok()) return step.error();
        return AtMost(**step);
      }),
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

void Judge(const BothEnds& step, int64_t batch, const TrainingSpec& spec, const AllocatorConfig& given, CardFit* fit) {
  const AllocatorConfig config = AllocatorOn(fit->device, given);
  if (config.bfc) return JudgeByRange(step, batch, spec, config, fit);
  const ContextBand& context = fit->device.context;
  bool fits = false, surely = false;
  fit->peak = Within(*step.likely, batch, config, fit->device.CapacityWith(context.likely), &fits);
  const Bytes reserved = fit->peak.peak.reserved;
  const Bytes at_worst = fit->device.CapacityWith(context.high);
  ReservedEnds ends;
  if (step.high) {
    ends = {true, Within(*step.high, batch, config, at_worst, &surely).peak.reserved};
    const Bytes room = std::max(Bytes(), at_worst - MeasuredAbove(reserved));
    surely = fits && surely && (reserved <= room || !Replay(*step.likely, batch, config, room).out_of_memory);
  } else if (fits) {
    surely = reserved <= at_worst || !Replay(*step.likely, batch, config, at_worst).out_of_memory;
  }
  fit->band = BandOf(reserved, ends, context);
  fit->verdict = !fits ? Verdict::kDoesNotFit : surely ? Verdict::kFits : Verdict::kTight;
}

Result<LargestBatch> FindLargest(StepEnds& steps, const AllocatorConfig& given, const CardFit& fit, int64_t near) {
  const Layers& layers = steps.prepared.layers;
  const AllocatorConfig config = AllocatorOn(fit.device, given);
  const Bytes capacity = fit.device.CapacityWith(fit.device.context.likely);
  if (steps.prepared.question.model.has_batch)
    return FindLargestBatch(steps.likely, layers, config, capacity, steps.prepared.question.batch, near);
  LargestBatch only;
  only.largest_batch = fit.verdict == Verdict::kDoesNotFit ? 0 : 1;
  if (only.largest_batch == 1) return only;
  only.first_failing_batch = 1;
  const Result<LaidOut> step = steps.likely.At(1);
  if (!step.ok()) return step.error();
  const Peak refused = Replay(**step, 1, config, capacity);
  if (refused.out_of_memory) only.bottleneck = DescribeAllocation(**step, layers, 1, *refused.out_of_memory);
  return only;
}

Result<int64_t> FindSafe(StepEnds& steps, int64_t batch, const AllocatorConfig& given, const CardFit& fit) {
  const int64_t limit = fit.largest.largest_batch;
  const bool asked_is_safe = fit.verdict == Verdict::kFits;
  if (limit == 0) return int64_t{0};
  if (!steps.prepared.question.model.has_batch) return int64_t{asked_is_safe ? 1 : 0};
  const AllocatorConfig config = AllocatorOn(fit.device, given);
  if (config.bfc) {
    return Bisect(limit, [&](int64_t tried) -> Result<bool> {
      const Result<BothEnds> step = steps.At(tried);
      if (!step.ok()) return step.error();
      CardFit at = fit;
      Judge(*step, tried, steps.spec, given, &at);
      return at.verdict == Verdict::kFits;
    });
  }
  const ContextBand& context = fit.device.context;
  if (!steps.cudnn_chooses && context.high == context.likely) return limit;
  const Bytes at_worst = fit.device.CapacityWith(context.high);
  const int64_t asked = asked_is_safe ? batch : 1;
  const auto largest_in = [&](Bytes capacity, Steps& of) -> Result<int64_t> {
    const Result<LargestBatch> found = FindLargestBatch(of, steps.prepared.layers, config, capacity, asked, limit);
    if (!found.ok()) return found.error();
    return std::min(limit, found->largest_batch);
  };
  // Room for what measured cards reserved above ours.
  const Bytes room = steps.cudnn_chooses ? at_worst - MeasuredAbove(at_worst) : at_worst;
  const Result<int64_t> safe = largest_in(room, steps.likely);
  if (!safe.ok() || !steps.cudnn_chooses) return safe;
  if (*safe > 0) {
    const Result<LaidOut> most = steps.high.At(*safe);
    if (!most.ok()) return most.error();
    if (!Replay(**most, *safe, config, at_worst).out_of_memory) return std::max(*safe, asked_is_safe ? batch : 0);
  }
  const Result<int64_t> high = largest_in(at_worst, steps.high);
  if (!high.ok()) return high;
  return std::max(std::min(*safe, *high), asked_is_safe ? batch : 0);
}

const Card* SmallestCard(const Options& options, const Prepared& prepared, int64_t batch) {
  std::map<Generation, Timeline> steps;
  for (const Card* card : SmallestFirst(options)) {
    const ChosenDevice chosen = DeviceOf(*card, options);
    auto step = steps.find(GenerationOf(chosen));
    if (step == steps.end()) {
      Notes already_told;
      Result<Timeline> timeline = LayOut(prepared, SpecOn(chosen, options.spec), batch, &already_told);
      if (!timeline.ok()) return nullptr;
      step = steps.emplace(GenerationOf(chosen), *std::move(timeline)).first;
    }
    const Bytes capacity = chosen.device.CapacityWith(chosen.device.context.likely);
    if (RequestedPeak(step->second, batch) > capacity) continue;
    if (!Replay(step->second, batch, AllocatorOn(chosen.device, options.allocator), capacity).out_of_memory)
      return card;
  }
  return nullptr;
}

}  // namespace vramplan
