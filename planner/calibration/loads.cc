#include "planner/calibration/loads.h"

#include <algorithm>

namespace vramplan {
namespace {

// The driver keeps pages of its own between contexts; anything beyond is somebody else's.
constexpr Bytes kSteady = Bytes::MiB(2);

Bytes Between(Bytes low, Bytes high) { return std::max(Bytes(), high - low); }

// The used bytes of the card as seen without a context; nothing: the driver does not say.
Result<std::optional<Bytes>> UsedNow(Probe* machine, const CardFacts& card) {
  Result<std::optional<Bytes>> used = machine->Used(card.index);
  if (!used.ok() || *used) return used;
  return card.free ? std::optional(card.usable - *card.free) : std::nullopt;
}

// Fills `loads` from an open session until something fails. False: it did.
bool LoadAll(CardSession* session, SeenLoads* seen) {
  const struct {
    CardLibrary library;
    std::optional<Bytes>* bytes;
  } steps[] = {{CardLibrary::kKernel, &seen->loads.kernel},
               {CardLibrary::kCublas, &seen->loads.cublas},
               {CardLibrary::kCudnn, &seen->loads.cudnn}};
  for (const auto& [library, bytes] : steps) {
    const Result<CardSession::Memory> before = session->Free();
    const Result<bool> loaded = before.ok() ? session->Load(library) : Result<bool>(before.error());
    const Result<CardSession::Memory> after = loaded.ok() ? session->Free() : before;
    if (!before.ok() || !loaded.ok() || !after.ok()) {
      seen->failed = !before.ok() ? before.error() : !loaded.ok() ? loaded.error() : after.error();
      return false;
    }
    if (*loaded) {
      *bytes = Between(after->free, before->free);
    } else {
      seen->unknown.push_back(std::string(Name(library)) + ": not installed");
    }
  }
  return true;
}

// What others took while it was measured; negative: gave back. Zero within kSteady.
Bytes Drift(Bytes before, Bytes after, Bytes context) {
  const auto size = [](Bytes bytes) { return std::max(bytes, Bytes() - bytes); };
  const Bytes gone = after - before, stays = after - before - context;
  const Bytes drift = size(stays) < size(gone) ? stays : gone;
  return size(drift) <= kSteady ? Bytes() : drift;
}

}  // namespace

SeenLoads MeasureLoads(Probe* machine, const CardFacts& card, const std::function<Status(CardSession*)>& with_all) {
  SeenLoads seen;
  const Result<std::optional<Bytes>> before = UsedNow(machine, card);
  if (!before.ok()) return {.failed = before.error()};
  {
    const Result<std::unique_ptr<CardSession>> session = machine->Open(card.index);
    if (!session.ok()) return {.failed = session.error()};
    const Result<std::optional<Bytes>> outside = machine->Used(card.index);
    if (!outside.ok()) return {.failed = outside.error()};
    if (*before && *outside) {
      seen.loads.context = Between(**before, **outside);
    } else if (*before) {
      const Result<CardSession::Memory> inside = (*session)->Free();
      if (!inside.ok()) return {.failed = inside.error()};
      seen.loads.context = Between(**before, inside->total - inside->free);
    } else {
      seen.unknown.emplace_back("context: the driver does not say how much was used before it was made");
    }
    if (!LoadAll(session->get(), &seen)) return seen;
    const Status done = with_all ? with_all(session->get()) : Done();
    if (!done.ok()) {
      seen.failed = done.error();
      return seen;
    }
  }
  const Result<std::optional<Bytes>> after = machine->Used(card.index);
  if (!after.ok()) {
    seen.failed = after.error();
  } else if (*before && *after) {
    seen.drift = Drift(**before, **after, seen.loads.context.value_or(Bytes()));
  }
  return seen;
}

std::string DriftText(Bytes drift) {
  const bool took = drift > Bytes();
  return "context and libraries: the exact amount, because others " + std::string(took ? "took " : "gave back ") +
         ToString(took ? drift : Bytes() - drift) + " meanwhile";
}

}  // namespace vramplan
