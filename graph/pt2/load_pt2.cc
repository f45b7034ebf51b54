#include "graph/pt2/load_pt2.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "graph/base/printable.h"
#include "graph/facts/read_facts.h"
#include "graph/ir/aten.h"
#include "graph/ir/shape.h"
#include "graph/pt2/archive.h"
#include "graph/pt2/program.h"

namespace vramplan {
namespace {

constexpr uint64_t kMostProgram = uint64_t{128} << 20;  // bytes; that of a model with 10,000 calls has 25 MB

// Where the parts lie (torch/csrc/export/pt2_archive_constants.h of PyTorch 2.8 to 2.10, behind the archive's own
// folder; torch/export/__init__.py of 2.3 to 2.7).
constexpr std::string_view kModels = "/models/", kOldProgram = "serialized_exported_program.json",
                           kWeights = "/data/weights/", kConfig = "_config.json";

bool IsModel(std::string_view name) {
  const size_t at = name.find(kModels);
  return name == kOldProgram || (at != name.npos && at == name.find('/') && name.ends_with(".json") &&
                                 name.find('/', at + kModels.size()) == name.npos);
}

class GraphOfProgram {
 public:
  GraphOfProgram(const std::string& name, const Program& program) : name_(name), program_(program) {}

  Result<Graph> Build() {
    graph_.file = name_;
    graph_.producer = "pytorch " + Printable(program_.torch_version);
    graph_.opsets["aten"] = program_.opset;
    Scope scope;
    for (const InputSpec& input : program_.inputs) AddInput(input, &scope);
    AddCalls(program_.graph, &scope);
    for (const std::string& output : program_.outputs) {
      const auto found = scope.find(output);
      if (found == scope.end()) Fail("returns '" + Printable(output) + "', which nothing makes");
      if (found != scope.end()) graph_.outputs.push_back(found->second);
    }
    if (graph_.nodes.empty()) Fail("has no calls");
    if (error_) return *error_;
    graph_.facts = TakeFacts();
    return std::move(graph_);
  }

 private:
  using Scope = std::unordered_map<std::string, TensorId>;

  void Fail(const std::string& text) {
    if (!error_)
      error_ = Error{ErrorCode::kBadInput, name_, "its program " + text, "export the model again with torch.export"};
  }

  std::string Unique(std::string_view name, std::unordered_set<std::string>* taken) {
    const std::string printable = name.empty() ? "unnamed" : Printable(name);
    std::string unique = printable;
    for (size_t count = ++repeats_[printable]; !taken->insert(unique).second; count = ++repeats_[printable])
      unique = printable + "_of_" + std::to_string(count);
    return unique;
  }

  TensorId AddTensor(Tensor tensor, std::string_view name) {
    tensor.name = Unique(name, &tensors_);
    graph_.tensors.push_back(std::move(tensor));
    return TensorId{static_cast<int32_t>(graph_.tensors.size()) - 1};
  }

  const TensorMeta* MetaOf(const ProgramGraph& in, const std::string& name) {
    const auto found = in.tensors.find(name);
    if (found == in.tensors.end()) {
      Fail("does not describe the tensor '" + Printable(name) + "'");
      return nullptr;
    }
    if (found->second.dims.size() > static_cast<size_t>(Shape::kMaxRank)) {
      Fail("has the tensor '" + Printable(name) + "' of " + std::to_string(found->second.dims.size()) +
           " axes; at most " + std::to_string(Shape::kMaxRank) + " are understood");
      return nullptr;
    }
    return &found->second;
  }

  void AddInput(const InputSpec& input, Scope* scope) {
    if (input.placeholder.empty()) return;
    const TensorMeta* meta = MetaOf(program_.graph, input.placeholder);
    if (meta == nullptr) return;
    Tensor tensor;
    if (input.kind == InputSpec::Kind::kUser) {
      tensor.declared = DeclaredType{.type = meta->type, .dims = meta->dims};
      const TensorId id = AddTensor(std::move(tensor), input.placeholder);
      scope->emplace(input.placeholder, id);
      graph_.inputs.push_back(id);
      return;
    }
    const bool is_parameter = input.kind == InputSpec::Kind::kParameter;
    const auto tied = program_.same_as.find(input.target);
    const auto first = tied == program_.same_as.end() ? stored_.end() : stored_.find(tied->second);
    StoredTensor stored{.type = meta->type, .literal = input.kind == InputSpec::Kind::kConstant};
    Dim elements(1);
    for (const DeclaredDim& dim : meta->dims) {
      if (!dim.length) Fail("has the weight '" + Printable(input.target) + "' of no fixed size");
      stored.dims.push_back(dim.length.value_or(0));
      elements = elements * Dim(stored.dims.back());
    }
    if (stored.type == DType::kUndefined || !elements.known())
      Fail("has the weight '" + Printable(input.target) + "' of a type or size that is not understood");
    RecordedTensor fact{
        .name = input.target, .type = stored.type, .shape = stored.dims, .trained = meta->requires_grad};
    tensor.stored = std::move(stored);
    const TensorId id = first != stored_.end() ? first->second : AddTensor(std::move(tensor), input.target);
    fact.name = first != stored_.end() ? Printable(input.target) : graph_[id].name;
    if (first != stored_.end()) fact.same_as = graph_[id].name;
    stored_.emplace(input.target, id);
    scope->emplace(input.placeholder, id);
    if (input.kind == InputSpec::Kind::kConstant) return;
    (is_parameter ? parameters_ : buffers_).push_back(std::move(fact));
  }

  TensorId Read(const std::string& name, const Scope& scope) {
    if (name.empty()) return {};
    const auto found = scope.find(name);
    if (found == scope.end()) Fail("reads '" + Printable(name) + "', which nothing has made");
    return found == scope.end() ? TensorId{} : found->second;
  }

  // Attributes and operands under the numbers of positional arguments and the names of the others.
  void AddArgument(const std::string& label, const ProgramArgument& value, const Scope& scope, Node* node,
                   std::vector<std::string>* operands) {
    using enum ProgramArgument::Kind;
    switch (value.kind) {
      case kTensor:
      case kTensors:
        for (const std::string& name : value.names) {
          node->inputs.push_back(Read(name, scope));
          operands->push_back(label);
        }
        return;
      case kInt:
        return node->attributes.Set(label, value.ints.front());
      case kReal:
        return node->attributes.Set(label, value.reals.front());
      case kText:
        return node->attributes.Set(label, Printable(value.names.front()));
      case kInts:
        return node->attributes.Set(label, value.ints);
      case kReals:
        return node->attributes.Set(label, value.reals);
      case kNone:
      case kNumber:
      case kGraph:
        return;
    }
  }

  void AddCalls(const ProgramGraph& in, Scope* scope) {
    for (const ProgramCall& call : in.calls) {
      if (error_) return;
      if (call.target.starts_with("higher_order.wrap_with")) {
        AddInlined(call, scope);
      } else {
        AddCall(in, call, scope);
      }
    }
  }

  void AddCall(const ProgramGraph& in, const ProgramCall& call, Scope* scope) {
    if (call.target.empty()) return Fail("has a call without a target");
    Node node{.op = Printable(call.target), .domain = std::string(kTorchDomain)};
    std::vector<std::string> operands;
    size_t position = 0;
    for (const NamedArgument& argument : call.arguments) {
      const std::string label = argument.keyword ? Printable(argument.name) : std::to_string(position++);
      AddArgument(label, argument.value, *scope, &node, &operands);
    }
    const NodeId id{static_cast<int32_t>(graph_.nodes.size())};
    std::vector<std::pair<std::string, TensorId>> made;
    for (const ProgramArgument& output : call.outputs) {
      if (output.kind != ProgramArgument::Kind::kTensor && output.kind != ProgramArgument::Kind::kTensors) continue;
      for (const std::string& name : output.names) {
        const TensorMeta* meta = name.empty() ? nullptr : MetaOf(in, name);
        if (meta == nullptr) continue;
        const TensorId tensor =
            AddTensor({.producer = id, .declared = DeclaredType{.type = meta->type, .dims = meta->dims}}, name);
        node.outputs.push_back(tensor);
        made.emplace_back(name, tensor);
      }
    }
    if (node.outputs.empty()) return;  // an assertion, or a length that the host computes
    for (auto& [name, tensor] : made) scope->insert_or_assign(name, tensor);
    node.name = Unique(graph_[node.outputs.front()].name, &nodes_);
    if (!operands.empty()) node.attributes.Set(kOperands, std::move(operands));
    if (call.target.starts_with("aten.to.") && !call.called_as.empty())
      node.attributes.Set(kCalledAs, Printable(call.called_as));
    node.provenance.stack_trace = call.stack_trace;
    node.provenance.name_scopes = call.modules;
    for (const char* flag : {"training", "train"}) NoteMode(call, flag);
    graph_.nodes.push_back(std::move(node));
  }

  // wrap_with_set_grad_enabled(False, body, x, y) and wrap_with_autocast("cuda", None, False, None, body, x): the calls
  // of the body, on what is behind it. Under no_grad nothing is saved: the body reads detached tensors.
  void AddInlined(const ProgramCall& call, Scope* scope) {
    const bool no_grad = call.target.find("set_grad_enabled") != std::string::npos && !call.arguments.empty() &&
                         call.arguments.front().value.kind == ProgramArgument::Kind::kInt &&
                         call.arguments.front().value.ints.front() == 0;
    const ProgramGraph* body = nullptr;
    std::vector<TensorId> given;
    for (const NamedArgument& argument : call.arguments) {
      if (argument.value.kind == ProgramArgument::Kind::kGraph) {
        body = argument.value.graph.get();
      } else if (body != nullptr) {
        const TensorId tensor = argument.value.kind == ProgramArgument::Kind::kTensor
                                    ? Read(argument.value.names.front(), *scope)
                                    : TensorId{};
        given.push_back(no_grad ? Detached(tensor, call) : tensor);
      }
    }
    if (body == nullptr) return Fail("has a call of " + Printable(call.target) + " without a body");
    Scope inside;
    for (size_t i = 0; i < body->inputs.size() && i < given.size(); ++i) {
      if (given[i].valid() && !body->inputs[i].names.empty()) inside.emplace(body->inputs[i].names.front(), given[i]);
    }
    AddCalls(*body, &inside);
    std::vector<std::string> names;
    for (const ProgramArgument& output : call.outputs) {
      if (output.kind == ProgramArgument::Kind::kTensor || output.kind == ProgramArgument::Kind::kTensors)
        names.insert(names.end(), output.names.begin(), output.names.end());
    }
    std::vector<std::string> returned;
    for (const ProgramArgument& output : body->outputs)
      returned.insert(returned.end(), output.names.begin(), output.names.end());
    for (size_t i = 0; i < names.size() && i < returned.size(); ++i) {
      if (const TensorId tensor = Read(returned[i], inside); tensor.valid()) scope->insert_or_assign(names[i], tensor);
    }
  }

  TensorId Detached(TensorId tensor, const ProgramCall& call) {
    if (!tensor.valid() || graph_[tensor].stored) return tensor;
    const NodeId id{static_cast<int32_t>(graph_.nodes.size())};
    Tensor detached{.producer = id, .declared = graph_[tensor].declared};
    Node node{.op = "aten.detach.default", .domain = std::string(kTorchDomain), .inputs = {tensor}};
    node.outputs = {AddTensor(std::move(detached), graph_[tensor].name + "_detached")};
    node.name = Unique(graph_[node.outputs.front()].name, &nodes_);
    node.attributes.Set(kOperands, std::vector<std::string>{"0"});
    node.provenance.stack_trace = call.stack_trace;
    node.provenance.name_scopes = call.modules;
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.back().outputs.front();
  }

  // dropout(x, p, train) and batch_norm(.., training, ..) say whether the model was in train().
  void NoteMode(const ProgramCall& call, std::string_view flag) {
    for (const NamedArgument& argument : call.arguments) {
      if (argument.name == flag && argument.value.kind == ProgramArgument::Kind::kInt)
        (argument.value.ints.front() != 0 ? trains_ : evaluates_) = true;
    }
  }

  Facts TakeFacts() {
    Facts facts;
    if (trains_ || evaluates_) facts.training = trains_;
    facts.parameters = std::move(parameters_);
    facts.buffers = std::move(buffers_);
    return facts;
  }

  const std::string& name_;
  const Program& program_;
  Graph graph_;
  std::optional<Error> error_;
  std::unordered_map<std::string, size_t> repeats_;
  std::unordered_set<std::string> tensors_, nodes_;   // names
  std::unordered_map<std::string, TensorId> stored_;  // by target
  std::vector<RecordedTensor> parameters_, buffers_;
  bool trains_ = false, evaluates_ = false;
};

// What a file of the user's facts says wins over what the program says.
Status TakeOwnFacts(const std::string& name, const Archive& archive, Graph* graph) {
  for (const ArchiveEntry& entry : archive.entries()) {
    if (!entry.name.ends_with("/" + std::string(kFactsKey))) continue;
    const Result<std::string> text = archive.Read(entry, kMaxFacts);
    if (!text.ok()) return text.error();
    Result<Facts> facts = ReadFacts(*text);
    if (!facts.ok()) {
      Error error = facts.error();
      error.subject = name;
      return error;
    }
    Facts& of_program = *graph->facts;
    if (!facts->parameters || !facts->buffers) {
      facts->parameters = std::move(of_program.parameters);
      facts->buffers = std::move(of_program.buffers);
    }
    if (!facts->training) facts->training = of_program.training;
    graph->facts = *std::move(facts);
  }
  return Done();
}

}  // namespace

bool IsProgramArchive(std::string_view bytes) {
  if (!IsArchive(bytes)) return false;
  const Result<Archive> archive = Archive::Open("", bytes);
  return archive.ok() && std::ranges::any_of(archive->entries(), [](const ArchiveEntry& e) { return IsModel(e.name); });
}

Result<Graph> LoadProgram(const std::string& name, std::string_view bytes, Notes* notes) {
  const Result<Archive> archive = Archive::Open(name, bytes);
  if (!archive.ok()) return archive.error();
  std::vector<const ArchiveEntry*> models;
  for (const ArchiveEntry& entry : archive->entries()) {
    if (IsModel(entry.name)) models.push_back(&entry);
  }
  if (models.empty()) return Error{ErrorCode::kBadInput, name, "it holds no program of torch.export", ""};
  if (models.size() > 1 && notes != nullptr)
    notes->Add({"several-programs", Severity::kWarning, name,
                "it holds " + std::to_string(models.size()) + " programs, of which " + Printable(models.front()->name) +
                    " is read",
                "save each in a file of its own"});
  const Result<std::string> text = archive->Read(*models.front(), kMostProgram);
  if (!text.ok()) return text.error();
  Result<Program> program = ReadProgram(name, *text);
  if (!program.ok()) return program.error();
  for (const ArchiveEntry& entry : archive->entries()) {
    if (entry.name.find(kWeights) == entry.name.npos || !entry.name.ends_with(kConfig)) continue;
    if (const Result<std::string> config = archive->Read(entry, kMostProgram); config.ok())
      ReadTies(*config, &*program);
  }
  Result<Graph> graph = GraphOfProgram(name, *program).Build();
  if (!graph.ok()) return graph.error();
  if (const Status facts = TakeOwnFacts(name, *archive, &*graph); !facts.ok()) return facts.error();
  return graph;
}

std::optional<Facts> FactsInProgram(std::string_view bytes) {
  const Result<Archive> archive = Archive::Open("", bytes);
  if (!archive.ok()) return std::nullopt;
  Graph none;
  none.facts.emplace();
  return TakeOwnFacts("", *archive, &none).ok() ? none.facts : std::nullopt;
}

}  // namespace vramplan
