// The card catalogue: what a card's name says about memory. Usable bytes are the smallest total that a CUDA program has
// been seen to get (cudaMemGetInfo), not the number on the box.
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
  std::string source;                       // where usable was seen, and how sure it is
};

// All rows, in order of the catalogue.
const std::vector<Card>& Cards();

// By id, name or alias, ignoring case, spaces and dashes. Errors: ambiguous (lists the choices), unknown (nearest
// names).
Result<Card> FindCard(std::string_view name);

// What a runtime's allocator may take of a card, where that is less than all.
struct Pool {
  Bytes bytes = Bytes::Max();
  bool taken_whole = false;  // at the start, whatever the model needs
  std::string source;        // "75 % of the card ..."; empty: no limit
};

// What a plan has to fit into: a card, or a bare size, less what the user keeps free.
struct Device {
  std::string name;  // "Tesla T4"; "14.56 GiB" when only a size was given
  Bytes usable;      // what CUDA calls the total
  std::string source;
  ContextBand context;
  Bytes reserve;  // --reserve: for the desktop, or for other processes
  Bytes held;     // by other processes when it was looked at (--gpu auto)
  Pool pool;

  // What the allocator may take when the context is this large; zero when nothing is left.
  Bytes CapacityWith(Bytes context_bytes) const {
    const Bytes left = std::min(usable - context_bytes - reserve - held, pool.bytes);
    return left < Bytes() ? Bytes() : left;
  }
  // What a step may need, context included: all but the reserve and what others hold, or the pool and the likely
  // context.
  Bytes available() const { return std::min(usable - reserve - held, pool.bytes + context.likely); }
};

}  // namespace vramplan
