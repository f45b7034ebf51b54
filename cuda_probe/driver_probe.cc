// The machine as its driver and NVML tell it.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

#include "cuda_probe/card_session.h"
#include "cuda_probe/driver_api.h"
#include "cuda_probe/nvml.h"
#include "cuda_probe/probe.h"
#include "graph/base/text.h"

namespace vramplan {
namespace {

// "13.0" for CUDA's 13000.
std::string CudaVersion(int version) {
  return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
}

// WSL's kernel names Microsoft, and shows the card as /dev/dxg.
bool BelowWindows() {
  if (access("/dev/dxg", F_OK) == 0) return true;
  std::ifstream version("/proc/version");
  const std::string text{std::istreambuf_iterator<char>(version), {}};
  return LowerCase(text).find("microsoft") != std::string::npos;
}

// "11111111-2222-3333-4444-555555555555"
std::string Text(const CUuuid& uuid) {
  std::string text;
  for (size_t i = 0; i < sizeof uuid.bytes; ++i) {
    std::array<char, 3> hex{};
    std::snprintf(hex.data(), hex.size(), "%02x", static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[i])));
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += hex.data();
  }
  return text;
}

// A card, or a slice of one, as NVML knows it.
struct Seen {
  std::optional<Nvml::Card> card;
  bool mig = false;
  std::string uuid, pci, refusal;
};

class DriverProbe final : public Probe {
 public:
  Result<DriverFacts> Driver() override;
  Result<std::vector<CardFacts>> Cards() override;
  Result<std::unique_ptr<CardSession>> Open(int card) override;
  Result<std::optional<Bytes>> Used(int card) override;
  Result<std::optional<std::vector<Holder>>> Holders(int card) override;
  void Wait(double seconds) override { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

 private:
  Result<int> Count(const DriverApi& api) const;
  Result<CUdevice> Device(const DriverApi& api, int card) const;
  Result<Seen> Find(const DriverApi& api, CUdevice device, int card) const;
  Result<Seen> Look(int card) const;  // the driver must be loaded
  Result<CardFacts> Facts(const DriverApi& api, int card) const;
  void AskNvml(const Seen& seen, CardFacts& facts) const;

  Nvml nvml_;
};

std::string Subject(int card) { return "card " + std::to_string(card); }

Result<DriverFacts> DriverProbe::Driver() {
  const Result<const DriverApi*> api = LoadDriver();
  if (!api) return api.error();
  int version = 0;
  if (const CUresult result = (*api)->driver_get_version(&version); result != CUDA_SUCCESS) {
    return DriverError(**api, result, "driver", "to say its version");
  }
  return DriverFacts{.driver = nvml_.DriverVersion().value.value_or(""),
                     .cuda = CudaVersion(version),
                     .toolkit = CudaVersion(CUDA_VERSION),
                     .wsl = BelowWindows()};
}

Result<int> DriverProbe::Count(const DriverApi& api) const {
  int count = 0;
  if (const CUresult result = api.device_get_count(&count); result != CUDA_SUCCESS) {
    return DriverError(api, result, "driver", "to count the cards");
  }
  if (count == 0) {
    return Error{ErrorCode::kNoCard, "driver", "the driver finds no card",
                 "a card in MIG mode needs a slice: nvidia-smi mig -lgi; or name a card, --gpu t4"};
  }
  return count;
}

Result<CUdevice> DriverProbe::Device(const DriverApi& api, int card) const {
  const Result<int> count = Count(api);
  if (!count) return count.error();
  if (card < 0 || card >= *count) {
    return Error{ErrorCode::kNoCard, Subject(card), "there is no such card: " + std::to_string(*count) + " in all",
                 "they are counted from 0: see vramplan probe"};
  }
  CUdevice device = 0;
  if (const CUresult result = api.device_get(&device, card); result != CUDA_SUCCESS) {
    return DriverError(api, result, Subject(card), "to be found");
  }
  return device;
}

// Found by the card's UUID, then by the slice's, then by the slot on the bus.
Result<Seen> DriverProbe::Find(const DriverApi& api, CUdevice device, int card) const {
  Seen seen;
  CUuuid uuid{};
  if (const CUresult result = api.device_get_uuid(&uuid, device); result != CUDA_SUCCESS) {
    return DriverError(api, result, Subject(card), "to say its UUID");
  }
  std::array<char, 32> pci{};
  if (api.device_get_pci_bus_id(pci.data(), pci.size(), device) == CUDA_SUCCESS) seen.pci = pci.data();
  for (const std::string prefix : {"GPU-", "MIG-"}) {
    seen.uuid = prefix + Text(uuid);
    Told<Nvml::Card> found = nvml_.ByUuid(seen.uuid);
    seen.refusal = std::move(found.refusal);
    if (!found.value) continue;
    seen.card = found.value;
    seen.mig = nvml_.IsSlice(*seen.card).value.value_or(prefix == "MIG-");
    return seen;
  }
  seen.uuid = "GPU-" + Text(uuid);
  seen.card = nvml_.ByPci(seen.pci).value;
  return seen;
}

Result<CardFacts> DriverProbe::Facts(const DriverApi& api, int card) const {
  const Result<CUdevice> device = Device(api, card);
  if (!device) return device.error();
  CardFacts facts{.index = card};
  const auto failed = [&](CUresult result) { return DriverError(api, result, Subject(card), "to describe itself"); };
  std::array<char, 256> name{};
  if (const CUresult result = api.device_get_name(name.data(), name.size(), *device); result != CUDA_SUCCESS) {
    return failed(result);
  }
  facts.name = name.data();
  for (const auto& [value, attribute] :
       {std::pair(&facts.capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
        std::pair(&facts.capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        std::pair(&facts.multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)}) {
    if (const CUresult result = api.device_get_attribute(value, attribute, *device); result != CUDA_SUCCESS) {
      return failed(result);
    }
  }
  size_t usable = 0;
  if (const CUresult result = api.device_total_mem(&usable, *device); result != CUDA_SUCCESS) return failed(result);
  facts.usable = Bytes::Of(static_cast<int64_t>(usable));
  CUmemAllocationProp kind{};
  kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  kind.location.id = *device;
  size_t granularity = 0;
  const CUresult told = api.mem_get_allocation_granularity == nullptr
                            ? CUDA_ERROR_NOT_SUPPORTED
                            : api.mem_get_allocation_granularity(&granularity, &kind, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  if (told == CUDA_SUCCESS) {
    facts.granularity = Bytes::Of(static_cast<int64_t>(granularity));
  } else {
    facts.unknown.push_back("granularity: " + api.NameOf(told));
  }
  const Result<Seen> seen = Find(api, *device, card);
  if (!seen) return seen.error();
  AskNvml(*seen, facts);
  return facts;
}

void DriverProbe::AskNvml(const Seen& seen, CardFacts& facts) const {
  facts.uuid = seen.uuid;
  facts.pci = seen.pci;
  facts.mig = seen.mig;
  facts.total = facts.usable;
  if (!seen.card) {
    facts.unknown.push_back("total, free, processes, ecc, display: " + seen.refusal);
    return;
  }
  const auto refused = [&](const std::string& what, const std::string& why) {
    if (!why.empty()) facts.unknown.push_back(what + ": " + why);
  };
  refused("NVML knows this card by its slot only", seen.refusal);
  const Told<Nvml::Memory> memory = nvml_.MemoryOf(*seen.card);
  refused("total, free", memory.refusal);
  if (memory.value) {
    facts.total = memory.value->total;
    facts.free = memory.value->free;
    facts.reserved = memory.value->reserved;
    if (!facts.reserved) refused("reserved", "the driver is older than 510");
  }
  // A slice has no ECC setting and no screen of its own.
  const Nvml::Card whole = seen.mig ? nvml_.WholeCard(*seen.card).value.value_or(*seen.card) : *seen.card;
  Told<bool> ecc = nvml_.Ecc(whole), display = nvml_.Display(whole);
  facts.ecc = ecc.value;
  refused("ecc", ecc.refusal);
  facts.display = display.value;
  refused("display", display.refusal);
  Told<std::vector<Holder>> processes = nvml_.Processes(*seen.card);
  refused("processes", processes.refusal);
  if (processes.value) facts.holders = std::move(*processes.value);
}

Result<std::vector<CardFacts>> DriverProbe::Cards() {
  const Result<const DriverApi*> api = LoadDriver();
  if (!api) return api.error();
  const Result<int> count = Count(**api);
  if (!count) return count.error();
  std::vector<CardFacts> cards;
  for (int card = 0; card < *count; ++card) {
    Result<CardFacts> facts = Facts(**api, card);
    if (!facts) return facts.error();
    cards.push_back(std::move(*facts));
  }
  return cards;
}

Result<std::unique_ptr<CardSession>> DriverProbe::Open(int card) {
  const Result<const DriverApi*> api = LoadDriver();
  if (!api) return api.error();
  const Result<CUdevice> device = Device(**api, card);
  if (!device) return device.error();
  return OpenSession(**api, *device, Subject(card));
}

Result<Seen> DriverProbe::Look(int card) const {
  const Result<const DriverApi*> api = LoadDriver();
  if (!api) return api.error();
  const Result<CUdevice> device = Device(**api, card);
  if (!device) return device.error();
  return Find(**api, *device, card);
}

Result<std::optional<Bytes>> DriverProbe::Used(int card) {
  const Result<Seen> seen = Look(card);
  if (!seen) return seen.error();
  if (!seen->card) return std::optional<Bytes>();
  const Told<Nvml::Memory> memory = nvml_.MemoryOf(*seen->card);
  if (!memory.value) return std::optional<Bytes>();
  return std::optional(memory.value->total - memory.value->free);
}

Result<std::optional<std::vector<Holder>>> DriverProbe::Holders(int card) {
  const Result<Seen> seen = Look(card);
  if (!seen) return seen.error();
  if (!seen->card) return std::optional<std::vector<Holder>>();
  return nvml_.Processes(*seen->card).value;
}

}  // namespace

std::unique_ptr<Probe> ThisMachine() { return std::make_unique<DriverProbe>(); }
bool BuiltWithProbe() { return true; }

}  // namespace vramplan
