// The part of NVML's ABI that we use: NVML API Reference, "Device Queries", "System Queries", "Enums". Structures are
// versioned and never change once published; tests compare them with nvml.h if that is installed.
#pragma once

namespace vramplan::nvml {

inline constexpr int kSuccess = 0, kNotSupported = 3, kNoPermission = 4, kNotFound = 6, kInsufficientSize = 7,
                     kFunctionNotFound = 13, kGpuIsLost = 15;
inline constexpr unsigned long long kNotAvailable = ~0ULL;  // NVML_VALUE_NOT_AVAILABLE

struct MemoryInfoOne {
  unsigned long long total, free, used;
};
struct MemoryInfoTwo {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
inline constexpr unsigned kMemoryInfoTwo = sizeof(MemoryInfoTwo) | (2U << 24);  // NVML_STRUCT_VERSION(Memory, 2)

struct ProcessOne {
  unsigned pid;
  unsigned long long used;
};
struct ProcessTwo {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};

// Devices are opaque pointers, enums are ints.
using Init = int();
using Shutdown = int();
using ErrorString = const char*(int);
using SystemText = int(char*, unsigned);
using ProcessName = int(unsigned, char*, unsigned);
using ByText = int(const char*, void**);
using IsMig = int(void*, unsigned*);
using Parent = int(void*, void**);
using MemoryOne = int(void*, MemoryInfoOne*);
using MemoryTwo = int(void*, MemoryInfoTwo*);
using TwoStates = int(void*, int*, int*);
using OneState = int(void*, int*);
template <typename Process>
using ProcessesOf = int(void*, unsigned*, Process*);
using ProcessesOne = ProcessesOf<ProcessOne>;
using ProcessesTwo = ProcessesOf<ProcessTwo>;

}  // namespace vramplan::nvml
