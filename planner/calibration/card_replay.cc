#include "planner/calibration/card_replay.h"

#include <algorithm>

namespace vramplan {
namespace {

// CardMemory that looks at the card whenever it got a segment.
class WatchedMemory final : public DeviceMemory {
 public:
  WatchedMemory(Probe* machine, int card, CardMemory* memory, CardTry* into)
      : machine_(machine), card_(card), memory_(memory), into_(into) {}

  std::optional<uint64_t> Take(Bytes bytes) override {
    std::optional<uint64_t> address;
    if (!error) address = memory_->Take(bytes);
    if (address) Look(CardMoment::Kind::kSegment);
    return address;
  }
  void GiveBack(uint64_t address, Bytes bytes) override { memory_->GiveBack(address, bytes); }

  void Look(CardMoment::Kind kind) {
    const Result<std::optional<Bytes>> used = machine_->Used(card_);
    if (!used.ok() && !error) error = used.error();
    into_->moments.push_back({kind, event, memory_->taken(), memory_->free(),
                              used.ok() ? *used : std::optional<Bytes>(), memory_->others()});
  }

  size_t event = 0;
  std::optional<Error> error;

 private:
  Probe* machine_;
  int card_;
  CardMemory* memory_;
  CardTry* into_;
};

// The last event that allocates before the first step.
size_t LastOfSetup(const Timeline& timeline, int64_t batch) {
  size_t last = 0;
  for (size_t i = 0; i < timeline.events.size() && timeline.events[i].step == 0; ++i) {
    const Event& event = timeline.events[i];
    if (event.kind == EventKind::kAllocate && timeline[event.block].bytes.At(batch) > Bytes()) last = i;
  }
  return last;
}

// Which of the moments is highest; the first one, when it is reached again.
const CardMoment& Highest(const std::vector<CardMoment>& moments) {
  return *std::max_element(moments.begin(), moments.end(),
                           [](const CardMoment& a, const CardMoment& b) { return a.reserved < b.reserved; });
}

}  // namespace

std::string_view Name(CardMoment::Kind kind) {
  switch (kind) {
    case CardMoment::Kind::kStart:
      return "start";
    case CardMoment::Kind::kSetup:
      return "after the setup";
    case CardMoment::Kind::kSegment:
      return "new segment";
    case CardMoment::Kind::kPeak:
      return "peak";
    case CardMoment::Kind::kEnd:
      return "end";
  }
  return "";
}

Bytes CardTry::FellInside() const {
  if (moments.empty()) return Bytes();
  const CardMoment& highest = Highest(moments);
  return moments.front().free - highest.free - highest.others;
}

std::optional<Bytes> CardTry::RoseOutside() const {
  if (moments.empty()) return std::nullopt;
  const CardMoment& highest = Highest(moments);
  if (!moments.front().used || !highest.used) return std::nullopt;
  return *highest.used - *moments.front().used - highest.others;
}

CardTry TryOnCard(Probe* machine, int card, CardSession* session, const Timeline& timeline, const Layers& layers,
                  int64_t batch, const AllocatorConfig& config, const CardLimits& limits, const Peak& predicted) {
  CardTry tried;
  tried.batch = batch;
  CardMemory memory(session, limits);
  const Bytes free_before = memory.free();
  WatchedMemory device(machine, card, &memory, &tried);
  device.Look(CardMoment::Kind::kStart);
  const size_t setup = LastOfSetup(timeline, batch);

  const auto placed = [&](size_t event, const Allocation& block) {
    device.event = event + 1;
    const Result<TimedWork> wrote = session->Touch(static_cast<uint64_t>(block.address), block.size);
    if (!wrote.ok()) {
      if (!device.error) device.error = wrote.error();
      return false;
    }
    TimedWork& phase = tried.written[static_cast<size_t>(timeline.events[event].phase)];
    phase.work += wrote->work;
    phase.seconds += wrote->seconds;
    ++tried.blocks;
    if (event == setup) device.Look(CardMoment::Kind::kSetup);
    if (event == predicted.moment.event) device.Look(CardMoment::Kind::kPeak);
    return !device.error;
  };
  if (!memory.error() && !device.error) tried.peak = ReplayOn(timeline, batch, config, Bytes::Max(), &device, placed);
  if (!device.error && !memory.error()) device.Look(CardMoment::Kind::kEnd);
  tried.segments = memory.segments();
  tried.others = memory.others();
  tried.driver = memory.driver();
  tried.refusal = tried.peak.out_of_memory ? memory.refusal() : std::nullopt;
  memory.GiveAllBack();
  tried.error = memory.error() ? memory.error() : device.error;

  if (tried.error) {
    tried.end = CardTry::End::kFailed;
    return tried;
  }
  if (tried.peak.out_of_memory) {
    tried.at = DescribeAllocation(timeline, layers, batch, *tried.peak.out_of_memory);
    const bool disturbed = tried.refusal && tried.refusal->cause == Refusal::Cause::kNeighbour;
    tried.end = disturbed ? CardTry::End::kDisturbed : CardTry::End::kFull;
  }
  const Result<CardSession::Memory> after = session->Free();
  if (!after.ok()) {
    tried.error = after.error();
    tried.end = CardTry::End::kFailed;
  } else {
    tried.left = free_before - after->free - tried.others;
  }
  return tried;
}

}  // namespace vramplan
