// Copies: a second network of the same form that no optimizer trains: it follows the first by averaging, or is a
// teacher. The file does not say so; a name of published code and a twin beside it together do.
//
//   student.0.weight [32, 3, 3, 3]   teacher.0.weight [32, 3, 3, 3]
//   student.0.bias   [32]            teacher.0.bias   [32]            -> --frozen 'teacher.*'
//
// A name alone decides nothing, equal forms alone neither. The rows are in copies.cc, each with its source.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/spec/trained.h"

namespace vramplan {

struct Copies {
  std::string what;    // "teacher, a copy of student"
  std::string first;   // its first parameter
  std::string source;  // of the row
  std::vector<TrainedPattern> patterns;
  bool operator==(const Copies&) const = default;
};

// Nothing: the file has none.
std::optional<Copies> FindCopies(const Layers& layers);

// The layers with the copies under torch.no_grad(), and with them what they alone are given and what is made of their
// results alone. Nothing: no copy runs, or one is trained.
//
//   with torch.no_grad(): target = self.critic_target(self.encoder(next_obs), self.actor(next_obs))
std::optional<Layers> WithoutGradient(const Layers& layers, const Copies& copies);

}  // namespace vramplan
