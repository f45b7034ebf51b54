#include <malloc.h>

#include "planner/cli/run.h"

namespace {

// What one pass gives back to the allocator the next one takes again. Handed to the system in between, each of its
// pages would be a fault, and zeros once more: of the 15 ms of `estimate models/resnet50.onnx` that was 2.
void KeepMemory() {
  constexpr int kMiB = 1 << 20;
  mallopt(M_TRIM_THRESHOLD, 256 * kMiB);
  mallopt(M_MMAP_THRESHOLD, 32 * kMiB);  // the most that glibc takes
  mallopt(M_TOP_PAD, 4 * kMiB);
}

}  // namespace

int main(int argc, char** argv) {
  KeepMemory();
  return vramplan::Run(argc, argv);
}
