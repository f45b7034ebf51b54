// What the exported functions share: how they are exported, CUDA's codes, and the state of the calling thread. No CUDA
// header is used: one file serves programs that were compiled against CUDA 11.8, 12.x and 13.x, whose headers differ.
#pragma once

#include <cstdint>

#include "pretend/card/process.h"

// An entry point that programs find by name.
#define PRETEND_API extern "C" __attribute__((visibility("default")))
// The same function under another name: "_ptsz" and "_ptds" are what programs call that were compiled for a default
// stream per thread; streams do nothing here.
#define PRETEND_ALIAS(name, target) \
  extern "C" __attribute__((visibility("default"), alias(#target))) decltype(target) name

namespace pretend {

using Handle = void*;

// cudaError_t and CUresult agree on these.
enum Code : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kNotFound = 500,
  kNotSupported = 801,
};

// Of the calling thread: cudaSetDevice, cuCtxSetCurrent; and what cudaGetLastError tells.
struct ThreadState {
  int device = 0;
  int last_error = kSuccess;
};
ThreadState& Thread();

// Remembers the code for cudaGetLastError and gives it back.
int Told(int code);

// A handle that no other object has.
Handle NewHandle();

inline uint64_t AddressOf(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }
inline void* PointerTo(uint64_t address) { return reinterpret_cast<void*>(address); }

// The version of CUDA that the program was built for, as 12080: of the libcudart that it loaded, because that decides
// how large the structures are that it hands over. VRAMPLAN_PRETEND_CUDA=11.8 overrides it; nothing found: 12.8.
int CudaVersion();
// That of the driver: as the description says, else the program's own, so that no driver seems too old.
int DriverVersion();

}  // namespace pretend
