// AddressSpace: addresses for memory that is never touched. Nothing is mapped that could be read or written: a pointer
// to the device is as wrong on the host as it is with a card, and a model of 700 GB costs no RAM.
//
//   Take(20 MiB)  0x7f0000200000      addresses rise, as on a card that was just opened,
//   Take(2 MiB)   0x7f0001800000      with 2 MiB between neighbours, so that no two are ever merged by mistake
//   Give(0x7f0000200000)              given again only when no fresh ones are left
//
// PyTorch's allocator breaks ties by address, so the order is part of the answer; rising is what a fresh card does.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace pretend {

class AddressSpace {
 public:
  static constexpr uint64_t kUnit = uint64_t{2} << 20;

  AddressSpace() = default;
  ~AddressSpace();
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  // Begins at a multiple of kUnit; `bytes` are rounded up to it. 0: no addresses are left.
  uint64_t Take(uint64_t bytes);
  // What Take gave. False: it did not.
  bool Give(uint64_t address);
  bool Owns(uint64_t address) const;

  struct Range {
    uint64_t begin = 0, bytes = 0;  // as asked for, rounded up; 0 bytes: there is none
    bool operator==(const Range&) const = default;
  };
  // The range that was taken and holds this address.
  Range RangeOf(uint64_t address) const;

 private:
  struct Region {
    uint64_t begin = 0, bytes = 0, next = 0;
  };
  bool Grow(uint64_t bytes);

  std::vector<Region> regions_;
  std::map<uint64_t, uint64_t> taken_;               // begin: bytes
  std::map<uint64_t, std::vector<uint64_t>> given_;  // bytes: begins, the last one first
};

}  // namespace pretend
