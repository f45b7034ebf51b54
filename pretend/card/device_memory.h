// DeviceMemory: what one process holds of one card: counted, never allocated.
//
//   DeviceMemory memory(usable 15 GiB, context 350 MiB)      total() 15 GiB, free() 15 GiB
//   memory.MakeContext()                                     free() 14.66 GiB
//   memory.Allocate(20 MiB)                                  an address; used() 20 MiB
//   memory.Allocate(15 GiB)                                  0; refused() {1 time, largest 15 GiB}
//   memory.set_others(10 GiB)                                free() 4.64 GiB
//
// Invariant: used() + context + others <= total() whenever something is given.
#pragma once

#include <cstdint>

#include "pretend/card/address_space.h"

namespace pretend {

struct Refusals {
  int64_t times = 0;
  uint64_t largest = 0, last = 0;  // bytes, as asked for
  bool operator==(const Refusals&) const = default;
};

class DeviceMemory {
 public:
  DeviceMemory(uint64_t total, uint64_t context) : total_(total), context_(context) {}

  // What this process has to have before all else. False: there is no room for it.
  bool MakeContext();
  // It is gone, and everything with it.
  void EndContext();
  bool has_context() const { return has_context_; }
  // What other processes hold of the card now.
  void set_others(uint64_t bytes) { others_ = bytes; }
  // The card is in pieces: no allocation above this.
  void set_largest_piece(uint64_t bytes) { largest_piece_ = bytes; }

  // As cudaMalloc: whole units of 2 MiB. 0: refused, because the card has not so much left.
  uint64_t Allocate(uint64_t bytes);
  // As cudaFree. False: nothing was allocated there.
  bool Free(uint64_t address);

  // Bytes without an address, for segments that grow by pages (cuMemCreate). False: refused.
  bool Take(uint64_t bytes);
  void Give(uint64_t bytes);
  // An address without bytes (cuMemAddressReserve). 0: none is left.
  uint64_t Reserve(uint64_t bytes) { return addresses_.Take(bytes); }
  bool Unreserve(uint64_t address) { return addresses_.Give(address); }

  bool Owns(uint64_t address) const { return addresses_.Owns(address); }
  AddressSpace::Range RangeOf(uint64_t address) const { return addresses_.RangeOf(address); }

  uint64_t total() const { return total_; }
  uint64_t free() const { return total_ < held() + others_ ? 0 : total_ - held() - others_; }
  uint64_t used() const { return used_; }
  uint64_t held() const { return used_ + (has_context_ ? context_ : 0); }  // as others see it
  uint64_t peak() const { return peak_; }
  const Refusals& refused() const { return refused_; }

 private:
  void Refuse(uint64_t bytes);

  uint64_t total_, context_;
  bool has_context_ = false;
  uint64_t others_ = 0, largest_piece_ = UINT64_MAX;
  uint64_t used_ = 0, peak_ = 0;
  Refusals refused_;
  AddressSpace addresses_;
  std::map<uint64_t, uint64_t> allocated_;  // address: bytes that it takes
};

}  // namespace pretend
