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
         Text("unallocated", shares.unallocated) + Text("outside", shares.outside) + Text("others", shares.others) +
         Text("free", shares.free) + Text("unknown", shares.unknown) + Text("room", RoomOf(message));
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
       "fragmentation: allocated 4.88 GiB, unallocated 81.92 MiB, free 0 B, unknown 1.04 GiB, room 4.96 GiB, "},
      // kerrj/lerf#73
      {"CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacty of 23.65 GiB of which 1.66 GiB is "
       "free. Including non-PyTorch memory, this process has 20.81 GiB memory in use. Of the allocated memory 12.09 "
       "GiB is allocated by PyTorch, and 4.84 GiB is reserved by PyTorch but unallocated.",
       "fragmentation: allocated 12.09 GiB, unallocated 4.84 GiB, outside 3.88 GiB, free 1.66 GiB, unknown 1.18 GiB, "
       "room 18.59 GiB, "},
      // iPASSR#9: Windows pages out what the card does not hold
      {"CUDA out of memory. Tried to allocate 10.73 GiB (GPU 0; 8.00 GiB total capacity; 17.20 GiB already allocated; "
       "0 bytes free; 19.15 GiB reserved in total by PyTorch)",
       "beyond-card: allocated 17.20 GiB, unallocated 1.95 GiB, free 0 B, room 19.15 GiB, "},
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
       "refused: allocated 1.01 GiB, unallocated 0 B, free 244.65 GiB, unknown 10.32 GiB, room 1.05 GiB, "},
      // pytorch#16417
      {"CUDA out of memory. Tried to allocate 12.50 MiB (GPU 0; 10.92 GiB total capacity; 8.57 MiB already allocated; "
       "9.28 GiB free; 4.68 MiB cached)",
       "refused: allocated 8.57 MiB, unallocated 4.68 MiB, free 9.28 GiB, unknown 1.63 GiB, room 9.29 GiB, "},
      // 1.0 to 1.3 print what is cached beside what is allocated (c10/cuda/CUDACachingAllocator.cpp), not the sum
      {"CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 11.00 GiB total capacity; 7.50 GiB already allocated; "
       "200.00 MiB free; 3.90 GiB cached)",
       "fragmentation: allocated 7.50 GiB, unallocated 3.90 GiB, free 200.00 MiB, room 11.40 GiB, "},
      // What is free and what is reserved but unallocated would have been enough together.
      {"CUDA out of memory. Tried to allocate 500.00 MiB. GPU 0 has a total capacity of 8.00 GiB of which 300.00 MiB "
       "is free. Including non-PyTorch memory, this process has 7.70 GiB memory in use. Of the allocated memory 7.00 "
       "GiB is allocated by PyTorch, and 300.00 MiB is reserved by PyTorch but unallocated.",
       "fragmentation: allocated 7.00 GiB, unallocated 300.00 MiB, outside 416.80 MiB, free 300.00 MiB, unknown 7.20 "
       "MiB, room 7.59 GiB, "},
      // RB-Modulation#5, cut off
      {"CUDA out of memory. Tried to allocate 16.00 MiB. GPU 0 has a total capacty of 23.53 GiB of which 64.00 KiB is "
       "free.",
       "others: free 64.00 KiB, unknown 23.53 GiB, "},
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
  CHECK_EQ(*RoomOf(message), Bytes::GiB(20));
  message.reserved = Bytes::GiB(4);
  message.free = Bytes::GiB(11);
  message.allowed = Bytes::GiB(5);
  CHECK_EQ(CauseOf(message), OutOfMemoryCause::kRefused);
}

}  // namespace
}  // namespace vramplan
