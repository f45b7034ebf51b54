#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "graph/pt2/expression.h"
#include "graph/pt2/program.h"

namespace vramplan {
namespace {

using nlohmann::json;

constexpr int kDeepestProgram = 128;  // higher-order operators nest their graphs, four levels each

constexpr const char* kExportAgain = "export the model again with torch.export.save";

// Levels of lists and objects, in one look over the text: before anything recurses over it.
bool IsDeep(std::string_view text) {
  int depth = 0;
  bool in_text = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text && c == '\\') ++i;
    if (c == '"') in_text = !in_text;
    if (in_text) continue;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth > kDeepestProgram) return true;
  }
  return false;
}

// torch/_export/serde/schema.py, ScalarType.
DType TypeOfScalar(int64_t number) {
  switch (number) {
    case 1:
      return DType::kUint8;
    case 2:
      return DType::kInt8;
    case 3:
      return DType::kInt16;
    case 4:
      return DType::kInt32;
    case 5:
      return DType::kInt64;
    case 6:
      return DType::kFloat16;
    case 7:
      return DType::kFloat32;
    case 8:
      return DType::kFloat64;
    case 10:
      return DType::kComplex64;
    case 11:
      return DType::kComplex128;
    case 12:
      return DType::kBool;
    case 13:
      return DType::kBFloat16;
    case 28:
      return DType::kUint16;
    case 29:
      return DType::kFloat8E4M3FN;
    case 30:
      return DType::kFloat8E5M2;
    case 31:
      return DType::kFloat8E4M3FNUZ;
    case 32:
      return DType::kFloat8E5M2FNUZ;
    default:
      return DType::kUndefined;
  }
}

// Looks into the tree; the first thing that is not as the schema has it is kept.
class ProgramReader {
 public:
  explicit ProgramReader(std::string name) : name_(std::move(name)) {}
  const std::optional<Error>& error() const { return error_; }

  void Fail(const std::string& text) {
    if (!error_) error_ = Error{ErrorCode::kBadInput, name_, "its program " + text, kExportAgain};
  }
  static const json& Find(const json& object, const char* member) {
    static const json kNothing;
    if (!object.is_object()) return kNothing;
    const auto found = object.find(member);
    return found == object.end() ? kNothing : *found;
  }
  const json& List(const json& object, const char* member) {
    static const json kEmpty = json::array();
    const json& found = Find(object, member);
    if (!found.is_array()) Fail(std::string("has no list ") + member);
    return found.is_array() ? found : kEmpty;
  }
  static std::string Text(const json& object, const char* member) {
    const json& found = Find(object, member);
    return found.is_string() ? found.get<std::string>() : std::string();
  }
  static int64_t Whole(const json& value) { return value.is_number_integer() ? value.get<int64_t>() : 0; }

  TensorMeta Tensor(const json& meta) {
    TensorMeta tensor{.type = TypeOfScalar(Whole(Find(meta, "dtype")))};
    for (const json& size : List(meta, "sizes")) {
      const json &plain = Find(size, "as_int"), &expression = Find(size, "as_expr");
      DeclaredDim dim;
      if (plain.is_number_integer() && plain.get<int64_t>() >= 0) dim.length = plain.get<int64_t>();
      if (expression.is_object()) dim.symbol = PlainLength(Text(expression, "expr_str"));
      tensor.dims.push_back(std::move(dim));
    }
    const json& grad = Find(meta, "requires_grad");
    tensor.requires_grad = grad.is_boolean() && grad.get<bool>();
    return tensor;
  }

  ProgramArgument Argument(const json& argument) {
    using enum ProgramArgument::Kind;
    ProgramArgument read;
    if (!argument.is_object() || argument.empty()) return read;
    const std::string key = argument.begin().key();
    const json& value = argument.begin().value();
    if (key == "as_tensor" || (key == "as_optional_tensor" && Find(value, "as_tensor").is_object())) {
      read.kind = kTensor;
      read.names = {Text(key == "as_tensor" ? value : Find(value, "as_tensor"), "name")};
    } else if ((key == "as_tensors" || key == "as_optional_tensors") && value.is_array()) {
      read.kind = kTensors;
      for (const json& one : value)
        read.names.push_back(Text(key == "as_tensors" ? one : Find(one, "as_tensor"), "name"));
    } else if (key == "as_int" && value.is_number_integer()) {
      read.kind = kInt;
      read.ints = {value.get<int64_t>()};
    } else if (key == "as_bool" && value.is_boolean()) {
      read.kind = kInt;
      read.ints = {value.get<bool>() ? 1 : 0};
    } else if (key == "as_float") {
      read.kind = kReal;
      read.reals = {Real(value)};
    } else if (key == "as_string" && value.is_string()) {
      read.kind = kText;
      read.names = {value.get<std::string>()};
    } else if ((key == "as_ints" || key == "as_bools") && value.is_array()) {
      read.kind = kInts;
      for (const json& one : value) read.ints.push_back(one.is_boolean() ? one.get<bool>() : Whole(one));
    } else if (key == "as_floats" && value.is_array()) {
      read.kind = kReals;
      for (const json& one : value) read.reals.push_back(Real(one));
    } else if (key == "as_sym_ints" && value.is_array()) {
      read.kind = kInts;
      for (const json& one : value) {
        const json& plain = Find(one, "as_int");
        if (!plain.is_number_integer()) read.kind = kNumber;
        read.ints.push_back(Whole(plain));
      }
    } else if (key == "as_sym_int" || key == "as_sym_float" || key == "as_sym_bool") {
      const json& plain = Find(value, "as_int");
      read.kind = plain.is_number_integer() ? kInt : kNumber;
      if (read.kind == kInt) read.ints = {plain.get<int64_t>()};
      if (read.kind == kNumber) read.names = {Text(value, "as_name")};
    } else if (key == "as_graph") {
      read.kind = kGraph;
      read.graph = std::make_shared<ProgramGraph>(Graph(Find(value, "graph")));
    }
    return read;
  }

  // inf and nan are texts.
  static double Real(const json& value) {
    if (value.is_number()) return value.get<double>();
    if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
    return value == "NaN" ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  }

  std::vector<ProgramArgument> Arguments(const json& object, const char* member) {
    std::vector<ProgramArgument> arguments;
    for (const json& one : List(object, member)) arguments.push_back(Argument(one));
    return arguments;
  }

  ProgramCall Call(const json& node) {
    ProgramCall call{.target = Text(node, "target")};
    if (call.target.starts_with("torch.ops.")) call.target.erase(0, std::string_view("torch.ops.").size());
    for (const json& input : List(node, "inputs")) {
      NamedArgument argument{.name = Text(input, "name"), .value = Argument(Find(input, "arg"))};
      argument.keyword = IsKeyword(argument.name, Find(input, "kind"));
      call.arguments.push_back(std::move(argument));
    }
    call.outputs = Arguments(node, "outputs");
    const json& metadata = Find(node, "metadata");
    call.stack_trace = Text(metadata, "stack_trace");
    const std::string function = Text(metadata, "torch_fn");
    call.called_as = function.substr(function.rfind('.') + 1);
    call.modules = Text(metadata, "nn_module_stack");
    return call;
  }

  // Files before schema 8.8 do not say the kind: then those that every schema has behind its star are.
  static bool IsKeyword(const std::string& name, const json& kind) {
    constexpr int64_t kPositional = 1;
    if (kind.is_number_integer()) return kind.get<int64_t>() != kPositional;
    constexpr std::string_view kBehindTheStar[] = {"dtype", "layout",        "device",   "pin_memory", "memory_format",
                                                   "alpha", "approximate",   "scale",    "enable_gqa", "implicit",
                                                   "value", "rounding_mode", "generator"};
    return std::find(std::begin(kBehindTheStar), std::end(kBehindTheStar), name) != std::end(kBehindTheStar);
  }

  ProgramGraph Graph(const json& graph) {
    ProgramGraph read;
    read.inputs = Arguments(graph, "inputs");
    read.outputs = Arguments(graph, "outputs");
    for (const json& node : List(graph, "nodes")) read.calls.push_back(Call(node));
    const json& tensors = Find(graph, "tensor_values");
    if (!tensors.is_object()) Fail("says nothing about its tensors (tensor_values)");
    if (tensors.is_object()) {
      for (const auto& [name, meta] : tensors.items()) read.tensors.emplace(name, Tensor(meta));
    }
    return read;
  }

  InputSpec Input(const json& spec) {
    InputSpec read;
    if (!spec.is_object() || spec.empty()) return read;
    const std::string key = spec.begin().key();
    const json& value = spec.begin().value();
    const json& argument = Find(value, "arg");
    if (key == "parameter" || key == "buffer" || key == "tensor_constant") {
      using enum InputSpec::Kind;
      read.kind = key == "parameter" ? kParameter : key == "buffer" ? kBuffer : kConstant;
      read.placeholder = Text(argument, "name");
      read.target = Text(value, (key + "_name").c_str());
      if (read.placeholder.empty() || read.target.empty()) Fail("has a " + key + " without a name");
    } else if (key == "user_input") {
      read.placeholder = Text(Find(argument, "as_tensor"), "name");
    }
    return read;
  }

 private:
  std::string name_;
  std::optional<Error> error_;
};

}  // namespace

Result<Program> ReadProgram(const std::string& name, const std::string& text) {
  ProgramReader reader(name);
  if (IsDeep(text)) reader.Fail("is nested more than " + std::to_string(kDeepestProgram) + " levels deep");
  if (reader.error()) return *reader.error();
  const json root = json::parse(text, nullptr, false);
  if (root.is_discarded()) reader.Fail("is not JSON");
  if (!root.is_discarded() && !ProgramReader::Find(root, "graph_module").is_object())
    reader.Fail("has no graph_module");
  if (reader.error()) return *reader.error();
  const json& module = ProgramReader::Find(root, "graph_module");
  const json& signature = ProgramReader::Find(module, "signature");
  Program program;
  program.graph = reader.Graph(ProgramReader::Find(module, "graph"));
  for (const json& spec : reader.List(signature, "input_specs")) program.inputs.push_back(reader.Input(spec));
  for (const json& spec : reader.List(signature, "output_specs")) {
    for (const char* kind : {"user_output", "loss_output"}) {
      const std::string output = ProgramReader::Text(
          ProgramReader::Find(ProgramReader::Find(ProgramReader::Find(spec, kind), "arg"), "as_tensor"), "name");
      if (!output.empty()) program.outputs.push_back(output);
    }
  }
  program.torch_version = ProgramReader::Text(root, "torch_version");
  program.opset = ProgramReader::Whole(ProgramReader::Find(ProgramReader::Find(root, "opset_version"), "aten"));
  if (reader.error()) return *reader.error();
  return program;
}

void ReadTies(const std::string& text, Program* program) {
  if (IsDeep(text)) return;
  const json root = json::parse(text, nullptr, false);
  const json& config = ProgramReader::Find(root, "config");
  if (!config.is_object()) return;
  std::unordered_map<std::string, std::string> first;  // by the file of the weight
  // In the order of the signature, so that the first one is the module tree's.
  for (const InputSpec& input : program->inputs) {
    if (input.kind != InputSpec::Kind::kParameter && input.kind != InputSpec::Kind::kBuffer) continue;
    const std::string path = ProgramReader::Text(ProgramReader::Find(config, input.target.c_str()), "path_name");
    if (path.empty()) continue;
    const auto [found, is_first] = first.emplace(path, input.target);
    if (!is_first) program->same_as.emplace(input.target, found->second);
  }
}

}  // namespace vramplan
