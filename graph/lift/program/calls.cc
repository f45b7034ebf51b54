#include "graph/lift/program/calls.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "graph/ir/aten.h"
#include "graph/lift/dynamo/aten.h"
#include "graph/lift/dynamo/aten_target.h"

namespace vramplan {
namespace {

// "L__self__,,net.Net;L__self___fc,fc,torch.nn.modules.linear.Linear"; paths may hold commas inside of brackets.
ModulePath PathOfModules(std::string_view text, std::string* root_class) {
  ModulePath path;
  while (!text.empty()) {
    const size_t semicolon = text.find(';');
    const std::string_view entry = text.substr(0, semicolon);
    text = semicolon == text.npos ? std::string_view() : text.substr(semicolon + 1);
    size_t first = entry.npos, last = entry.npos;
    int depth = 0;
    for (size_t i = 0; i < entry.size(); ++i) {
      if (entry[i] == '(' || entry[i] == '[') ++depth;
      if (entry[i] == ')' || entry[i] == ']') --depth;
      if (entry[i] != ',' || depth != 0) continue;
      if (first == entry.npos) first = i;
      last = i;
    }
    if (first == entry.npos || first == last) continue;
    std::string name(entry.substr(first + 1, last - first - 1)), class_name(entry.substr(last + 1));
    if (name.empty()) {
      if (root_class->empty()) *root_class = std::move(class_name);
      continue;
    }
    path.push_back({.path = std::move(name), .class_name = std::move(class_name)});
  }
  return path;
}

class ProgramCalls {
 public:
  ProgramCalls(const Graph& graph, LayerBuilder& builder) : graph_(graph), builder_(builder) {}

  void Run() {
    for (const char role : {'p', 'b'}) {
      const auto& list = role == 'p' ? graph_.facts->parameters : graph_.facts->buffers;
      if (!list) continue;
      for (const RecordedTensor& tensor : *list)
        names_.emplace(tensor.name, role == 'p' ? Role::kParameter : Role::kBuffer);
    }
    for (size_t t = 0; t < graph_.tensors.size(); ++t) {
      const auto role = graph_.tensors[t].stored ? names_.find(graph_.tensors[t].name) : names_.end();
      if (role != names_.end()) builder_.AddStored(TensorId{static_cast<int32_t>(t)}, role->second);
    }
    for (const Node& node : graph_.nodes) {
      if (node.op.starts_with("aten.bernoulli_.") && !node.inputs.empty()) noise_.insert(node.inputs.front());
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) Lift(NodeId{static_cast<int32_t>(n)});
    if (!root_class_.empty()) builder_.SetRootClass(root_class_);
  }

 private:
  // The inputs of an argument, in order.
  std::vector<TensorId> OperandsOf(const Node& node, std::string_view label) const {
    std::vector<TensorId> operands;
    const auto* labels = node.attributes.Get<std::vector<std::string>>(kOperands);
    for (size_t i = 0; labels != nullptr && i < labels->size() && i < node.inputs.size(); ++i) {
      if ((*labels)[i] == label) operands.push_back(node.inputs[i]);
    }
    return operands;
  }

  static const AttributeValue* LiteralOf(const Node& node, std::string_view label) {
    const auto found = node.attributes.all().find(label);
    return found == node.attributes.all().end() ? nullptr : &found->second;
  }

  void Lift(NodeId id) {
    const Node& node = graph_[id];
    const AtenTarget target = ReadAtenTarget(node.op);
    const ModulePath path = PathOfModules(node.provenance.name_scopes, &root_class_);
    if (IsHostTarget(target.plain) || IsNumber(node)) return;
    module_ = ModuleOf(path);
    if (target.plain == "aten.broadcast_tensors.default") return LiftBroadcast(id, path);
    const AtenRule* rule = FindAtenRule(target.plain == "aten.outer.default" ? "aten.mul.Tensor" : target.plain);
    AtenCall call = NameArguments(node, target, rule);
    if (target.in_place && WritesIntoStored(node, call)) return;
    for (const TensorId output : node.outputs) call.outputs.push_back(builder_.ValueOf(output));
    if (call.op == "cat") DropEmpty(&call);  // its axis counts from those that are left
    if (rule != nullptr && rule->shape != nullptr) rule->shape(call, builder_);
    if (target.plain == "aten.to.dtype" && !call.alias) TakeOfIntegers(node, path, &call);
    TensorId into = target.in_place && !node.inputs.empty() ? node.inputs.front() : TensorId{};
    if (target.plain == "aten.copy.default") into = TakeWrite(node, &call);
    if (target.plain == "aten.outer.default") LiftColumn(id, path, &call);
    if (call.op == "empty" && noise_.contains(node.outputs.front())) {
      call.op = "bernoulli";
      if (!call.inputs.empty()) call.inputs.insert(call.inputs.begin(), ValueId());  // new_empty: of its type
    }
    if (call.op == "bernoulli" && target.in_place && !node.inputs.empty())  // in the tensor that there is
      return builder_.SetValueOf(node.outputs.front(), builder_.ValueOf(node.inputs.front()));
    if (call.alias && !node.inputs.empty() && node.inputs.front().valid()) {
      const ValueId same = Read(node.inputs.front());
      call.inputs = {same};
      if (!TakeConversion(node, target.plain, path, &call)) return builder_.SetValueOf(node.outputs.front(), same);
    }
    if (target.in_place && call.op != "detach") call.attributes.Set("inplace", int64_t{1});
    const ValueId written = call.outputs.size() == 1 ? call.outputs.front() : ValueId{};
    AddLayer(id, path, std::move(call));
    if (written.valid() && into.valid()) builder_.SetValueOf(into, written);
  }

  void AddLayer(NodeId id, const ModulePath& path, AtenCall call, const char* suffix = "") {
    if (!first_floats_.valid() && !call.outputs.empty() && IsFloating(builder_.At(call.outputs.front()).type))
      first_floats_ = call.outputs.front();
    builder_.AddLayer({.op = std::move(call.op),
                       .name = graph_[id].name + suffix,
                       .inputs = std::move(call.inputs),
                       .outputs = std::move(call.outputs),
                       .attributes = std::move(call.attributes),
                       .nodes = {id},
                       .evidence = Evidence::kProvenance},
                      path);
  }

  // What is computed of numbers that the program holds, and has no axes: a number of the host's. Everything else of
  // one operand that is a constant without axes, too: lift_fresh_copy, detach_.
  bool IsNumber(const Node& node) {
    if (node.inputs.empty() || node.outputs.size() != 1) return false;
    const Shape& made = builder_.At(builder_.ValueOf(node.outputs.front())).shape;
    const auto is_number = [&](TensorId input) {
      if (!input.valid()) return false;
      const Value& value = builder_.At(builder_.ValueOf(input));
      return value.role == Role::kConstant && value.shape.rank() == 0;
    };
    if (made.rank() != 0 || !std::ranges::all_of(node.inputs, is_number)) return false;
    builder_.SetValueOf(node.outputs.front(), builder_.ValueOf(node.inputs.front()));
    return true;
  }

  // Expands those operands that are smaller than the result.
  void LiftBroadcast(NodeId id, const ModulePath& path) {
    const Node& node = graph_[id];
    for (size_t i = 0; i < node.outputs.size() && i < node.inputs.size(); ++i) {
      const ValueId from = builder_.ValueOf(node.inputs[i]), to = builder_.ValueOf(node.outputs[i]);
      if (builder_.At(from).shape == builder_.At(to).shape) {
        builder_.SetValueOf(node.outputs[i], from);
      } else {
        AddLayer(id, path, {.op = "expand", .inputs = {from}, .outputs = {to}});
      }
    }
  }

  // outer(a, b) is a.reshape({n, 1}) * b (aten/src/ATen/native/LinearAlgebra.cpp, PyTorch 2.10).
  void LiftColumn(NodeId id, const ModulePath& path, AtenCall* call) {
    if (call->inputs.empty() || !call->inputs.front().valid()) return;
    Value column = builder_.At(call->inputs.front());
    column.name = graph_[id].name + ".column";
    column.role = Role::kActivation;
    column.shape.Append(1);
    const ValueId made = builder_.AddValue(std::move(column));
    AddLayer(id, path, {.op = "reshape", .inputs = {call->inputs.front()}, .outputs = {made}}, ".column");
    call->inputs.front() = made;
  }

  // cat skips tensors of one axis without elements (aten/src/ATen/native/TensorShape.cpp, cat_should_skip_tensor): an
  // empty cache of keys.
  void DropEmpty(AtenCall* call) {
    std::erase_if(call->inputs, [&](ValueId input) {
      const Shape& shape = builder_.At(input).shape;
      return shape.rank() == 1 && shape[0].Is(0);
    });
  }

  // x.float() of an fp32 tensor gives back x, so the export calls x by the new name from then on, wherever it is read.
  // Behind the module that asked for fp32 it is x that is meant, if the module itself used what it asked for.
  ValueId Read(TensorId tensor) {
    const auto upcast = renamed_.find(tensor);
    if (upcast == renamed_.end()) return builder_.ValueOf(tensor);
    Renamed& renamed = upcast->second;
    const bool inside =
        renamed.module.empty() || module_ == renamed.module || module_.starts_with(renamed.module + ".");
    renamed.used = renamed.used || inside;
    return inside || !renamed.used ? builder_.ValueOf(tensor) : renamed.original;
  }

  static std::string_view LineOf(const Node& node) {
    const std::string_view trace = node.provenance.stack_trace;
    return trace.substr(trace.rfind('\n') + 1);
  }
  static bool IsUpcast(const Node& node) {
    return node.attributes.Text(kCalledAs, "") == "float" || LineOf(node).find("torch.float") != std::string_view::npos;
  }
  static std::string ModuleOf(const ModulePath& path) { return path.empty() ? "" : path.back().path; }

  // positions.float() is fp32 in every precision. What the module casts back afterwards gets the type of what runs:
  // that of the first floats that the program made.
  void TakeOfIntegers(const Node& node, const ModulePath& path, AtenCall* call) {
    const bool upcast = !call->inputs.empty() && call->inputs.front().valid() && IsUpcast(node) &&
                        !IsFloating(builder_.At(call->inputs.front()).type) &&
                        builder_.At(call->outputs.front()).type == DType::kFloat32;
    if (!upcast) return;
    call->op = "float";
    if (first_floats_.valid()) upcasts_.emplace(ModuleOf(path), first_floats_);
  }

  // In an fp32 file conversions to fp32 are nothing, and in halves or under autocast they are something: x.float() and
  // x.to(torch.float32) are upcasts; x.type_as(y) and, behind an upcast, x.to(dtype) give back the type that was there.
  bool TakeConversion(const Node& node, const std::string& plain, const ModulePath& path, AtenCall* call) {
    if (!IsFloating(builder_.At(call->inputs.front()).type)) return false;
    if (plain == "aten.type_as.default" && node.inputs.size() > 1 && node.inputs[1].valid()) {
      call->op = "type_as";
      call->inputs.push_back(builder_.ValueOf(node.inputs[1]));
      return true;
    }
    if (plain != "aten.to.dtype") return false;
    const std::string module = ModuleOf(path);
    if (IsUpcast(node)) {
      call->op = "float";
      const Role role = builder_.At(call->inputs.front()).role;
      if (role == Role::kActivation || role == Role::kInput) upcasts_[module] = call->inputs.front();
      renamed_[node.outputs.front()] = {module, call->inputs.front()};
      return true;
    }
    const auto upcast = upcasts_.find(module);
    if (node.attributes.Text(kCalledAs, "") != "to" || upcast == upcasts_.end()) return false;
    call->op = "type_as";
    call->inputs.push_back(upcast->second);
    return true;
  }

  AtenCall NameArguments(const Node& node, const AtenTarget& target, const AtenRule* rule) {
    AtenCall call;
    if (rule == nullptr) {
      const std::string op = target.plain.substr(0, target.plain.find('.', target.plain.find('.') + 1));
      const size_t dot = op.find('.');
      call.op = dot == std::string::npos ? op : op.substr(0, dot) + "::" + op.substr(dot + 1);
      for (const TensorId input : node.inputs) {
        if (input.valid()) call.inputs.push_back(Read(input));
      }
      return call;
    }
    call.op = rule->op;
    const std::vector<AtenArgument> arguments = ParseAtenArguments(rule->arguments);
    for (size_t i = 0; i < arguments.size(); ++i) {
      std::vector<TensorId> operands = OperandsOf(node, std::to_string(i));
      if (operands.empty()) operands = OperandsOf(node, arguments[i].name);
      const AttributeValue* literal = LiteralOf(node, std::to_string(i));
      if (literal == nullptr) literal = LiteralOf(node, arguments[i].name);
      switch (arguments[i].kind) {
        case AtenArgument::Kind::kIgnored:
          break;
        case AtenArgument::Kind::kAttribute:
          if (literal != nullptr) call.attributes.Set(std::string(arguments[i].name), *literal);
          break;
        case AtenArgument::Kind::kTensors:
          for (const TensorId operand : operands) {
            if (operand.valid()) call.inputs.push_back(Read(operand));
          }
          break;
        case AtenArgument::Kind::kTensor:
          call.inputs.push_back(OperandOf(operands, literal, &call.attributes));
          break;
      }
    }
    while (call.inputs.size() > 1 && !call.inputs.back().valid()) call.inputs.pop_back();
    return call;
  }

  // A tensor, or nothing; a number in its place, also one in a tensor without axes, becomes "scalar".
  ValueId OperandOf(const std::vector<TensorId>& operands, const AttributeValue* literal, Attributes* attributes) {
    if (operands.empty() || !operands.front().valid()) {
      const bool number =
          literal != nullptr && (std::holds_alternative<int64_t>(*literal) || std::holds_alternative<double>(*literal));
      if (number) attributes->Set("scalar", *literal);
      return {};
    }
    const ValueId value = Read(operands.front());
    const Value& it = builder_.At(value);
    if (it.role != Role::kConstant || it.shape.rank() != 0) return value;
    attributes->Set("scalar", 1.0);
    return {};
  }

  // num_batches_tracked += 1: nothing is allocated and nothing is saved.
  bool WritesIntoStored(const Node& node, const AtenCall& call) {
    if (call.inputs.empty() || !call.inputs.front().valid() || node.inputs.empty()) return false;
    const Role role = builder_.At(call.inputs.front()).role;
    if (role != Role::kBuffer && role != Role::kParameter) return false;
    builder_.SetValueOf(node.outputs.front(), call.inputs.front());
    return true;
  }

  // x[a:b, c] = y writes into what the slices are views of, which is given back; at least into its own operand.
  TensorId TakeWrite(const Node& node, AtenCall* call) {
    if (node.inputs.empty() || !node.inputs.front().valid() || call->inputs.empty()) return {};
    TensorId whole = node.inputs.front();
    for (NodeId maker = graph_[whole].producer; maker.valid(); maker = graph_[whole].producer) {
      const Node& view = graph_[maker];
      const bool is_part = view.op == "aten.slice.Tensor" || view.op == "aten.select.int";
      if (!is_part || view.inputs.empty() || !view.inputs.front().valid()) break;
      whole = view.inputs.front();
    }
    const Value base = builder_.At(builder_.ValueOf(whole));
    call->op = "slice_scatter";
    call->inputs.front() = builder_.ValueOf(whole);
    call->outputs = {builder_.AddValue({.name = node.name, .type = base.type, .shape = base.shape})};
    return whole;
  }

  const Graph& graph_;
  LayerBuilder& builder_;
  struct Renamed {
    std::string module;
    ValueId original;
    bool used = false;
  };
  std::map<TensorId, Renamed> renamed_;  // by the result of an upcast
  std::string module_;                   // of the call at hand
  ValueId first_floats_;
  std::unordered_map<std::string, ValueId> upcasts_;  // of activations: the last one of each module
  std::string root_class_;
  std::unordered_map<std::string, Role> names_;
  std::set<TensorId> noise_;  // torch.empty(..).bernoulli_(p): noise from the start
};

}  // namespace

void LiftProgram(const Graph& graph, LayerBuilder& builder, std::vector<bool>* live) {
  if (!IsProgram(graph)) return;
  ProgramCalls(graph, builder).Run();
  live->assign(live->size(), false);
}

}  // namespace vramplan
