#include "graph/lift/torchscript/patterns_modules.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "graph/base/text.h"
#include "graph/lift/dynamo/without_node.h"
#include "graph/lift/simplifiers/fx_names.h"

namespace vramplan {
namespace {

// "relu_12" -> "relu"; empty when there is no such ending.
std::string WithoutCallNumber(std::string_view segment) {
  std::string without = OperatorOf(std::string(segment));
  return without.size() == segment.size() ? "" : without;
}

// Every module that owns a stored tensor, and the modules around it.
std::unordered_set<std::string> OwnersOfStored(const Graph& graph) {
  std::unordered_set<std::string> owners;
  for (const Tensor& tensor : graph.tensors) {
    if (!tensor.stored.has_value() || tensor.stored->literal || !IsModulePath(tensor.name)) continue;
    for (size_t dot = tensor.name.rfind('.'); dot != std::string::npos && dot > 0;
         dot = tensor.name.rfind('.', dot - 1)) {
      if (!owners.insert(tensor.name.substr(0, dot)).second) break;
    }
  }
  return owners;
}

ModulePath PathOfScope(std::string_view scope, const std::unordered_set<std::string>& scopes,
                       const std::unordered_set<std::string>& owners, bool numbers_calls) {
  ModulePath path;
  std::string raw;                    // the scope read so far
  std::string_view previous;          // its last segment as written
  std::string previous_name, around;  // the same without its call number, and the path around it
  std::string call;                   // the number
  for (const std::string_view segment : TextsIn(scope, '/')) {
    std::string name(segment);
    std::string base = path.empty() ? std::string() : path.back().path;
    if (!previous.empty() && segment.size() > previous.size() && segment.substr(0, previous.size()) == previous &&
        segment[previous.size()] == '.') {
      name = previous_name + std::string(segment.substr(previous.size()));
      base = around;
    }
    const auto under = [](const std::string& outer, const std::string& inner) {
      return outer.empty() ? inner : outer + "." + inner;
    };
    const std::string first_call = WithoutCallNumber(name);
    call = numbers_calls ? "0" : "";
    if (numbers_calls && !first_call.empty() && !owners.contains(under(base, name)) &&
        scopes.contains(raw + "/" + WithoutCallNumber(segment))) {
      call = name.substr(first_call.size() + 1);
      name = first_call;
    }
    raw += "/" + std::string(segment);
    previous = segment;
    previous_name = name;
    around = base;
    path.push_back({.path = under(base, name), .class_name = ""});
  }
  if (!path.empty()) path.back().call = call;
  return path;
}

// "val_12": a value that the dynamo exporter (onnxscript's opset 18 functions) or onnxsim made up.
bool IsNumbered(std::string_view name, std::string_view prefix) {
  return name.starts_with(prefix) && IsNumber(name.substr(prefix.size()));
}

// "m.head" -> "/m/m.head", which is how a scope says it.
std::string ScopeOfOwner(std::string_view owner) {
  std::string scope;
  for (size_t dot = owner.find('.'); dot != std::string::npos; dot = owner.find('.', dot + 1))
    scope += "/" + std::string(owner.substr(0, dot));
  return scope + "/" + std::string(owner);
}

// The module that owns a stored tensor which this node alone reads; empty when there is none.
std::string OwnerBeside(const Graph& graph, const Node& node, const std::vector<int>& readers) {
  for (const TensorId input : node.inputs) {
    if (!graph.IsStored(input) || readers[input.index()] != 1) continue;
    const std::string& name = graph[input].name;
    const size_t dot = name.rfind('.');
    if (dot != std::string::npos && dot > 0 && IsModulePath(name)) return name.substr(0, dot);
  }
  return "";
}

}  // namespace

bool IsModulePath(const std::string& name) {
  if (IsNumbered(name, "val_") || IsNumbered(name, "_v_")) return false;
  bool letter = false;
  for (const char c : name) {
    if (std::isalpha(static_cast<unsigned char>(c)) || c == '_') {
      letter = true;
    } else if (!std::isdigit(static_cast<unsigned char>(c)) && c != '.' && c != '-') {
      return false;
    }
  }
  return letter;
}

bool WrittenByPyTorch(const Graph& graph) {
  if (graph.producer.find("pytorch") != std::string::npos) return true;
  if (!graph.producer.starts_with("onnxruntime")) return false;
  return std::ranges::any_of(graph.tensors, [&](const Tensor& tensor) {
    return tensor.stored.has_value() && tensor.name.ends_with(".weight") && IsModulePath(tensor.name);
  });
}

ModulePaths::ModulePaths(const Graph& graph) {
  std::unordered_map<std::string, int32_t> numbers;
  std::vector<std::string> texts;
  const auto number_of = [&](const std::string& scope) {
    const auto [found, fresh] = numbers.emplace(scope, static_cast<int32_t>(texts.size()));
    if (fresh) texts.push_back(scope);
    return found->second;
  };
  int32_t last = number_of("");
  scope_of_.reserve(graph.nodes.size());
  std::vector<int> readers(graph.tensors.size());
  for (const Node& node : graph.nodes) {
    for (const TensorId input : node.inputs) {
      if (input.valid()) ++readers[input.index()];
    }
  }
  const bool by_pytorch = graph.producer.find("pytorch") != std::string::npos;
  for (const Node& node : graph.nodes) {
    // A simplifier's node has a name without a scope, its result may have kept that of the node it stands for.
    const std::string* name = &node.name;
    if (name->find('/') == std::string::npos && !node.outputs.empty() && node.outputs[0].valid()) {
      const std::string& output = graph[node.outputs[0]].name;
      if (!output.empty() && output[0] == '/') name = &output;
    }
    const size_t slash = name->rfind('/');
    if (slash != std::string::npos) {
      last = number_of((*name)[0] == '/' ? name->substr(0, slash) : "/" + name->substr(0, slash));
    } else if (by_pytorch && last != 0) {
      // A node that a simplifier put in place of the model's last product: the result's name is the output's.
      const std::string owner = OwnerBeside(graph, node, readers);
      if (!owner.empty()) last = number_of(ScopeOfOwner(owner));
    }
    scope_of_.push_back(last);
    for (const TensorId output : node.outputs) {
      if (node.outputs.size() < 2 || !output.valid() || !graph[output].name.starts_with('/')) continue;
      scope_of_tensor_[output] = number_of(graph[output].name.substr(0, graph[output].name.rfind('/')));
    }
  }
  std::unordered_set<std::string> scopes;
  for (const std::string& text : texts) {
    for (size_t end = text.size(); end != std::string::npos && end > 0; end = text.rfind('/', end - 1)) {
      if (!scopes.insert(text.substr(0, end)).second) break;
    }
  }
  const std::unordered_set<std::string> owners = OwnersOfStored(graph);
  paths_.reserve(texts.size());
  // Keras gives numbers to layers, not to calls: dense, dense_1.
  const bool numbers_calls = !HasFxNames(graph) && graph.producer.find("tf2onnx") == std::string::npos;
  for (const std::string& text : texts) paths_.push_back(PathOfScope(text, scopes, owners, numbers_calls));
}

}  // namespace vramplan
