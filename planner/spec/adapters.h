// Adapters: small trained modules in a model whose own weights are frozen. The file does not say that they are frozen;
// names and shapes together say that these are adapters, and nobody makes them to train the rest as well.
//
//   encoder.layer.0.query.lora_A.default.weight [8, 768]
//   encoder.layer.0.query.lora_B.default.weight [768, 8]     a pair that meets in 8, less than either side
//     -> --frozen '*' --trainable '*lora_*'
//
// A name alone decides nothing, a shape alone neither; what a pair is beside of does (bypasses.h). The rows are in
// adapters.cc, each with its library.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/base/note.h"
#include "planner/spec/trained.h"

namespace vramplan {

struct Adapters {
  std::string what;    // "low-rank pairs, as lora_A and lora_B of LoRA (48)"
  std::string first;   // a parameter that told
  std::string source;  // of the row
  std::vector<TrainedPattern> patterns;
  bool operator==(const Adapters&) const = default;
};

// Nothing: the file has none.
std::optional<Adapters> FindAdapters(const Layers& layers);

// modules_to_save of peft: the module as it was stays beside the copy that is trained, frozen (peft/utils/other.py
// 0.21.2, ModulesToSaveWrapper: self.original_module). TorchScript files have no trace of it, dynamo's list it. Adds
// those that are missing; returns how many parameters. Scales of IA3 that an export folded get their names back.
int AddOriginalModules(Layers* layers);

// What was assumed, and the patterns that did it; without patterns nothing was.
struct FrozenBase {
  std::string text;  // "all but low-rank pairs ... is frozen: 296450 of 109.7 M parameters are trained"
  std::vector<TrainedPattern> patterns;
};

// Freezes what adapters leave frozen, or networks that only follow another one (copies.h), unless the user's patterns
// decide for every parameter. Note "assumed-frozen".
FrozenBase AssumeFrozenBase(const std::vector<TrainedPattern>& given, Layers* layers, Notes* notes);

}  // namespace vramplan
