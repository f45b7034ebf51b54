// What NVML, the library below nvidia-smi, says about a card without a context. Few toolkits have its header and its
// ABI is stable, so nvml.cc declares the few functions that we need.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cuda_probe/facts.h"
#include "graph/base/bytes.h"

namespace vramplan {

// An answer, or the reason why there is none: "insufficient permissions".
template <typename T>
struct Told {
  std::optional<T> value;
  std::string refusal;
};

class Nvml {
 public:
  // Opens libnvidia-ml.so.1 and starts it; the destructor stops it. If that fails, every answer is a refusal.
  Nvml();
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  using Card = void*;  // nvmlDevice_t
  Told<std::string> DriverVersion() const;

  Told<Card> ByUuid(const std::string& uuid) const;
  Told<Card> ByPci(const std::string& pci) const;
  Told<bool> IsSlice(Card card) const;  // of a card in MIG mode
  Told<Card> WholeCard(Card slice) const;

  struct Memory {
    Bytes total, free;
    std::optional<Bytes> reserved;  // nothing: a driver older than 510
  };
  Told<Memory> MemoryOf(Card card) const;
  Told<bool> Ecc(Card card) const;
  Told<bool> Display(Card card) const;  // whether one is connected or active
  Told<std::vector<Holder>> Processes(Card card) const;

 private:
  struct Functions;
  const Functions& functions_;
  std::string refusal_;  // empty: it runs
  std::string NameOf(int result) const;
  template <typename Function, typename... Arguments>
  std::string Ask(Function* function, Arguments... arguments) const;
};

}  // namespace vramplan
