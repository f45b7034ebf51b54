// Layers: what the framework really ran. One Layer is one operator call as PyTorch's Python sees it ("linear",
// "layer_norm", "scaled_dot_product_attention"), put back together from the nodes that an exporter made of it.
//
//   Sigmoid, Mul                    ->  silu(x)
//   Conv (batch norm folded)        ->  conv2d(x, weight), batch_norm(conv, weight, bias, mean, var)
//   MatMul, Add on [B, 197, 768]    ->  linear(x, weight, bias)
//
// Operator names and argument orders are those of PyTorch's aten schemas without overload ("aten.add.Tensor" -> "add");
// an omitted argument is an invalid ValueId. Views (view, transpose, permute, expand, slice, select ...) are layers
// too: they decide what is contiguous and what a saved tensor pins.
//
// Invariants: layers are in execution order; a value is made by at most one layer; shapes are fully known or the layer
// carries the note "unknown-shape". Values that only feed shape arithmetic are gone.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/ir/shape.h"
#include "graph/layers/source.h"

namespace vramplan {

struct ValueId {
  int32_t value = -1;
  static ValueId At(size_t index) { return {static_cast<int32_t>(index)}; }
  bool valid() const { return value >= 0; }
  size_t index() const { return static_cast<size_t>(value); }
  auto operator<=>(const ValueId&) const = default;
};
struct ModuleId {
  int32_t value = -1;
  static ModuleId At(size_t index) { return {static_cast<int32_t>(index)}; }
  bool valid() const { return value >= 0; }
  size_t index() const { return static_cast<size_t>(value); }
  auto operator<=>(const ModuleId&) const = default;
};

enum class Role : uint8_t {
  kActivation,  // made by a layer
  kInput,       // given by the caller
  kParameter,   // trained
  kBuffer,      // not trained, on the device: running statistics, masks, position ids
  kConstant,    // a literal of the program: a Python scalar, or a small tensor made on the fly
};

struct Value {
  std::string name;
  DType type = DType::kUndefined;
  Shape shape;
  Role role = Role::kActivation;
  bool channels_last = false;  // of what is there before a forward: its channels lie next to each other in memory
};

// How a layer was recognised.
enum class Evidence : uint8_t { kNode, kPattern, kProvenance };

struct Layer {
  std::string op;                        // "conv2d"
  std::string name;                      // unique: the node or fx name, "/layer1/layer1.0/conv1/Conv", "conv2d_3"
  std::vector<ValueId> inputs, outputs;  // in the order of the aten schema's tensor arguments; outputs likewise
  Attributes attributes;                 // scalars and lists under their aten argument names
  ModuleId module;                       // innermost enclosing module; invalid: the root
  std::vector<NodeId> nodes;             // where it came from
  Evidence evidence = Evidence::kNode;
};

// The dynamo exporter named the operator.
inline bool FromDynamo(const Layer& layer) { return layer.evidence == Evidence::kProvenance; }

// One *call* of a module, in execution order: a module that is called twice has two entries.
struct Module {
  std::string path;        // "layer1.0.bn1"; "" is the root
  std::string class_name;  // "torch.nn.modules.batchnorm.BatchNorm2d", or empty when the file does not say
  ModuleId parent;
};

// What was decided for want of a fact. A reader who wants to know what else it could be asks here; nobody reads notes
// back.
struct Guesses {
  int restored_norms = 0;  // batch norms that the export had folded into convolutions, put back behind them
  bool in_place = false;   // some activation is taken as inplace=True
  // Parameters, by name, that may be one: an output layer that the export transposed, and the embedding of its shape.
  std::vector<std::pair<std::string, std::string>> maybe_tied;
  bool operator==(const Guesses&) const = default;
};

// Whether the file is of model.train() or of model.eval(), as far as it tells. An export of a model without dropouts
// and batch norms looks the same in both.
enum class ExportedMode : uint8_t { kUnknown, kTraining, kEvaluation };

// Facts of one forward (graph/ir/facts.h), by the ids of Layers. In the order in which the values died.
struct RecordedEnd {
  ValueId value;
  ValueId made;  // when this has been made nothing of the forward holds the value any more; invalid: the caller does
  bool operator==(const RecordedEnd&) const = default;
};

// What facts of the file told (graph/ir/facts.h), so that nobody need guess.
struct ToldByFacts {
  bool tensors = false;    // which parameters and buffers there are, which are tied and which are trained
  bool functions = false;  // that the code calls no torch.autograd.Function
  bool code = false;       // which modules are checkpointed
  bool operator==(const ToldByFacts&) const = default;
};

struct Layers {
  std::vector<Value> values;
  std::vector<Layer> layers;
  std::vector<Module> modules;  // [0] is the root call
  std::vector<ValueId> inputs, outputs;
  // Parameters and buffers in the order in which the framework's module tree lists them, also those no layer uses.
  std::vector<ValueId> parameters, buffers;
  Source source;  // of the nodes that layers came from
  // Calls that the code runs under torch.utils.checkpoint, as far as its source lines say
  // (graph/lift/source_lines/checkpointed.cc).
  std::vector<ModuleId> checkpointed;
  std::vector<ModuleId> reentrant;  // of these, those with use_reentrant=True
  ValueId loss_after;               // what is made last before the script's loss; invalid: no layer is of the loss
  // Those of which a condition decides it: x = checkpoint(block, x) if self.use_checkpoint else block(x).
  std::vector<ModuleId> perhaps_checkpointed;
  Guesses guesses;
  ExportedMode exported = ExportedMode::kUnknown;
  bool unread_left_out = false;       // what forward() never reads is not in the file, as TorchScript writes it
  std::vector<RecordedEnd> recorded;  // what is not in it nobody recorded
  // What attributes of modules hold when a forward is over, until the next one makes it anew.
  std::vector<ValueId> kept_by_modules;
  // What layers "function" run for their gradients, by their attribute "backward": its inputs are the gradients of their
  // results and what they keep, its outputs the gradients of their operands.
  std::vector<Layers> backwards;
  ToldByFacts told;
  const Value& operator[](ValueId id) const { return values[id.index()]; }
  const Module& operator[](ModuleId id) const { return modules[id.index()]; }
  ValueId Add(Value value) {
    values.push_back(std::move(value));
    return ValueId{static_cast<int32_t>(values.size()) - 1};
  }
};

// Whether this call runs within the other, or is it.
inline bool IsInside(const Layers& layers, ModuleId call, ModuleId outer) {
  while (call.valid() && call != outer) call = layers[call].parent;
  return call.valid();
}

}  // namespace vramplan
