#include "planner/report/verdict.h"

#include <algorithm>

#include "graph/base/check.h"

namespace vramplan {
namespace {

AllocatorConfig Endless(AllocatorConfig config) {
  config.device_total.reset();
  return config;
}

Bytes Less(Bytes bytes, Bytes beyond) { return bytes > beyond ? bytes - beyond : Bytes(); }

}  // namespace

std::string_view Name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits:
      return "fits";
    case Verdict::kTight:
      return "tight";
    case Verdict::kDoesNotFit:
      return "does-not-fit";
  }
  return "";
}

std::string SpokenName(Verdict verdict) {
  return verdict == Verdict::kDoesNotFit ? "does not fit" : std::string(Name(verdict));
}

CardRooms RoomsOf(const Device& device) {
  const Bytes worst = device.CapacityWith(device.context.high);
  return {device.CapacityWith(device.context.likely), worst, RoomBelowMeasured(worst)};
}

AllocatorConfig AllocatorOn(const Device& device, const AllocatorConfig& given) {
  AllocatorConfig config = given;
  config.device_total = device.usable;
  if (config.bfc) config.bfc->limit = std::min(config.bfc->limit, device.pool.bytes);
  return config;
}

bool FitsAtTheHighEnd(const Demand& demand, const Device& device, const AllocatorConfig& config, Replays* replays) {
  const CardRooms rooms = RoomsOf(device);
  const auto fits = [&](const Replays::Step& step, Bytes room, AddressOrder order) {
    AllocatorConfig ordered = config;
    ordered.addresses = order;
    return replays->Fits(step, demand.batch, ordered, Less(room, demand.beyond));
  };
  if (!fits(demand.likely, demand.cudnn_chooses ? rooms.measured : rooms.worst, config.addresses)) return false;
  if (!config.expandable_segments && !fits(demand.likely, rooms.worst, Other(config.addresses))) return false;
  return demand.high == nullptr || fits(demand.high, rooms.worst, config.addresses);
}

void KeepWithin(Bytes available, DeviceBand* band) {
  const auto lower = [&](Band* row) {
    const Bytes high = band->device().high;
    if (high > available) row->high = std::max(row->likely, row->high - (high - available));
  };
  if (band->convolutions) lower(&*band->convolutions);
  lower(&band->reserved);
  lower(&band->context);
}

Verdict VerdictAlone(const Demand& demand, const Device& device, const AllocatorConfig& given, Replays* replays) {
  const AllocatorConfig config = AllocatorOn(device, given);
  CHECK(!config.bfc);
  if (!replays->Fits(demand.likely, demand.batch, config, Less(RoomsOf(device).likely, demand.beyond)))
    return Verdict::kDoesNotFit;
  return FitsAtTheHighEnd(demand, device, config, replays) ? Verdict::kFits : Verdict::kTight;
}

OnCard VerdictOf(const Demand& demand, const Device& device, const AllocatorConfig& given, Replays* replays) {
  const AllocatorConfig config = AllocatorOn(device, given);
  CHECK(!config.bfc);
  const auto endless = [&](const Replays::Step& step) {
    Peak peak = replays->Of(step, demand.batch, Endless(config), Bytes::Max());
    peak.peak.reserved += demand.beyond;
    return peak;
  };
  OnCard on;
  std::optional<Peak> within =
      replays->Within(demand.likely, demand.batch, config, Less(RoomsOf(device).likely, demand.beyond));
  const bool fits = within.has_value();
  if (fits) {
    on.peak = *std::move(within);
    on.peak.peak.reserved += demand.beyond;
  }
  // Nothing was given back: a larger card makes no difference.
  const bool same = fits && on.peak.retries == 0;
  Peak roomy = same ? Peak() : endless(demand.likely);
  on.roomy = same ? on.peak.peak.reserved : std::max(on.peak.peak.reserved, roomy.peak.reserved);
  if (!fits) on.peak = std::move(roomy);
  ReservedEnds ends;
  ends.uncertain = demand.cudnn_chooses;
  ends.high = on.peak.peak.reserved;
  if (demand.high != nullptr) ends.high = endless(demand.high).peak.reserved;
  const bool surely = fits && FitsAtTheHighEnd(demand, device, config, replays);
  on.verdict = !fits ? Verdict::kDoesNotFit : surely ? Verdict::kFits : Verdict::kTight;
  on.band = BandOf(on.peak.peak.reserved, ends, device.context);
  if (surely) KeepWithin(device.available(), &on.band);
  return on;
}

std::string CardVerdictText(Verdict verdict, const std::string& card, const Band& needs, Bytes has) {
  const bool fits = verdict != Verdict::kDoesNotFit, tight = verdict == Verdict::kTight;
  const std::string text = (tight ? "is tight" : SpokenName(verdict)) + " on " + card + ": needs " +
                           ToString(needs.likely) + " of " + ToString(has);
  if (!fits) {
    return text + (needs.likely > has ? " (" + ToString(needs.likely - has) + " too much)"
                                      : ", and what is free lies in pieces that are too small");
  }
  if (tight && needs.high > has) return text + " and may need " + ToString(needs.high);
  return text + " (" + (tight ? "only " : "") + ToString(has - needs.likely) + " free)";
}

std::string SmallestText(const std::string& card, Bytes needs, Bytes has, Verdict verdict) {
  return "; the smallest is " + card + ": needs " + ToString(needs) + " of " + ToString(has) +
         (verdict == Verdict::kTight ? " (tight)" : "");
}

std::string RoomyText(Bytes here, Bytes larger) {
  if (larger <= here) return "";
  return "on a larger card it would take " + ToString(larger) + ": here PyTorch gives " + ToString(larger - here) +
         " of its cache back";
}

std::string RoomyText(const OnCard& on) {
  return on.verdict == Verdict::kDoesNotFit ? "" : RoomyText(on.band.device().likely, on.OnALargerCard());
}

}  // namespace vramplan
