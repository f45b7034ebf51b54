// LayerBuilder: Layers under construction. Both sources add to one builder, in any order; Finish puts the layers in
// execution order, opens the module calls and checks what Layers promises.
//
//   LayerBuilder b(graph, shapes);               // values of the graph's inputs and outputs are there
//   b.AddStored(weight, Role::kParameter);
//   b.AddLayer({.op = "relu", .name = node.name, .inputs = {b.ValueOf(x)}, .outputs = {b.ValueOf(y)}, .nodes = {id}},
//              {{"layer1", "torch.nn.Sequential"}, {"layer1.relu", "torch.nn.modules.activation.ReLU"}});
//   Layers layers = std::move(b).Finish(&notes);
//
// Order: a layer stands at its last node (a node's position is its NodeId, and nodes are in topological order, so a
// layer always comes after the makers of its inputs); layers that end at the same node keep the order in which they
// were added:
//
//   Conv#7 (batch norm folded)   ->  conv2d at 7, batch_norm at 7        two layers, one node
//   Shape#3 .. Reshape#9         ->  view at 9
//
// Module calls: consecutive layers share the calls of their common path prefix; a path that is left and entered again
// is a new call.
//
//   layers in   a.x, a.x, a.y, b, a.y      ->   calls  root, a, a.x, a.y, b, a (again), a.y (again)
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/base/note.h"
#include "graph/ir/graph.h"
#include "graph/layers/layers.h"
#include "graph/shapes/infer.h"

namespace vramplan {

// One enclosing module of a layer: whole path from the root ("layer1.0.bn1") and class, empty where unknown. `call`:
// which of its calls, where the file numbers them ("0", "1"); empty: not told.
struct ModuleFrame {
  std::string path;
  std::string class_name;
  std::string call = {};
  bool operator==(const ModuleFrame&) const = default;
};
// Outermost first; the root itself is not in it (but may be named by SetRootClass).
using ModulePath = std::vector<ModuleFrame>;

// An axis that may be counted from the end, counted from the front.
constexpr int64_t FromFront(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }

class LayerBuilder {
 public:
  LayerBuilder(const Graph& graph, const Shapes& shapes);

  // A value that no tensor of the file stands for (the convolution's result before a folded batch norm, a parameter
  // that was folded away). Parameters and buffers are appended to the lists of Layers in the order of these calls.
  ValueId AddValue(Value value);

  // The value of a tensor, made on first use with type and shape from Shapes: an input, a constant (stored tensors that
  // nobody registered), or an activation, which some layer must then make. An invalid tensor gives an invalid value.
  ValueId ValueOf(TensorId tensor);
  bool HasValue(TensorId tensor) const;
  // From now on `tensor` is `value`: a no-op (Identity, a Cast to the same type, eval dropout), or a parameter under
  // another name.
  void SetValueOf(TensorId tensor, ValueId value);
  // The value of a stored tensor as a parameter or buffer; the first call decides the role. Call before ValueOf asks
  // for the tensor.
  ValueId AddStored(TensorId tensor, Role role);
  // For what becomes known later, a type for instance. Never change `role` here.
  Value& At(ValueId id) { return layers_.values[id.index()]; }
  const Value& At(ValueId id) const { return layers_[id]; }

  // Adds a layer; its name is made unique ("relu" -> "relu_2"), its module comes from `path`. `position`: where it
  // stands when that is not its last node. CHECKs that no output was made by another layer and that no input, parameter
  // or constant is an output.
  void AddLayer(Layer layer, ModulePath path, std::optional<NodeId> position = std::nullopt);
  // A layer that nothing in the file stands for, told by what is around it: it makes `made`, which gives it its name.
  ValueId Make(Value made, std::string op, std::vector<ValueId> inputs, ModulePath path, NodeId position,
               Attributes attributes = {});
  // The layer that makes a value; null while there is none.
  const Layer* MakerOf(ValueId value) const;
  // The modules of the layer that makes a value; empty while there is none.
  ModulePath PathOf(ValueId value) const;
  bool IsMade(ValueId value) const { return MakerOf(value) != nullptr; }

  Guesses& guesses() { return layers_.guesses; }
  void SetRootClass(std::string class_name) { root_class_ = std::move(class_name); }

  // Execution order, module calls, inputs and outputs. An activation that no layer makes gets the note "unmade-value";
  // a layer with a shape that is not known gets "unknown-shape".
  Layers Finish(Notes* notes) &&;

  const Graph& graph() const { return graph_; }
  const Shapes& shapes() const { return shapes_; }

 private:
  struct Placed {
    Layer layer;
    ModulePath path;
    int32_t position = 0;
  };
  void OrderPlaced();
  void OpenModules();
  void CheckValues(Notes* notes) const;

  const Graph& graph_;
  const Shapes& shapes_;
  Layers layers_;
  std::vector<Placed> placed_;
  std::vector<ValueId> value_of_;   // by tensor
  std::vector<int32_t> placed_of_;  // by value: index into placed_, or -1
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, int> counts_;  // of a name that is taken
  std::string root_class_;
};

}  // namespace vramplan
