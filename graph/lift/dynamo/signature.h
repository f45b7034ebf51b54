// Signature: the parameters and buffers of the real module, from the graph signature of the exported program.
//
//   p_conv1_weight: PARAMETER target='conv1.weight'  a value of role parameter, "conv1.weight"; the initializer's shape
//   p_bn1_weight: PARAMETER target='bn1.weight'      no initializer (folded into the convolution): shape from use, [64]
//   b_bn1_num_batches_tracked: BUFFER ...            no use at all: int64, by its name
//
// One placeholder is one value, whatever the initializers say: the exporter's optimizer merges initializers of equal
// contents (all zero biases become one), transposes and renames them, and drops zero biases (onnxscript optimizer 0.7,
// deduplicate_initializers and constant folding). Tied parameters are the exception: torch.export lists every name of a
// tied parameter but uses one of them. A listed parameter that no fx node names and that has no initializer is another
// name of X when a call of *its own* module uses X:
//
//   embedding in module m.transformer.wte uses %p_m_lm_head_weight, m.transformer.wte.weight is used by nobody:
//   one value
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/base/note.h"
#include "graph/layers/builder.h"
#include "graph/lift/dynamo/fx_groups.h"
#include "graph/lift/dynamo/fx_text.h"
#include "graph/programs/aten.h"

namespace vramplan {

// "layer1.0.bn1.weight" -> "layer1.0.bn1", "weight".
std::pair<std::string, std::string> SplitTarget(const std::string& target);

class Signature {
 public:
  // Registers every parameter and buffer with the builder, in the order of the signature, and the placeholders of
  // inputs.
  Signature(const Graph& graph, const FxGroups& groups, LayerBuilder* builder);

  // The value of a placeholder ("p_bn1_weight", "x"); invalid when the signature does not list it.
  ValueId ByPlaceholder(const std::string& placeholder) const;
  // The value of a parameter or buffer by its name in the module; invalid when there is none.
  ValueId ByTarget(const std::string& target) const;
  bool ShapeIsKnown(ValueId value) const;
  void SetShape(ValueId value, DType type, const Shape& shape);
  // True when no fx node names it: folded away, or unused.
  bool IsUnreferenced(const std::string& target) const { return unreferenced_.contains(target); }
  // The parameter listed just before this one, when no fx node names it (the convolution in front of a folded batch
  // norm); else invalid.
  ValueId UnreferencedBefore(ValueId parameter) const;

  // The only parameter or buffer called `leaf` in `module` or in a module inside; invalid when there is none or more.
  ValueId OnlyInside(const std::string& module, const std::string& leaf) const;

  // Shapes of parameters and buffers that a layer's use tells: a linear's weight is [out, in], a batch norm's is [C].
  void InferFromUse(const AtenCall& call);
  // The same for the parameters of one layer, and of those that its operator leaves open from the stored tensors at the
  // same places of its nodes.
  void LearnShapes(const Graph& graph, const std::vector<NodeId>& nodes, const AtenCall& call);
  // What nothing told: what torch.nn and peft register beside what is known; the rest gets a note and no bytes.
  void Finish(Notes* notes);

 private:
  void FindTies(const FxGroups& groups, const std::vector<SignatureEntry>& entries);
  void Learn(ValueId value, DType type, const Shape& shape);
  void ShapeByHabit(const std::string& target);
  void TakeShapesOf(const std::optional<std::vector<RecordedTensor>>& tensors);

  LayerBuilder* builder_;
  std::unordered_map<std::string, ValueId> by_placeholder_, by_target_;
  std::unordered_map<std::string, int> unreferenced_;  // target -> position in order_
  std::unordered_map<std::string, std::string> ties_;  // target -> target that is used
  std::vector<std::string> order_;                     // targets as listed
  std::vector<bool> shape_known_;                      // by value
};

}  // namespace vramplan
