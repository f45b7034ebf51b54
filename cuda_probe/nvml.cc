#include "cuda_probe/nvml.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <utility>

#include "cuda_probe/nvml_types.h"
#include "cuda_probe/shared_library.h"

namespace vramplan {

struct Nvml::Functions {
  SharedLibrary library{"libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"};
  nvml::Init* init;
  nvml::Shutdown* shutdown;
  nvml::ErrorString* error_string;
  nvml::SystemText* driver_version;
  nvml::ProcessName* process_name;
  nvml::ByText *by_uuid, *by_pci;
  nvml::IsMig* is_mig;
  nvml::Parent* parent;
  nvml::MemoryOne* memory_one;
  nvml::MemoryTwo* memory_two;
  nvml::TwoStates* ecc;
  nvml::OneState *display_mode, *display_active;
  enum Kind : size_t { kCompute, kGraphics, kMps };
  static constexpr std::array<const char*, 3> kKinds = {"Compute", "Graphics", "MPSCompute"};
  // By kind, in three versions.
  std::array<nvml::ProcessesTwo*, 3> processes_two, processes_three;
  std::array<nvml::ProcessesOne*, 3> processes_one;

  Functions() {
    library.Find("nvmlInit_v2", init);
    library.Find("nvmlShutdown", shutdown);
    library.Find("nvmlErrorString", error_string);
    library.Find("nvmlSystemGetDriverVersion", driver_version);
    library.Find("nvmlSystemGetProcessName", process_name);
    library.Find("nvmlDeviceGetHandleByUUID", by_uuid);
    library.Find("nvmlDeviceGetHandleByPciBusId_v2", by_pci);
    library.Find("nvmlDeviceIsMigDeviceHandle", is_mig);
    library.Find("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", parent);
    library.Find("nvmlDeviceGetMemoryInfo", memory_one);
    library.Find("nvmlDeviceGetMemoryInfo_v2", memory_two);
    library.Find("nvmlDeviceGetEccMode", ecc);
    library.Find("nvmlDeviceGetDisplayMode", display_mode);
    library.Find("nvmlDeviceGetDisplayActive", display_active);
    for (size_t i = 0; i < kKinds.size(); ++i) {
      const std::string name = std::string("nvmlDeviceGet") + kKinds[i] + "RunningProcesses";
      library.Find((name + "_v2").c_str(), processes_two[i]);
      library.Find((name + "_v3").c_str(), processes_three[i]);
      library.Find(name.c_str(), processes_one[i]);
    }
  }
  static const Functions& Loaded() {
    static const Functions functions;
    return functions;
  }
};

namespace {

// The list that one of NVML's functions fills: the first call asks for its length. Processes may start between calls.
template <typename Process>
int ListOf(nvml::ProcessesOf<Process>* function, Nvml::Card card, std::vector<Process>& list) {
  if (function == nullptr) return nvml::kFunctionNotFound;
  unsigned count = 0;
  int result = function(card, &count, nullptr);
  for (int i = 0; i < 4 && result == nvml::kInsufficientSize; ++i) {
    count += 8;
    list.resize(count);
    result = function(card, &count, list.data());
  }
  list.resize(result == nvml::kSuccess ? std::min<size_t>(count, list.size()) : 0);
  return result;
}

// A list names a process once for each slice of the card. A process of both kinds is in both lists, each time with all
// of its bytes.
template <typename Process>
void Merge(const std::vector<Process>& list, bool compute, std::vector<Holder>& holders) {
  std::map<int64_t, std::optional<Bytes>> held;
  for (const Process& process : list) {
    std::optional<Bytes>& bytes = held[process.pid];
    if (process.used != nvml::kNotAvailable) {
      bytes = bytes.value_or(Bytes()) + Bytes::Of(static_cast<int64_t>(process.used));
    }
  }
  for (const auto& [pid, bytes] : held) {
    auto holder = std::ranges::find(holders, pid, &Holder::pid);
    if (holder == holders.end()) holder = holders.insert(holder, Holder{.pid = pid});
    (compute ? holder->compute : holder->graphics) = true;
    holder->bytes = std::max(holder->bytes, bytes);
  }
}

// "python3" for "/usr/bin/python3 train.py".
std::string ProgramOf(std::string command) {
  command = command.substr(0, command.find(' '));
  return command.substr(command.rfind('/') + 1);
}

template <typename T>
Told<T> Answer(std::string refusal, T value) {
  if (refusal.empty()) return {std::move(value), ""};
  return {std::nullopt, std::move(refusal)};
}

}  // namespace

Nvml::Nvml() : functions_(Functions::Loaded()) {
  if (!functions_.library) {
    refusal_ = "libnvidia-ml.so.1 is not found";
  } else {
    refusal_ = Ask(functions_.init);
  }
}
Nvml::~Nvml() {
  if (refusal_.empty() && functions_.shutdown != nullptr) functions_.shutdown();
}

std::string Nvml::NameOf(int result) const {
  const char* text = functions_.error_string == nullptr ? nullptr : functions_.error_string(result);
  std::string name = text == nullptr ? "NVML error " + std::to_string(result) : text;
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 'a' - 'A') : c; });
  return name;
}

// Why a call failed; empty if it succeeded. The further arguments are pointers to what it fills.
template <typename Function, typename... Arguments>
std::string Nvml::Ask(Function* function, Arguments... arguments) const {
  if (!refusal_.empty()) return refusal_;
  if (function == nullptr) return "this driver has no such function";
  const int result = function(arguments...);
  return result == nvml::kSuccess ? "" : NameOf(result);
}

Told<std::string> Nvml::DriverVersion() const {
  std::array<char, 96> text{};  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE is 80
  std::string refusal = Ask(functions_.driver_version, text.data(), unsigned{80});
  return Answer<std::string>(std::move(refusal), text.data());
}
Told<Nvml::Card> Nvml::ByUuid(const std::string& uuid) const {
  Card card = nullptr;
  std::string refusal = Ask(functions_.by_uuid, uuid.c_str(), &card);
  return Answer(std::move(refusal), card);
}
Told<Nvml::Card> Nvml::ByPci(const std::string& pci) const {
  Card card = nullptr;
  std::string refusal = Ask(functions_.by_pci, pci.c_str(), &card);
  return Answer(std::move(refusal), card);
}
Told<bool> Nvml::IsSlice(Card card) const {
  unsigned slice = 0;
  std::string refusal = Ask(functions_.is_mig, card, &slice);
  return Answer(std::move(refusal), slice != 0);
}
Told<Nvml::Card> Nvml::WholeCard(Card slice) const {
  Card card = nullptr;
  std::string refusal = Ask(functions_.parent, slice, &card);
  return Answer(std::move(refusal), card);
}

Told<Nvml::Memory> Nvml::MemoryOf(Card card) const {
  const auto bytes = [](unsigned long long count) { return Bytes::Of(static_cast<int64_t>(count)); };
  nvml::MemoryInfoTwo two{.version = nvml::kMemoryInfoTwo};
  if (Ask(functions_.memory_two, card, &two).empty()) {
    return {Memory{bytes(two.total), bytes(two.free), bytes(two.reserved)}, ""};
  }
  nvml::MemoryInfoOne one{};
  std::string refusal = Ask(functions_.memory_one, card, &one);
  return Answer(std::move(refusal), Memory{bytes(one.total), bytes(one.free), std::nullopt});
}
Told<bool> Nvml::Ecc(Card card) const {
  int now = 0, after_restart = 0;
  std::string refusal = Ask(functions_.ecc, card, &now, &after_restart);
  return Answer(std::move(refusal), now != 0);
}
Told<bool> Nvml::Display(Card card) const {
  int connected = 0, active = 0;
  std::string mode = Ask(functions_.display_mode, card, &connected);
  std::string use = Ask(functions_.display_active, card, &active);
  if (!mode.empty() && !use.empty()) return {std::nullopt, mode};
  return {(mode.empty() && connected != 0) || (use.empty() && active != 0), ""};
}

Told<std::vector<Holder>> Nvml::Processes(Card card) const {
  if (!refusal_.empty()) return {std::nullopt, refusal_};
  std::vector<Holder> holders;
  std::string refusal;
  for (size_t kind = 0; kind < Functions::kKinds.size(); ++kind) {
    // Try the second version first: drivers 535.43 to 535.86 have another entry size in the third.
    std::vector<nvml::ProcessTwo> two;
    std::vector<nvml::ProcessOne> one;
    int result = ListOf(functions_.processes_two[kind], card, two);
    if (result == nvml::kFunctionNotFound) result = ListOf(functions_.processes_three[kind], card, two);
    if (result == nvml::kFunctionNotFound) result = ListOf(functions_.processes_one[kind], card, one);
    const bool compute = kind != Functions::kGraphics;
    Merge(two, compute, holders);
    Merge(one, compute, holders);
    if (result == nvml::kSuccess) continue;
    if (kind == Functions::kCompute) return {std::nullopt, NameOf(result)};
    // A card without graphics or without MPS has no such list.
    if (result != nvml::kNotSupported && result != nvml::kFunctionNotFound) {
      refusal = std::string(Functions::kKinds[kind]) + ": " + NameOf(result);
    }
  }
  for (Holder& holder : holders) {
    std::array<char, 256> name{};
    if (Ask(functions_.process_name, static_cast<unsigned>(holder.pid), name.data(), unsigned{255}).empty()) {
      holder.name = ProgramOf(name.data());
    } else {
      std::ifstream comm("/proc/" + std::to_string(holder.pid) + "/comm");
      std::getline(comm, holder.name);
    }
  }
  std::ranges::sort(holders, {}, &Holder::pid);
  return {std::move(holders), refusal};
}

}  // namespace vramplan
