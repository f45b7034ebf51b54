#include "planner/calibration/card_memory.h"

namespace vramplan {

std::string_view Name(Refusal::Cause cause) {
  switch (cause) {
    case Refusal::Cause::kCard:
      return "card";
    case Refusal::Cause::kFragmented:
      return "fragmented";
    case Refusal::Cause::kMargin:
      return "margin";
    case Refusal::Cause::kMost:
      return "max-bytes";
    case Refusal::Cause::kNeighbour:
      return "neighbour";
  }
  return "";
}

CardMemory::CardMemory(CardSession* session, CardLimits limits) : session_(session), limits_(limits) {
  const Result<CardSession::Memory> memory = session_->Free();
  if (!memory.ok()) {
    Keep(memory.error());
  } else {
    expected_ = memory->free;
  }
}

std::optional<Bytes> CardMemory::Look() {
  if (error_) return std::nullopt;
  const Result<CardSession::Memory> memory = session_->Free();
  if (!memory.ok()) {
    Keep(memory.error());
    return std::nullopt;
  }
  others_ += expected_ - memory->free;
  expected_ = memory->free;
  return memory->free;
}

std::optional<uint64_t> CardMemory::Refuse(Refusal::Cause cause, Bytes wanted, Bytes free) {
  const bool without_them = others_ >= kNoticeable && wanted + limits_.margin <= free + others_;
  if (without_them && cause != Refusal::Cause::kMost) cause = Refusal::Cause::kNeighbour;
  refusal_ = Refusal{cause, wanted, free, others_};
  return std::nullopt;
}

std::optional<uint64_t> CardMemory::Take(Bytes bytes) {
  const std::optional<Bytes> free = Look();
  if (!free) return std::nullopt;
  if (taken_ + bytes > limits_.most) return Refuse(Refusal::Cause::kMost, bytes, *free);
  if (*free < bytes) return Refuse(Refusal::Cause::kCard, bytes, *free);
  if (*free - bytes < limits_.margin) return Refuse(Refusal::Cause::kMargin, bytes, *free);

  const Result<std::optional<uint64_t>> address = session_->Allocate(bytes);
  if (!address.ok()) {
    Keep(address.error());
    return std::nullopt;
  }
  if (!*address) {
    const std::optional<Bytes> left = Look();
    if (!left) return std::nullopt;
    return Refuse(*left < bytes ? Refusal::Cause::kCard : Refusal::Cause::kFragmented, bytes, *left);
  }
  blocks_[**address] = bytes;
  taken_ += bytes;
  ++segments_;
  expected_ -= bytes;
  const Bytes before = others_;
  if (Look() && others_ - before < kNoticeable && others_ > before) {
    driver_ += others_ - before;
    others_ = before;
  }
  return **address;
}

void CardMemory::GiveBack(uint64_t address, Bytes bytes) {
  blocks_.erase(address);
  taken_ -= bytes;
  const Status released = session_->Release(address);
  if (!released.ok()) return Keep(released.error());
  expected_ += bytes;
}

void CardMemory::GiveAllBack() {
  while (!blocks_.empty()) {
    const auto [address, bytes] = *blocks_.begin();
    GiveBack(address, bytes);
  }
}

}  // namespace vramplan
