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
        .Has("version", "", [](const D& driver) { return OrNone(driver.driver); })
        .Has("cuda", "the newest that the driver runs", [](const D& driver) { return OrNone(driver.cuda); })
        .Has("toolkit", "that this program was built with", [](const D& driver) { return OrNone(driver.toolkit); })
        .Has("wsl", "Windows' driver below Linux", &D::wsl);
  }
};

template <>
struct Described<Holder> {
  static constexpr const char* kName = "";
  static Fields<Holder> Make() {
    return Fields<Holder>()
        .Has("pid", "", &Holder::pid)
        .Has("name", "null: not visible from here", [](const Holder& holder) { return OrNone(holder.name); })
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
        .Has("name", "", [](const HolderRow& row) { return OrNone(row.name); })
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
        .Has("context_bytes", "with nothing loaded", [](const S& seen) { return seen.loads.context; })
        .Has("kernel_bytes", "what its first use added", [](const S& seen) { return seen.loads.kernel; })
        .Has("cublas_bytes", "", [](const S& seen) { return seen.loads.cublas; })
        .Has("cudnn_bytes", "", [](const S& seen) { return seen.loads.cudnn; })
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
        .Has("index", "as CUDA counts them", [](const C& of) { return of.facts.index; })
        .Has("name", "", [](const C& of) { return of.facts.name; })
        .Has("uuid", "", [](const C& of) { return OrNone(of.facts.uuid); })
        .Has("pci", "", [](const C& of) { return OrNone(of.facts.pci); })
        .Has("capability", "",
             [](const C& of) {
               return std::to_string(of.facts.capability_major) + "." + std::to_string(of.facts.capability_minor);
             })
        .Has("multiprocessors", "", [](const C& of) { return of.facts.multiprocessors; })
        .Has("total_bytes", "of the board, or of the slice", [](const C& of) { return of.facts.total; })
        .Has("usable_bytes", "that a program can get", [](const C& of) { return of.facts.usable; })
        .Has("free_bytes", "now", [](const C& of) { return of.facts.free; })
        .Has("reserved_bytes", "by the driver for itself", [](const C& of) { return of.facts.reserved; })
        .Has("granularity_bytes", "of physical memory",
             [](const C& of) {
               return of.facts.granularity > Bytes() ? std::optional(of.facts.granularity) : std::nullopt;
             })
        .Has("ecc", "", [](const C& of) { return of.facts.ecc; })
        .Has("display", "a screen is attached, or a desktop runs on it", [](const C& of) { return of.facts.display; })
        .Has("mig", "this is a slice of a card", [](const C& of) { return of.facts.mig; })
        .Has("holders", "", [](const C& of) { return of.facts.holders; })
        .Has("memory", "who holds it; the rows sum to what is usable", [](const C& of) { return HolderRows(of.facts); })
        .Has("loads", "what a process takes beside its tensors; null: --no-context", &C::loads)
        .Has("catalogue_id", "", [](const C& of) { return OrNone(of.id); })
        .Has("profile", "the stored file", [](const C& of) { return OrNone(of.profile); })
        .Has("unknown", "what the driver does not say, and why", [](const C& of) { return of.facts.unknown; });
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
