#include "planner/report/json/parts.h"
#include "planner/report/json/schemas.h"
#include "planner/report/probe.h"

namespace vramplan {

template <>
struct Described<DriverFacts> {
  static constexpr const char* kName = "";
  static Fields<DriverFacts> Make() {
    using D = DriverFacts;
    return Fields<D>()
        .Has("version", "", &D::driver, OrNone)
        .Has("cuda", "the newest that the driver runs", &D::cuda, OrNone)
        .Has("toolkit", "that this program was built with", &D::toolkit, OrNone)
        .Has("wsl", "Windows' driver below Linux", &D::wsl);
  }
};

template <>
struct Described<Holder> {
  static constexpr const char* kName = "";
  static Fields<Holder> Make() {
    return Fields<Holder>()
        .Has("pid", "", &Holder::pid)
        .Has("name", "null: not visible from here", &Holder::name, OrNone)
        .Has("bytes", "null: the driver does not say", &Holder::bytes)
        .Has("compute", "", &Holder::compute)
        .Has("graphics", "", &Holder::graphics);
  }
};

template <>
struct Described<HolderRow> {
  static constexpr const char* kName = "";
  static Fields<HolderRow> Make() {
    return Fields<HolderRow>()
        .Has("name", "", &HolderRow::name, OrNone)
        .Has("bytes", "null: the driver does not say", &HolderRow::bytes)
        .Has("what", "", &HolderRow::what);
  }
};

template <>
struct Described<SeenLoads> {
  static constexpr const char* kName = "";
  static Fields<SeenLoads> Make() {
    using S = SeenLoads;
    return Fields<S>()
        .Has("context_bytes", "with nothing loaded", &S::loads, &MeasuredLoads::context)
        .Has("kernel_bytes", "what its first use added", &S::loads, &MeasuredLoads::kernel)
        .Has("cublas_bytes", "", &S::loads, &MeasuredLoads::cublas)
        .Has("cudnn_bytes", "", &S::loads, &MeasuredLoads::cudnn)
        .Has("others_took_bytes", "meanwhile; negative: gave back", &S::drift)
        .Has("unknown", "what could not be measured, and why", &S::unknown)
        .Has("failed", "what ended it", &S::failed);
  }
};

template <>
struct Described<ProbedCard> {
  static constexpr const char* kName = "";
  static Fields<ProbedCard> Make() {
    using C = ProbedCard;
    return Fields<C>()
        .Has("index", "as CUDA counts them", &C::facts, &CardFacts::index)
        .Has("name", "", &C::facts, &CardFacts::name)
        .Has("uuid", "", &C::facts, &CardFacts::uuid, OrNone)
        .Has("pci", "", &C::facts, &CardFacts::pci, OrNone)
        .Has("capability", "",
             [](const C& of) {
               return std::to_string(of.facts.capability_major) + "." + std::to_string(of.facts.capability_minor);
             })
        .Has("multiprocessors", "", &C::facts, &CardFacts::multiprocessors)
        .Has("total_bytes", "of the board, or of the slice", &C::facts, &CardFacts::total)
        .Has("usable_bytes", "that a program can get", &C::facts, &CardFacts::usable)
        .Has("free_bytes", "now", &C::facts, &CardFacts::free)
        .Has("reserved_bytes", "by the driver for itself", &C::facts, &CardFacts::reserved)
        .Has("granularity_bytes", "of physical memory", &C::facts, &CardFacts::granularity, OrNone)
        .Has("ecc", "", &C::facts, &CardFacts::ecc)
        .Has("display", "a screen is attached, or a desktop runs on it", &C::facts, &CardFacts::display)
        .Has("mig", "this is a slice of a card", &C::facts, &CardFacts::mig)
        .Has("holders", "", &C::facts, &CardFacts::holders)
        .Has("memory", "who holds it; the rows sum to what is usable", &C::facts, HolderRows)
        .Has("loads", "what a process takes beside its tensors; null: --no-context", &C::loads)
        .Has("catalogue_id", "", &C::id, OrNone)
        .Has("profile", "the stored file", &C::profile, OrNone)
        .Has("unknown", "what the driver does not say, and why", &C::facts, &CardFacts::unknown);
  }
};

template <>
struct Described<ProbeReport> {
  static constexpr const char *kName = "", *kAnswer = "probe", *kTitle = "this machine's cards";
  static Fields<ProbeReport> Make() {
    return Fields<ProbeReport>()
        .Has("driver", "", &ProbeReport::driver)
        .Has("cards", "", &ProbeReport::cards)
        .Has("notes", "", &ProbeReport::notes);
  }
};

Json ToJson(const ProbeReport& report) { return AnswerJson(report); }
Json ProbeSchema() { return AnswerSchema<ProbeReport>(); }

}  // namespace vramplan
