// Captures: which streams are recording a CUDA graph. What is launched meanwhile is done when the graph is launched,
// which on this card is never; only the bookkeeping has to agree.
//
//   Begin(stream)      Of(stream) == {id 1, graph 0x...}      a second Begin: false
//   End(stream)        the graph; Of(stream): nothing
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace pretend {

struct Capture {
  uint64_t id = 0;        // never used twice
  void* graph = nullptr;  // whom the recording will belong to
  bool operator==(const Capture&) const = default;
};

class Captures {
 public:
  // `graph`: the handle that End gives back. False: the stream is recording already.
  bool Begin(void* stream, void* graph);
  // Nothing: the stream was not recording.
  std::optional<Capture> End(void* stream);
  std::optional<Capture> Of(void* stream) const;

 private:
  uint64_t last_ = 0;
  std::map<void*, Capture> running_;
};

}  // namespace pretend
