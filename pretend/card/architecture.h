// ArchitectureOf: what a compute capability says about a multiprocessor. Frameworks ask it to choose launch shapes and
// kernels; none of it changes what a step allocates, except where a kernel is chosen by capability.
//
//   ArchitectureOf(7, 5)   1024 threads, 16 blocks, 64 KiB of shared memory a multiprocessor
#pragma once

#include <cstdint>

namespace pretend {

struct Architecture {
  int threads = 2048;           // a multiprocessor
  int blocks = 32;              // a multiprocessor
  int shared = 96 << 10;        // a multiprocessor, bytes
  int shared_block = 48 << 10;  // the most that a block may opt in to, bytes
  bool operator==(const Architecture&) const = default;
};

// CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability". A capability that it does not
// have yet is taken for the newest of its major version.
Architecture ArchitectureOf(int major, int minor);

}  // namespace pretend
