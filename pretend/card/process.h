// Process: the cards as this process has them: its context on each and what it allocated there, its host memory that
// CUDA knows of, and which streams are recording. The C functions of pretend/library are thin around it.
//
//   Process process(Read("card Tesla T4; usable 15GiB; context 350MiB"));
//   process.Allocate(0, 20 << 20)                     0x7f0000200000; there is a context now
//   process.PlaceOf(0x7f0000200010).kind              Place::Kind::kDevice, card 0
//   process.Copy(host, device, 4)                     host is 0 now: nothing is ever computed or kept
//
// All functions may be called from any thread.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pretend/card/captures.h"
#include "pretend/card/companions.h"
#include "pretend/card/description.h"
#include "pretend/card/device_memory.h"
#include "pretend/card/echo.h"

namespace pretend {

// Where an address lies.
struct Place {
  enum class Kind : uint8_t { kHost, kPinned, kManaged, kDevice };
  Kind kind = Kind::kHost;
  int card = 0;
  uint64_t begin = 0, bytes = 0;  // of the allocation; 0 bytes: none is known
  bool operator==(const Place&) const = default;
};

class Process {
 public:
  // Made on first use of what VRAMPLAN_PRETEND_GPU says; never destroyed, because frameworks free memory while the program
  // ends. CUDA_VISIBLE_DEVICES is read when CUDA is first asked for its cards: NVML may be asked before a script sets it.
  static Process& This();
  // `folder`: of the command's companions; empty: there are none.
  explicit Process(const Description& description, const char* visible = nullptr, const std::string& folder = "");

  // Those that CUDA_VISIBLE_DEVICES shows; everything below counts them so, but for SeenOf.
  int cards() const { return static_cast<int>(visible().size()); }
  const Card& card(int index) const { return on_card(index).card; }
  const Description& description() const { return description_; }
  bool Has(int card) const { return card >= 0 && card < cards(); }

  // The primary context of a card: there as long as somebody retains it, or the runtime was ever used on the card.
  bool Retain(int card);        // false: there is no room for it
  bool Release(int card);       // false: nobody had retained it
  void Reset(int card);         // it ends, whoever has it
  bool StartRuntime(int card);  // false: there is no room for it

  uint64_t Allocate(int card, uint64_t bytes);  // 0: refused
  bool Free(uint64_t address);                  // of a card, managed or pinned
  // Pages of segments that grow: the handle, 0: refused.
  uint64_t CreatePages(int card, uint64_t bytes);
  bool ReleasePages(uint64_t handle);
  uint64_t Reserve(int card, uint64_t bytes);
  bool Unreserve(uint64_t address);

  // Memory of the host: mapped, so that it costs RAM only where it is written. Managed memory may always move to the
  // host, so it never fills a card.
  void* AllocateHost(uint64_t bytes, Place::Kind kind);
  void Register(const void* address, uint64_t bytes);  // pins what the program allocated
  bool Unregister(const void* address);

  Place PlaceOf(const void* address) const;
  // Writes to the card vanish; reads from it are zeros, but for what was told to other ranks (Echo).
  void Copy(void* to, const void* from, uint64_t bytes);
  // A collective of so many ranks, each of which gives what this one gives.
  void Collect(void* to, const void* from, uint64_t bytes, int ranks);
  // What was told is old: the memory in which it stood may be another tensor's by now.
  void ForgetTold();
  void Launched() { echo_.Launched(); }      // a kernel
  uint64_t reads() const { return reads_; }  // copies from a card to the host so far
  void Fill(void* to, int byte, uint64_t bytes) const;

  uint64_t Total(int card) const;
  // As CUDA says it: in the context, which is made if it was not there.
  uint64_t FreeBytes(int card);

  // A card of the machine as it is seen from outside (NVML), which no variable hides. Being looked at may change what
  // others hold; memory and processes are asked for in turns, and one of each is one look.
  enum class Asked : uint8_t { kMemory, kProcesses };
  void LookAt(Asked what);
  struct Seen {
    uint64_t free = 0;
    uint64_t held = 0;         // by this process
    bool has_context = false;  // this process has a context there
    int look = 0;
  };
  Seen SeenOf(int machine_card);
  struct Counts {
    uint64_t used = 0, peak = 0;
    Refusals refused;
  };
  Counts CountsOf(int card) const;
  // With the command's other processes, of a card of the machine.
  Companions::Peak Together(int machine_card) const;
  uint64_t managed_peak() const;

  bool BeginCapture(void* stream, void* graph);
  std::optional<Capture> EndCapture(void* stream);
  std::optional<Capture> CaptureOf(void* stream) const;

 private:
  struct Range {
    uint64_t bytes = 0;
    Place::Kind kind = Place::Kind::kPinned;
    bool ours = false;  // mapped here
  };
  struct OnCard {
    explicit OnCard(const Card& of);
    const Card& card;
    DeviceMemory memory;
    int retained = 0;
    bool runtime = false;  // the runtime holds the context until the program ends
    int allocations = 0;   // of this context
    int64_t neighbours = 0;
    uint64_t told_used = 0, told_context = 0;  // to the companions
  };
  // The lock is held.
  bool IsDevice(uint64_t address) const;
  bool Use(int card);  // a context is there; false: there is no room for it
  void Refresh(OnCard& on) const;
  void Tell(OnCard& on);  // the companions, what this process holds now
  void End(int card);

  const std::vector<int>& visible() const;
  OnCard& on_card(int index) const { return *machine_[static_cast<size_t>(visible()[static_cast<size_t>(index)])]; }
  int look() const { return std::max(looks_[0], looks_[1]); }

  mutable std::mutex mutex_;
  Description description_;
  std::vector<std::unique_ptr<OnCard>> machine_;  // in the order of the description
  bool asks_environment_ = false;                 // for the cards that are visible
  mutable std::once_flag asked_;
  mutable std::vector<int> visible_;  // indices of machine_
  Companions companions_;
  std::array<int, 2> looks_{};
  struct Pages {
    int card = 0;
    uint64_t bytes = 0;
  };
  std::map<uint64_t, Pages> pages_;
  uint64_t last_pages_ = 0;
  std::map<uint64_t, Range> host_;
  uint64_t managed_ = 0, managed_peak_ = 0;
  Captures captures_;
  Echo echo_;
  std::atomic<uint64_t> reads_ = 0;
};

}  // namespace pretend
