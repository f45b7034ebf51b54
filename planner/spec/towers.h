// Towers: networks that share no weight and meet only behind the last weight, in a loss that the file holds, or not at
// all. One of them may be a teacher or a momentum encoder under torch.no_grad(), which no TorchScript file tells:
//
//   x -> student.0 -> student.3 ---> kl_div -> loss        towers: student.*  and  teacher.*
//   x -> teacher.0 -> teacher.3 -/
//
// Networks that are alike, or that read the same input, are such; a text and an image encoder are not.
#pragma once

#include <string>
#include <vector>

#include "graph/layers/layers.h"
#include "planner/spec/trained.h"

namespace vramplan {

struct Tower {
  std::string first;                // its first parameter
  std::vector<ValueId> parameters;  // those that are trained
};

// None, or at least two: each takes inputs of the model and no result of another.
std::vector<Tower> FindTowers(const Layers& layers);

// What freezes the tower and nothing else: --frozen 'teacher.*' --frozen 'ht.*', or --frozen '*' --trainable 'fc.*'.
std::vector<TrainedPattern> FrozenPatterns(const Tower& tower, const Layers& layers);

}  // namespace vramplan
