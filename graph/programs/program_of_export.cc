#include "graph/programs/program_of_export.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "graph/base/text.h"
#include "graph/ir/aten.h"
#include "graph/programs/aten.h"
#include "graph/programs/aten_target.h"

namespace vramplan {
namespace {

RecordedArgument ArgumentOf(const AttributeValue& value) {
  using enum RecordedArgument::Kind;
  RecordedArgument argument;
  if (const auto* integer = std::get_if<int64_t>(&value)) argument = {.kind = kInt, .integer = *integer};
  if (const auto* real = std::get_if<double>(&value)) argument = {.kind = kReal, .real = *real};
  if (const auto* text = std::get_if<std::string>(&value)) argument = {.kind = kText, .text = *text};
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&value)) {
    argument.kind = kList;
    for (const int64_t integer : *integers) argument.items.push_back({.kind = kInt, .integer = integer});
  }
  if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
    argument.kind = kList;
    for (const double real : *reals) argument.items.push_back({.kind = kReal, .real = real});
  }
  return argument;
}

RecordedArgument ValueArgument(int32_t value) {
  return value < 0 ? RecordedArgument{}
                   : RecordedArgument{.kind = RecordedArgument::Kind::kValue, .integer = int64_t{value}};
}

class Export {
 public:
  Export(const Graph& graph, const Shapes& shapes)
      : graph_(graph), shapes_(shapes), numbers_(graph.tensors.size(), RecordedProgram::kAbsent) {}

  RecordedProgram Take() {
    for (const auto* list : {&graph_.facts->parameters, &graph_.facts->buffers}) {
      if (!*list) continue;
      for (const RecordedTensor& tensor : **list) listed_.insert(tensor.name);
    }
    for (const TensorId input : graph_.inputs) program_.given.push_back({graph_[input].name, NumberOf(input)});
    for (size_t t = 0; t < graph_.tensors.size(); ++t) {
      const TensorId tensor{static_cast<int32_t>(t)};
      if (IsListed(tensor)) program_.stored.push_back({graph_[tensor].name, NumberOf(tensor)});
    }
    for (const Node& node : graph_.nodes) {
      const AtenTarget target = ReadAtenTarget(node.op);
      if (target.in_place && IsNoise(target.plain) && !node.inputs.empty()) noise_.insert(node.inputs.front());
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) TakeNode(NodeId{static_cast<int32_t>(n)});
    for (const TensorId output : graph_.outputs) program_.returned.push_back(NumberOf(output));
    return std::move(program_);
  }

 private:
  using Call = RecordedProgram::Call;

  bool IsListed(TensorId tensor) const { return graph_[tensor].stored && listed_.contains(graph_[tensor].name); }

  int32_t Add(DType type, Shape shape, std::string name) {
    program_.values.push_back({type, shape, std::move(name)});
    return static_cast<int32_t>(program_.values.size()) - 1;
  }

  int32_t& Number(TensorId tensor) { return numbers_[static_cast<size_t>(tensor.value)]; }

  // The value that a tensor is now.
  int32_t NumberOf(TensorId tensor) {
    if (!tensor.valid()) return RecordedProgram::kAbsent;
    int32_t& number = Number(tensor);
    if (number >= 0) return number;
    const TensorFacts& facts = shapes_[tensor];
    const auto& stored = graph_[tensor].stored;
    Shape shape{Dim::Unknown()};  // not even the rank is known
    if (facts.shape) {
      shape = *facts.shape;
    } else if (stored) {
      shape = Shape();
      for (const int64_t length : stored->dims) shape.Append(length);
    }
    const DType type = facts.type == DType::kUndefined && stored ? stored->type : facts.type;
    number = Add(type, shape, graph_[tensor].name);
    if (stored && !IsListed(tensor)) program_.loose.push_back(number);
    return number;
  }
  const RecordedProgram::Tensor& At(int32_t value) const { return program_.values[static_cast<size_t>(value)]; }
  DType TypeOf(TensorId tensor) { return At(NumberOf(tensor)).type; }

  // A constant without axes is a number of the host, and so is what is computed of such numbers and has no axes:
  // lift_fresh_copy, detach_.
  bool IsHostNumber(TensorId tensor) {
    if (!tensor.valid()) return false;
    if (host_numbers_.contains(tensor)) return true;
    return graph_[tensor].stored && !IsListed(tensor) && At(NumberOf(tensor)).shape.rank() == 0;
  }

  // "L__self__,,net.Net;L__self___fc,fc,torch.nn.modules.linear.Linear"; paths may hold commas inside of brackets.
  int32_t ModuleOf(std::string_view text) {
    int32_t module = RecordedProgram::kAbsent;
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
      const std::string path(entry.substr(first + 1, last - first - 1));
      const auto [found, is_new] =
          modules_.emplace(std::pair(module, path), static_cast<int32_t>(program_.modules.size()));
      if (is_new) program_.modules.push_back({path, std::string(entry.substr(last + 1)), module});
      module = found->second;
    }
    return module;
  }
  std::string PathOf(int32_t module) const {
    return module < 0 ? "" : program_.modules[static_cast<size_t>(module)].path;
  }

  void TakeNode(NodeId id) {
    const Node& node = graph_[id];
    const AtenTarget target = ReadAtenTarget(node.op);
    if (IsHostTarget(target.plain) || node.outputs.empty()) return;
    if (node.outputs.size() == 1 && At(NumberOf(node.outputs.front())).shape.rank() == 0 && !node.inputs.empty() &&
        std::ranges::all_of(node.inputs, [&](TensorId input) { return IsHostNumber(input); })) {
      host_numbers_.insert(node.outputs.front());
      Number(node.outputs.front()) = NumberOf(node.inputs.front());
      return;
    }
    const int32_t module = ModuleOf(node.provenance.name_scopes);
    module_ = PathOf(module);
    if (target.plain == "aten.broadcast_tensors.default") return TakeBroadcast(id, module);
    // num_batches_tracked += 1, and torch.empty(..).bernoulli_(p): nothing is allocated and nothing is saved.
    if (target.in_place && !node.inputs.empty() && node.inputs.front().valid() &&
        (IsListed(node.inputs.front()) || IsNoise(target.plain))) {
      Number(node.outputs.front()) = NumberOf(node.inputs.front());
      return;
    }
    Call call{.target = node.op, .module = module, .name = node.name, .node = id.value};
    NameArguments(node, &call);
    TensorId into = target.in_place && !node.inputs.empty() ? node.inputs.front() : TensorId{};
    if (target.in_place && target.plain == "aten.copy.default" && into.valid()) {
      into = WholeOf(into);
      call.keywords.emplace_back("of", ValueArgument(NumberOf(into)));
      const RecordedProgram::Tensor whole = At(NumberOf(into));
      call.results = {Add(whole.type, whole.shape, node.name)};
      Number(node.outputs.front()) = call.results.front();
    } else {
      for (const TensorId output : node.outputs) call.results.push_back(NumberOf(output));
    }
    if (target.plain == "aten.outer.default") MakeColumn(&call);
    if (noise_.contains(node.outputs.front()) && target.plain.find("empty") != std::string::npos) {
      call.target = "aten.bernoulli.default";
      call.arguments.clear();
      if (!node.inputs.empty()) call.keywords.emplace_back("like", ValueArgument(NumberOf(node.inputs.front())));
    }
    TakeConversion(node, target.plain, &call);
    if (!first_floats_ && IsFloating(At(call.results.front()).type)) first_floats_ = call.results.front();
    const int32_t written = call.results.size() == 1 ? call.results.front() : RecordedProgram::kAbsent;
    program_.calls.push_back(std::move(call));
    if (into.valid() && written >= 0) Number(into) = written;
  }

  static bool IsNoise(std::string_view plain) {
    return plain.starts_with("aten.bernoulli.") || plain.starts_with("aten.uniform.") ||
           plain.starts_with("aten.normal.") || plain.starts_with("aten.exponential.");
  }

  // The arguments by position, then those by name (graph/ir/aten.h).
  void NameArguments(const Node& node, Call* call) {
    const AtenRule* rule = FindAtenRule(ReadAtenTarget(node.op).plain);
    const std::vector<AtenArgument> named =
        rule == nullptr ? std::vector<AtenArgument>() : ParseAtenArguments(rule->arguments);
    const auto place = [&](const std::string& label) -> RecordedArgument& {
      const bool is_position = IsNumber(label) && label.size() < 4;
      if (!is_position) {
        for (auto& [name, argument] : call->keywords) {
          if (name == label) return argument;
        }
        return call->keywords.emplace_back(label, RecordedArgument{}).second;
      }
      const size_t position = std::strtoul(label.c_str(), nullptr, 10);
      if (call->arguments.size() <= position) call->arguments.resize(position + 1);
      return call->arguments[position];
    };
    for (const auto& [label, value] : node.attributes.all()) {
      if (label != kOperands && label != kCalledAs) place(label) = ArgumentOf(value);
    }
    const auto* labels = node.attributes.Get<std::vector<std::string>>(kOperands);
    for (size_t i = 0; labels != nullptr && i < labels->size() && i < node.inputs.size(); ++i) {
      const std::string& label = (*labels)[i];
      RecordedArgument& argument = place(label);
      const TensorId tensor = node.inputs[i];
      const bool more = (i > 0 && (*labels)[i - 1] == label) || (i + 1 < labels->size() && (*labels)[i + 1] == label);
      const bool is_list = more || std::ranges::any_of(named, [&](const AtenArgument& one) {
                             const bool same = label == one.name || label == std::to_string(&one - named.data());
                             return same && one.kind == AtenArgument::Kind::kTensors;
                           });
      RecordedArgument operand = ValueArgument(tensor.valid() ? Read(tensor) : RecordedProgram::kAbsent);
      if (!is_list && rule != nullptr && IsHostNumber(tensor))
        operand = {.kind = RecordedArgument::Kind::kReal, .real = 1.0};
      if (is_list) argument.kind = RecordedArgument::Kind::kList;
      if (is_list) {
        argument.items.push_back(std::move(operand));
      } else {
        argument = std::move(operand);
      }
    }
  }

  // Expands those operands that are smaller than the result.
  void TakeBroadcast(NodeId id, int32_t module) {
    const Node& node = graph_[id];
    for (size_t i = 0; i < node.outputs.size() && i < node.inputs.size(); ++i) {
      const int32_t from = NumberOf(node.inputs[i]), to = NumberOf(node.outputs[i]);
      if (At(from).shape == At(to).shape) {
        Number(node.outputs[i]) = from;
        continue;
      }
      program_.calls.push_back({.target = "aten.expand.default",
                                .module = module,
                                .arguments = {ValueArgument(from)},
                                .results = {to},
                                .name = node.name,
                                .node = id.value});
    }
  }

  // outer(a, b) is a.reshape({n, 1}) * b (aten/src/ATen/native/LinearAlgebra.cpp, PyTorch 2.10).
  void MakeColumn(Call* call) {
    if (call->arguments.empty() || call->arguments.front().kind != RecordedArgument::Kind::kValue) return;
    RecordedProgram::Tensor column = At(static_cast<int32_t>(call->arguments.front().integer));
    column.shape.Append(1);
    Call reshape{.target = "aten.reshape.default",
                 .module = call->module,
                 .arguments = {call->arguments.front()},
                 .name = call->name + ".column",
                 .node = call->node};
    reshape.results = {Add(column.type, column.shape, reshape.name)};
    call->target = "aten.mul.Tensor";
    call->arguments.front() = ValueArgument(reshape.results.front());
    program_.calls.push_back(std::move(reshape));
  }

  // x.float() of an fp32 tensor gives back x, so the export calls x by the new name from then on, wherever it is read.
  // Behind the module that asked for fp32 it is x that is meant, if the module itself used what it asked for.
  int32_t Read(TensorId tensor) {
    const auto upcast = renamed_.find(tensor);
    if (upcast == renamed_.end()) return NumberOf(tensor);
    Renamed& renamed = upcast->second;
    const bool inside =
        renamed.module.empty() || module_ == renamed.module || module_.starts_with(renamed.module + ".");
    renamed.used = renamed.used || inside;
    return inside || !renamed.used ? NumberOf(tensor) : renamed.original;
  }

  static bool IsUpcast(const Node& node) {
    const std::string_view trace = node.provenance.stack_trace;
    const std::string_view line = trace.substr(trace.rfind('\n') + 1);
    return node.attributes.Text(kCalledAs, "") == "float" || line.find("torch.float") != std::string_view::npos;
  }

  // In an fp32 file conversions to fp32 are nothing, and in halves or under autocast they are something: x.float() and
  // x.to(torch.float32) are upcasts; x.type_as(y) and, behind an upcast, x.to(dtype) give back the type that was there.
  // positions.float() is fp32 in every precision; what the module casts back afterwards gets the type of what runs: that
  // of the first floats that the program made.
  void TakeConversion(const Node& node, const std::string& plain, Call* call) {
    if (plain != "aten.to.dtype" && plain != "aten.type_as.default") return;
    if (call->arguments.empty() || call->arguments.front().kind != RecordedArgument::Kind::kValue) return;
    const auto from = static_cast<int32_t>(call->arguments.front().integer);
    const DType type = At(from).type, made = TypeOf(node.outputs.front());
    const RecordedArgument upcast{.kind = RecordedArgument::Kind::kText, .text = "float"};
    if (!IsFloating(type)) {
      if (plain != "aten.to.dtype" || made != DType::kFloat32 || !IsUpcast(node)) return;
      call->keywords.emplace_back("amp", upcast);
      if (first_floats_) upcasts_.emplace(module_, *first_floats_);
    } else if (type != made) {
      return;
    } else if (plain == "aten.type_as.default") {
      if (node.inputs.size() > 1 && node.inputs[1].valid())
        call->keywords.emplace_back("amp", ValueArgument(NumberOf(node.inputs[1])));
    } else if (IsUpcast(node)) {
      call->keywords.emplace_back("amp", upcast);
      if (!graph_[node.inputs.front()].stored) upcasts_[module_] = from;
      renamed_[node.outputs.front()] = {module_, from};
    } else if (const auto back = upcasts_.find(module_);
               back != upcasts_.end() && node.attributes.Text(kCalledAs, "") == "to") {
      call->keywords.emplace_back("amp", ValueArgument(back->second));
    }
  }

  // x[a:b, c] = y writes into what the slices are views of.
  TensorId WholeOf(TensorId part) const {
    for (NodeId maker = graph_[part].producer; maker.valid(); maker = graph_[part].producer) {
      const Node& view = graph_[maker];
      const bool is_part = view.op == "aten.slice.Tensor" || view.op == "aten.select.int";
      if (!is_part || view.inputs.empty() || !view.inputs.front().valid()) break;
      part = view.inputs.front();
    }
    return part;
  }

  struct Renamed {
    std::string module;
    int32_t original = RecordedProgram::kAbsent;
    bool used = false;
  };
  const Graph& graph_;
  const Shapes& shapes_;
  RecordedProgram program_;
  std::vector<int32_t> numbers_;  // by tensor: the value that it is now
  std::unordered_set<std::string> listed_;
  std::set<TensorId> host_numbers_, noise_;  // torch.empty(..).bernoulli_(p): noise from the start
  std::map<std::pair<int32_t, std::string>, int32_t> modules_;
  std::map<TensorId, Renamed> renamed_;  // by the result of an upcast
  std::string module_;                   // path of that of the call at hand
  std::optional<int32_t> first_floats_;
  std::unordered_map<std::string, int32_t> upcasts_;  // of activations: the last one of each module
};

}  // namespace

RecordedProgram ProgramOfExport(const Graph& graph, const Shapes& shapes) { return Export(graph, shapes).Take(); }

}  // namespace vramplan
