// The card catalogue: memory, capability and rates of each card. Usable bytes are the smallest total that a CUDA
// program was seen to get (cudaMemGetInfo), not the number on the box.
//
//   FindCard("t4")    Tesla T4, 15'633'680'957 B usable (14.56 GiB seen), capability 7.5, 40 multiprocessors
//   FindCard("a100")  error: ambiguous: a100-40gb, a100-80gb
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/bytes.h"
#include "graph/base/result.h"
#include "planner/spec/context.h"
#include "planner/spec/spec.h"

namespace vramplan {

struct Card {
  std::string id;                    // "rtx-3090": what --gpu takes
  std::string name;                  // "GeForce RTX 3090"
  std::vector<std::string> aliases;  // "3090", cloud names
  int marketed_gb = 0;
  Bytes usable;        // minimum seen
  bool nvidia = true;  // false: AMD, whose `capability` is not a CUDA one
  Capability capability;
  int multiprocessors = 0;
  double bandwidth_gb_s = 0;
  double fp32_tflops = 0, half_tflops = 0;  // dense, as PyTorch uses them
  std::string source;                       // where `usable` was seen, and how reliable that is
};

// All rows, in the catalogue's order.
const std::vector<Card>& Cards();

// By id, name or alias, ignoring case, spaces and dashes. Errors: ambiguous (lists the choices), unknown (nearest
// names).
Result<Card> FindCard(std::string_view name);

// How much of a card a runtime's allocator may take, if that is less than all of it.
struct Pool {
  Bytes bytes = Bytes::Max();
  bool taken_whole = false;  // at the start, no matter what the model needs
  std::string source;        // "75 % of the card ..."; empty: no limit
};

// The memory that a plan has to fit into: a card or a bare size, minus what the user keeps free.
struct Device {
  std::string name;  // "Tesla T4"; "a card of 14.56 GiB" when only a size was given
  Bytes usable;      // CUDA's total
  std::string source;
  ContextBand context;
  Bytes reserve;  // --reserve: for the desktop, or for other processes
  Bytes held;     // by other processes when it was looked at (--gpu auto)
  Pool pool;
  bool resized = false;  // --gpu-memory beside the name of a card: `usable` is not what such a card has

  // The bytes that the allocator may take if the context is this large; zero if nothing is left.
  Bytes CapacityWith(Bytes context_bytes) const {
    const Bytes left = std::min(usable - context_bytes - reserve - held, pool.bytes);
    return left < Bytes() ? Bytes() : left;
  }
  // The bytes that a step may need, context included: the card minus the reserve and what others hold, or the pool plus
  // the likely context, whichever is less.
  Bytes available() const { return std::min(usable - reserve - held, pool.bytes + context.likely); }
};

}  // namespace vramplan
