#include "planner/oom/cause.h"

#include <doctest/doctest.h>

#include <string>

namespace vramplan {
namespace {

OutOfMemory Message(const std::string& text) {
  Result<OutOfMemory> read = ReadOutOfMemory("pasted", text);
  REQUIRE(read.ok());
  return *std::move(read);
}

std::string Text(const char* name, const std::optional<Bytes>& bytes) {
  return bytes ? std::string(name) + " " + ToString(*bytes) + ", " : "";
}

std::string Told(const OutOfMemory& message) {
  const CardShares shares = SharesOf(message);
  return std::string(Name(CauseOf(message))) + ": " + Text("allocated", shares.allocated) +
         Text("unallocated", shares.unallocated) + Text("graphs", shares.graphs) + Text("outside", shares.outside) +
         Text("undivided", shares.undivided) + Text("others", shares.others) + Text("free", shares.free) +
         Text("unknown", shares.unknown) + Text("room", RoomOf(message));
}

// The threads that quote these messages are named.
TEST_CASE("causes of out-of-memory messages") {
  struct Row {
    const char *text, *told;
  };
  constexpr Row kRows[] = {
      // pytorch#67971
      {"CUDA out of memory. Tried to allocate 2.00 MiB (GPU 0; 6.00 GiB total capacity; 4.88 GiB already allocated; 0 "
       "bytes free; 4.96 GiB reserved in total by PyTorch)",
       "full: allocated 4.88 GiB, unallocated 81.92 MiB, free 0 B, unknown 1.04 GiB, room 4.96 GiB, "},
      // kerrj/lerf#73
      {"CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacty of 23.65 GiB of which 1.66 GiB is "
       "free. Including non-PyTorch memory, this process has 20.81 GiB memory in use. Of the allocated memory 12.09 "
       "GiB is allocated by PyTorch, and 4.84 GiB is reserved by PyTorch but unallocated.",
       "fragmentation: allocated 12.09 GiB, unallocated 4.84 GiB, outside 3.88 GiB, free 1.66 GiB, unknown 1.18 GiB, "
       "room 18.59 GiB, "},
      // Its own pieces would do, but another process holds most of the card.
      {"CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 8.00 GiB of which 10.00 MiB is "
       "free. Process 7 has 5.40 GiB memory in use. Including non-PyTorch memory, this process has 2.58 GiB memory in "
       "use. Of the allocated memory 2.00 GiB is allocated by PyTorch, and 256.00 MiB is reserved by PyTorch but "
       "unallocated.",
       "others: allocated 2.00 GiB, unallocated 256.00 MiB, outside 337.92 MiB, others 5.40 GiB, free 10.00 MiB, "
       "unknown "
       "10.48 MiB, room 2.26 GiB, "},
      // iPASSR#9: Windows pages out what the card does not hold
      {"CUDA out of memory. Tried to allocate 10.73 GiB (GPU 0; 8.00 GiB total capacity; 17.20 GiB already allocated; "
       "0 bytes free; 19.15 GiB reserved in total by PyTorch)",
       "beyond-card: allocated 17.20 GiB, unallocated 1.95 GiB, free 0 B, unknown 0 B, room 8.00 GiB, "},
      // Open-Sora#697: the process is this one, as the container names it
      {"CUDA out of memory. Tried to allocate 160.00 MiB. GPU 0 has a total capacity of 14.75 GiB of which 73.06 MiB "
       "is "
       "free. Process 82243 has 14.67 GiB memory in use. Of the allocated memory 14.55 GiB is allocated by PyTorch, "
       "and "
       "23.38 MiB is reserved by PyTorch but unallocated.",
       "full: allocated 14.55 GiB, unallocated 23.38 MiB, outside 99.50 MiB, free 73.06 MiB, unknown 8.86 MiB, room "
       "14.64 GiB, "},
      // TheRock#2118
      {"HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 255.98 GiB of which 244.65 GiB is "
       "free. 1.05 GiB allowed; Of the allocated memory 1017.01 MiB is allocated by PyTorch, with 17.00 MiB allocated "
       "in private pools (e.g., HIP Graphs), and 0 bytes is reserved by PyTorch but unallocated.",
       "refused: allocated 1000.01 MiB, unallocated 0 B, graphs 17.00 MiB, free 244.65 GiB, unknown 10.34 GiB, room "
       "1.05 GiB, "},
      // pytorch#16417
      {"CUDA out of memory. Tried to allocate 12.50 MiB (GPU 0; 10.92 GiB total capacity; 8.57 MiB already allocated; "
       "9.28 GiB free; 4.68 MiB cached)",
       "refused: allocated 8.57 MiB, unallocated 4.68 MiB, free 9.28 GiB, unknown 1.63 GiB, room 9.29 GiB, "},
      // 1.0 to 1.3 print what is cached beside what is allocated (c10/cuda/CUDACachingAllocator.cpp), not the sum
      {"CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 11.00 GiB total capacity; 7.50 GiB already allocated; "
       "200.00 MiB free; 3.90 GiB cached)",
       "fragmentation: allocated 7.50 GiB, unallocated 3.90 GiB, free 200.00 MiB, unknown 0 B, room 11.00 GiB, "},
      // What is free and what is reserved but unallocated would have been enough together.
      {"CUDA out of memory. Tried to allocate 700.00 MiB. GPU 0 has a total capacity of 8.00 GiB of which 300.00 MiB "
       "is free. Including non-PyTorch memory, this process has 7.70 GiB memory in use. Of the allocated memory 6.80 "
       "GiB is allocated by PyTorch, and 500.00 MiB is reserved by PyTorch but unallocated.",
       "fragmentation: allocated 6.80 GiB, unallocated 500.00 MiB, outside 421.60 MiB, free 300.00 MiB, unknown 7.20 "
       "MiB, room 7.58 GiB, "},
      // Pieces of less than a twentieth of the card: the next tensors take them
      {"CUDA out of memory. Tried to allocate 500.00 MiB. GPU 0 has a total capacity of 8.00 GiB of which 300.00 MiB "
       "is free. Including non-PyTorch memory, this process has 7.70 GiB memory in use. Of the allocated memory 7.00 "
       "GiB is allocated by PyTorch, and 300.00 MiB is reserved by PyTorch but unallocated.",
       "full: allocated 7.00 GiB, unallocated 300.00 MiB, outside 416.80 MiB, free 300.00 MiB, unknown 7.20 "
       "MiB, room 7.59 GiB, "},
      // A request of a third of the card, which neither what is free nor the pieces alone would serve
      {"CUDA out of memory. Tried to allocate 18.00 GiB. GPU 0 has a total capacity of 48.00 GiB of which 11.50 GiB is "
       "free. Including non-PyTorch memory, this process has 36.50 GiB memory in use. Of the allocated memory 29.00 "
       "GiB is allocated by PyTorch, and 7.00 GiB is reserved by PyTorch but unallocated.",
       "full: allocated 29.00 GiB, unallocated 7.00 GiB, outside 512.00 MiB, free 11.50 GiB, unknown 0 B, room 47.50 "
       "GiB, "},
      // What is printed as allocated has the idle blocks of the pools of graphs in it
      {"CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 24.00 GiB of which 0 bytes is "
       "free. Including non-PyTorch memory, this process has 24.00 GiB memory in use. Of the allocated memory 23.50 "
       "GiB is allocated by PyTorch, with 20.00 GiB allocated in private pools (e.g., CUDA Graphs), and 100.00 MiB is "
       "reserved by PyTorch but unallocated.",
       "graphs: allocated 3.50 GiB, unallocated 100.00 MiB, graphs 20.00 GiB, outside 412.00 MiB, free 0 B, unknown 0 "
       "B, room 23.60 GiB, "},
      // A limit of the whole card is none, and others have no more than a thirtieth of a card that is full of its own
      {"CUDA out of memory. Tried to allocate 30.50 GiB. GPU 0 has a total capacity of 79.00 GiB of which 14.00 GiB "
       "is free. 79.00 GiB allowed; Of the allocated memory 62.00 GiB is allocated by PyTorch, and 1.00 GiB is "
       "reserved by PyTorch but unallocated.",
       "full: allocated 62.00 GiB, unallocated 1.00 GiB, free 14.00 GiB, unknown 2.00 GiB, room 77.00 GiB, "},
      {"CUDA out of memory. Tried to allocate 100.00 MiB. GPU 0 has a total capacity of 24.00 GiB of which 0 bytes is "
       "free. Process 8 has 800.00 MiB memory in use. Including non-PyTorch memory, this process has 23.20 GiB memory "
       "in use. Of the allocated memory 22.50 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but "
       "unallocated.",
       "full: allocated 22.50 GiB, unallocated 100.00 MiB, outside 616.80 MiB, others 800.00 MiB, free 0 B, unknown "
       "19.20 MiB, room 22.60 GiB, "},
      // RB-Modulation#5, cut off
      {"CUDA out of memory. Tried to allocate 16.00 MiB. GPU 0 has a total capacty of 23.53 GiB of which 64.00 KiB is "
       "free.",
       "unnamed: free 64.00 KiB, unknown 23.53 GiB, "},
      // 3DUX-Net#70
      {"RuntimeError: CUDA error: out of memory", "no-numbers: "},
      {"RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you "
       "tried to allocate 1073741824 bytes. Error code 12 (Cannot allocate memory)",
       "host-memory: "},
      // Somebody else on the card.
      {"CUDA out of memory. Tried to allocate 512.00 MiB. GPU 1 has a total capacity of 23.65 GiB of which 100.00 MiB "
       "is "
       "free. Process 10 has 20.00 GiB memory in use. Including non-PyTorch memory, this process has 3.50 GiB memory "
       "in use. Of the allocated memory 3.00 GiB is allocated by PyTorch, and 10.00 MiB is reserved by PyTorch but "
       "unallocated.",
       "others: allocated 3.00 GiB, unallocated 10.00 MiB, outside 502.00 MiB, others 20.00 GiB, free 100.00 MiB, "
       "unknown 53.60 MiB, room 3.11 GiB, "},
      // A second pool in the same process.
      {"CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 23.65 GiB of which 100.00 MiB "
       "is "
       "free. Including non-PyTorch memory, this process has 23.50 GiB memory in use. Of the allocated memory 3.00 GiB "
       "is allocated by PyTorch, and 10.00 MiB is reserved by PyTorch but unallocated.",
       "outside: allocated 3.00 GiB, unallocated 10.00 MiB, outside 20.49 GiB, free 100.00 MiB, unknown 53.60 MiB, "
       "room 3.11 GiB, "},
      // A context of PyTorch before CUDA 11.7 is no other process
      {"CUDA out of memory. Tried to allocate 80.00 MiB (GPU 0; 14.76 GiB total capacity; 13.27 GiB already allocated; "
       "5.75 MiB free; 13.29 GiB reserved in total by PyTorch)",
       "full: allocated 13.27 GiB, unallocated 20.48 MiB, free 5.75 MiB, unknown 1.46 GiB, room 13.30 GiB, "},
      // Nobody names 10.5 GiB, and 61 MiB of pieces are nothing beside them
      {"CUDA out of memory. Tried to allocate 12.00 MiB (GPU 0; 23.65 GiB total capacity; 13.07 GiB already allocated; "
       "7.31 MiB free; 13.13 GiB reserved in total by PyTorch)",
       "unnamed: allocated 13.07 GiB, unallocated 61.44 MiB, free 7.31 MiB, unknown 10.51 GiB, room 13.14 GiB, "},
      // Cut off behind this process: it is not others
      {"CUDA out of memory. Tried to allocate 252.00 MiB. GPU 0 has a total capacity of 14.57 GiB of which 64.75 MiB "
       "is free. Including non-PyTorch memory, this process has 14.50 GiB memory in use.",
       "full: undivided 14.50 GiB, free 64.75 MiB, unknown 6.93 MiB, "},
      // Cut off behind a process by number: it may be this one
      {"CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 14.58 GiB of which 635.56 MiB is "
       "free. Process 26469 has 13.96 GiB memory in use.",
       "unnamed: free 635.56 MiB, unknown 13.96 GiB, "},
      // The same, whole: 0.7 MiB of rounding beyond the card
      {"CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 14.58 GiB of which 635.56 MiB is "
       "free. Process 26469 has 13.96 GiB memory in use. Of the allocated memory 11.23 GiB is allocated by PyTorch, "
       "and 2.51 GiB is reserved by PyTorch but unallocated.",
       "fragmentation: allocated 11.23 GiB, unallocated 2.51 GiB, outside 225.28 MiB, free 635.56 MiB, unknown 0 B, "
       "room 14.36 GiB, "},
      // A context of 1.38 GiB in a container
      {"CUDA out of memory. Tried to allocate 172.00 MiB. GPU 0 has a total capacity of 39.56 GiB of which 52.56 MiB "
       "is free. Process 263789 has 39.51 GiB memory in use. Of the allocated memory 37.80 GiB is allocated by "
       "PyTorch, and 336.39 MiB is reserved by PyTorch but unallocated.",
       "full: allocated 37.80 GiB, unallocated 336.39 MiB, outside 1.38 GiB, free 52.56 MiB, unknown 0 B, room 38.18 "
       "GiB, "},
      // Free and pieces, neither of them enough alone
      {"CUDA out of memory. Tried to allocate 35.60 GiB. GPU 0 has a total capacity of 79.33 GiB of which 26.16 GiB is "
       "free. Process 76883 has 53.16 GiB memory in use. Of the allocated memory 11.97 GiB is allocated by PyTorch, "
       "and 40.69 GiB is reserved by PyTorch but unallocated.",
       "fragmentation: allocated 11.97 GiB, unallocated 40.69 GiB, outside 512.00 MiB, free 26.16 GiB, unknown 10.24 "
       "MiB, room 78.82 GiB, "},
      // Two processes by number: the card has no room for a third
      {"CUDA out of memory. Tried to allocate 12.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 2.31 GiB is "
       "free. Process 100 has 4.10 GiB memory in use. Process 200 has 17.20 GiB memory in use. Of the allocated memory "
       "16.51 GiB is allocated by PyTorch, and 311.20 MiB is reserved by PyTorch but unallocated.",
       "full: allocated 16.51 GiB, unallocated 311.20 MiB, outside 395.36 MiB, others 4.10 GiB, free 2.31 GiB, unknown "
       "30.72 MiB, room 19.12 GiB, "},
      // Own by number, though it holds much outside the allocator
      {"CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 100.00 MiB is "
       "free. Process 7 has 23.50 GiB memory in use. Of the allocated memory 14.00 GiB is allocated by PyTorch, and "
       "100.00 MiB is reserved by PyTorch but unallocated.",
       "outside: allocated 14.00 GiB, unallocated 100.00 MiB, outside 9.40 GiB, free 100.00 MiB, unknown 43.36 MiB, "
       "room 14.20 GiB, "},
      // Others by number, and this one is not listed
      {"CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 100.00 MiB is "
       "free. Process 7 has 12.00 GiB memory in use. Of the allocated memory 10.50 GiB is allocated by PyTorch, and "
       "100.00 MiB is reserved by PyTorch but unallocated.",
       "others: allocated 10.50 GiB, unallocated 100.00 MiB, others 12.00 GiB, free 100.00 MiB, unknown 967.36 MiB, "
       "room 10.70 GiB, "},
      // The small pool takes no piece of the large one
      {"CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 8.00 GiB of which 0 bytes is "
       "free. Including non-PyTorch memory, this process has 7.90 GiB memory in use. Of the allocated memory 6.50 GiB "
       "is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.",
       "full: allocated 6.50 GiB, unallocated 1.00 GiB, outside 409.60 MiB, free 0 B, unknown 102.40 MiB, room 7.50 "
       "GiB, "},
      // MyGirlGPT#11: what is left of a full card is not refused
      {"CUDA out of memory. Tried to allocate 32.00 MiB. GPU 0 has a total capacity of 4.00 GiB of which 41.56 MiB is "
       "free. Including non-PyTorch memory, this process has 3.44 GiB memory in use. Of the allocated memory 2.58 GiB "
       "is allocated by PyTorch, and 1.90 MiB is reserved by PyTorch but unallocated.",
       "full: allocated 2.58 GiB, unallocated 1.90 MiB, outside 878.74 MiB, free 41.56 MiB, unknown 531.88 MiB, room "
       "2.62 GiB, "},
      // Windows
      {"CUDA out of memory. Tried to allocate 1002.00 MiB. GPU 0 has a total capacity of 8.00 GiB of which 0 bytes is "
       "free. Of the allocated memory 13.98 GiB is allocated by PyTorch, and 129.48 MiB is reserved by PyTorch but "
       "unallocated.",
       "paged-out: allocated 13.98 GiB, unallocated 129.48 MiB, free 0 B, unknown 0 B, room 8.00 GiB, "},
      // torch-xpu-ops#1170: nothing else could be on the card
      {"XPU out of memory. Tried to allocate 64.00 GiB. GPU 0 has a total capacity of 64.00 GiB",
       "beyond-card: unknown 64.00 GiB, "},
      // IPEX#629: no word of what was free
      {"XPU out of memory. Tried to allocate 1.71 GiB (GPU 0; 15.56 GiB total capacity; 176.00 MiB already allocated; "
       "176.00 MiB reserved in total by PyTorch)",
       "no-numbers: allocated 176.00 MiB, unallocated 0 B, unknown 15.39 GiB, "},
      // IPEX#629
      {"Current platform can NOT allocate memory block with size larger than 4GB! Tried to allocate 6.85 GiB (GPU  0; "
       "15.56 GiB total capacity; 0 bytes already allocated; 0 bytes reserved in total by PyTorch)",
       "limit: allocated 0 B, unallocated 0 B, unknown 15.56 GiB, "},
      // TouchNet#100
      {"NPU out of memory. Tried to allocate 5.03 GiB (NPU 3; 60.96 GiB total capacity; 49.47 GiB already allocated; "
       "49.47 GiB current active; 1.32 GiB free; 57.55 GiB reserved in total by PyTorch)",
       "fragmentation: allocated 49.47 GiB, unallocated 8.08 GiB, free 1.32 GiB, unknown 2.09 GiB, room 58.87 GiB, "},
      // ComfyUI#7440
      {"MPS backend out of memory (MPS allocated: 9.57 GiB, other allocations: 17.35 GiB, max allowed: 27.20 GiB). "
       "Tried to allocate 292.50 MiB on private pool.",
       "outside: outside 17.35 GiB, undivided 9.57 GiB, free 286.72 MiB, unknown 0 B, room 9.85 GiB, "},
      // clip-interrogator-ext#74
      {"MPS backend out of memory (MPS allocated: 6.04 GB, other allocations: 1.04 GB, max allowed: 6.77 GB). Tried to "
       "allocate 459.07 MB on private pool.",
       "full: outside 1.04 GiB, undivided 6.04 GiB, free 0 B, unknown 0 B, room 6.04 GiB, "},
      // The backend cudaMallocAsync
      {"Allocation on device 0 would exceed allowed memory. (out of memory)\nCurrently allocated     : 6.34 "
       "GiB\nRequested               : 30.00 MiB\nDevice limit            : 8.00 GiB\nFree (according to CUDA): 0 "
       "bytes\nPyTorch limit (set by user-supplied memory fraction)\n                        : 17179869184.00 GiB",
       "unnamed: allocated 6.34 GiB, free 0 B, unknown 1.66 GiB, "},
      // More than 1 EB
      {"CUDA out of memory. Tried to allocate more than 1EB memory.", "impossible: "},
      // Phidias-Diffusion#8
      {"CUDA out of memory. Tried to allocate 125537.24 GiB. GPU 0 has a total capacity of 23.64 GiB of which 8.26 GiB "
       "is free. Including non-PyTorch memory, this process has 14.56 GiB memory in use. Of the allocated memory 13.86 "
       "GiB is allocated by PyTorch, and 213.20 MiB is reserved by PyTorch but unallocated.",
       "beyond-card: allocated 13.86 GiB, unallocated 213.20 MiB, outside 503.60 MiB, free 8.26 GiB, unknown 839.68 "
       "MiB, room 22.33 GiB, "},
      // A pool of TensorFlow with room, in pieces
      {"OOM when allocating tensor with shape[16,112,112,147] and type float on /device:GPU:0 by allocator "
       "GPU_0_bfc\nLimit: 7449870336\nInUse: 6473138688",
       "fragmentation: allocated 6.03 GiB, unallocated 931.48 MiB, unknown 0 B, "},
      // The same, full
      {"OOM when allocating tensor with shape[16,112,112,147] and type float on /device:GPU:0 by allocator "
       "GPU_0_bfc\nLimit: 7449870336\nInUse: 7440000000",
       "full: allocated 6.93 GiB, unallocated 9.41 MiB, unknown 0 B, "},
      // PaddleGAN#587
      {"Out of memory error on GPU 0. Cannot allocate 3.621826GB memory on GPU 0, 21.184814GB memory has been "
       "allocated and available memory is only 2.814575GB.",
       "unnamed: free 2.81 GiB, unknown 21.18 GiB, "},
      // xgboost#7140
      {"Memory allocation error on worker 0: std::bad_alloc: cudaErrorMemoryAllocation: out of memory\n- Free memory: "
       "11310923776\n- Requested memory: 47996",
       "refused: free 10.53 GiB, "},
      // A program of XLA on a TPU
      {"Ran out of memory in memory space hbm. Used 38.92G of 15.48G hbm. Exceeded hbm capacity by 23.44G.",
       "full: unknown 15.48 GiB, "},
      // triton#8182
      {"OutOfResources: out of resource: shared memory, Required: 131072, Hardware limit: 101376.",
       "on-chip: unknown 99.00 KiB, "},
      // vllm#2248
      {"No available memory for the cache blocks.", "key-value: "},
      // OCRFlux#42: three processes by number
      {"CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 39.39 GiB of which 9.25 MiB is "
       "free. Process 25454 has 3.86 GiB memory in use. Process 104554 has 4.29 GiB memory in use. Process 30427 has "
       "31.20 GiB memory in use. Of the allocated memory 30.21 GiB is allocated by PyTorch, with 26.00 MiB allocated "
       "in "
       "private pools (e.g., CUDA Graphs), and 217.48 MiB is reserved by PyTorch but unallocated.",
       "others: allocated 30.18 GiB, unallocated 217.48 MiB, graphs 26.00 MiB, outside 796.28 MiB, others 8.15 GiB, "
       "free "
       "9.25 MiB, unknown 31.71 MiB, room 30.43 GiB, "},
      // MGFN#35
      {"CUDA out of memory. Tried to allocate 1.70 GiB. GPU 0 has a total capacty of 6.00 GiB of which 0 bytes is "
       "free. Of the allocated memory 2.93 GiB is allocated by PyTorch, and 2.30 GiB is reserved by PyTorch but "
       "unallocated.",
       "fragmentation: allocated 2.93 GiB, unallocated 2.30 GiB, free 0 B, unknown 788.48 MiB, room 5.23 GiB, "},
      // wf-human-variation#22
      {"CUDA out of memory. Tried to allocate 20.00 MiB (GPU 1; 31.75 GiB total capacity; 0 bytes already allocated; "
       "6.62 MiB free; 0 bytes reserved in total by PyTorch)",
       "unnamed: allocated 0 B, unallocated 0 B, free 6.62 MiB, unknown 31.74 GiB, room 6.62 MiB, "},
      // AtacWorks#251
      {"CUDA out of memory. Tried to allocate 1.72 GiB (GPU 0; 15.78 GiB total capacity; 3.56 GiB already allocated; "
       "1.25 GiB free; 3.56 GiB reserved in total by PyTorch)",
       "unnamed: allocated 3.56 GiB, unallocated 0 B, free 1.25 GiB, unknown 10.97 GiB, room 4.81 GiB, "},
      // DeepSpeed#3869
      {"CUDA out of memory. Tried to allocate 978.00 MiB (GPU 0; 4.00 GiB total capacity; 1.68 GiB already allocated; "
       "0 "
       "bytes free; 2.72 GiB reserved in total by PyTorch)",
       "fragmentation: allocated 1.68 GiB, unallocated 1.04 GiB, free 0 B, unknown 1.28 GiB, room 2.72 GiB, "},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.text);
    CHECK_EQ(Told(Message(row.text)), row.told);
  }
}

TEST_CASE("numbers that do not add up are told") {
  const auto excess = [](const std::string& text) {
    const std::optional<Bytes> bytes =
        ExcessOf(Message("CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; " + text));
    return bytes ? ToString(*bytes) : "none";
  };
  CHECK_EQ(excess("11.00 GiB total capacity; 7.50 GiB already allocated; 200.00 MiB free; 3.90 GiB cached)"),
           "609.60 MiB");
  CHECK_EQ(excess("12.00 GiB total capacity; 7.50 GiB already allocated; 200.00 MiB free; 3.90 GiB cached)"), "none");
  CHECK_EQ(excess("11.59 GiB total capacity; 7.50 GiB already allocated; 200.00 MiB free; 3.90 GiB cached)"), "none");
}

TEST_CASE("a limit is the cause when the card has room beyond it") {
  OutOfMemory message;
  message.kind = "pytorch";
  message.tried = Bytes::MiB(100);
  message.capacity = Bytes::GiB(16);
  message.allocated = message.reserved = Bytes::GiB(4);
  message.free = Bytes::GiB(11);
  message.allowed = Bytes::GiB(4);
  CHECK_EQ(CauseOf(message), OutOfMemoryCause::kLimit);
  CHECK_EQ(*RoomOf(message), Bytes::GiB(4));
  message.allowed.reset();
  CHECK_EQ(*RoomOf(message), Bytes::GiB(15));
  message.free = Bytes::GiB(14);  // together more than the card
  CHECK_EQ(*RoomOf(message), Bytes::GiB(16));
  message.reserved = Bytes::GiB(20);  // paged out by Windows
  CHECK_EQ(*RoomOf(message), Bytes::GiB(16));
  message.reserved = Bytes::GiB(4);
  message.free = Bytes::GiB(11);
  message.allowed = Bytes::GiB(5);
  CHECK_EQ(CauseOf(message), OutOfMemoryCause::kRefused);
}

}  // namespace
}  // namespace vramplan
