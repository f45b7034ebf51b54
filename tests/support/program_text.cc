#include "tests/support/program_text.h"

#include <zlib.h>

#include <cctype>
#include <sstream>

namespace vramplan::testing {
namespace {

std::string Little(uint64_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i, number >>= 8) text += static_cast<char>(number & 0xff);
  return text;
}

std::string Deflated(const std::string& bytes) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  return packed;
}

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return "[" + text + "]";
}

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '\n' ? "\\n" : c == '"' ? "\\\"" : std::string(1, c);
  return quoted + "\"";
}

std::string TensorJson(const std::string& name) { return "{\"as_tensor\": {\"name\": " + Quoted(name) + "}}"; }

// Commas inside of brackets belong to an expression.
std::vector<std::string> SplitDims(const std::string& dims) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : dims) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else if (c != ' ' || depth > 0) {
      parts.back() += c;
    }
  }
  return dims.empty() ? std::vector<std::string>() : parts;
}

std::string Meta(const std::string& dims, int dtype, bool requires_grad) {
  std::vector<std::string> sizes;
  for (const std::string& dim : SplitDims(dims)) {
    const bool number = std::isdigit(static_cast<unsigned char>(dim.front())) != 0;
    const std::string expression =
        dim.find('(') == dim.npos ? "Symbol('" + dim + "', positive=True, integer=True)" : dim;
    sizes.push_back(number ? "{\"as_int\": " + dim + "}"
                           : "{\"as_expr\": {\"expr_str\": " + Quoted(expression) + ", \"hint\": {\"as_int\": 2}}}");
  }
  return "{\"dtype\": " + std::to_string(dtype) + ", \"sizes\": " + Joined(sizes) +
         ", \"requires_grad\": " + (requires_grad ? "true" : "false") + "}";
}

}  // namespace

std::string ZipOf(const std::vector<std::pair<std::string, std::string>>& entries, bool deflated) {
  std::string bytes, directory;
  for (const auto& [name, content] : entries) {
    const std::string packed = deflated ? Deflated(content) : content;
    const std::string both = Little(deflated ? 8 : 0, 2) + Little(0, 8) + Little(packed.size(), 4) +
                             Little(content.size(), 4) + Little(name.size(), 2) + Little(0, 2);
    directory += "PK\x01\x02" + Little(20, 2) + Little(20, 2) + Little(0, 2) + both + Little(0, 10) +
                 Little(bytes.size(), 4) + name;
    bytes += "PK\x03\x04" + Little(20, 2) + Little(0, 2) + both + name + packed;
  }
  const size_t begin = bytes.size();
  return bytes + directory + "PK\x05\x06" + Little(0, 4) + Little(entries.size(), 2) + Little(entries.size(), 2) +
         Little(directory.size(), 4) + Little(begin, 4) + Little(0, 2);
}

std::string Argument(const std::string& name, const std::string& json, bool keyword) {
  return "{\"name\": " + Quoted(name) + ", \"arg\": " + json + ", \"kind\": " + (keyword ? "2" : "1") + "}";
}
std::string Operand(const std::string& name, const std::string& tensor) { return Argument(name, TensorJson(tensor)); }
std::string Operands(const std::string& name, const std::vector<std::string>& tensors) {
  std::vector<std::string> names;
  for (const std::string& tensor : tensors)
    names.push_back(tensor.empty() ? "{\"as_none\": true}" : TensorJson(tensor));
  return Argument(name, "{\"as_optional_tensors\": " + Joined(names) + "}");
}
std::string Int(const std::string& name, int64_t value) {
  return Argument(name, "{\"as_int\": " + std::to_string(value) + "}");
}
std::string Real(const std::string& name, double value) {
  std::ostringstream text;
  text << value;
  return Argument(name, "{\"as_float\": " + text.str() + "}");
}
std::string Flag(const std::string& name, bool value) {
  return Argument(name, std::string("{\"as_bool\": ") + (value ? "true}" : "false}"));
}
std::string Ints(const std::string& name, const std::vector<int64_t>& values) {
  std::vector<std::string> numbers;
  for (const int64_t value : values) numbers.push_back(std::to_string(value));
  return Argument(name, "{\"as_ints\": " + Joined(numbers) + "}");
}
std::string Absent(const std::string& name) { return Argument(name, "{\"as_none\": true}"); }

void ProgramText::Describe(const std::string& name, const std::string& dims, int dtype, bool requires_grad) {
  tensors_.push_back(Quoted(name) + ": " + Meta(dims, dtype, requires_grad));
}

void ProgramText::Parameter(const std::string& placeholder, const std::string& target, const std::string& dims,
                            bool trained) {
  specs_.push_back("{\"parameter\": {\"arg\": {\"name\": " + Quoted(placeholder) +
                   "}, \"parameter_name\": " + Quoted(target) + "}}");
  Describe(placeholder, dims, 7, trained);
}
void ProgramText::Buffer(const std::string& placeholder, const std::string& target, const std::string& dims,
                         int dtype) {
  specs_.push_back("{\"buffer\": {\"arg\": {\"name\": " + Quoted(placeholder) +
                   "}, \"buffer_name\": " + Quoted(target) + ", \"persistent\": true}}");
  Describe(placeholder, dims, dtype);
}
void ProgramText::Constant(const std::string& placeholder, const std::string& target, const std::string& dims) {
  specs_.push_back("{\"tensor_constant\": {\"arg\": {\"name\": " + Quoted(placeholder) +
                   "}, \"tensor_constant_name\": " + Quoted(target) + "}}");
  Describe(placeholder, dims);
}
void ProgramText::Input(const std::string& name, const std::string& dims, int dtype) {
  specs_.push_back("{\"user_input\": {\"arg\": " + TensorJson(name) + "}}");
  graph_inputs_.push_back(TensorJson(name));
  Describe(name, dims, dtype);
}

void ProgramText::Call(const std::string& target, const std::vector<std::string>& arguments, const std::string& output,
                       const std::string& dims, const std::string& modules, const std::string& called_as,
                       const std::string& line) {
  nodes_.push_back("{\"target\": " + Quoted(target) + ", \"inputs\": " + Joined(arguments) + ", \"outputs\": [" +
                   TensorJson(output) + "], \"metadata\": {\"nn_module_stack\": " + Quoted(modules) +
                   ", \"torch_fn\": " + Quoted(called_as + "_1;method_descriptor." + called_as) +
                   ", \"stack_trace\": " + Quoted("File \"net.py\", line 7, in forward\n    " + line) + "}}");
  Describe(output, dims);
}

void ProgramText::CallOfSeveral(const std::string& target, const std::vector<std::string>& arguments,
                                const std::vector<std::pair<std::string, std::string>>& outputs) {
  std::vector<std::string> names;
  for (const auto& [name, dims] : outputs) {
    names.push_back("{\"name\": " + Quoted(name) + "}");
    Describe(name, dims);
  }
  nodes_.push_back("{\"target\": " + Quoted(target) + ", \"inputs\": " + Joined(arguments) +
                   ", \"outputs\": [{\"as_tensors\": " + Joined(names) + "}], \"metadata\": {}}");
}

void ProgramText::Wrapped(const std::string& target, const std::vector<std::string>& before, const ProgramText& body,
                          const std::vector<std::string>& given, const std::vector<std::string>& outputs) {
  std::vector<std::string> arguments = before, names;
  arguments.push_back(Argument("", "{\"as_graph\": {\"name\": \"submod_1\", \"graph\": " + body.Graph() + "}}"));
  for (const std::string& name : given) arguments.push_back(Operand("", name));
  for (const std::string& name : outputs) names.push_back("{\"name\": " + Quoted(name) + "}");
  nodes_.push_back("{\"target\": " + Quoted(target) + ", \"inputs\": " + Joined(arguments) +
                   ", \"outputs\": [{\"as_tensors\": " + Joined(names) + "}], \"metadata\": {}}");
}

std::string ProgramText::Graph() const {
  std::vector<std::string> outputs;
  for (const std::string& output : outputs_) outputs.push_back(TensorJson(output));
  std::string tensors;
  for (const std::string& tensor : tensors_) tensors += (tensors.empty() ? "" : ", ") + tensor;
  return "{\"inputs\": " + Joined(graph_inputs_) + ", \"outputs\": " + Joined(outputs) +
         ", \"nodes\": " + Joined(nodes_) + ", \"tensor_values\": {" + tensors + "}, \"sym_int_values\": {}}";
}

std::string ProgramText::Json() const {
  std::vector<std::string> outputs;
  for (const std::string& output : outputs_)
    outputs.push_back("{\"user_output\": {\"arg\": " + TensorJson(output) + "}}");
  return "{\"graph_module\": {\"graph\": " + Graph() + ", \"signature\": {\"input_specs\": " + Joined(specs_) +
         ", \"output_specs\": " + Joined(outputs) +
         "}}, \"opset_version\": {\"aten\": 10}, \"range_constraints\": {}, \"schema_version\": {\"major\": 8, "
         "\"minor\": 15}, \"torch_version\": \"2.10.0\"}";
}

std::string ProgramText::Archive(const std::vector<std::pair<std::string, std::string>>& more, bool deflated) const {
  std::vector<std::pair<std::string, std::string>> entries = {{"net/archive_format", "pt2"},
                                                              {"net/models/model.json", Json()}};
  entries.insert(entries.end(), more.begin(), more.end());
  return ZipOf(entries, deflated);
}

}  // namespace vramplan::testing
