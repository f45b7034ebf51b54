#include "pretend/card/process.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

namespace pretend {
namespace {

std::string DescriptionText() {
  const char* text = std::getenv("VRAMPLAN_PRETEND_GPU");
  if (text == nullptr) return "";
  if (*text != '@') return text;
  std::ifstream file(text + 1);
  return {std::istreambuf_iterator<char>(file), {}};
}

uint64_t AddressOf(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

}  // namespace

std::vector<Card> VisibleCards(const std::vector<Card>& all, const char* visible) {
  if (visible == nullptr) return all;
  std::vector<Card> cards;
  std::istringstream words(visible);
  for (std::string word; std::getline(words, word, ',');) {
    const bool number = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos && word.size() < 6;
    const auto card = number ? (std::stoul(word) < all.size() ? all.begin() + std::stol(word) : all.end())
                             : std::ranges::find_if(all, [&](const Card& each) {
                                 return !word.empty() && ((each.mig ? "MIG-" : "GPU-") + each.uuid).starts_with(word);
                               });
    if (card == all.end()) break;
    cards.push_back(*card);
  }
  return cards;
}

Process& Process::This() {
  static Process* const process = new Process(Read(DescriptionText()), std::getenv("CUDA_VISIBLE_DEVICES"));
  return *process;
}

Process::Process(const Description& description, const char* visible)
    : description_(description), cards_(VisibleCards(description.cards, visible)) {
  for (const Card& card : cards_) {
    memory_.push_back(
        std::make_unique<DeviceMemory>(static_cast<uint64_t>(card.usable), static_cast<uint64_t>(card.context)));
  }
}

uint64_t Process::Allocate(int card, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return Has(card) ? memory_[static_cast<size_t>(card)]->Allocate(bytes) : 0;
}

bool Process::Free(uint64_t address) {
  const std::lock_guard lock(mutex_);
  for (const auto& memory : memory_) {
    if (memory->Owns(address)) return memory->Free(address);
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
  if (!Has(card) || !memory_[static_cast<size_t>(card)]->Take(bytes)) return 0;
  pages_[++last_pages_] = {card, bytes};
  return last_pages_;
}

bool Process::ReleasePages(uint64_t handle) {
  const std::lock_guard lock(mutex_);
  const auto pages = pages_.find(handle);
  if (pages == pages_.end()) return false;
  memory_[static_cast<size_t>(pages->second.card)]->Give(pages->second.bytes);
  pages_.erase(pages);
  return true;
}

uint64_t Process::Reserve(int card, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return Has(card) ? memory_[static_cast<size_t>(card)]->Reserve(bytes) : 0;
}

bool Process::Unreserve(uint64_t address) {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(memory_, [&](const auto& memory) { return memory->Unreserve(address); });
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
  return std::ranges::any_of(memory_, [&](const auto& memory) { return memory->Owns(address); });
}

Place Process::PlaceOf(const void* pointer) const {
  const uint64_t address = AddressOf(pointer);
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < memory_.size(); ++i) {
    if (!memory_[i]->Owns(address)) continue;
    const AddressSpace::Range range = memory_[i]->RangeOf(address);
    return {Place::Kind::kDevice, static_cast<int>(i), range.begin, range.bytes};
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

uint64_t Process::Total(int card) const { return memory_[static_cast<size_t>(card)]->total(); }

uint64_t Process::FreeBytes(int card) const {
  const std::lock_guard lock(mutex_);
  return memory_[static_cast<size_t>(card)]->free();
}

Process::Counts Process::CountsOf(int card) const {
  const std::lock_guard lock(mutex_);
  const DeviceMemory& memory = *memory_[static_cast<size_t>(card)];
  return {memory.used(), memory.peak(), memory.refused()};
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
