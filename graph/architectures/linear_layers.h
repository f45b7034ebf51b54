// What changes a recorded program: its linear layers, by the parameters that they read, and arguments.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/ir/facts.h"

namespace vramplan {

inline RecordedArgument IntegerOf(int64_t number) { return {RecordedArgument::Kind::kInt, number, 0, "", {}}; }

// "model.layers.0.self_attn.q_proj" of its weight or its bias; empty: it is of no such name.
std::string ModuleOfParameter(const std::string& parameter);
// "q_proj"
std::string LastName(const std::string& path);

// Where the operands of a linear layer stand: aten.linear(x, w, b), and aten.addmm(b, x, w) of GPT-2's Conv1D.
struct LinearCall {
  size_t input = 0, weight = 1, bias = 2;
  bool transposed = false;  // the weight is [in, out]
};
std::optional<LinearCall> LinearCallOf(const RecordedProgram::Call& call);
// Its operand; no value: the layer has none.
RecordedArgument BiasOf(const RecordedProgram::Call& call, const LinearCall& linear);

// The values among its arguments, one for each time that it is named.
std::vector<int32_t> ReadBy(const RecordedProgram::Call& call);

struct LinearLayer {
  std::string path;
  bool transposed = false;
};

// The layer that such a call is of: the module of its weight, or the one that runs it if the weight is that of an embedding
// ("lm_head", tied). Empty: a weight of no such name.
class LinearPaths {
 public:
  explicit LinearPaths(const RecordedProgram& program);
  std::string Of(const RecordedProgram::Call& call, const LinearCall& linear) const;

 private:
  const RecordedProgram& program_;
  std::map<int32_t, std::string> of_weights_;
  std::set<std::string> embeddings_;
};

// Those that the program calls, in its order; a layer that is called twice stands there twice. Of facts: the program of
// the training, or else that of the inference, behind the layers that it does not run (the tower for pictures of a model
// that reads words alone, and what brings its results to the words): bitsandbytes packs those, and peft adapts them.
std::vector<LinearLayer> LinearLayersOf(const RecordedProgram& program);
std::vector<LinearLayer> LinearLayersOf(const Facts& facts);

}  // namespace vramplan
