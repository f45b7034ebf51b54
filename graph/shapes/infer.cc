#include "graph/shapes/infer.h"

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

bool InputsKnown(const NodeInference& n) {
  for (int i = 0; i < n.inputs(); ++i) {
    if (n.Has(i) && !FullyKnown(n.In(i))) return false;
  }
  return true;
}

// An operator without a rule: the file's declared types are all there is.
void Fallback(NodeInference& n) {
  const Node& node = n.node();
  const std::string operator_name = node.domain.empty() ? node.op : node.domain + "." + node.op;
  for (int i = 0; i < n.outputs(); ++i) {
    if (!node.outputs[static_cast<size_t>(i)].valid()) continue;
    if (!n.TakeDeclared(i) && !n.Out(i).shape) {
      return n.Fail("its operator " + operator_name + " is not known, and the file declares no shape for its output " +
                        n.graph()[node.outputs[static_cast<size_t>(i)]].name,
                    "run ONNX shape inference on the file first, or export with value_info");
    }
  }
  n.Note("unknown-operator",
         "the operator " + operator_name + " is not known; its outputs have the shapes that the file declares");
}

// What inference left open: the declared lengths may close it; the rest is noted where it begins.
void CloseGaps(NodeInference& n) {
  for (int i = 0; i < n.outputs(); ++i) {
    const TensorId id = n.node().outputs[static_cast<size_t>(i)];
    if (!id.valid() || FullyKnown(n.Out(i))) continue;
    const bool declared = n.TakeDeclared(i);
    const std::string& name = n.graph()[id].name;
    if (FullyKnown(n.Out(i))) {
      if (declared && n.Out(i).is_tensor)
        n.Note("declared-shape", "the shape of " + name + " is the one that the file declares");
    } else if (InputsKnown(n)) {
      n.Note("unknown-shape",
             "the shape of " + name + " depends on data: " + (n.Out(i).shape ? n.Show(*n.Out(i).shape) : "no rank"));
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
      rule->infer(n);
      if (!n.failure()) CloseGaps(n);
    } else {
      Fallback(n);
    }
    if (!n.failure()) n.CheckOutputs();
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
    }
    const auto bound = binding.inputs.find(id);
    if (bound != binding.inputs.end()) facts.shape = bound->second;
    n.CheckTensor(tensor.name, facts);
    if (n.failure()) return *n.failure();
  }
  InferNodes(graph, &n);
  if (n.failure()) return *n.failure();
  return shapes;
}

}  // namespace vramplan
