// ReplayOn: the same blocks as Replay gives, but where the segments come from a device.
#include <doctest/doctest.h>

#include <map>

#include "planner/allocator/replay.h"
#include "tests/support/timelines.h"

using namespace vramplan;

namespace {

// A device of a given size; the first `refusals` requests are refused whatever is free.
class CountingDevice final : public DeviceMemory {
 public:
  explicit CountingDevice(Bytes size, int refusals = 0) : left_(size), refusals_(refusals) {}
  std::optional<uint64_t> Take(Bytes bytes) override {
    if (refusals_-- > 0 || bytes > left_) return std::nullopt;
    left_ -= bytes;
    const uint64_t address = next_;
    next_ += static_cast<uint64_t>(bytes.count()) + 4096;
    taken[address] = bytes;
    return address;
  }
  void GiveBack(uint64_t address, Bytes bytes) override {
    REQUIRE(taken.at(address) == bytes);
    taken.erase(address);
    left_ += bytes;
  }
  std::map<uint64_t, Bytes> taken;

 private:
  Bytes left_;
  int refusals_;
  uint64_t next_ = 1 << 20;
};

// Batch 1: 4 MiB of parameters, then 30 MiB and 12 MiB of activations, of which the first dies before the second.
const char* const kStep =
    "setup + 0 parameters 4194304\n"
    "forward + 1 activations 31457280*B\n"
    "forward - 1\n"
    "forward + 2 activations 12582912*B\n"
    "forward |\n"
    "backward - 2\n"
    "backward |\n";

}  // namespace

TEST_CASE("replay on a device: the levels are those of the replay, the blocks lie in its segments") {
  const Timeline timeline = TimelineText(kStep);
  CountingDevice device(Bytes::GiB(1));
  std::map<size_t, Allocation> blocks;
  const Peak peak = ReplayOn(timeline, 1, {}, Bytes::Max(), &device, [&](size_t event, const Allocation& block) {
    blocks[event] = block;
    return true;
  });
  const Peak counted = Replay(timeline, 1, {}, Bytes::Max());
  CHECK(peak.peak == counted.peak);
  CHECK(!peak.out_of_memory);
  REQUIRE(blocks.size() == 3);
  for (const auto& [event, block] : blocks) {
    auto segment = device.taken.upper_bound(static_cast<uint64_t>(block.address));
    REQUIRE(segment != device.taken.begin());
    --segment;
    CHECK(static_cast<uint64_t>(block.address + block.size.count()) <=
          segment->first + static_cast<uint64_t>(segment->second.count()));
  }
  Bytes taken;
  for (const auto& [address, bytes] : device.taken) taken += bytes;
  CHECK(taken == counted.peak.reserved);
}

TEST_CASE("replay on a device: a refusal makes the allocator give its cache back, and ask once more") {
  const Timeline timeline = TimelineText(kStep);
  // 20 MiB for the parameters and 30 MiB; the cached 30 MiB would do for the last request of batch 2 (24 MiB)...
  CountingDevice small(Bytes::MiB(80));
  const Peak fits = ReplayOn(timeline, 2, {}, Bytes::Max(), &small, [](size_t, const Allocation&) { return true; });
  CHECK(!fits.out_of_memory);
  // ... and a card below that refuses the 60 MiB, whatever the allocator counts.
  CountingDevice smaller(Bytes::MiB(79));
  const Peak full = ReplayOn(timeline, 2, {}, Bytes::Max(), &smaller, [](size_t, const Allocation&) { return true; });
  REQUIRE(full.out_of_memory);
  CHECK(*full.out_of_memory == 1);
  CHECK(full.peak.reserved == Bytes::MiB(20));
}

TEST_CASE("replay on a device: the listener can end it, and --max-bytes is the capacity") {
  const Timeline timeline = TimelineText(kStep);
  CountingDevice device(Bytes::GiB(1));
  int heard = 0;
  ReplayOn(timeline, 1, {}, Bytes::Max(), &device, [&](size_t, const Allocation&) { return ++heard < 2; });
  CHECK(heard == 2);
  CountingDevice roomy(Bytes::GiB(1));
  const Peak capped = ReplayOn(timeline, 1, {}, Bytes::MiB(40), &roomy, [](size_t, const Allocation&) { return true; });
  CHECK(capped.out_of_memory);
}
