#include "graph/shapes/infer.h"

#include <algorithm>

#include "graph/ir/aten.h"
#include "graph/shapes/bounds.h"
#include "graph/shapes/rebatch.h"
#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

void SetTypes(NodeInference& n, Type rule) {
  if (rule == Type::kRule) return;
  DType type = DType::kUndefined;
  switch (rule) {
    case Type::kFirstInput:
      type = n.In(0).type;
      break;
    case Type::kSecondInput:
      type = n.In(1).type;
      break;
    case Type::kThirdInput:
      type = n.In(2).type;
      break;
    case Type::kBool:
      type = DType::kBool;
      break;
    case Type::kInt64:
      type = DType::kInt64;
      break;
    case Type::kInt32:
      type = DType::kInt32;
      break;
    case Type::kUint8:
      type = DType::kUint8;
      break;
    case Type::kFloat32:
      type = DType::kFloat32;
      break;
    case Type::kRule:
      break;
  }
  for (int i = 0; i < n.outputs(); ++i) n.Out(i).type = type;
}

bool FullyKnown(const TensorFacts& facts) { return !facts.is_tensor || (facts.shape && facts.shape->known()); }

// What the elements of a declared sequence or optional have in common.
std::optional<Shape> ElementShape(const DeclaredType& declared) {
  if (!declared.dims || declared.dims->size() > Shape::kMaxRank) return std::nullopt;
  Shape shape;
  for (const DeclaredDim& d : *declared.dims) shape.Append(d.length ? Dim(*d.length) : Dim::Unknown());
  return shape;
}

bool InputsKnown(const NodeInference& n) {
  for (int i = 0; i < n.inputs(); ++i) {
    if (n.Has(i) && !FullyKnown(n.In(i))) return false;
  }
  return true;
}

// What to do about an operator that nobody knows, most of which a converter has left behind.
std::string HintFor(const Node& node, const Graph& graph) {
  // Keras compiles grouped convolutions by XLA, which tf2onnx 1.16 does not look into (onnx/tensorflow-onnx issue
  // 2099).
  if (node.op == "PartitionedCall" || node.op == "StatefulPartitionedCall") {
    return "tf2onnx left a call of a TensorFlow function; where it is a grouped convolution of Keras, set "
           "layer._jit_compiled_convolution_op = layer.convolution_op before converting";
  }
  // It writes operators that the opset has no counterpart of as they are: ResizeBilinear with --opset 9, not with 13.
  if (node.domain.empty() && graph.producer.rfind("tf2onnx", 0) == 0)
    return "tf2onnx left it unconverted (its log says why); convert again with a newer --opset than " +
           std::to_string(graph.opset());
  return "run ONNX shape inference on the file first, or export with value_info";
}

// An operator without a rule: the file's declared types are all there is.
void Fallback(NodeInference& n) {
  const Node& node = n.node();
  const std::string operator_name = node.domain.empty() ? node.op : node.domain + "." + node.op;
  std::string open;
  for (int i = 0; i < n.outputs(); ++i) {
    const TensorId id = node.outputs[static_cast<size_t>(i)];
    if (id.valid() && !n.TakeDeclared(i) && !n.Out(i).shape) open += (open.empty() ? "" : ", ") + n.graph()[id].name;
  }
  const std::string not_known = "the operator " + operator_name + " is not known";
  if (open.empty())
    return n.Note("unknown-operator", not_known + "; its outputs have the shapes that the file declares");
  const std::string what = not_known + ", and the file declares no shape for its output " + open;
  const std::string hint = HintFor(node, n.graph());
  if (TakesBounds(n.binding())) return n.Fail(what, hint);  // a plan must not count it as nothing
  n.Note("unknown-operator", what, hint);
}

// A call of a .pt2 file: torch.export wrote down the length of every axis.
void TakeStated(NodeInference& n) {
  if (n.reopened()) {
    return n.Fail("it was exported with the fixed batch " + std::to_string(*n.baked_batch()) +
                      ", and every length behind it is a plain number",
                  "export it with dynamic_shapes=({0: torch.export.Dim.DYNAMIC},)");
  }
  for (int i = 0; i < n.outputs(); ++i) n.TakeDeclared(i);
}

// The axes that are not known, or that are bounds.
std::vector<int> OpenAxes(const NodeInference& n, const Shape& shape, bool bounded) {
  std::vector<int> axes;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool bound = std::find(n.bounds().begin(), n.bounds().end(), shape[axis]) != n.bounds().end();
    if (bounded ? bound : !shape[axis].known()) axes.push_back(axis);
  }
  return axes;
}

// The note where knowledge ends, or where a bound stands for it.
void NoteUndecided(NodeInference& n, int output, bool bounded) {
  const TensorFacts& facts = n.Out(output);
  const std::string& name = n.graph()[n.node().outputs[static_cast<size_t>(output)]].name;
  std::string shape = "not even its rank is known", hint = "run ONNX shape inference on the file first";
  if (facts.shape) {
    shape = n.Show(*facts.shape);
    const std::vector<int> axes = OpenAxes(n, *facts.shape, bounded);
    if (axes.empty()) return;  // another output of the node is the bound
    hint.clear();
    for (int axis : axes) hint.append("--dim ").append(name).append(":").append(std::to_string(axis)).append("=N ");
    hint += axes.size() == 1 ? "gives the length" : "give the lengths";
  }
  if (bounded) return n.Note("upper-bound", "the shape of " + name + " depends on data; at most " + shape, hint);
  const char* unbounded = TakesBounds(n.binding()) ? ", and nothing says how long it can be: " : ": ";
  n.Note("unknown-shape", "the shape of " + name + " depends on data" + unbounded + shape, hint);
}

// What inference left open: the user, or the declared lengths, may close it; the rest is noted where it begins.
void CloseGaps(NodeInference& n) {
  for (int i = 0; i < n.outputs(); ++i) {
    const TensorId id = n.node().outputs[static_cast<size_t>(i)];
    if (!id.valid()) continue;
    const bool given = n.TakeGiven(i);
    n.MarkOutput(i, given);
    if (FullyKnown(n.Out(i))) {
      if (n.bounded() && !given) NoteUndecided(n, i, true);
      continue;
    }
    const bool declared = n.TakeDeclared(i);
    if (FullyKnown(n.Out(i))) {
      if (declared && n.Out(i).is_tensor)
        n.Note("declared-shape", "the shape of " + n.graph()[id].name + " is the one that the file declares");
    } else if (InputsKnown(n)) {
      NoteUndecided(n, i, false);
    }
  }
}

}  // namespace

void InferNodes(const Graph& graph, NodeInference* node) {
  NodeInference& n = *node;
  for (const Node& each : graph.nodes) {
    n.Begin(each);
    if (const RuleRow* rule = FindRule(each.domain, each.op)) {
      SetTypes(n, rule->type);
      CheckPositions(n);
      if (!n.failure()) rule->infer(n);
      n.ForgiveBounds();
      if (!n.failure()) CloseGaps(n);
      if (!n.failure()) CarryLargest(n);
      if (!n.failure()) n.CheckOutputs();
      n.ForgiveBounds();
    } else if (each.domain == kTorchDomain) {
      TakeStated(n);
      if (!n.failure()) CloseGaps(n);
      if (!n.failure()) n.CheckOutputs();
    } else {
      Fallback(n);
      if (!n.failure()) n.CheckOutputs();
    }
    if (n.failure()) return;
  }
}

Result<Shapes> Infer(const Graph& graph, const Binding& binding, Notes* notes) {
  Shapes shapes;
  shapes.tensors.resize(graph.tensors.size());
  NodeInference n(graph, binding, &shapes, notes);
  const auto too_many_axes = [&](const std::string& name, size_t rank) {
    return Error{ErrorCode::kBadInput, graph.file,
                 "tensor " + name + " has " + std::to_string(rank) + " axes; at most " +
                     std::to_string(Shape::kMaxRank) + " are understood",
                 ""};
  };
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& tensor = graph.tensors[i];
    if (!tensor.stored) continue;
    if (tensor.stored->dims.size() > Shape::kMaxRank) return too_many_axes(tensor.name, tensor.stored->dims.size());
    shapes.tensors[i] = FactsOf(*tensor.stored);
    n.CheckTensor(tensor.name, shapes.tensors[i]);
    if (n.failure()) return *n.failure();
  }
  for (TensorId id : graph.inputs) {
    TensorFacts& facts = shapes.tensors[static_cast<size_t>(id.value)];
    const Tensor& tensor = graph[id];
    if (tensor.declared) {
      facts.type = tensor.declared->type;
      facts.is_tensor = tensor.declared->is_tensor;
      if (!facts.is_tensor) facts.shape = ElementShape(*tensor.declared);
    }
    const auto bound = binding.inputs.find(id);
    if (bound != binding.inputs.end()) facts.shape = bound->second;
    n.CheckTensor(tensor.name, facts);
    if (n.failure()) return *n.failure();
  }
  FreeStoredBatch(graph, binding, &shapes, notes);
  InferNodes(graph, &n);
  if (n.failure()) return *n.failure();
  return shapes;
}

}  // namespace vramplan
