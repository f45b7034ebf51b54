// Rounds: what a state of a Loop or a Scan is after its body has run so often.
//
//   b = Concat(a, x [B, 9]) on axis 1, from a = x, 5 rounds   [B, 9], [B, 18], [B, 27] ... [B, 54]
//
// The body is inferred once; twice when that changes a state; a state that grows by the same in each of the first two
// rounds and in the last one grows like that in all. What does not settle is not known.
#pragma once

#include <optional>
#include <vector>

#include "graph/shapes/rule.h"

namespace vramplan {

struct Rounds {
  Dim most = Dim::Unknown();
  bool exact = false;        // as many as `most`, never fewer
  bool while_first = false;  // as many as that while the body's first output is true: then exact is found out
};

// Where the states stand among the body's inputs and outputs, behind which the outputs of single rounds are.
struct States {
  size_t count = 0, first_input = 0, first_output = 0;
  std::vector<bool> empty;  // the state starts as an empty sequence: what the body puts in is then all there is
};

// Facts of the body's outputs: the states behind the last round, then what any round gives. Nothing when the body
// fails. `inputs` are facts of the first round's.
std::optional<std::vector<TensorFacts>> AfterRounds(NodeInference& n, const Graph& body,
                                                    const std::vector<TensorFacts>& inputs, const States& states,
                                                    Rounds* rounds);

bool IsTrue(const TensorFacts& facts);  // known to be
// The same tensor, whose contents may be others.
TensorFacts WithoutContents(TensorFacts facts);

}  // namespace vramplan
