// Rows of memory tests: one operator of one layer, what goes in, and every birth and death of device memory that it
// causes.
//
//   {"relu", "", "x:f[8,64]", "f[8,64]", "1+2048", "1", "2+2048 g- 1- 2-"}
//
// inputs      ROLE:TYPE[lengths], "-" is absent.
//             ROLE x: an activation that something before made (tracked); p: a parameter; c: without a gradient.
//             TYPE f float32, d float64, h float16, y bfloat16, z complex64, i int64, j int32, b bool.
//             A layout other than contiguous: "@0,2,3,1" are the axes from the slowest to the fastest in memory (here:
//             channels last).
// outputs     TYPE[lengths], as Infer would have them.
// forward     events of the forward (memory_log.h). Inputs are called x, y, z; w, b, v (parameters); c, d, e, h to k.
// kept        what lives when the caller has let go of everything but the loss: what the tape saved. Parameters are
//             left out.
// backward    events from the arrival of the gradient g (of the outputs' sizes; g2, g3 for more outputs) to its end
// spec        words: "infer", "cc9.0", "pytorch@2.6", names of precisions; default: fp32 training, capability 7.5,
//             pytorch@2.10
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "graph/layers/layers.h"
#include "planner/semantics/eager.h"
#include "tests/support/memory_log.h"

namespace vramplan::testing {

struct OperatorCase {
  const char* op;
  const char* attributes;
  const char* inputs;
  const char* outputs;
  const char* forward;
  const char* kept;
  const char* backward;
  const char* spec = "";
};

TrainingSpec SpecFromWords(const std::string& words);

// A small run by hand: tensors that exist before, an operator or several, the backward.
class Trial {
 public:
  explicit Trial(const std::string& words = "") : Trial(SpecFromWords(words)) {}
  explicit Trial(TrainingSpec spec);

  // "x:f[8,64]@0,1", one tensor; its block is called `name`.
  eager::Tensor Given(const std::string& text, const std::string& name);
  // Runs the table's row of an operator. Autocast is not applied.
  std::vector<eager::Tensor> Run(const std::string& op, const std::string& attributes,
                                 std::vector<eager::Tensor> inputs, const std::string& outputs);
  eager::Tensor Run1(const std::string& op, const std::string& attributes, std::vector<eager::Tensor> inputs,
                     const std::string& output) {
    return Run(op, attributes, std::move(inputs), output)[0];
  }
  // A scalar that depends on all of these and keeps none of them. Its gradient gives each a fresh tensor of its own
  // layout.
  eager::Tensor LossOf(const std::vector<eager::Tensor>& outputs);
  std::string Events() { return log.Take(); }
  // loss.backward(); the events without those of the loss itself.
  std::string Backward(eager::Tensor loss);

  MemoryLog log;
  TrainingSpec spec;
  eager::Eager e;

 private:
  eager::Tensor source_;  // a parameter of no size before everything
};

// What the operator of a row does; its own three columns are not looked at.
struct OperatorEvents {
  std::string forward, kept, backward;
};
OperatorEvents EventsOf(const OperatorCase& row);

// Runs the row and compares; on a difference prints the row as it came out.
void CheckOperator(const OperatorCase& row);
void CheckOperators(std::initializer_list<OperatorCase> rows);

}  // namespace vramplan::testing
