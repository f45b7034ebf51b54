// OtherReadings: what else a file may mean, where two programs write the same nodes and cost different memory. The
// layers that Lift gives are the likely ones; each reading is all of them with one question answered the other way.
//
//   Sigmoid, Mul                           F.silu(x), which keeps x;   x * torch.sigmoid(x), which keeps x and sigmoid
//   Split, Sigmoid, Mul                    F.glu(x), which keeps x;    a * torch.sigmoid(b), which keeps both and the gate
//   checkpoint(f, x) if self.c else f(x)   keeps what f computes;   keeps x
//   ConstantOfShape                        torch.zeros(n), fp32 under autocast;   h.new_zeros(n), fp16 where h is
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/layers/layers.h"

namespace vramplan {

struct Reading {
  std::string code;    // of the note that tells it
  std::string text;    // what is not known
  std::string settle;  // what would tell it
  Layers layers;
};

// What settles a reading of a file that another exporter wrote.
inline constexpr const char* kDynamoTells = "torch.onnx.export(dynamo=True) of PyTorch 2.9 or newer writes it";
// What settles one that no exporter writes.
inline constexpr const char* kScriptTells = "vramplan run on the script tells";

// The step that is asked about: without gradients nothing is kept, so that less matters; without autocast types agree.
struct ReadFor {
  bool gradients = true, autocast = false;
};
std::vector<Reading> OtherReadings(const Layers& layers, const ReadFor& step);

}  // namespace vramplan
