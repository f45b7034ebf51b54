#include "pretend/library/device_properties.h"

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "pretend/card/architecture.h"

namespace pretend {
namespace {

constexpr int kWarp = 32, kBlockThreads = 1024, kRegisters = 65536, kBlockShared = 48 << 10;
constexpr int kReservedShared = 1 << 10;  // a block, since 8.0
constexpr int kGridX = 2147483647, kGridYZ = 65535, kBlockZ = 64;
// Cards differ and the catalogue does not say: numbers that choose tile sizes of generated kernels, no memory.
constexpr int kL2 = 4 << 20, kBusWidth = 256, kClock = 1500000, kMemoryClock = 7000000;

struct Layout {
  size_t size;
  // Where CUDA 13 and its predecessors agree, the place stands in Write() below.
  size_t multiprocessors, map_host, concurrent, ecc, pci_bus, pci_device, async_engines, unified, bus_width, l2,
      threads, priorities, global_l1, local_l1, shared, registers, managed, concurrent_managed, preemption, cooperative,
      shared_block, blocks, reserved_shared;
  size_t clock, memory_clock;                // 0: the field is gone
  size_t pools, cluster, unified_functions;  // 0: not there yet
};

constexpr Layout kEleven = {728, 388, 400, 576, 580, 584, 588, 600, 604, 612, 616, 624, 628, 632, 636,
                            640, 648, 652, 676, 680, 688, 696, 712, 720, 348, 608, 0,   0,   0};
constexpr Layout kTwelve = {1032, 388, 400, 576, 580, 584, 588, 600, 604, 612, 616, 624, 628, 632, 636,
                            640,  648, 652, 676, 680, 688, 696, 712, 720, 348, 608, 744, 772, 776};
constexpr Layout kThirteen = {1008, 384, 392, 560, 564, 568, 572, 584, 588, 592, 596, 604, 608, 612, 616,
                              624,  632, 636, 656, 660, 668, 672, 688, 696, 0,   0,   720, 748, 752};

const Layout& LayoutOf(int version) {
  if (version >= 13000) return kThirteen;
  return version >= 12000 ? kTwelve : kEleven;
}

}  // namespace

namespace {

// "0000:01:00.0". PyTorch makes the same text of these three when it asks NVML who fills the card
// (CUDACachingAllocator.cpp, reportProcessMemoryInfo), and fails where no card has it.
struct Pci {
  int domain = 0, bus = 0, device = 0;
};
Pci PciOf(const Card& card) {
  unsigned domain = 0, bus = 0, device = 0;
  std::sscanf(card.pci.c_str(), "%x:%x:%x", &domain, &bus, &device);
  return {static_cast<int>(domain), static_cast<int>(bus), static_cast<int>(device)};
}

}  // namespace

std::array<char, 16> UuidOf(const Card& card) {
  std::array<char, 16> uuid{};
  size_t digits = 0;
  for (const char c : card.uuid) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0 || digits == 2 * uuid.size()) continue;
    char& byte = uuid[digits / 2];
    byte = static_cast<char>(digits % 2 == 0 ? digit << 4 : byte | digit);
    ++digits;
  }
  return uuid;
}

size_t SizeOfProperties(int cuda_version) { return LayoutOf(cuda_version).size; }

void WriteProperties(const Card& card, int cuda_version, void* properties) {
  const Layout& layout = LayoutOf(cuda_version);
  const Architecture architecture = ArchitectureOf(card.major, card.minor);
  char* const bytes = static_cast<char*>(properties);
  std::memset(bytes, 0, layout.size);
  const auto number = [&](size_t place, int value) { std::memcpy(bytes + place, &value, sizeof value); };
  const auto size = [&](size_t place, uint64_t value) { std::memcpy(bytes + place, &value, sizeof value); };
  const auto where_there = [&](size_t place, int value) {
    if (place != 0) number(place, value);
  };
  std::strncpy(bytes, card.name.c_str(), 255);
  const std::array<char, 16> uuid = UuidOf(card);
  std::memcpy(bytes + 256, uuid.data(), uuid.size());
  size(288, static_cast<uint64_t>(card.usable));
  size(296, kBlockShared);
  number(304, kRegisters);
  number(308, kWarp);
  size(312, kGridX);  // memPitch
  number(320, kBlockThreads);
  number(324, kBlockThreads);
  number(328, kBlockThreads);
  number(332, kBlockZ);
  number(336, kGridX);
  number(340, kGridYZ);
  number(344, kGridYZ);
  size(352, 64 << 10);  // constant memory
  number(360, card.major);
  number(364, card.minor);
  size(368, 512);  // alignment of textures
  size(376, 32);
  number(layout.multiprocessors, card.multiprocessors);
  number(layout.map_host, 1);
  number(layout.concurrent, 1);
  number(layout.ecc, card.ecc.value_or(false) ? 1 : 0);
  const Pci pci = PciOf(card);
  number(layout.pci_bus, pci.bus);
  number(layout.pci_device, pci.device);
  number(layout.pci_device + sizeof(int), pci.domain);
  number(layout.async_engines, 2);
  number(layout.unified, 1);
  number(layout.bus_width, kBusWidth);
  number(layout.l2, kL2);
  number(layout.threads, architecture.threads);
  number(layout.priorities, 1);
  number(layout.global_l1, 1);
  number(layout.local_l1, 1);
  size(layout.shared, static_cast<uint64_t>(architecture.shared));
  number(layout.registers, kRegisters);
  number(layout.managed, 1);
  number(layout.concurrent_managed, 1);
  number(layout.preemption, 1);
  number(layout.cooperative, 1);
  size(layout.shared_block, static_cast<uint64_t>(architecture.shared_block));
  number(layout.blocks, architecture.blocks);
  size(layout.reserved_shared, card.major >= 8 ? kReservedShared : 0);
  where_there(layout.clock, kClock);
  where_there(layout.memory_clock, kMemoryClock);
  where_there(layout.pools, 1);
  where_there(layout.cluster, card.major >= 9 ? 1 : 0);
  where_there(layout.unified_functions, 1);
}

int AttributeOf(const Card& card, int attribute) {
  const Architecture architecture = ArchitectureOf(card.major, card.minor);
  switch (attribute) {  // cuda.h, CUdevice_attribute
    case 1:             // threads of a block, and its first two extents
    case 2:
    case 3:
      return kBlockThreads;
    case 4:
      return kBlockZ;
    case 5:
      return kGridX;
    case 6:
    case 7:
      return kGridYZ;
    case 8:
      return kBlockShared;
    case 9:
      return 64 << 10;  // constant memory
    case 10:
      return kWarp;
    case 11:
      return kGridX;  // pitch
    case 12:
    case 82:
      return kRegisters;
    case 13:
      return kClock;
    case 14:
      return 512;  // alignment of textures
    case 16:
      return card.multiprocessors;
    case 15:   // copies overlap
    case 19:   // host memory can be mapped
    case 31:   // concurrent kernels
    case 41:   // unified addressing
    case 78:   // stream priorities
    case 79:   // L1 for global
    case 80:   // and local memory
    case 83:   // managed memory
    case 89:   // which the host may use meanwhile
    case 95:   // cooperative launches
    case 99:   // host memory can be registered
    case 102:  // addresses can be reserved: expandable segments
    case 115:  // memory pools
      return 1;
    case 32:
      return card.ecc.value_or(false) ? 1 : 0;
    case 33:
      return PciOf(card).bus;
    case 34:
      return PciOf(card).device;
    case 50:
      return PciOf(card).domain;
    case 36:
      return kMemoryClock;
    case 37:
      return kBusWidth;
    case 38:
      return kL2;
    case 39:
      return architecture.threads;
    case 40:
      return 2;  // copy engines
    case 75:
      return card.major;
    case 76:
      return card.minor;
    case 81:
      return architecture.shared;
    case 97:
      return architecture.shared_block;
    case 106:
      return architecture.blocks;
    case 111:
      return card.major >= 8 ? kReservedShared : 0;
    case 120:
      return card.major >= 9 ? 1 : 0;  // cluster launches
    default:
      return 0;
  }
}

}  // namespace pretend
