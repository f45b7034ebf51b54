// Watch: how much of the cards a run of the user takes, sampled from outside, and which level explains how far that is
// from what was predicted. Samples in, verdict out.
//
//   bytes |            ______________   highest: what PyTorch reserved, and the context
//         |      _____/
//         |     |  model on the card
//         |  ___|  first seen: the context
//         +--------------------------> samples, every 0.1 s
//
// PyTorch keeps what it reserved, so that a look every tenth of a second misses a peak only where a cache was given
// back.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cuda_probe/probe.h"
#include "graph/base/bytes.h"
#include "planner/allocator/replay.h"

namespace vramplan {

// One look at one card.
struct WatchSample {
  double seconds = 0;
  std::optional<Bytes> used;                   // by everybody; nothing: the driver does not say
  std::optional<std::vector<Holder>> holders;  // nothing: the driver does not say
  std::vector<int64_t> ours;                   // the process that is watched, and its descendants
};

struct WatchedProcess {
  int64_t pid = 0;
  std::string name;
  bool ours = false;
  double appeared = 0;                  // seconds
  std::optional<Bytes> first, highest;  // nothing: the driver does not say
  Bytes at_peak;                        // when ours together were highest
  bool operator==(const WatchedProcess&) const = default;
};

// Where the numbers of the run come from.
enum class WatchSource : uint8_t {
  kProcesses,   // the driver says what each process holds
  kDifference,  // it does not: all that is used, less what was used before
  kNothing,     // the run was never seen on the card, or the driver says nothing at all
};
std::string_view Name(WatchSource source);  // "processes", "difference", "nothing"

struct Watched {
  int card = 0;
  int64_t samples = 0;
  double seconds = 0;
  WatchSource source = WatchSource::kNothing;
  Bytes peak;                                       // of the run
  double peak_at = 0;                               // seconds
  std::optional<Bytes> before;                      // used by everybody at the first look, ours taken out
  std::optional<Bytes> used_at_peak;                // by everybody
  std::vector<WatchedProcess> processes;            // ours first, in order of appearance
  bool there_before = false;                        // it held memory at the first look
  std::vector<const WatchedProcess*> Ours() const;  // those that held memory
};

class WatchLog {
 public:
  explicit WatchLog(int card) { watched_.card = card; }
  void Add(const WatchSample& sample);
  Watched Finish() const;

 private:
  Watched watched_;
  Bytes highest_used_;
  double highest_used_at_ = 0;
  bool said_used_ = false, said_bytes_ = false;
};

// What is watched.
class WatchedRun {
 public:
  virtual ~WatchedRun() = default;
  // It and its descendants; empty: it is over.
  virtual std::vector<int64_t> Pids() = 0;
};

struct WatchWishes {
  double interval = 0.1;          // seconds between two looks
  std::optional<double> seconds;  // at most so long
};

struct WatchResult {
  enum class End : uint8_t { kOver, kTime, kInterrupted, kFailed };
  End end = End::kOver;
  std::optional<Error> error;      // kFailed
  std::vector<Watched> cards;      // in order of `cards`
  const Watched& busiest() const;  // the card on which the run took most
};

// `start`, when given, begins the run after the first look. `clock` in seconds. `interrupted` is asked after each look.
WatchResult Watch(Probe* machine, const std::vector<int>& cards, WatchedRun* run, const WatchWishes& wishes,
                  const std::function<void()>& start, const std::function<double()>& clock,
                  const std::function<bool()>& interrupted);

struct WatchPrediction {
  Levels levels;
  Bytes context_low, context_likely, context_high;
  Bytes device_low, device_likely, device_high;
  Bytes weights;  // parameters and buffers: one copy of the model
};

// Which level explains the difference.
struct Explanation {
  enum class Place : uint8_t { kInside, kAbove, kBelow, kUnseen };
  Place place = Place::kInside;
  std::string level;  // "context", "reserved", "allocated", "processes", "others"; empty: nothing is to be explained
  std::string text;   // one sentence
  bool operator==(const Explanation&) const = default;
};
std::string_view Name(Explanation::Place place);  // "inside", "above", "below", "unseen"
Explanation Explain(const Watched& watched, const WatchPrediction& prediction);

// Bytes that this run took beside what was predicted to be reserved, when that can be a context: of one process of a
// known size, between half the least and twice the most that was predicted.
std::optional<Bytes> ContextOfRun(const Watched& watched, const WatchPrediction& prediction);

}  // namespace vramplan
