// What a machine says about its cards. Bytes are the driver's own; nothing is rounded or guessed. A fact that could not
// be read is missing, and `unknown` says why.
//
//   Tesla T4    total 16'106'127'360 (the board)    usable 15'642'329'088 (what a CUDA program is told)
//               free 14'9xx'xxx'xxx now: pid 4121 (python3) holds 600 MiB
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/base/bytes.h"

namespace vramplan {

// A process on a card.
struct Holder {
  int64_t pid = 0;
  std::string name;            // empty: not visible from here (another container, another user)
  std::optional<Bytes> bytes;  // nothing: the driver does not say (WSL, a MIG slice without permission)
  bool compute = false, graphics = false;
  bool operator==(const Holder&) const = default;
};

struct CardFacts {
  int index = 0;  // as CUDA counts them, CUDA_VISIBLE_DEVICES applied
  std::string name, uuid, pci;
  int capability_major = 0, capability_minor = 0, multiprocessors = 0;
  Bytes total;                       // of the board, or of the slice (NVML)
  Bytes usable;                      // cuDeviceTotalMem
  std::optional<Bytes> free;         // now, without a context of ours
  std::optional<Bytes> reserved;     // by the driver for itself
  Bytes granularity;                 // of physical memory: what cuMemCreate rounds to; zero: not known
  std::optional<bool> ecc, display;  // display: a screen is attached or a desktop runs on it
  bool mig = false;                  // this is a slice of a card
  std::vector<Holder> holders;
  std::vector<std::string> unknown;  // "processes: insufficient permissions"
  bool operator==(const CardFacts&) const = default;
};

struct DriverFacts {
  std::string driver;   // "580.95.05"; empty: not known (no NVML)
  std::string cuda;     // the newest CUDA that the driver runs: "13.0"
  std::string toolkit;  // the CUDA toolkit that this program was built with: "13.0"
  bool wsl = false;     // Windows' driver below Linux: processes have no bytes, memory is paged
  bool operator==(const DriverFacts&) const = default;
};

}  // namespace vramplan
