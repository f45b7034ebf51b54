// Echo: the few values that programs bring to a card only to tell them to the other ranks, and read again: shapes that
// are compared, the order of DDP's buckets, pickled objects. Every other rank is taken to say what this one says.
//
//   Write(0x100, {1, 2})            the host copies two bytes to the card: nothing can be read of them yet
//   Send(0x200, 0x100, 2, 3)        an all-gather of three ranks
//   Read(0x202, 2)                  1, 2; of 0x100 nothing is known, for a kernel may have written there
//
// Only what went around is given back: what stood on a card before may have been computed over, and a stale value is
// worse than none. For the same reason it is forgotten when many kernels have run since, and at the end of each step.
// Larger copies are tensors, and are not kept.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <vector>

namespace pretend {

class Echo {
 public:
  static constexpr uint64_t kMostBytes = 64 << 10;  // of one copy
  static constexpr uint64_t kMostKept = 16 << 20;   // of all; then everything is forgotten
  static constexpr uint64_t kMostRead = kMostKept;  // at once: what all ranks said
  void Write(uint64_t to, const void* from, uint64_t bytes);
  // From card to card: what is known goes along.
  void Move(uint64_t to, uint64_t from, uint64_t bytes);
  // A collective: what is known at `from` stands at `to`, `copies` times, one behind the other.
  void Send(uint64_t to, uint64_t from, uint64_t bytes, int copies);
  // False: nothing is known, and `to` is as it was.
  bool Read(void* to, uint64_t from, uint64_t bytes) const;
  void Forget();
  // A kernel runs. All-gathering a Python object runs about two for each rank between the words and their reading
  // (torch/distributed/distributed_c10d.py, all_gather_object: the largest size is looked for).
  static constexpr uint64_t kFreshLaunches = 64, kFreshLaunchesOfRank = 4;
  void Launched() { launches_.fetch_add(1, std::memory_order_relaxed); }

 private:
  struct Piece {
    std::vector<char> bytes;
    bool sent = false;
    uint64_t born = 0;  // in launches
  };
  // Empty: not all of it is known. `sent`: all of it went around.
  std::vector<char> Find(uint64_t from, uint64_t bytes, bool* sent) const;
  void Put(uint64_t to, std::vector<char> bytes, bool sent);

  std::map<uint64_t, Piece> pieces_;  // by address; they do not overlap
  uint64_t kept_ = 0;
  std::atomic<uint64_t> launches_ = 0;
  uint64_t fresh_ = kFreshLaunches;
};

}  // namespace pretend
