// The table from aten targets (as fx nodes name them) to the vocabulary of graph/lift/VOCABULARY.md.
//
//   aten.convolution.default(%x, %w, None, [2, 2], [1, 1], [1, 1], True, [0, 0], 1)
//     row     {"convolution", "convolution",
//              "input! weight! bias! stride padding dilation transposed output_padding groups", ShapeConvolution}
//     named   operands {x, w, -}, attributes {stride [2, 2], ..., transposed 1}
//     shaped  conv_transpose2d, kernel_size [4, 4]
//
// A row's arguments are in the order of the aten schema: `name!` a tensor, `name*` a list of tensors, `name` an
// attribute, `name-` an argument that says nothing (sizes, types, eps). A number where a tensor may stand becomes the
// attribute "scalar".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/facts.h"
#include "graph/layers/builder.h"

namespace vramplan {

// An fx node on its way to a layer: arguments named, operands resolved to values.
struct AtenCall {
  std::string op;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Attributes attributes;
  bool alias = false;  // nothing ran: the first output is the first input
};

struct AtenRule {
  std::string_view target;  // "conv2d" (any overload) or "add.Scalar" (this one); in the table also several
  std::string_view op;      // in the vocabulary; in the table "=": that of the target; empty: the host's work, no layer
  std::string_view arguments;
  void (*shape)(AtenCall& call, const LayerBuilder& builder) = nullptr;  // what the schema alone does not say
  bool several_outputs = false;
};

// The rule of a target ("aten.add.Tensor"); null when there is none.
const AtenRule* FindAtenRule(std::string_view target);

struct AtenArgument {
  std::string_view name;
  enum class Kind : uint8_t { kTensor, kTensors, kAttribute, kIgnored } kind = Kind::kIgnored;
};
std::vector<AtenArgument> ParseAtenArguments(std::string_view arguments);

// Attributes hold integers (also for True and False), reals, strings and lists of integers or reals. Other literals are
// left out.
void SetAttribute(Attributes& attributes, const std::string& name, const RecordedArgument& argument);

inline bool IsNumber(const RecordedArgument& argument) {
  using enum RecordedArgument::Kind;
  return argument.kind == kInt || argument.kind == kReal || argument.kind == kBool;
}

}  // namespace vramplan
