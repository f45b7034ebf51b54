#include "pretend/card/device_memory.h"

#include <algorithm>

namespace pretend {

bool DeviceMemory::MakeContext() {
  if (has_context_) return true;
  if (context_ > free()) return false;
  return has_context_ = true;
}

void DeviceMemory::EndContext() {
  has_context_ = false;
  for (const auto& [address, bytes] : allocated_) addresses_.Give(address);
  allocated_.clear();
  used_ = 0;
}

void DeviceMemory::Refuse(uint64_t bytes) {
  ++refused_.times;
  refused_.last = bytes;
  refused_.largest = std::max(refused_.largest, bytes);
}

bool DeviceMemory::Take(uint64_t bytes) {
  if (bytes > free()) {
    Refuse(bytes);
    return false;
  }
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  return true;
}

void DeviceMemory::Give(uint64_t bytes) { used_ -= std::min(bytes, used_); }

uint64_t DeviceMemory::Allocate(uint64_t bytes) {
  const uint64_t unit = AddressSpace::kUnit;
  const uint64_t size = bytes > UINT64_MAX - unit ? UINT64_MAX : (bytes + unit - 1) / unit * unit;
  if (size > largest_piece_) Refuse(size);
  if (size == 0 || size > largest_piece_ || !Take(size)) return 0;
  const uint64_t address = addresses_.Take(size);
  if (address == 0) {
    Give(size);
    return 0;
  }
  allocated_[address] = size;
  return address;
}

bool DeviceMemory::Free(uint64_t address) {
  const auto block = allocated_.find(address);
  if (block == allocated_.end()) return false;
  Give(block->second);
  addresses_.Give(address);
  allocated_.erase(block);
  return true;
}

}  // namespace pretend
