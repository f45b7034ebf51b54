#include "planner/oom/message.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/planner/oom/what_it_says.h"

namespace vramplan {
namespace {

TEST_CASE("out-of-memory messages of PyTorch: what each form says") {
  struct Row {
    const char* source;
    std::string text, says;
  };
  const std::vector<Row> rows = {
      {"pytorch#958, 0.4", "THCudaCheck FAIL file=/b/THCStorage.cu line=58 error=2 : out of memory", "device CUDA"},
      {"facebookarchive/loop#57", "cuda runtime error (2) : out of memory at /b/THCStorage.cu:58", "device CUDA"},
      {"pytorch#16417, 1.0",
       "RuntimeError: CUDA out of memory. Tried to allocate 12.50 MiB (GPU 0; 10.92 GiB total capacity; 8.57 MiB "
       "already "
       "allocated; 9.28 GiB free; 4.68 MiB cached)",
       "pytorch CUDA gpu 0 before 2.0, tried 12.50 MiB, capacity 10.92 GiB, free 9.28 GiB, allocated 8.57 MiB, "
       "unallocated 4.68 MiB, reserved 13.25 MiB"},
      {"pytorch#67971, 1.9: 0 bytes",
       "RuntimeError: CUDA out of memory. Tried to allocate 2.00 MiB (GPU 1; 6.00 GiB total capacity; 4.88 GiB already "
       "allocated; 0 bytes free; 4.96 GiB reserved in total by PyTorch)",
       "pytorch CUDA gpu 1 before 2.0, tried 2.00 MiB, capacity 6.00 GiB, free 0 B, allocated 4.88 GiB, unallocated "
       "81.92 MiB, reserved 4.96 GiB"},
      {"iPASSR#9, 2.0, oversubscribed, wrapped by a terminal",
       "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to\n    allocate 10.73 GiB (GPU 0; 8.00 GiB total\n    "
       "capacity; 17.20 GiB already allocated; 0 bytes free; 19.15 GiB reserved in total by PyTorch) If reserved "
       "memory "
       "is >> allocated memory try setting max_split_size_mb",
       "pytorch CUDA gpu 0, tried 10.73 GiB, capacity 8.00 GiB, free 0 B, allocated 17.20 GiB, unallocated 1.95 GiB, "
       "reserved 19.15 GiB"},
      {"kerrj/lerf#73, 2.1: capacty",
       "CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacty of 23.65 GiB of which 1.66 GiB is "
       "free. "
       "Including non-PyTorch memory, this process has 20.81 GiB memory in use. Of the allocated memory 12.09 GiB is "
       "allocated by PyTorch, and 4.84 GiB is reserved by PyTorch but unallocated.",
       "pytorch CUDA gpu 0, tried 3.00 GiB, capacity 23.65 GiB, free 1.66 GiB, allocated 12.09 GiB, unallocated 4.84 "
       "GiB, reserved 16.93 GiB, in use 20.81 GiB, outside 3.88 GiB"},
      {"Phidias-Diffusion#8: others on the card, a shape that overflowed",
       "[rank3]: CUDA out of memory. Tried to allocate 125537.24 GiB. GPU 0 has a total capacty of 23.64 GiB of which "
       "8.26 GiB is free. Process 3419336 has 470.64 MiB memory in use. Including non-PyTorch memory, this process has "
       "14.56 GiB memory in use. Of the allocated memory 13.86 GiB is allocated by PyTorch, and 213.20 MiB is reserved "
       "by PyTorch but unallocated.",
       "pytorch CUDA gpu 0, tried 125537.24 GiB, capacity 23.64 GiB, free 8.26 GiB, allocated 13.86 GiB, unallocated "
       "213.20 MiB, reserved 14.07 GiB, in use 14.56 GiB, outside 503.60 MiB, 3419336 470.64 MiB"},
      {"ROCm/TheRock#2118: allowed, private pools",
       "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 255.98 "
       "GiB of "
       "which 244.65 GiB is free. 1.05 GiB allowed; Of the allocated memory 1017.01 MiB is allocated by PyTorch, with "
       "17.00 MiB allocated in private pools (e.g., HIP Graphs), and 54.99 MiB is reserved by PyTorch but unallocated.",
       "pytorch HIP gpu 0, tried 2.00 MiB, capacity 255.98 GiB, free 244.65 GiB, allowed 1.05 GiB, allocated 1000.01 "
       "MiB, pools 17.00 MiB, unallocated 54.99 MiB, reserved 1.05 GiB"},
      {"microsoft/WSL#11050: a difference below zero is no size",
       "CUDA out of memory. Tried to allocate 30.00 GiB. GPU 0 has a total capacty of 15.99 GiB of which 0 bytes is "
       "free. "
       "Including non-PyTorch memory, this process has 17179869184.00 GiB memory in use. Of the allocated memory 30.00 "
       "GiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated.",
       "pytorch CUDA gpu 0, tried 30.00 GiB, capacity 15.99 GiB, free 0 B, allocated 30.00 GiB, unallocated 0 B, "
       "reserved 30.00 GiB"},
      {"google/RB-Modulation#5: cut off",
       "CUDA out of memory. Tried to allocate 16.00 MiB. GPU 0 has a total capacty of 23.53 GiB of which 64.00 KiB is "
       "free.",
       "pytorch CUDA gpu 0, tried 16.00 MiB, capacity 23.53 GiB, free 64.00 KiB"},
      {"the first of two counts",
       "CUDA out of memory. Tried to allocate 1.00 GiB. CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a "
       "total "
       "capacity of 8.00 GiB of which 0 bytes is free.",
       "pytorch CUDA, tried 1.00 GiB"},
      {"nothing in it", "AssertionError: loss is nan\n",
       "pasted: there is no out-of-memory message in it (hint: paste the line that says \"out of memory\", with the "
       "sentences after it)"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.source);
    CHECK_EQ(testing::WhatItSays(row.text), row.says);
  }
}

TEST_CASE("out-of-memory messages: any prefix of one is read without more than it says") {
  const std::string whole =
      "CUDA out of memory. Tried to allocate 22.00 MiB. GPU 0 has a total capacity of 23.65 GiB of which 11.06 MiB is "
      "free. Process 12 has 1.00 GiB memory in use. Including non-PyTorch memory, this process has 23.60 GiB memory in "
      "use. Of the allocated memory 22.90 GiB is allocated by PyTorch, and 194.87 MiB is reserved by PyTorch but "
      "unallocated.";
  const Result<OutOfMemory> all = ReadOutOfMemory("whole", whole);
  REQUIRE(all.ok());
  for (size_t length = 18; length <= whole.size(); ++length) {
    const Result<OutOfMemory> part = ReadOutOfMemory("part", whole.substr(0, length));
    REQUIRE(part.ok());
    CHECK_EQ(part->kind, "pytorch");
    CHECK(part->processes.size() <= 1);
    CHECK(part->reserved.has_value() <= all->reserved.has_value());
  }
  CHECK(all->processes == std::vector<OutOfMemoryProcess>{{12, Bytes::GiB(1)}});
}

}  // namespace
}  // namespace vramplan
