// Verdict: whether something fits a card, and which bytes are said of it. The only place that decides: files, recorded
// runs and scripts, and with them every verb, page and JSON, ask here.
//
//   U-Net on a T4 (14.56 GiB)   batch 34   fits            also at the high end of the band
//                               batch 38   tight           takes 14.43 GiB here, 15.04 GiB on a card that is never full
//                               batch 39   does not fit    needs 15.43 GiB
//
// Near its limit PyTorch gives cached segments back before it fails, so what a step reserves depends on the card: `peak` is
// what it takes on this one, `roomy` what it would reserve on a card that is never full. They are equal away from the limit.
//
// It fits if all of these hold, each with the context at its high end:
//   - the step as it is likely, with its segments below or above one another in the address space (AddressOrder);
//   - where cuDNN picks workspaces: the step with those at their high end, and the likely step in a card that is smaller by
//     what measured cards reserved above ours (MeasuredAbove).
// It is tight if it holds at the likely context alone.
//
// Invariants: a verdict of kFits implies band.device().high <= device.available(); peak.peak.reserved <= roomy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "planner/allocator/replays.h"
#include "planner/report/parts/device_band.h"
#include "planner/spec/device.h"

namespace vramplan {

enum class Verdict : uint8_t { kFits, kTight, kDoesNotFit };
std::string_view Name(Verdict verdict);   // "fits", "tight", "does-not-fit"
std::string SpokenName(Verdict verdict);  // "fits", "tight", "does not fit"

// What a step or a run takes of a card.
struct OnCard {
  Verdict verdict = Verdict::kDoesNotFit;
  Peak peak;        // within the card when it is likely to fit, else as if the card had no end
  DeviceBand band;  // around `peak`
  Bytes roomy;      // reserved on a card that is never full
  // Device bytes there, at the likely context.
  Bytes OnALargerCard() const { return band.device().likely + (roomy - peak.peak.reserved); }
};

// What is asked about.
struct Demand {
  Replays::Step likely;
  Replays::Step high;  // with cuDNN's workspaces at their high end; null: the same
  int64_t batch = 1;
  bool cudnn_chooses = false;
  Bytes beyond;  // reserved above what one pool of blocks would be: PyTorch keeps a pool for each stream
};

// The bytes that PyTorch's allocator may take of a card in each of the cases above.
struct CardRooms {
  Bytes likely;    // the context is likely
  Bytes worst;     // the context is at its high end
  Bytes measured;  // of `worst`, less what measured cards reserved above ours
};
CardRooms RoomsOf(const Device& device);

// --allocator-conf on this card: its fractions are of what the card has, context and reserve included.
AllocatorConfig AllocatorOn(const Device& device, const AllocatorConfig& given);

// PyTorch's allocator; `given` is what the user set of it, `replays` what is known of these steps.
OnCard VerdictOf(const Demand& demand, const Device& device, const AllocatorConfig& given, Replays* replays);

// The verdict alone, for which fewer replays are needed.
Verdict VerdictAlone(const Demand& demand, const Device& device, const AllocatorConfig& given, Replays* replays);

// Whether it fits with the context at its high end; of a demand that is likely to fit. `config`: AllocatorOn the device.
bool FitsAtTheHighEnd(const Demand& demand, const Device& device, const AllocatorConfig& config, Replays* replays);

// Lowers the high end of what fits to what the card has: there the same step gives more of its cache back.
void KeepWithin(Bytes available, DeviceBand* band);

// The words for a file, a run and a record, behind what is asked about: "fits on Tesla T4: needs 743.00 MiB of 14.56 GiB
// (13.83 GiB free)", "is tight on Tesla T4: needs 14.20 GiB of 14.56 GiB and may need 14.60 GiB".
std::string CardVerdictText(Verdict verdict, const std::string& card, const Band& needs, Bytes has);

// "; the smallest is Tesla T4: needs 14.43 GiB of 14.56 GiB (tight)", behind how many cards of several hold it.
std::string SmallestText(const std::string& card, Bytes needs, Bytes has, Verdict verdict);

// Of bytes on the device, likely: here and on a card that is never full.
std::string RoomyText(Bytes here, Bytes larger);
// "on a larger card it would take 15.04 GiB: here PyTorch gives 624.00 MiB of its cache back"; "" where both are the same or
// it does not fit.
std::string RoomyText(const OnCard& on);

}  // namespace vramplan
