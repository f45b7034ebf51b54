#include "pretend/card/process.h"

#include <doctest/doctest.h>

#include <cstring>

#include "pretend/card/architecture.h"

using pretend::Capture;
using pretend::Captures;
using pretend::DeviceMemory;
using pretend::Place;
using pretend::Process;
using pretend::Refusals;

namespace {

constexpr uint64_t kProcessMiB = uint64_t{1} << 20;

void* At(uint64_t address) { return reinterpret_cast<void*>(address); }

TEST_CASE("what a card gives: whole units, until it is full with its context") {
  DeviceMemory memory(100 * kProcessMiB, 30 * kProcessMiB);
  CHECK(memory.free() == 100 * kProcessMiB);
  CHECK(memory.MakeContext());
  CHECK(memory.MakeContext());  // it is the same one
  CHECK(memory.free() == 70 * kProcessMiB);
  const uint64_t small = memory.Allocate(1), large = memory.Allocate(60 * kProcessMiB);
  CHECK(small != 0);
  CHECK(memory.used() == 62 * kProcessMiB);
  CHECK(memory.RangeOf(large + 5).begin == large);
  CHECK(memory.Allocate(9 * kProcessMiB) == 0);  // 10 MiB with rounding, 8 are free
  CHECK(memory.Allocate(UINT64_MAX) == 0);
  CHECK(memory.refused() == Refusals{2, UINT64_MAX, UINT64_MAX});
  CHECK(memory.Allocate(8 * kProcessMiB) != 0);
  CHECK(memory.free() == 0);
  CHECK(memory.Free(large));
  CHECK(!memory.Free(large));
  CHECK(memory.used() == 10 * kProcessMiB);
  CHECK(memory.peak() == 70 * kProcessMiB);
  // Pages without addresses, addresses without pages.
  const uint64_t reserved = memory.Reserve(500 * kProcessMiB);
  CHECK(reserved != 0);
  CHECK(memory.used() == 10 * kProcessMiB);
  CHECK(memory.Take(20 * kProcessMiB));
  CHECK(memory.used() == 30 * kProcessMiB);
  memory.Give(20 * kProcessMiB);
  CHECK(memory.Unreserve(reserved));
}

TEST_CASE("a context that is larger than the card leaves nothing") {
  DeviceMemory memory(100 * kProcessMiB, 300 * kProcessMiB);
  CHECK(!memory.MakeContext());
  Process process(pretend::Read("card A; usable 100MiB; context 300MiB"));
  CHECK(process.FreeBytes(0) == 0);
  CHECK(process.Allocate(0, 1) == 0);
  CHECK(process.CreatePages(0, 1) == 0);
}

TEST_CASE("a context is there as long as somebody wants it, and what was allocated in it") {
  Process process(pretend::Read("card A; usable 1000MiB; context 300MiB"));
  const auto held = [&] { return process.SeenOf(0).held / kProcessMiB; };
  CHECK(held() == 0);
  CHECK(process.Retain(0));
  CHECK(process.Retain(0));
  const uint64_t block = process.Allocate(0, 100 * kProcessMiB), pages = process.CreatePages(0, 2 * kProcessMiB);
  CHECK(held() == 402);
  CHECK(process.FreeBytes(0) == 598 * kProcessMiB);
  CHECK(process.Release(0));
  CHECK(held() == 402);
  CHECK(process.Release(0));
  CHECK(held() == 0);
  CHECK(!process.Release(0));
  CHECK(!process.Free(block));
  CHECK(!process.ReleasePages(pages));
  // The runtime keeps it whoever gives it back, but for a reset.
  CHECK(process.StartRuntime(0));
  CHECK(process.Retain(0));
  CHECK(process.Release(0));
  CHECK(held() == 300);
  process.Reset(0);
  CHECK(held() == 0);
}

TEST_CASE("others on a card: seen from outside, and gone from what is free") {
  Process process(
      pretend::Read(
          "card A; usable 1000MiB; context 100MiB; card B; usable 1000MiB; context 100MiB; holder 9000001 "
          "compute python3 200MiB 2:850MiB 3:0; neighbour 2 500MiB; neighbour 3 -500MiB; largest-piece 400MiB"),
      "1");
  const auto free = [&] { return process.SeenOf(1).free / kProcessMiB; };
  CHECK(process.cards() == 1);
  CHECK(free() == 800);
  CHECK(process.FreeBytes(0) == 700 * kProcessMiB);  // with the context that this made
  process.LookAt(Process::Asked::kMemory);
  process.LookAt(Process::Asked::kProcesses);
  CHECK(process.SeenOf(1).look == 1);
  process.LookAt(Process::Asked::kMemory);
  CHECK(free() == 50);
  process.LookAt(Process::Asked::kMemory);
  CHECK(free() == 900);
  CHECK(process.Allocate(0, 300 * kProcessMiB) != 0);
  CHECK(process.Allocate(0, 300 * kProcessMiB) == 0);  // a neighbour came
  CHECK(process.Allocate(0, 300 * kProcessMiB) != 0);  // and went
  CHECK(process.CountsOf(0).refused.times == 1);
  CHECK(process.Allocate(0, 402 * kProcessMiB) == 0);
  CHECK(process.CountsOf(0).refused == Refusals{2, 402 * kProcessMiB, 402 * kProcessMiB});
  CHECK(process.SeenOf(0).free == 1000 * kProcessMiB);
}

TEST_CASE("CUDA_VISIBLE_DEVICES") {
  const pretend::Description three = pretend::Read("card A; uuid aa-1; card B; uuid bb-2; card C; uuid bc-3; mig");
  struct Row {
    const char* visible;
    const char* names;
  };
  const Row rows[] = {{nullptr, "ABC"}, {"", ""},        {"1", "B"},        {"2,0", "CA"}, {"0,7,1", "A"},
                      {"-1", ""},       {"GPU-bb", "B"}, {"MIG-bc-3", "C"}, {"x,1", ""},   {"99999999999", ""}};
  for (const Row& row : rows) {
    CAPTURE(row.visible);
    std::string names;
    for (const int card : pretend::VisibleCards(three.cards, row.visible))
      names += three.cards[static_cast<size_t>(card)].name;
    CHECK(names == row.names);
  }
}

TEST_CASE("a spare card is there for who names it") {
  const pretend::Description machine = pretend::Read("spare 64; card A; usable 15GiB; capability 8.6");
  CHECK(machine.cards.size() == 64);
  CHECK(machine.cards[63].minor == 6);
  CHECK(machine.cards[63].uuid != machine.cards[0].uuid);
  struct Row {
    const char* visible;
    std::vector<int> cards;
    int seen;  // by NVML
  };
  for (const Row& row : {Row{nullptr, {0}, 1}, Row{"0", {0}, 1}, Row{"2", {2}, 3}, Row{"3,1", {3, 1}, 4},
                         Row{"64", {}, 1}, Row{"", {}, 1}}) {
    CHECK(pretend::VisibleCards(machine.cards, row.visible) == row.cards);
    CHECK(pretend::CardsSeen(machine.cards, row.visible) == row.seen);
  }
}

TEST_CASE("where an address lies, and who may free it") {
  Process process(pretend::Read("card A; usable 15GiB; context 1GiB; card B; usable 15GiB; context 1GiB"));
  const uint64_t device = process.Allocate(1, 3 * kProcessMiB);
  char* const pinned = static_cast<char*>(process.AllocateHost(100, Place::Kind::kPinned));
  void* const managed = process.AllocateHost(200, Place::Kind::kManaged);
  char own[16];
  process.Register(own, sizeof own);
  const auto address = [](const void* pointer) { return reinterpret_cast<uint64_t>(pointer); };
  struct Row {
    const void* pointer;
    Place place;
  };
  int unknown = 0;
  const Row rows[] = {
      {At(device + 4), {Place::Kind::kDevice, 1, device, 4 * kProcessMiB}},
      {pinned + 99, {Place::Kind::kPinned, 0, address(pinned), 100}},
      {pinned + 100, {}},
      {managed, {Place::Kind::kManaged, 0, address(managed), 200}},
      {own + 1, {Place::Kind::kPinned, 0, address(own), 16}},
      {&unknown, {}},
      {nullptr, {}},
  };
  for (const Row& row : rows) CHECK(process.PlaceOf(row.pointer) == row.place);
  CHECK(process.managed_peak() == 200);
  CHECK(process.CountsOf(0).used == 0);
  CHECK(process.CountsOf(1).used == 4 * kProcessMiB);
  CHECK(!process.Free(address(own)));  // it is the program's
  CHECK(process.Unregister(own));
  CHECK(process.PlaceOf(own) == Place{});
  CHECK(!process.Unregister(pinned));
  CHECK(process.Free(address(pinned)));
  CHECK(process.Free(address(managed)));
  CHECK(process.Free(device));
  CHECK(!process.Free(device));
  CHECK(process.Allocate(2, 1) == 0);  // there is no third card
  CHECK(process.FreeBytes(1) == process.Total(1) - 1024 * kProcessMiB);
}

TEST_CASE("copies: to the card nothing, from it zeros, on the host as always") {
  Process process(pretend::Read("card A"));
  void* const device = At(process.Allocate(0, kProcessMiB));
  char text[] = "abcdef", other[] = "ghijkl";
  process.Copy(device, text, sizeof text);
  process.Fill(device, 1, 6);
  process.Copy(text + 1, device, 3);
  CHECK(std::memcmp(text, "a\0\0\0ef", 7) == 0);
  CHECK(process.reads() == 1);
  process.Copy(text, other, 7);
  CHECK(std::string(text) == "ghijkl");
  process.Fill(text, 'z', 3);
  CHECK(std::string(text) == "zzzjkl");
  process.Copy(nullptr, nullptr, 0);
}

TEST_CASE("pages count while they live, and only on their card") {
  Process process(pretend::Read("card A; usable 100MiB; context 0"));
  const uint64_t first = process.CreatePages(0, 60 * kProcessMiB);
  CHECK(first != 0);
  CHECK(process.CreatePages(0, 60 * kProcessMiB) == 0);
  CHECK(process.CreatePages(1, 1) == 0);
  CHECK(process.CountsOf(0).refused == Refusals{1, 60 * kProcessMiB, 60 * kProcessMiB});
  CHECK(process.ReleasePages(first));
  CHECK(!process.ReleasePages(first));
  CHECK(process.CountsOf(0).used == 0);
  const uint64_t reserved = process.Reserve(0, uint64_t{20} << 40);
  CHECK(reserved != 0);
  CHECK(process.Unreserve(reserved));
  CHECK(!process.Unreserve(reserved));
}

TEST_CASE("captures: one at a time a stream, never the same number twice") {
  Captures captures;
  int streams[2], graph = 0;
  CHECK(captures.Begin(&streams[0], &graph));
  CHECK(!captures.Begin(&streams[0], nullptr));
  CHECK(captures.Begin(&streams[1], nullptr));
  CHECK(captures.Of(&streams[0]) == Capture{1, &graph});
  CHECK(captures.End(&streams[0]) == Capture{1, &graph});
  CHECK(captures.End(&streams[0]) == std::nullopt);
  CHECK(captures.Of(&streams[0]) == std::nullopt);
  CHECK(captures.Begin(&streams[0], nullptr));
  CHECK(captures.Of(&streams[0])->id == 3);
}

TEST_CASE("multiprocessors by capability") {
  struct Row {
    int major, minor;
    pretend::Architecture architecture;
  };
  const Row rows[] = {
      {7, 5, {1024, 16, 64 << 10, 64 << 10}},
      {8, 0, {2048, 32, 164 << 10, 163 << 10}},
      {8, 6, {1536, 16, 100 << 10, 99 << 10}},
      {8, 9, {1536, 24, 100 << 10, 99 << 10}},
      {9, 0, {2048, 32, 228 << 10, 227 << 10}},
      {10, 3, {2048, 32, 228 << 10, 227 << 10}},  // newer than the table: as the newest of its kind
      {12, 1, {1536, 24, 100 << 10, 99 << 10}},
  };
  for (const Row& row : rows) CHECK(pretend::ArchitectureOf(row.major, row.minor) == row.architecture);
}

}  // namespace
