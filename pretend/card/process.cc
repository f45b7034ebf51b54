#include "pretend/card/process.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "pretend/card/others.h"

namespace pretend {
namespace {

uint64_t AddressOf(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

}  // namespace

Process& Process::This() {
  static Process* const process = [] {
    const char* const folder = std::getenv("VRAMPLAN_RECORDING");
    auto* const made = new Process(DescriptionOfEnvironment(), nullptr, folder == nullptr ? "" : folder);
    made->asks_environment_ = true;
    return made;
  }();
  return *process;
}

Process::Process(const Description& description, const char* visible, const std::string& folder)
    : description_(description),
      visible_(VisibleCards(description.cards, visible)),
      companions_(folder.empty() ? "" : folder + "/cards") {
  for (const Card& card : description_.cards) machine_.push_back(std::make_unique<OnCard>(card));
}

Process::OnCard::OnCard(const Card& of)
    : card(of), memory(static_cast<uint64_t>(of.usable), static_cast<uint64_t>(of.context)) {
  if (of.largest_piece) memory.set_largest_piece(static_cast<uint64_t>(*of.largest_piece));
}

const std::vector<int>& Process::visible() const {
  if (asks_environment_) {
    std::call_once(asked_, [&] { visible_ = VisibleCards(description_.cards, std::getenv("CUDA_VISIBLE_DEVICES")); });
  }
  return visible_;
}

void Process::Tell(OnCard& on) {
  const uint64_t used = on.memory.used(), context = on.memory.held() - used;
  if (used == on.told_used && context == on.told_context) return;
  on.told_used = used;
  on.told_context = context;
  companions_.Hold(static_cast<int>(&on.card - description_.cards.data()), used, context);
}

void Process::Refresh(OnCard& on) const {
  on.memory.set_others(static_cast<uint64_t>(std::max<int64_t>(BytesOfHolders(on.card, look()) + on.neighbours, 0)));
}

bool Process::Use(int card) {
  OnCard& on = on_card(card);
  Refresh(on);
  // Nobody retained it: it is the runtime's, or of a program that takes it for granted.
  if (on.retained == 0) on.runtime = true;
  const bool made = on.memory.MakeContext();
  Tell(on);
  return made;
}

bool Process::StartRuntime(int card) {
  const std::lock_guard lock(mutex_);
  if (!Has(card)) return false;
  on_card(card).runtime = true;
  return Use(card);
}

bool Process::Retain(int card) {
  const std::lock_guard lock(mutex_);
  OnCard& on = on_card(card);
  Refresh(on);
  if (!on.memory.MakeContext()) return false;
  Tell(on);
  ++on.retained;
  return true;
}

bool Process::Release(int card) {
  const std::lock_guard lock(mutex_);
  OnCard& on = on_card(card);
  if (on.retained == 0) return false;
  if (--on.retained == 0 && !on.runtime) End(card);
  return true;
}

void Process::Reset(int card) {
  const std::lock_guard lock(mutex_);
  End(card);
}

void Process::End(int card) {
  OnCard& on = on_card(card);
  on.memory.EndContext();
  on.runtime = false;
  on.allocations = 0;
  Tell(on);
  std::erase_if(pages_, [&](const auto& pages) { return pages.second.card == card; });
}

uint64_t Process::Allocate(int card, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!Has(card)) return 0;
  OnCard& on = on_card(card);
  const auto neighbour = on.card.neighbour.find(++on.allocations);
  if (neighbour != on.card.neighbour.end()) on.neighbours += neighbour->second;
  if (!Use(card)) return 0;
  const uint64_t address = on.memory.Allocate(bytes);
  Tell(on);
  return address;
}

bool Process::Free(uint64_t address) {
  const std::lock_guard lock(mutex_);
  for (const auto& on : machine_) {
    if (!on->memory.Owns(address)) continue;
    const bool freed = on->memory.Free(address);
    Tell(*on);
    return freed;
  }
  const auto range = host_.find(address);
  if (range == host_.end() || !range->second.ours) return false;
  if (range->second.kind == Place::Kind::kManaged) managed_ -= range->second.bytes;
  munmap(reinterpret_cast<void*>(address), range->second.bytes);
  host_.erase(range);
  return true;
}

uint64_t Process::CreatePages(int card, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!Has(card) || !Use(card) || !on_card(card).memory.Take(bytes)) return 0;
  Tell(on_card(card));
  pages_[++last_pages_] = {card, bytes};
  return last_pages_;
}

bool Process::ReleasePages(uint64_t handle) {
  const std::lock_guard lock(mutex_);
  const auto pages = pages_.find(handle);
  if (pages == pages_.end()) return false;
  OnCard& on = on_card(pages->second.card);
  on.memory.Give(pages->second.bytes);
  Tell(on);
  pages_.erase(pages);
  return true;
}

uint64_t Process::Reserve(int card, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return Has(card) ? on_card(card).memory.Reserve(bytes) : 0;
}

bool Process::Unreserve(uint64_t address) {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(machine_, [&](const auto& on) { return on->memory.Unreserve(address); });
}

void* Process::AllocateHost(uint64_t bytes, Place::Kind kind) {
  const uint64_t size = std::max<uint64_t>(bytes, 1);
  void* const begin = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) return nullptr;
  const std::lock_guard lock(mutex_);
  host_[AddressOf(begin)] = {size, kind, true};
  if (kind == Place::Kind::kManaged) managed_peak_ = std::max(managed_peak_, managed_ += size);
  return begin;
}

void Process::Register(const void* address, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  host_.try_emplace(AddressOf(address), Range{bytes, Place::Kind::kPinned, false});
}

bool Process::Unregister(const void* address) {
  const std::lock_guard lock(mutex_);
  const auto range = host_.find(AddressOf(address));
  if (range == host_.end() || range->second.ours) return false;
  host_.erase(range);
  return true;
}

bool Process::IsDevice(uint64_t address) const {
  return std::ranges::any_of(machine_, [&](const auto& on) { return on->memory.Owns(address); });
}

Place Process::PlaceOf(const void* pointer) const {
  const uint64_t address = AddressOf(pointer);
  const std::lock_guard lock(mutex_);
  for (int i = 0; i < cards(); ++i) {
    const DeviceMemory& memory = on_card(i).memory;
    if (!memory.Owns(address)) continue;
    const AddressSpace::Range range = memory.RangeOf(address);
    return {Place::Kind::kDevice, i, range.begin, range.bytes};
  }
  const auto after = host_.upper_bound(address);
  if (after == host_.begin()) return {};
  const auto& [begin, range] = *std::prev(after);
  if (address - begin >= range.bytes) return {};
  return {range.kind, 0, begin, range.bytes};
}

void Process::Copy(void* to, const void* from, uint64_t bytes) {
  if (bytes == 0) return;
  {
    const std::lock_guard lock(mutex_);
    const bool to_card = IsDevice(AddressOf(to)), from_card = IsDevice(AddressOf(from));
    if (from_card && !to_card) ++reads_;
    if (to_card && from_card) echo_.Move(AddressOf(to), AddressOf(from), bytes);
    if (to_card && !from_card) echo_.Write(AddressOf(to), from, bytes);
    if (to_card || (from_card && echo_.Read(to, AddressOf(from), bytes))) return;
    if (from_card) from = nullptr;
  }
  if (from == nullptr) {
    std::memset(to, 0, bytes);
  } else {
    std::memmove(to, from, bytes);
  }
}

void Process::Collect(void* to, const void* from, uint64_t bytes, int ranks) {
  const std::lock_guard lock(mutex_);
  echo_.Send(AddressOf(to), AddressOf(from), bytes, ranks);
}

void Process::ForgetTold() {
  const std::lock_guard lock(mutex_);
  echo_.Forget();
}

void Process::Fill(void* to, int byte, uint64_t bytes) const {
  {
    const std::lock_guard lock(mutex_);
    if (IsDevice(AddressOf(to))) return;
  }
  std::memset(to, byte, bytes);
}

uint64_t Process::Total(int card) const { return on_card(card).memory.total(); }

uint64_t Process::FreeBytes(int card) {
  const std::lock_guard lock(mutex_);
  return Use(card) ? on_card(card).memory.free() : 0;
}

void Process::LookAt(Asked what) {
  const std::lock_guard lock(mutex_);
  ++looks_[static_cast<size_t>(what)];
}

Process::Seen Process::SeenOf(int machine_card) {
  const std::lock_guard lock(mutex_);
  OnCard& on = *machine_[static_cast<size_t>(machine_card)];
  Refresh(on);
  return {on.memory.free(), on.memory.held(), on.memory.has_context(), look()};
}

Process::Counts Process::CountsOf(int card) const {
  const std::lock_guard lock(mutex_);
  const DeviceMemory& memory = on_card(card).memory;
  return {memory.used(), memory.peak(), memory.refused()};
}

Companions::Peak Process::Together(int machine_card) const {
  const std::lock_guard lock(mutex_);
  return companions_.Together(machine_card);
}

uint64_t Process::managed_peak() const {
  const std::lock_guard lock(mutex_);
  return managed_peak_;
}

bool Process::BeginCapture(void* stream, void* graph) {
  const std::lock_guard lock(mutex_);
  return captures_.Begin(stream, graph);
}

std::optional<Capture> Process::EndCapture(void* stream) {
  const std::lock_guard lock(mutex_);
  return captures_.End(stream);
}

std::optional<Capture> Process::CaptureOf(void* stream) const {
  const std::lock_guard lock(mutex_);
  return captures_.Of(stream);
}

}  // namespace pretend
