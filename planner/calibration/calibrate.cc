#include "planner/calibration/calibrate.h"

#include <algorithm>

#include "planner/calibration/fit.h"
#include "planner/calibration/timings.h"

namespace vramplan {
namespace {

std::optional<ContextBand> BandOf(const MeasuredLoads& loads, const ContextBand& said, const std::string& date) {
  if (!loads.context) return std::nullopt;
  const Bytes none;
  ContextBand band;
  band.low = *loads.context + loads.kernel.value_or(none);
  band.likely = band.low + loads.cublas.value_or(none) + loads.cudnn.value_or(none);
  band.high = band.likely + std::max(none, said.high - said.likely);
  band.source = "measured on " + date;
  return band;
}

const FittedRate* Find(const std::vector<FittedRate>& fits, const std::string& what) {
  const auto found = std::find_if(fits.begin(), fits.end(), [&](const FittedRate& fit) { return fit.what == what; });
  return found == fits.end() ? nullptr : &*found;
}

// Nothing: one of the rates that a plan needs is missing.
std::optional<Rates> RatesOf(const std::vector<FittedRate>& fits) {
  const FittedRate *copy = Find(fits, "copy"), *fp32 = Find(fits, "fp32"), *half = Find(fits, "fp16");
  if (half == nullptr) half = Find(fits, "bf16");
  if (copy == nullptr || fp32 == nullptr) return std::nullopt;
  return Rates{copy->rate, fp32->rate, half == nullptr ? fp32->rate : half->rate};
}

void Fit(const std::string& what, const std::vector<TimedWork>& samples, const char* none, Calibration* into) {
  if (samples.empty()) {
    into->unknown.push_back(what + ": " + none);
  } else if (std::optional<FittedRate> fit = FitRate(what, samples)) {
    into->profile.fits.push_back(*std::move(fit));
  } else {
    into->unknown.push_back(what + ": its time does not grow with the work");
  }
}

// The measurements of one context, which ends with `session`.
Status Measure(CardSession* session, const std::vector<ConvolutionQuestion>& convolutions, Calibration* into) {
  Result<Staircase> stairs = ClimbStaircase(session);
  if (!stairs.ok()) return stairs.error();
  into->staircase = *std::move(stairs);
  into->profile.memory = into->staircase.memory;
  const Result<std::vector<TimedWork>> copies = TimeCopies(session);
  if (!copies.ok()) return copies.error();
  Fit("copy", *copies, "no room for two blocks besides the margin", into);
  for (const Arithmetic arithmetic : {Arithmetic::kFp32, Arithmetic::kTf32, Arithmetic::kFp16, Arithmetic::kBf16}) {
    const Result<std::vector<TimedWork>> timed = TimeArithmetic(session, arithmetic);
    if (!timed.ok()) return timed.error();
    Fit(std::string(Name(arithmetic)), *timed, "this card, or the probe on it, lacks this arithmetic", into);
  }
  Result<std::vector<MeasuredConvolution>> measured = MeasureConvolutions(session, convolutions);
  if (!measured.ok()) return measured.error();
  if (measured->empty() && !convolutions.empty()) into->unknown.emplace_back("convolutions: cuDNN is not installed");
  into->profile.convolutions = *std::move(measured);
  return Done();
}

}  // namespace

Result<Calibration> Calibrate(Probe* machine, const CardFacts& card, const ContextBand& said,
                              const std::vector<ConvolutionQuestion>& convolutions, const std::string& date) {
  Calibration made;
  const Result<DriverFacts> driver = machine->Driver();
  if (!driver.ok()) return driver.error();
  Profile& profile = made.profile;
  profile.name = card.name;
  profile.uuid = card.uuid;
  profile.capability = {card.capability_major, card.capability_minor};
  profile.multiprocessors = card.multiprocessors;
  profile.usable = card.usable;
  profile.date = date;
  profile.driver = driver->driver;
  made.loads = MeasureLoads(machine, card, [&](CardSession* session) { return Measure(session, convolutions, &made); });
  if (made.loads.failed) return *made.loads.failed;
  made.unknown.insert(made.unknown.begin(), made.loads.unknown.begin(), made.loads.unknown.end());
  // What the staircase saw come and go is not in the loads, which were measured before it.
  if (const Bytes drift = made.loads.drift - made.staircase.drift; made.loads.drift != Bytes() && drift != Bytes()) {
    made.unknown.push_back(DriftText(drift));
  }
  profile.loads = made.loads.loads;
  profile.context = BandOf(made.loads.loads, said, date);
  profile.rates = RatesOf(profile.fits);
  if (!profile.rates) made.unknown.emplace_back("rates: without copies and fp32 the catalogue's rates stay in use");
  if (made.staircase.refused) {
    made.unknown.emplace_back("memory: whether there is more, because the driver refused " +
                              ToString(profile.memory->granularity) +
                              " before the margin was reached (memory in pieces, or taken by others)");
  }
  if (const Bytes drift = made.staircase.drift; drift != Bytes()) {
    const bool took = drift > Bytes();
    made.unknown.push_back("memory: the exact amount, because others " + std::string(took ? "took " : "gave back ") +
                           ToString(took ? drift : Bytes() - drift) + " while it was measured");
  }
  return made;
}

}  // namespace vramplan
