// CardMemory: segments of the caching allocator on a real card. It stays below a limit, leaves a margin to other
// programs, notices what they take meanwhile, and gives everything back when it ends.
//
//   15 GiB, 1 GiB of it free, margin 256 MiB:   Take(512 MiB) an address;   Take(512 MiB) nothing: it would leave 0 B
//
// Free memory falls by what we take. If it falls by more, between or within our calls, another program took the
// difference (or, in small amounts, the driver).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "cuda_probe/probe.h"
#include "graph/base/bytes.h"
#include "graph/base/result.h"
#include "planner/allocator/device_memory.h"

namespace vramplan {

// Changes of free memory below this say nothing: a desktop redraws, the driver keeps tables. Above it is another
// program: no CUDA context is known to take less than 165 MiB (planner/spec/context.cc).
inline constexpr Bytes kNoticeable = Bytes::MiB(32);

// What we allow ourselves.
struct CardLimits {
  Bytes margin;               // stays free, for others
  Bytes most = Bytes::Max();  // of segments, in all
};

struct Refusal {
  enum class Cause : uint8_t {
    kCard,        // less is free than was asked for
    kFragmented,  // enough is free, but not in one piece
    kMargin,      // what is free would fall below the margin
    kMost,        // above the limit of what we take
    kNeighbour,   // it would have been there if others had not taken memory since we began
  };
  Cause cause = Cause::kCard;
  Bytes wanted;
  Bytes free;    // then
  Bytes others;  // took so much since we began
  bool operator==(const Refusal&) const = default;
};
std::string_view Name(Refusal::Cause cause);  // "card", "fragmented", "margin", "max-bytes", "neighbour"

class CardMemory final : public DeviceMemory {
 public:
  // `session` outlives it.
  CardMemory(CardSession* session, CardLimits limits);
  ~CardMemory() override { GiveAllBack(); }
  CardMemory(const CardMemory&) = delete;
  CardMemory& operator=(const CardMemory&) = delete;

  std::optional<uint64_t> Take(Bytes bytes) override;
  void GiveBack(uint64_t address, Bytes bytes) override;
  void GiveAllBack();

  Bytes taken() const { return taken_; }          // segments, now
  Bytes free() const { return expected_; }        // of the card, when it was last asked
  Bytes others() const { return others_; }        // what they took since we began; negative: gave back
  Bytes driver() const { return driver_; }        // what the driver took beyond what it was asked for
  int64_t segments() const { return segments_; }  // that were taken, in all
  const std::optional<Refusal>& refusal() const { return refusal_; }  // the last
  const std::optional<Error>& error() const { return error_; }        // the first; nothing is taken after it

 private:
  // Of the card, now; what changed since our last call was not us.
  std::optional<Bytes> Look();
  std::optional<uint64_t> Refuse(Refusal::Cause cause, Bytes wanted, Bytes free);
  void Keep(const Error& error) {
    if (!error_) error_ = error;
  }

  CardSession* session_;
  CardLimits limits_;
  std::map<uint64_t, Bytes> blocks_;
  Bytes taken_, expected_, others_, driver_;
  int64_t segments_ = 0;
  std::optional<Refusal> refusal_;
  std::optional<Error> error_;
};

}  // namespace vramplan
