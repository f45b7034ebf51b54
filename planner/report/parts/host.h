// HostMemory: what the same training takes of the host's RAM: beside the card (the process, the model before it moves,
// the loader's workers and pinned batches), and with the whole step on the CPU.
//
//   on the host, beside the card      1.12 GiB of RAM: Python and PyTorch 638 MiB, the model until it is moved ...
//   the whole step on the CPU         from 1.3 to 2.2 GiB: tensors 0.7 GiB, ...
//
// Measured on Linux x86-64 with Python 3.11 and the wheel torch 2.10.0+cu128, one thread:
//   after `import torch, torchvision`   669 MB resident
//   a DataLoader's worker (fork)        7.9 MB of its own, beside the samples
//   two steps of an MLP on the CPU      30 MB above that and the tensors of the step: threads, code
//   two steps on the CPU above those    0.2 to 2.2 times the activations and temporaries of less than 32 MiB each, at
//                                       their highest in the forward or backward: holes in the heap of glibc's malloc,
//                                       which maps larger blocks one by one (malloc/malloc.c, 2.36:
//                                       DEFAULT_MMAP_THRESHOLD_MAX). Where it maps all of them
//                                       (MALLOC_MMAP_THRESHOLD_=65536), DistilBERT at batch 8 takes 1295 MB instead of
//                                       2051, for tensors of 1259 MB; without oneDNN it takes 2073
// Fifteen models gave the constants: 0.7 is their median, 2.1 a tenth above their largest. On fifteen others that end was
// too low for one (DistilBERT) and was raised to 2.5. tests/planner/report/host_test.cc has those fifteen, and the runs
// that were made afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/report/parts/device_band.h"
#include "planner/report/writing/json.h"
#include "planner/report/writing/style.h"

namespace vramplan {

struct LoaderQuestion {
  int64_t workers = 0, prefetch = 2;  // of a DataLoader: num_workers, prefetch_factor
  Bytes sample;                       // of one sample with its target
  bool pinned = true;                 // pin_memory
};

struct HostMemory {
  std::vector<BandRow> beside;  // the card
  std::vector<BandRow> on_cpu;  // the whole step
  std::string cause;            // why it fits there and not on the card, or what the card takes more; a sentence
};

// Bytes of batches that wait: at most prefetch batches a worker are asked for ahead, in shared memory, and as many lie
// pinned (torch/utils/data/dataloader.py, 2.10: _MultiProcessingDataLoaderIter, tasks outstanding <= prefetch_factor *
// num_workers). Pinned blocks are powers of two (ATen/core/CachingHostAllocator.h, 2.10: allocate).
Bytes WaitingBatches(const LoaderQuestion& loader, int64_t batch);
Bytes PinnedBatches(const LoaderQuestion& loader, int64_t batch);

struct HostQuestion {
  LoaderQuestion loader;
  int64_t batch = 1;
  Bytes model;    // parameters and buffers
  Bytes tensors;  // the step's requested peak without a GPU's workspaces, updated one parameter after the other
  Bytes passing;  // the highest of those below 32 MiB that come and go in the forward and the backward
};
HostMemory HostMemoryOf(const HostQuestion& question);

// What of the card's bytes the host does without.
struct CardBytes {
  Bytes needs, has;                      // on the device
  Bytes context, workspaces, allocator;  // allocator: reserved, not requested
  Bytes update;                          // what foreach and fused updates take more than a loop
};
std::string CauseText(const CardBytes& card, const HostMemory& host);

std::string PrintHost(const HostMemory& host, const Style& style);

}  // namespace vramplan
